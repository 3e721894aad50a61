package relational

import (
	"context"

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
func (s *State) Claim(ctx context.Context, claim state.Claim) error {
	item := &claimItem{claim: claim}
	if err := s.do(ctx, &call{claim: item}); err != nil {
		return err
	}
	if item.err != nil || item.won {
		return item.err
	}
	return claim.Lost()
}

// checkClaim decides whether a claim wins: of two of one job the first does,
// and whoever had the job finds that it is another's.
func (g *group) checkClaim(item *claimItem, f *state.Held) {
	item.won, item.err = false, nil
	if !item.claim.Wins(f) {
		return
	}
	item.won = true
	f.Attempt++
	f.Status = domain.JobRunning
	g.won = append(g.won, item)
	g.Begin(f.Run, &item.claim)
}

// claim begins the attempts of the claims that won.
func (g *group) claim(ctx context.Context) error {
	ids := make([]int64, len(g.won))
	for i, item := range g.won {
		ids[i] = item.claim.Job
	}
	// Assignments are made from left to right: lost sees the old status.
	return updateJobs(ctx, g.tx, ids, "attempt = attempt + 1, lost = lost + CASE WHEN status = ? THEN 1 ELSE 0 END, status = ?, started_at = ?",
		int64(domain.JobRunning), int64(domain.JobRunning), g.began())
}

// began is when the attempts of a group begin: they are claimed together.
func (g *group) began() int64 {
	at := int64(0)
	for _, item := range g.won {
		at = max(at, Micros(item.claim.At))
	}
	return at
}
