package web

import (
	"context"
	"net/url"
	"strconv"
	"strings"

	"sluice/internal/client"
	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
)

// jobStates are those of jobs, in their order.
var jobStates = []string{"READY", "RUNNING", "PAUSED", "SUCCEEDED", "FAILED", "CANCELED"}

func (s *site) jobs(ctx context.Context, v *visit) (*page, error) {
	d := struct {
		Jobs                                                   []wire.Job
		Account, Run, Type, Status, Error, Next, Retry, Cancel string
		States, Causes                                         []string
		Filtered                                               bool
	}{
		Account: v.query("account"), Run: v.query("run"), Type: v.query("type"), Status: v.query("status"), Error: v.query("error"),
		States: jobStates, Causes: strings.Split(strings.ReplaceAll(domain.FailureKindNames(), " and ", ", "), ", "),
	}
	d.Filtered = d.Account+d.Run+d.Type+d.Status+d.Error+v.query("cursor") != ""
	f := client.JobFilter{Account: d.Account, Type: d.Type, Error: d.Error, Page: client.Page{Cursor: v.query("cursor"), Limit: listLimit}}
	if d.Run != "" {
		var err error
		if f.Run, err = number64(d.Run); err != nil {
			return nil, err
		}
	}
	if d.Status != "" {
		f.Status = []string{d.Status}
	}
	list, err := v.Jobs(ctx, f)
	if err != nil && (d.Account == "" || domain.CodeOf(err) != domain.CodeNotFound) {
		return nil, err
	}
	d.Jobs, d.Next = list.Items, s.nextPage(v, list.NextCursor)
	// What is retried or canceled is what the page shows: failed jobs, or those that
	// have not ended, of the same filter.
	matching := url.Values{"account": {d.Account}, "run": {d.Run}, "type": {d.Type}, "error": {d.Error}}.Encode()
	d.Retry, d.Cancel = "/confirm/retry-jobs?"+matching, "/confirm/cancel-jobs?"+matching
	return &page{Title: "Jobs", Template: "jobs.html", Nav: "jobs", Every: 5, Data: d}, nil
}

func (s *site) job(ctx context.Context, v *visit) (*page, error) {
	id, err := number64(v.r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	job, err := v.Job(ctx, id)
	if err != nil {
		return nil, err
	}
	d := struct {
		wire.Job
		Run    *domain.Run
		Waits  []string
		Ended  bool
		Failed bool
		Same   []sameAs
	}{Job: job, Failed: job.Status == domain.JobFailed, Ended: !job.FinishedAt.IsZero()}
	number := strconv.FormatInt(id, 10)
	d.Same = []sameAs{{"curl", "curl " + s.auth(v) + quoted(s.address(v, "/api/v1/jobs/"+number))}, {"Command line", "sluice job show " + number}}
	if run, err := v.RunProgress(ctx, job.RunID); err == nil {
		d.Run = &run.Run
		if job.Status == domain.JobReady || job.Status == domain.JobPaused {
			for _, w := range run.Waits {
				text := why(w.Reason)
				if !w.Until.IsZero() {
					text += " until " + w.Until.UTC().Format("15:04:05 UTC")
				}
				d.Waits = append(d.Waits, text)
			}
		}
	}
	return &page{Title: "Job " + number, Template: "job.html", Nav: "jobs", Every: 3, Data: d}, nil
}

// What buttons on jobs do.

func retryJob(ctx context.Context, v *visit, f url.Values) (string, error) {
	id, err := number64(f.Get("job"))
	if err != nil {
		return "", err
	}
	job, err := v.RetryJob(ctx, id)
	return "Job " + f.Get("job") + " is tried again; run " + strconv.FormatInt(job.RunID, 10) + " goes on", err
}

// jobsRequest are the failed jobs that a form names.
func jobsRequest(f url.Values) (wire.JobsRequest, error) {
	q := wire.JobsRequest{Account: f.Get("account"), Type: f.Get("type"), Error: f.Get("error")}
	if run := f.Get("run"); run != "" {
		var err error
		if q.Run, err = number64(run); err != nil {
			return q, err
		}
	}
	q.All = q.Account == "" && q.Type == "" && q.Error == "" && q.Run == 0
	return q, nil
}

// batches is how many batches of a thousand one button changes: the rest is asked for
// again.
const batches = 100

// retryJobs retries all that a form names, a batch after the other.
func retryJobs(ctx context.Context, v *visit, f url.Values) (string, error) {
	q, err := jobsRequest(f)
	if err != nil {
		return "", err
	}
	return inBatches("tried again", func(cursor string) (wire.BulkAnswer, error) {
		q.Cursor = cursor
		return v.RetryJobs(ctx, q)
	})
}

// cancelJobs cancels all that a form names, a batch after the other.
func cancelJobs(ctx context.Context, v *visit, f url.Values) (string, error) {
	q, err := jobsRequest(f)
	if err != nil {
		return "", err
	}
	return inBatches("canceled", func(cursor string) (wire.BulkAnswer, error) {
		q.Cursor = cursor
		return v.CancelJobs(ctx, wire.CancelJobsRequest{JobsRequest: q, Reason: "canceled on the dashboard"})
	})
}

func cancelRuns(ctx context.Context, v *visit, f url.Values) (string, error) {
	q := wire.RunsRequest{Account: f.Get("account"), All: f.Get("account") == "", Reason: "canceled on the dashboard"}
	return inBatches("canceled", func(cursor string) (wire.BulkAnswer, error) {
		q.Cursor = cursor
		return v.CancelRuns(ctx, q)
	})
}

func inBatches(done string, ask func(cursor string) (wire.BulkAnswer, error)) (string, error) {
	changed, skipped, cursor, reason := 0, 0, "", ""
	for range batches {
		answer, err := ask(cursor)
		if err != nil {
			return "", err
		}
		changed, skipped, cursor = changed+answer.Changed, skipped+answer.Skipped, answer.NextCursor
		if answer.Reason != "" {
			reason = ": " + answer.Reason
		}
		if cursor == "" {
			break
		}
	}
	text := number(changed) + " were " + done
	if skipped > 0 {
		text += "; " + number(skipped) + " could not be" + reason
	}
	if cursor != "" {
		text += "; there are more: do it again"
	}
	return text, nil
}
