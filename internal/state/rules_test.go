package state_test

import (
	"slices"
	"testing"

	"sluice/internal/domain"
	"sluice/internal/state"
)

func TestStatesOfRequests(t *testing.T) {
	for name, c := range map[string]struct{ got, want []domain.JobStatus }{
		"waiting":    {state.Waiting(), []domain.JobStatus{domain.JobReady}},
		"claimable":  {state.Claimable(), []domain.JobStatus{domain.JobReady, domain.JobRunning}},
		"unfinished": {state.Unfinished(), []domain.JobStatus{domain.JobReady, domain.JobRunning, domain.JobPaused}},
		"droppable":  {state.Droppable(), []domain.JobStatus{domain.JobReady, domain.JobPaused}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
}

func TestClaimWins(t *testing.T) {
	held := state.Held{Status: domain.JobReady, Attempt: 3, Version: 7}
	for name, c := range map[string]struct {
		claim state.Claim
		held  *state.Held
		wins  bool
	}{
		"as it was seen":     {state.Claim{Attempt: 3, Account: 7}, &held, true},
		"any account":        {state.Claim{Attempt: 3}, &held, true},
		"another attempt":    {state.Claim{Attempt: 2}, &held, false},
		"another credential": {state.Claim{Attempt: 3, Account: 6}, &held, false},
		"no job":             {state.Claim{Attempt: 3}, nil, false},
		"a worker vanished":  {state.Claim{Attempt: 3}, &state.Held{Status: domain.JobRunning, Attempt: 3}, true},
		"paused":             {state.Claim{Attempt: 3}, &state.Held{Status: domain.JobPaused, Attempt: 3}, false},
		"ended":              {state.Claim{Attempt: 3}, &state.Held{Status: domain.JobSucceeded, Attempt: 3}, false},
	} {
		if got := c.claim.Wins(c.held); got != c.wins {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestOutcomeIsJudged(t *testing.T) {
	for name, c := range map[string]struct {
		to       domain.JobStatus
		held     *state.Held
		repeated bool
		code     domain.Code
	}{
		"its own":           {domain.JobSucceeded, &state.Held{Status: domain.JobRunning, Attempt: 1}, false, ""},
		"no job":            {domain.JobSucceeded, nil, false, domain.CodeNotFound},
		"another's":         {domain.JobSucceeded, &state.Held{Status: domain.JobRunning, Attempt: 2}, false, domain.CodeStale},
		"applied before":    {domain.JobSucceeded, &state.Held{Status: domain.JobSucceeded, Attempt: 1}, true, ""},
		"canceled meantime": {domain.JobSucceeded, &state.Held{Status: domain.JobCanceled, Attempt: 1}, false, domain.CodeStale},
	} {
		o := state.Outcome{Job: 5, Attempt: 1, To: c.to}
		repeated, err := o.Judge(c.held)
		if repeated != c.repeated || domain.CodeOf(err) != c.code && (err != nil || c.code != "") {
			t.Errorf("%s: %t, %v", name, repeated, err)
		}
	}
	for to := domain.JobReady; to <= domain.JobCanceled; to++ {
		o := state.Outcome{To: to}
		ends := slices.Contains([]domain.JobStatus{domain.JobReady, domain.JobPaused, domain.JobSucceeded, domain.JobFailed}, to)
		if err := o.Check(); (err == nil) != ends {
			t.Errorf("an outcome that leaves a job %s: %v", to, err)
		}
	}
}

func TestJobsComeBack(t *testing.T) {
	failed, canceled := domain.Job{Status: domain.JobFailed}, domain.Job{Status: domain.JobCanceled}
	for account, want := range map[domain.AccountState]domain.JobStatus{
		domain.AccountActive: domain.JobReady, domain.AccountPaused: domain.JobPaused,
	} {
		if got, err := state.Return([]domain.Job{failed, canceled}, account); err != nil || got != want {
			t.Errorf("%s: %s, %v", account, got, err)
		}
	}
	if _, err := state.Return([]domain.Job{{Status: domain.JobSucceeded}}, domain.AccountActive); domain.CodeOf(err) != domain.CodeIllegalMove {
		t.Errorf("a job that succeeded comes back: %v", err)
	}
	for name, c := range map[string]struct {
		job  domain.JobStatus
		run  domain.RunStatus
		code domain.Code
	}{
		"failed":          {domain.JobFailed, domain.RunCompleted, ""},
		"being completed": {domain.JobFailed, domain.RunFinalizing, domain.CodeConflict},
		"not failed":      {domain.JobCanceled, domain.RunFailed, domain.CodeIllegalMove},
	} {
		err := state.Retry(&domain.Job{Status: c.job}, &domain.Run{Status: c.run})
		if (err == nil) != (c.code == "") || err != nil && domain.CodeOf(err) != c.code {
			t.Errorf("%s: %v", name, err)
		}
	}
}
