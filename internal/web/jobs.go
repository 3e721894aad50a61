package web

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/internal/client"
	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
	"sluice/internal/state"
)

// jobStates are those of jobs, in their order.
var jobStates = []string{"READY", "RUNNING", "PAUSED", "SUCCEEDED", "FAILED", "CANCELED"}

func (s *site) jobs(ctx context.Context, v *visit) (*page, error) {
	d := struct {
		Jobs                                                   []wire.Job
		Account, Run, Type, Status, Error, Next, Retry, Cancel string
		// Only says why something that is done to many jobs is not offered.
		Only           string
		States, Causes []string
		Filtered       bool
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
	if d.Status != "" && !slices.Contains(jobStates, d.Status) {
		return nil, noState(d.Status, jobStates)
	}
	list, err := v.Jobs(ctx, f)
	if err != nil && (d.Account == "" || domain.CodeOf(err) != domain.CodeNotFound) {
		return nil, err
	}
	d.Jobs, d.Next = list.Items, s.nextPage(v, list.NextCursor)
	// What is retried or canceled is what the page shows: failed jobs, or those that
	// have not ended, of the same filter.
	matching := url.Values{}
	for _, f := range []field{{"account", d.Account}, {"run", d.Run}, {"type", d.Type}, {"error", d.Error}, {"status", d.Status}} {
		if f.Value != "" {
			matching.Set(f.Name, f.Value)
		}
	}
	if d.Status == "" || d.Status == domain.JobFailed.String() {
		d.Retry = "/confirm/retry-jobs?" + matching.Encode()
	}
	if d.Status == "" || slices.Contains(unfinished(), d.Status) {
		d.Cancel = "/confirm/cancel-jobs?" + matching.Encode()
	}
	switch {
	case d.Retry == "" && d.Cancel == "":
		d.Only = "What is " + words(d.Status) + " has ended: it is neither retried nor canceled."
	case d.Retry == "":
		d.Only = "Only failed jobs are retried, and these are " + words(d.Status) + "."
	case d.Cancel == "":
		d.Only = "Only jobs that have not ended are canceled, and these have failed."
	}
	return &page{Title: "Jobs", Template: "jobs.html", Nav: "jobs", Every: 5, Data: d}, nil
}

// unfinished are the states of jobs that can be canceled.
func unfinished() (names []string) {
	for _, status := range state.Unfinished() {
		names = append(names, status.String())
	}
	return names
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
				text := bucketOf(w.Lane) + why(w.Reason)
				if !w.Until.IsZero() {
					layout := "15:04:05 UTC"
					if w.Until.Sub(v.now) > 24*time.Hour {
						layout = "2006-01-02 15:04:05 UTC"
					}
					text += " until " + w.Until.UTC().Format(layout)
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
	q.All = f.Get("status") == "" && q.Account == "" && q.Type == "" && q.Error == "" && q.Run == 0
	return q, nil
}

// onlyFailed refuses to retry jobs in another state than the one that can be.
func onlyFailed(f url.Values) error {
	if status := f.Get("status"); status != "" && status != domain.JobFailed.String() {
		return domain.Errorf(domain.CodeInvalid, "only failed jobs are retried, and these are %s", words(status))
	}
	return nil
}

// noState refuses a state that there is not, in the words of the pages.
func noState(name string, of []string) error {
	var known []string
	for _, one := range of {
		known = append(known, words(one))
	}
	return domain.Errorf(domain.CodeInvalid, "there is no state %q; there are %s", short(name, 40), strings.Join(known, ", "))
}

// batches is how many batches of a thousand one button changes: the rest is asked for
// again.
const batches = 100

// retryJobs retries all that a form names, a batch after the other.
func retryJobs(ctx context.Context, v *visit, f url.Values) (string, error) {
	q, err := jobsRequest(f)
	if err == nil {
		err = onlyFailed(f)
	}
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
		return v.CancelJobs(ctx, wire.CancelJobsRequest{JobsRequest: q, Status: f.Get("status"), Reason: "canceled on the dashboard"})
	})
}

func cancelRuns(ctx context.Context, v *visit, f url.Values) (string, error) {
	q := wire.RunsRequest{Account: f.Get("account"), Status: f.Get("status"), All: f.Get("account")+f.Get("status") == "", Reason: "canceled on the dashboard"}
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
