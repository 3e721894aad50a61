package relational

import (
	"context"

	"sluice/internal/state"
)

// QuickGroups counts the groups that were applied without a look at their jobs.
func (s *State) QuickGroups() uint64 { return s.quick.Load() }

// Answers are those to a group of calls.
type Answers struct {
	Claims  []bool
	Effects []state.Effect
	Errors  []error
}

// Together applies claims and outcomes as one group.
func (s *State) Together(ctx context.Context, claims []state.Claim, outcomes []state.Outcome) (Answers, error) {
	var calls []*call
	for _, c := range claims {
		calls = append(calls, &call{claim: &claimItem{claim: c}})
	}
	for _, o := range outcomes {
		calls = append(calls, &call{finish: &finishItem{Attempt: &state.Attempt{Outcome: o}}})
	}
	err := s.apply(ctx, calls)
	var a Answers
	for _, c := range calls {
		if c.claim != nil {
			a.Claims = append(a.Claims, c.claim.won && c.claim.err == nil)
			continue
		}
		a.Effects, a.Errors = append(a.Effects, c.finish.Effect), append(a.Errors, c.finish.Err)
	}
	return a, err
}
