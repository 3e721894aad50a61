package web

import (
	"cmp"
	"context"
	"maps"
	"net/url"
	"slices"
	"strings"

	"sluice/internal/client"
	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
	"sluice/internal/refresh"
)

// refreshData is what the page of the refresh pipeline shows.
type refreshData struct {
	// Off says why there is none.
	Off      string
	Overview refresh.Overview
	// Coalesced and Outcomes are counted by this process since it began.
	Coalesced, Outcomes, Reads map[string]float64
	Fullest                    map[string]float64
	Letters                    int64
	// Source and Key are what is looked up.
	Source, Key, NotAsked string
	Answer                *refresh.Answer
}

// Saved says how many requests were served by one that was under way already.
func (d *refreshData) Saved() string {
	all := 0.0
	for _, n := range d.Coalesced {
		all += n
	}
	if all == 0 {
		return ""
	}
	return percent(all-d.Coalesced["published"], all) + " needed no call of their own"
}

func (s *site) refreshes(ctx context.Context, v *visit) (*page, error) {
	d := &refreshData{Source: v.query("source"), Key: v.query("key")}
	p := &page{Title: "Refresh", Template: "refresh.html", Nav: "refresh", Every: 5, Data: d}
	var err error
	if d.Overview, err = v.RefreshOverview(ctx); err != nil {
		if domain.CodeOf(err) != domain.CodeNotFound {
			return nil, err
		}
		d.Off = message(err)
		return p, nil
	}
	for _, n := range d.Overview.Dead {
		d.Letters += n
	}
	if f, err := v.figures(ctx); err == nil {
		d.Coalesced, d.Outcomes = f.of("sluice_coalescing_total", "result"), f.of("sluice_refresh_events_total", "outcome")
		d.Reads, d.Fullest = f.of("sluice_snapshot_reads_total", "freshness"), f.of("sluice_rate_fullest_second_calls", "source")
	}
	if d.Key == "" {
		return p, nil
	}
	if d.Source == "" && len(d.Overview.Sources) > 0 {
		d.Source = d.Overview.Sources[0].Source
	}
	answer, err := v.Snapshot(ctx, refresh.Entity{Source: d.Source, Key: d.Key})
	if err != nil {
		d.NotAsked = message(err)
		return p, nil
	}
	d.Answer = &answer
	if answer.Freshness != refresh.Fresh {
		p.Every = 2
	}
	return p, nil
}

// letterCause is a cause of dead letters, and how many have it.
type letterCause struct {
	Why string
	N   int64
}

func (s *site) deadLetters(ctx context.Context, v *visit) (*page, error) {
	d := struct {
		Letters   []wire.Letter
		Causes    []letterCause
		Why, Next string
	}{Why: v.query("why")}
	list, err := v.DeadLetters(ctx, client.LetterFilter{Why: d.Why, Page: client.Page{Cursor: v.query("cursor"), Limit: listLimit}})
	if err != nil {
		return nil, err
	}
	d.Letters, d.Next = list.Items, s.nextPage(v, list.NextCursor)
	for _, why := range slices.Sorted(maps.Keys(list.Counts)) {
		d.Causes = append(d.Causes, letterCause{why, list.Counts[why]})
	}
	return &page{Title: "Dead letters", Template: "letters.html", Nav: "refresh", Every: 10, Data: d}, nil
}

// What buttons of refreshes do.

func refreshKey(ctx context.Context, v *visit, f url.Values) (string, error) {
	answer, err := v.Refresh(ctx, wire.RefreshRequest{Source: f.Get("source"), Keys: []string{f.Get("key")}, Priority: f.Get("priority")})
	if err != nil || len(answer.Results) == 0 {
		return "", err
	}
	return f.Get("key") + ": " + words(answer.Results[0].Result), nil
}

func letters(f url.Values) wire.LettersRequest {
	q := wire.LettersRequest{Why: f.Get("why")}
	if id := f.Get("id"); id != "" {
		q.IDs, q.Why = []string{id}, ""
	}
	return q
}

func redrive(ctx context.Context, v *visit, f url.Values) (string, error) {
	n, err := v.Redrive(ctx, letters(f))
	return number(n) + " were redriven", err
}

// discardPage is how many letters are named in one request to discard them.
const discardPage = 500

// discard removes one letter, or all of a cause, which are named page by page.
func discard(ctx context.Context, v *visit, f url.Values) (string, error) {
	if f.Get("id") != "" {
		n, err := v.Discard(ctx, letters(f))
		return number(n) + " was discarded", err
	}
	if strings.TrimSpace(f.Get("why")) == "" {
		return "", domain.Errorf(domain.CodeInvalid, "say of which cause")
	}
	all, last := 0, -1
	for range batches {
		list, err := v.DeadLetters(ctx, client.LetterFilter{Why: f.Get("why"), Page: client.Page{Limit: discardPage}})
		if err != nil {
			return "", err
		}
		var ids []string
		for _, l := range list.Items {
			ids = append(ids, l.ID)
		}
		if len(ids) == 0 || last == 0 {
			break
		}
		if last, err = v.Discard(ctx, wire.LettersRequest{IDs: ids}); err != nil {
			return "", err
		}
		all += last
	}
	return number(all) + " were discarded", nil
}

func resetQuota(ctx context.Context, v *visit, f url.Values) (string, error) {
	_, err := v.ResetQuota(ctx, f.Get("owner"))
	return "The ration of " + cmp.Or(f.Get("name"), "the owner") + " is looked at anew", err
}
