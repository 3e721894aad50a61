package domain_test

import (
	"testing"
	"time"

	"sluice/internal/domain"
)

func TestGoesOn(t *testing.T) {
	end := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	jobs := []domain.Job{
		{ID: 1, Status: domain.JobFailed, ErrorKind: domain.FailureServer, FinishedAt: end},
		{ID: 2, Status: domain.JobFailed, ErrorKind: domain.FailureGone, FinishedAt: end},
		{ID: 3, Status: domain.JobCanceled, ErrorKind: domain.FailureServer, FinishedAt: end},
		{ID: 4, Status: domain.JobCanceled, ErrorKind: domain.FailureServer, FinishedAt: end.Add(-time.Second)},
		{ID: 5, Status: domain.JobSucceeded, FinishedAt: end},
	}
	server := []domain.FailureKind{domain.FailureServer, domain.FailureTimeout}
	for _, c := range []struct {
		status domain.RunStatus
		kinds  []domain.FailureKind
		back   []int64
	}{
		{domain.RunFailed, server, []int64{1, 3}},
		{domain.RunFailed, nil, []int64{3}},
		{domain.RunCompleted, server, []int64{1}},
		{domain.RunCompleted, []domain.FailureKind{domain.FailureServer, domain.FailureGone}, []int64{1, 2}},
		{domain.RunCompleted, []domain.FailureKind{domain.FailureTimeout}, nil},
		{domain.RunCanceled, server, nil},
		{domain.RunFinalizing, server, nil},
		{domain.RunCreated, server, nil},
	} {
		back, err := domain.Run{ID: 7, Status: c.status, FinishedAt: end}.GoesOn(jobs, c.kinds)
		same := len(back) == len(c.back)
		for i := range back {
			same = same && back[i].ID == c.back[i]
		}
		if refused := domain.CodeOf(err) == domain.CodeConflict; !same || refused != (c.back == nil) || !refused && err != nil {
			t.Errorf("%s with %v: %+v, %v, want %v", c.status, c.kinds, back, err, c.back)
		}
	}
}

func TestReopenCounts(t *testing.T) {
	c := domain.RunCounts{Known: 9, Succeeded: 4, Failed: 3, Canceled: 2, Calls: 11}
	c.Reopen([]domain.Job{
		{Status: domain.JobFailed, JobSpec: domain.JobSpec{Expected: 5}},
		{Status: domain.JobFailed},
		{Status: domain.JobCanceled, JobSpec: domain.JobSpec{Expected: 1}},
	})
	if want := (domain.RunCounts{Known: 13, Pending: 3, Succeeded: 4, Failed: 1, Canceled: 1, Calls: 11}); c != want {
		t.Errorf("got %+v, want %+v", c, want)
	}
}
