package web

import (
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/internal/client"
	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
	"sluice/internal/timer"
)

// latenessBounds are the classes of the histogram.
var latenessBounds = []struct {
	most time.Duration
	name string
}{
	{time.Millisecond, "1 ms"}, {5 * time.Millisecond, "5 ms"}, {20 * time.Millisecond, "20 ms"}, {100 * time.Millisecond, "100 ms"},
	{500 * time.Millisecond, "½ s"}, {2 * time.Second, "2 s"}, {10 * time.Second, "10 s"}, {1 << 62, "more"},
}

const (
	// shownTimers is how many of each state the page reads, and completionHours how
	// far back it looks.
	shownTimers     = 100
	completionHours = 24
)

func (s *site) timers(ctx context.Context, v *visit) (*page, error) {
	d := struct {
		Waiting, Dead []timer.Timer
		More          bool
		Axis          axis
		Stats         wire.CompletionStats
		Done          []timer.Completion
		Lateness      []column
		Prefix, Next  string
	}{Prefix: v.query("prefix")}
	list, err := v.Timers(ctx, timer.Query{Statuses: []timer.Status{timer.Waiting, timer.Delivering}, Prefix: d.Prefix, AfterID: v.query("cursor"), Limit: shownTimers})
	if err != nil {
		return nil, err
	}
	d.Waiting, d.More, d.Next = list.Items, list.NextCursor != "", s.nextPage(v, list.NextCursor)
	slices.SortFunc(d.Waiting, func(a, b timer.Timer) int { return a.At.Compare(b.At) })
	var at []time.Time
	var names []string
	for i := range d.Waiting {
		at, names = append(at, d.Waiting[i].At), append(names, d.Waiting[i].ID)
	}
	d.Axis = ahead(v.now, at, names)
	dead, err := v.Timers(ctx, timer.Query{Statuses: []timer.Status{timer.Dead}, Limit: 20})
	if err != nil {
		return nil, err
	}
	d.Dead = dead.Items
	if d.Stats, err = v.CompletionStats(ctx, completionHours); err != nil {
		return nil, err
	}
	done, err := v.Completions(ctx, 1, client.Page{Limit: 500})
	if err != nil {
		return nil, err
	}
	d.Lateness = latenessOf(done.Items)
	slices.Reverse(done.Items)
	d.Done = done.Items[:min(len(done.Items), 30)]
	return &page{Title: "Timers", Template: "timers.html", Nav: "timers", Stream: "/api/v1/completions/events", Every: 10, Data: d}, nil
}

func latenessOf(done []timer.Completion) []column {
	counts, names := make([]int64, len(latenessBounds)), make([]string, len(latenessBounds))
	for i, b := range latenessBounds {
		names[i] = b.name
	}
	for i := range done {
		class := slices.IndexFunc(latenessBounds, func(b struct {
			most time.Duration
			name string
		}) bool {
			return done[i].Lateness <= b.most
		})
		counts[class]++
	}
	return histogram(counts, names, 640, 110)
}

// What buttons on timers do.

func setTimer(ctx context.Context, v *visit, f url.Values) (string, error) {
	req := wire.TimerRequest{ID: strings.TrimSpace(f.Get("id")), Webhook: strings.TrimSpace(f.Get("webhook"))}
	var err error
	if req.At, req.In, err = instant(f.Get("when")); err != nil {
		return "", err
	}
	if payload := strings.TrimSpace(f.Get("payload")); payload != "" {
		if !json.Valid([]byte(payload)) {
			return "", domain.Errorf(domain.CodeInvalid, "the payload is not JSON: write texts in quotes, such as \"hello\"")
		}
		req.Payload = json.RawMessage(payload)
	}
	t, err := v.SetTimer(ctx, req)
	return "Timer " + t.ID + " is set", err
}

// instant reads when: how long from now, or a time.
func instant(text string) (at, in string, err error) {
	text = strings.TrimSpace(text)
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return "", text, nil
	}
	if _, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return text, "", nil
	}
	return "", "", domain.Errorf(domain.CodeInvalid, "When is neither a while from now, such as 5m or 1h30m, nor a date with its time and zone, such as 2026-12-01T09:00:00Z")
}

func moveTimer(ctx context.Context, v *visit, f url.Values) (string, error) {
	at, in, err := instant(f.Get("when"))
	if err != nil {
		return "", err
	}
	t, err := v.RescheduleTimer(ctx, f.Get("id"), wire.InstantRequest{At: at, In: in})
	return "Timer " + t.ID + " was moved", err
}

func cancelTimer(ctx context.Context, v *visit, f url.Values) (string, error) {
	t, err := v.CancelTimer(ctx, f.Get("id"))
	return "Timer " + t.ID + " will not fire", err
}

func redeliverTimer(ctx context.Context, v *visit, f url.Values) (string, error) {
	t, err := v.RedeliverTimer(ctx, f.Get("id"))
	return "Timer " + t.ID + " is delivered again", err
}

func detectMissed(ctx context.Context, v *visit, _ url.Values) (string, error) {
	m, err := v.DetectMissedTimers(ctx)
	return cmp.Or(map[bool]string{m.Found == 0: "No timer was missed"}[true], strconv.Itoa(m.Found)+" were overdue, "+strconv.Itoa(m.FiredNow)+" fired now"), err
}
