package state_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/state"
)

// ledgerRows are rows of one run that note what is done to them, in its order.
type ledgerRows struct {
	state.Rows
	run     domain.Run
	jobs    []domain.Job
	account domain.Account
	other   int64
	done    []string
}

func (r *ledgerRows) note(what string) { r.done = append(r.done, what) }

func (r *ledgerRows) FindRun(context.Context, int64) (domain.Run, error) { return r.run, nil }

func (r *ledgerRows) FindAccount(context.Context, int64) (domain.Account, error) {
	return r.account, nil
}

func (r *ledgerRows) LockRun(context.Context, int64) (domain.Run, error) {
	r.note("lock run")
	return r.run, nil
}

func (r *ledgerRows) LockActiveRun(context.Context, int64) (int64, error) {
	r.note("lock account")
	return r.other, nil
}

func (r *ledgerRows) LockJob(context.Context, int64) (domain.Job, error) {
	r.note("lock jobs")
	if len(r.jobs) == 0 {
		return domain.Job{}, nil
	}
	return r.jobs[0], nil
}

func (r *ledgerRows) LockUnfinished(context.Context, int64) error {
	r.note("lock jobs")
	return nil
}

func (r *ledgerRows) LockMovable(context.Context, int64, []domain.JobStatus) error {
	r.note("lock jobs")
	return nil
}

func (r *ledgerRows) LockRunWithJobs(context.Context, int64) (domain.Run, []domain.Job, error) {
	r.note("lock jobs")
	r.note("lock run")
	return r.run, r.jobs, nil
}

func (r *ledgerRows) CancelUnfinished(context.Context, int64, time.Time) ([]int64, error) {
	r.note("cancel jobs")
	return []int64{1, 2}, nil
}

func (r *ledgerRows) BringBack(_ context.Context, jobs []domain.Job, as domain.JobStatus) error {
	r.note("bring back " + as.String())
	return nil
}

func (r *ledgerRows) SetPriority(context.Context, int64, []domain.Job, domain.Priority) error {
	r.note("prioritize jobs")
	return nil
}

func (r *ledgerRows) WriteRun(_ context.Context, run *domain.Run) error {
	r.note("write " + run.Status.String())
	r.run = *run
	return nil
}

func (r *ledgerRows) WaitingJobs(context.Context, int64) ([]domain.JobRef, error) { return nil, nil }

func (r *ledgerRows) WriteStatistics(context.Context, *domain.Run, []byte, time.Time) error {
	r.note("write statistics")
	return nil
}

func (r *ledgerRows) WriteAccountState(_ context.Context, _ int64, to domain.AccountState, _ string, _ time.Time) (bool, error) {
	r.note("write account " + string(to))
	return r.account.ID != 0, nil
}

func (r *ledgerRows) MoveJobs(_ context.Context, _ int64, _ []domain.JobStatus, to domain.JobStatus) ([]domain.JobRef, error) {
	r.note("move jobs " + to.String())
	return nil, nil
}

func (r *ledgerRows) changes() state.Changes {
	transact := func(_ context.Context, fn func(*ledgerRows) error) error { return fn(r) }
	return state.NewChanges(transact, func(rows *ledgerRows) state.Rows { return rows }, func() time.Time { return at(9) })
}

