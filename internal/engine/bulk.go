package engine

import (
	"context"

	"sluice/internal/domain"
	"sluice/internal/state"
)

// Bulk is what a change of many things came to.
type Bulk struct {
	// Matched counts what was asked for, Changed what was done.
	Matched int `json:"matched"`
	Changed int `json:"changed"`
	// Skipped counts what could not be done; Reason says why of the last.
	Skipped int    `json:"skipped,omitempty"`
	Reason  string `json:"reason,omitempty"`
	// Next is where to go on; 0 if that was all.
	Next int64 `json:"-"`
}

// skip counts what cannot be done, and passes errors on that say more than that.
func (b *Bulk) skip(err error) error {
	switch domain.CodeOf(err) {
	case domain.CodeConflict, domain.CodeIllegalMove, domain.CodeNotFound, domain.CodeStale:
		b.Skipped++
		b.Reason = err.Error()
		return nil
	}
	return err
}

// RetryJobs brings back one page of the failed jobs that a list has, and their
// runs with them. With dry it only counts them, those of a larger page.
func (r *requests) RetryJobs(ctx context.Context, q state.JobList, dry bool) (Bulk, error) {
	q.Statuses = []domain.JobStatus{domain.JobFailed}
	if dry {
		return r.countJobs(ctx, q)
	}
	page, err := r.State.Lists.ListJobs(ctx, q)
	b := Bulk{Matched: len(page.Items), Next: page.Next}
	if err != nil {
		return b, err
	}
	// One note for each account: what is interrupted is made up for.
	notes := map[int64]func(){}
	var back []domain.JobRef
	for i := 0; err == nil && i < len(page.Items); i++ {
		var ref domain.JobRef
		if ref, err = r.retryOne(ctx, &page.Items[i], notes); err != nil {
			err = b.skip(err)
			continue
		}
		b.Changed++
		back = append(back, ref)
	}
	// After an error the notes stay: a job may wait whose answer was lost.
	failed := err != nil
	r.dispatchOrRetry(ctx, func(ctx context.Context) error {
		if err := r.delivery.pushJobs(ctx, back); err != nil || failed {
			return err
		}
		for _, done := range notes {
			done()
		}
		return nil
	})
	r.watchers.Notify()
	return b, err
}

// countJobs counts as many of the jobs that a list has as one page may look at:
// somebody waits for the number, and for nothing else of them.
func (r *requests) countJobs(ctx context.Context, q state.JobList) (Bulk, error) {
	q.Limit = state.WalkLimit
	page, err := r.State.Lists.ListJobIDs(ctx, q)
	return Bulk{Matched: len(page.Items), Next: page.Next}, err
}

func (r *requests) retryOne(ctx context.Context, job *domain.Job, notes map[int64]func()) (domain.JobRef, error) {
	if notes[job.AccountID] == nil {
		a, err := r.State.Accounts.Account(ctx, job.AccountID)
		if err == nil {
			err = refuseGone(a)
		}
		if err != nil {
			return domain.JobRef{}, err
		}
		if notes[job.AccountID], err = r.delivery.recordIntent(ctx, job.AccountID); err != nil {
			return domain.JobRef{}, err
		}
	}
	ref, err := r.State.Jobs.RetryJob(ctx, job.ID)
	if err == nil {
		r.runs.forget(ref.RunID)
	}
	return ref, err
}

// refuseGone refuses to begin anything for an account that is not collected.
func refuseGone(a domain.Account) error {
	if a.State.Gone() {
		return domain.Errorf(domain.CodeConflict, "account %s is %s: %s", a.Login, a.State, a.Reason)
	}
	return nil
}

// CancelRuns cancels one page of the active runs that a list has. With dry it only
// counts them.
func (r *requests) CancelRuns(ctx context.Context, q state.RunList, reason string, dry bool) (Bulk, error) {
	page, err := r.State.Lists.ListRuns(ctx, q)
	b := Bulk{Next: page.Next}
	if err != nil {
		return b, err
	}
	for _, run := range page.Items {
		if !run.Status.Active() {
			continue
		}
		b.Matched++
		if dry {
			continue
		}
		_, err := r.control.CancelRun(ctx, run.ID, reason)
		if err == nil {
			b.Changed++
		} else if err = b.skip(err); err != nil {
			return b, err
		}
	}
	return b, nil
}

// CancelJobs cancels one page of the unfinished jobs that a list has, with the runs
// that they are of: a run without some of its jobs would pass for a whole one. With dry
// it only counts the jobs.
func (r *requests) CancelJobs(ctx context.Context, q state.JobList, reason string, dry bool) (Bulk, error) {
	if len(q.Statuses) == 0 {
		q.Statuses = state.Unfinished()
	}
	if dry {
		return r.countJobs(ctx, q)
	}
	page, err := r.State.Lists.ListJobs(ctx, q)
	b := Bulk{Matched: len(page.Items), Next: page.Next}
	if err != nil {
		return b, err
	}
	canceled := map[int64]bool{}
	for i := range page.Items {
		run := page.Items[i].RunID
		if _, tried := canceled[run]; !tried {
			_, err := r.control.CancelRun(ctx, run, reason)
			if canceled[run] = err == nil; err != nil {
				if err := b.skip(err); err != nil {
					return b, err
				}
				// What could not be done is counted by jobs.
				b.Skipped--
			}
		}
		if canceled[run] {
			b.Changed++
		} else {
			b.Skipped++
		}
	}
	return b, nil
}

// ActiveRuns are the states of a run that can be canceled.
func ActiveRuns() []domain.RunStatus {
	return []domain.RunStatus{domain.RunCreated, domain.RunPlanning, domain.RunRunning, domain.RunFinalizing}
}
