package web

import (
	"context"
	"fmt"
	"net/url"

	"sluice/internal/client"
	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
)

// confirmData is a question before something that cannot be taken back, with how
// many things it would change.
type confirmData struct {
	Title, Question, Button, Action, Back string
	// Count is how many; More says that there are more than were counted.
	Count  int
	More   bool
	Fields []field
}

type field struct{ Name, Value string }

// confirm asks before much is changed, and says how much that is.
func (*site) confirm(ctx context.Context, v *visit) (*page, error) {
	q := v.r.URL.Query()
	d := &confirmData{Action: v.r.PathValue("name")}
	for _, name := range []string{"account", "error", "run", "status", "type", "why", "source"} {
		if value := q.Get(name); value != "" {
			d.Fields = append(d.Fields, field{name, value})
		}
	}
	var err error
	switch d.Action {
	case "retry-jobs":
		err = d.countJobs(ctx, v, q)
	case "cancel-jobs":
		err = d.countUnfinished(ctx, v, q)
	case "cancel-runs":
		err = d.countRuns(ctx, v, q)
	case "redrive", "discard":
		err = d.countLetters(ctx, v, q)
	case "remove-source":
		err = d.aboutSource(ctx, v, q)
	default:
		err = domain.Errorf(domain.CodeNotFound, "there is nothing of that name to confirm")
	}
	if err != nil {
		return nil, err
	}
	return &page{Title: d.Title, Template: "confirm.html", Data: d}, nil
}

// aboutSource asks before a source is removed.
func (d *confirmData) aboutSource(ctx context.Context, v *visit, q url.Values) error {
	of, err := v.Source(ctx, q.Get("source"))
	if err != nil {
		return err
	}
	d.Title, d.Question, d.Button, d.Back = "Remove a source", "source is forgotten, with its file. It has no accounts, so that nothing is left of what was collected.", "Remove it", "/sources/"+url.PathEscape(of.Name)
	if d.Count = 1; of.Accounts > 0 {
		d.Count, d.Question = 0, fmt.Sprintf("sources can be removed: %s has %s. Purge them first, with everything that was collected for them.", of.Name, counted(of.Accounts, "account"))
	}
	return nil
}

// listWith is the list that somebody came from, with its filters.
func listWith(path string, q url.Values, names ...string) string {
	filters := url.Values{}
	for _, name := range names {
		if value := q.Get(name); value != "" {
			filters.Set(name, value)
		}
	}
	if len(filters) == 0 {
		return path
	}
	return path + "?" + filters.Encode()
}

func (d *confirmData) countJobs(ctx context.Context, v *visit, q url.Values) error {
	d.Title, d.Question, d.Button, d.Back = "Retry failed jobs", "failed jobs match. They are tried again, and their runs go on.", "Retry them", listWith("/jobs", q, "account", "error", "run", "status", "type")
	if run := q.Get("run"); run != "" && len(d.Fields) == 1 {
		d.Back = "/runs/" + run
	}
	req, err := jobsRequest(q)
	if err == nil {
		err = onlyFailed(q)
	}
	if err != nil {
		return err
	}
	req.DryRun = true
	return d.count(func(cursor string) (wire.BulkAnswer, error) {
		req.Cursor = cursor
		return v.RetryJobs(ctx, req)
	})
}

func (d *confirmData) countUnfinished(ctx context.Context, v *visit, q url.Values) error {
	d.Title, d.Question, d.Button, d.Back = "Cancel jobs", "jobs that have not ended match. They are canceled with everything that is left of their runs; what was stored stays.", "Cancel them", listWith("/jobs", q, "account", "error", "run", "status", "type")
	req, err := jobsRequest(q)
	if err != nil {
		return err
	}
	req.DryRun = true
	return d.count(func(cursor string) (wire.BulkAnswer, error) {
		req.Cursor = cursor
		return v.CancelJobs(ctx, wire.CancelJobsRequest{JobsRequest: req, Status: q.Get("status")})
	})
}

func (d *confirmData) countRuns(ctx context.Context, v *visit, q url.Values) error {
	d.Title, d.Question, d.Button, d.Back = "Cancel runs", "runs are under way. They end; what was stored stays.", "Cancel them", listWith("/runs", q, "account", "status")
	req := wire.RunsRequest{Account: q.Get("account"), Status: q.Get("status"), All: q.Get("account")+q.Get("status") == "", DryRun: true}
	return d.count(func(cursor string) (wire.BulkAnswer, error) {
		req.Cursor = cursor
		return v.CancelRuns(ctx, req)
	})
}

// countedBatches is up to how many batches are counted before somebody is asked: that
// many can be counted while a person waits for a page.
const countedBatches = 2

func (d *confirmData) count(ask func(cursor string) (wire.BulkAnswer, error)) error {
	cursor := ""
	for range countedBatches {
		answer, err := ask(cursor)
		if err != nil {
			return err
		}
		d.Count += answer.Matched
		if cursor = answer.NextCursor; cursor == "" {
			return nil
		}
	}
	d.More = true
	return nil
}

func (d *confirmData) countLetters(ctx context.Context, v *visit, q url.Values) error {
	d.Title, d.Question, d.Button = "Redrive dead letters", "dead letters have this cause. They are asked for again.", "Redrive them"
	if d.Action == "discard" {
		d.Title, d.Question, d.Button = "Discard dead letters", "dead letters have this cause. They are removed, and nobody is asked for them again.", "Discard them"
	}
	d.Back = "/dead-letters"
	list, err := v.DeadLetters(ctx, client.LetterFilter{Page: client.Page{Limit: 1}})
	d.Count = int(list.Counts[q.Get("why")])
	return err
}