// TestChangesGoByRows: each flow locks jobs before runs and runs before accounts,
// asks the rule, and writes what it says.
func TestChangesGoByRows(t *testing.T) {
	failed := domain.Job{ID: 1, RunID: 5, Status: domain.JobFailed, ErrorKind: domain.FailureLost}
	for name, c := range map[string]struct {
		run  domain.RunStatus
		jobs []domain.Job
		do   func(state.Changes) error
		want string
	}{
		"cancel": {domain.RunRunning, nil, func(c state.Changes) error {
			run, err := c.CancelRun(t.Context(), 5, "enough")
			if run.Canceled != 2 || run.Reason != "enough" {
				t.Errorf("the canceled run is %+v", run)
			}
			return err
		}, "lock jobs, lock run, cancel jobs, write CANCELED"},
		"cancel again": {domain.RunCanceled, nil, func(c state.Changes) error {
			_, err := c.CancelRun(t.Context(), 5, "enough")
			return err
		}, "lock jobs, lock run"},
		"complete": {domain.RunFinalizing, nil, func(c state.Changes) error {
			_, err := c.CompleteRun(t.Context(), 5, nil)
			return err
		}, "lock run, write COMPLETED, write statistics"},
		"resume": {domain.RunCompleted, []domain.Job{failed}, func(c state.Changes) error {
			_, err := c.ResumeRun(t.Context(), 5, domain.PriorityHigh, []domain.FailureKind{domain.FailureLost})
			return err
		}, "lock jobs, lock run, lock account, prioritize jobs, bring back READY, write RUNNING"},
		"resume again": {domain.RunRunning, nil, func(c state.Changes) error {
			_, err := c.ResumeRun(t.Context(), 5, domain.PriorityHigh, nil)
			return err
		}, "lock jobs, lock run"},
		"retry": {domain.RunCompleted, []domain.Job{failed}, func(c state.Changes) error {
			_, err := c.RetryJob(t.Context(), 1)
			return err
		}, "lock jobs, lock run, lock account, bring back READY, write RUNNING"},
		"prioritize": {domain.RunRunning, nil, func(c state.Changes) error {
			_, err := c.SetRunPriority(t.Context(), 5, domain.PriorityHigh)
			return err
		}, "lock jobs, lock run, prioritize jobs, write RUNNING"},
		"pause": {domain.RunRunning, nil, func(c state.Changes) error {
			_, err := c.SetAccountState(t.Context(), 3, domain.AccountPaused, "refused")
			return err
		}, "lock jobs, write account paused, move jobs PAUSED"},
		"delete": {domain.RunRunning, nil, func(c state.Changes) error {
			_, err := c.SetAccountState(t.Context(), 3, domain.AccountDeleted, "")
			return err
		}, "lock jobs, write account deleted"},
	} {
		r := &ledgerRows{run: domain.Run{ID: 5, AccountID: 3, Status: c.run}, jobs: c.jobs, account: domain.Account{ID: 3, State: domain.AccountActive}}
		if err := c.do(r.changes()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := strings.Join(r.done, ", "); got != c.want {
			t.Errorf("%s: %s; want %s", name, got, c.want)
		}
	}
}

// TestChangesThatCannotBe leave everything as it is.
func TestChangesThatCannotBe(t *testing.T) {
	for name, c := range map[string]struct {
		rows ledgerRows
		do   func(state.Changes) error
		code domain.Code
	}{
		"no run": {ledgerRows{}, func(c state.Changes) error { _, err := c.FailRun(t.Context(), 5, ""); return err }, domain.CodeNotFound},
		"no job": {ledgerRows{}, func(c state.Changes) error { _, err := c.RetryJob(t.Context(), 5); return err }, domain.CodeNotFound},
		"no account": {ledgerRows{}, func(c state.Changes) error {
			_, err := c.SetAccountState(t.Context(), 5, domain.AccountActive, "")
			return err
		}, domain.CodeNotFound},
		"no schedule": {ledgerRows{}, func(c state.Changes) error { return c.SetSchedule(t.Context(), 5, nil) }, domain.CodeNotFound},
		"ended": {ledgerRows{run: domain.Run{ID: 5, Status: domain.RunCompleted}}, func(c state.Changes) error {
			_, err := c.SetRunPriority(t.Context(), 5, domain.PriorityHigh)
			return err
		}, domain.CodeConflict},
		"another is active": {ledgerRows{run: domain.Run{ID: 5, Status: domain.RunCompleted}, jobs: []domain.Job{{ID: 1, RunID: 5, Status: domain.JobFailed}}, other: 6},
			func(c state.Changes) error { _, err := c.RetryJob(t.Context(), 1); return err }, domain.CodeConflict},
	} {
		err := c.do(c.rows.changes())
		wrote := slices.ContainsFunc(c.rows.done, func(s string) bool { return strings.HasPrefix(s, "write ") && !strings.HasPrefix(s, "write account") })
		if domain.CodeOf(err) != c.code || wrote {
			t.Errorf("%s: %v after %q, want code %s", name, err, c.rows.done, c.code)
		}
	}
}
