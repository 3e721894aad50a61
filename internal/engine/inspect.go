package engine

import (
	"context"
	"time"

	"sluice/internal/domain"
	"sluice/internal/source"
)

// inspectTime is how long somebody who gives a credential waits for the upstream's
// word on it.
const inspectTime = 10 * time.Second

// Inspect asks the upstream, with one call that is reserved and counted as all
// are, what a credential allows. One that is refused is an error of code invalid,
// and so is an account that the upstream does not have, unless it is stored here.
// If the upstream cannot be asked now, the answer says why.
func (dr *dryRunner) Inspect(ctx context.Context, s Signup) (source.Allowance, error) {
	src, err := dr.source(s.Source)
	if err != nil {
		return source.Allowance{}, err
	}
	if err := src.CheckLogin(s.Login); err != nil {
		return source.Allowance{}, err
	}
	inspector, ok := src.(source.Inspector)
	if !ok {
		return source.Allowance{Unchecked: s.Source + " does not tell what a credential allows"}, nil
	}
	if s.Token != "" {
		// The first to be sealed makes the key by which owners are named: the call is
		// counted for whom the account will have.
		if _, err := dr.Vault.Seal(s.Token, CredentialOwner(s.Source, s.Login)); err != nil {
			return source.Allowance{}, err
		}
	}
	a, err := dr.dryRunAccount(ctx, src, s)
	if err != nil {
		return source.Allowance{}, err
	}
	t := &trialRun{dryRunner: dr, source: src, account: a, began: dr.cfg.Now()}
	t.run.Run = domain.Run{AccountID: a.ID, Source: s.Source, Login: s.Login, Trigger: domain.TriggerManual, Priority: domain.PriorityHigh,
		Status: domain.RunRunning, Anchor: t.began}
	spec := inspector.Inspection(s.Login)
	permit, err := t.reserve(ctx, spec)
	if err != nil {
		return source.Allowance{}, err
	}
	if t.Wait != nil {
		return source.Allowance{Unchecked: "the ration is used up: " + t.Wait.Reason + " until " + t.Wait.Until.UTC().Format(time.RFC3339)}, nil
	}
	asking, cancel := context.WithTimeout(ctx, inspectTime)
	defer cancel()
	t.counters.Calls.Add(1)
	r, found := inspector.Inspect(asking, source.Call{
		Run: t.run.Run, Job: domain.Job{JobSpec: spec, AccountID: a.ID, Status: domain.JobRunning}, Token: a.token,
	})
	t.countCall(ctx, permit, r)
	return judge(r, found, a.ID != 0)
}

// Permit reserves a call that somebody else makes; what its answer means is to be told.
type Permit = func(context.Context, domain.JobSpec) (answered func(source.Result) error, err error)

// Trial lets somebody make a few calls to a source, with the credential that is given or
// that of an account: each is reserved and counted as those of runs are. Nothing is
// stored.
func (dr *dryRunner) Trial(ctx context.Context, s Signup, use func(src source.Source, token string, permit Permit) error) error {
	src, err := dr.source(s.Source)
	if err != nil {
		return err
	}
	if err := src.CheckLogin(s.Login); err != nil {
		return err
	}
	a, err := dr.dryRunAccount(ctx, src, s)
	if err != nil {
		return err
	}
	if src, err = dr.sourceOf(a); err != nil {
		return err
	}
	t := &trialRun{dryRunner: dr, source: src, account: a, began: dr.cfg.Now()}
	return use(src, a.token, func(ctx context.Context, spec domain.JobSpec) (func(source.Result) error, error) {
		permit, err := t.reserve(ctx, spec)
		if err != nil {
			return nil, err
		}
		if t.Wait != nil {
			return nil, domain.Errorf(domain.CodeUnavailable, "the ration is used up: %s until %s", t.Wait.Reason, t.Wait.Until.UTC().Format(time.RFC3339))
		}
		t.counters.Calls.Add(1)
		return func(r source.Result) error {
			t.countCall(ctx, permit, r)
			return nil
		}, nil
	})
}

// judge says what an inspection found.
func judge(r source.Result, found source.Allowance, known bool) (source.Allowance, error) {
	switch {
	case r.Verdict == source.Done:
	case r.Verdict == source.PauseAccount, r.Verdict == source.FailRun && !known:
		return source.Allowance{}, domain.Errorf(domain.CodeInvalid, "%s", r.Failure.Message)
	case r.Verdict == source.FailRun:
		found.Limits = append(found.Limits, r.Failure.Message)
	default:
		found = source.Allowance{Unchecked: r.Failure.Message}
	}
	return found, nil
}
