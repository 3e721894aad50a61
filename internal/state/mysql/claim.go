package mysql

import (
	"context"
	"slices"

	"sluice/internal/domain"
	"sluice/internal/state"
)

// claimItem is one Claim on its way to the server.
type claimItem struct {
	claim state.Claim
	won   bool
	err   error
}

// Claim implements state.Jobs.
func (s *Store) Claim(ctx context.Context, claim state.Claim) error {
	item := &claimItem{claim: claim}
	if err := s.calls.Do(ctx, &call{claim: item}); err != nil {
		return err
	}
	if item.err == nil && !item.won {
		return domain.Errorf(domain.CodeStale, "job %d is not what it was at attempt %d", claim.Job, claim.Attempt)
	}
	return item.err
}

// claimable are the states in which a job can be claimed.
var claimable = []domain.JobStatus{domain.JobReady, domain.JobEnqueued, domain.JobRunning}

// checkClaim decides whether a claim wins: of two of one job the first does,
// and whoever had the job finds that it is another's.
func (g *group) checkClaim(item *claimItem, f *fence) {
	item.won, item.err = false, nil
	c := &item.claim
	if f == nil || f.attempt != c.Attempt || !slices.Contains(claimable, f.status) || (c.Account != 0 && c.Account != f.version) {
		return
	}
	item.won = true
	f.attempt++
	f.status = domain.JobRunning
	g.won = append(g.won, item)
	g.delta(f.run).calls++
}

// claim begins the attempts of the claims that won.
func (g *group) claim(ctx context.Context) error {
	ids := make([]int64, len(g.won))
	for i, item := range g.won {
		ids[i] = item.claim.Job
	}
	// Assignments are made from left to right: lost sees the old status.
	return updateJobs(ctx, g.tx, ids, "attempt = attempt + 1, lost = lost + (status = ?), status = ?",
		int64(domain.JobRunning), int64(domain.JobRunning))
}
