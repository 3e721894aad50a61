package engine

import (
	"context"
	"maps"
	"slices"
	"time"

	"sluice/internal/backoff"
	"sluice/internal/dispatch"
	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/engine/forecast"
	"sluice/internal/quota"
	"sluice/internal/source"
	"sluice/internal/state"
)

// dryRunner finds out what collections would take.
type dryRunner struct {
	*core
	permits *permits
}

// DryRun is what the next collection of an account would take.
type DryRun struct {
	Login string `json:"login"`
	// Repositories is how many things were found that have something of their own
	// to collect, changed or not.
	Repositories int `json:"repositories_found"`
	// Calls is what the whole collection takes, those of the dry run included.
	Calls int64 `json:"calls"`
	// Jobs are these calls by what they are for, those that find out what there is
	// apart.
	Jobs     []JobPrice `json:"jobs,omitempty"`
	Forecast *Forecast  `json:"forecast,omitempty"`
	// Wait is set when the ration did not allow to find out everything.
	Wait *LaneWait `json:"wait,omitempty"`
	// Failure is why the collection would fail; Refused is set if that is because
	// the credential is not accepted.
	Failure string `json:"failure,omitempty"`
	Refused bool   `json:"refused,omitempty"`
}

// JobPrice is how many calls jobs of one type take.
type JobPrice struct {
	Type  string `json:"type"`
	Calls int64  `json:"calls"`
}

const (
	// dryRunPatience is how long a dry run waits for its ration without a word.
	dryRunPatience = 2 * time.Second
	// dryRunReserve is how long before its deadline a dry run ends with an estimate.
	dryRunReserve = 5 * time.Second
)

// DryRun finds out, with discovery alone, what a collection would take. Its calls
// are reserved and counted as those of all runs are; nothing else is stored.
func (dr *dryRunner) DryRun(ctx context.Context, s Signup) (DryRun, error) {
	src, err := dr.source(s.Source)
	if err != nil {
		return DryRun{}, err
	}
	if err := src.CheckLogin(s.Login); err != nil {
		return DryRun{}, err
	}
	a, err := dr.dryRunAccount(ctx, src, s)
	if err != nil {
		return DryRun{}, err
	}
	if src, err = dr.sourceOf(a); err != nil {
		return DryRun{}, err
	}
	t := &trialRun{dryRunner: dr, source: src, account: a, began: dr.cfg.Now(), seen: map[string]bool{}, found: map[document.Key]bool{}, buckets: map[string]*state.Outlook{}, prices: map[string]int64{}}
	t.run.Run = domain.Run{AccountID: a.ID, Source: s.Source, Login: s.Login, Trigger: domain.TriggerManual, Priority: domain.PriorityLow,
		Status: domain.RunRunning, Anchor: t.began}
	if a.ID != 0 {
		if t.run.cursors, err = dr.State.Cursors.Cursors(ctx, a.ID); err != nil {
			return DryRun{}, err
		}
	}
	roots, err := src.Plan(t.run.Run)
	if err != nil {
		return DryRun{}, err
	}
	t.addJobs(roots)
	for len(t.discoveries) > 0 && t.Wait == nil && t.Failure == "" && !outOfTime(ctx) {
		next := t.discoveries[0]
		t.discoveries = t.discoveries[1:]
		if err := t.discover(ctx, next); err != nil {
			return DryRun{}, err
		}
	}
	return t.estimate(ctx)
}

// outOfTime tells whether there is no time left for another call.
func outOfTime(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ok && time.Until(deadline) < dryRunReserve
}

// dryRunAccount is the account of a login with the credential that was given, or with
// its own. One that is not stored draws on the ration of whoever has the same
// credential.
func (dr *dryRunner) dryRunAccount(ctx context.Context, src source.Source, s Signup) (account, error) {
	stored, err := dr.State.Accounts.AccountByLogin(ctx, s.Source, s.Login)
	a := account{Account: stored}
	switch {
	case err == nil:
		if a, err = dr.accounts.get(ctx, stored.ID); err != nil || s.Set == nil && (s.Token == "" || s.Token == a.token) {
			return a, err
		}
		if s.Set == nil {
			s.Set = a.set
		}
	case domain.CodeOf(err) != domain.CodeNotFound:
		return a, err
	case orPublic(src, s.Token) == "":
		return a, domain.Errorf(domain.CodeInvalid, "account %s needs a token", s.Login)
	}
	if checker, ok := src.(source.CredentialChecker); ok {
		if s.Token, err = checker.CheckCredential(s.Token); err != nil {
			return a, err
		}
	}
	if of, ok := src.(source.Bound); ok {
		if src, err = of.With(s.Set); err != nil {
			return a, err
		}
	}
	s.Token = orPublic(src, s.Token)
	plain, name, err := dr.bind(src, s)
	if err != nil {
		return a, err
	}
	bound, err := parseBinding(plain)
	if err != nil {
		return a, err
	}
	a.Source, a.Login, a.token, a.to, a.set, a.Owner = s.Source, s.Login, s.Token, bound.To, bound.Set, dr.Vault.Name(name)
	others, err := dr.accounts.active(ctx)
	if err != nil {
		return a, err
	}
	for _, other := range others {
		if other.Source == s.Source && other.token == s.Token && other.to == a.to {
			a.Owner, a.Floor, a.Hours = other.Owner, other.Floor, other.Hours
		}
	}
	return a, nil
}

// trialRun is a dry run under way.
type trialRun struct {
	DryRun
	*dryRunner
	source  source.Source
	run     runInfo
	account account
	began   time.Time
	// discoveries are the jobs that find out what there is.
	discoveries []domain.JobSpec
	seen        map[string]bool
	found       map[document.Key]bool
	buckets     map[string]*state.Outlook
	prices      map[string]int64
}

func (t *trialRun) bucket(name string) *state.Outlook {
	if t.buckets[name] == nil {
		t.buckets[name] = &state.Outlook{Bucket: name}
	}
	return t.buckets[name]
}

// addJobs takes in jobs, each once: those that find more are to be made, the others
// are counted.
func (t *trialRun) addJobs(specs []domain.JobSpec) {
	for _, s := range specs {
		key := s.Type + "\x00" + s.Resource + "\x00" + s.PageKey
		if t.seen[key] {
			continue
		}
		t.seen[key] = true
		if s.Class == domain.ClassChild {
			t.bucket(s.Bucket).Left += int64(s.Calls())
			t.prices[s.Type] += int64(s.Calls())
			continue
		}
		t.discoveries = append(t.discoveries, s)
	}
}

// discover makes one call and learns what it leads to. Faults that may pass are
// tried again as a run would.
func (t *trialRun) discover(ctx context.Context, spec domain.JobSpec) error {
	for failures := 0; ; failures++ {
		permit, err := t.reserve(ctx, spec)
		if err != nil || t.Wait != nil {
			t.discoveries = append([]domain.JobSpec{spec}, t.discoveries...)
			return err
		}
		call := t.buildCall(ctx, t.run, domain.Job{JobSpec: spec, AccountID: t.account.ID, Status: domain.JobRunning})
		// Nobody is to wait for what is not done.
		call.Shared = nil
		call.Token = t.account.token
		t.counters.Calls.Add(1)
		r := t.source.Call(ctx, call)
		t.countCall(ctx, permit, r)
		switch r.Verdict {
		case source.Done:
			t.learn(spec, r)
			return nil
		case source.Wait:
			continue // the keeper knows for how long
		case source.Retry:
			if failures+1 < t.cfg.MaxAttempts && !outOfTime(ctx) && backoff.Sleep(ctx, t.cfg.backoff(failures)) {
				continue
			}
		}
		t.Failure, t.Refused = r.Failure.Message, r.Verdict == source.PauseAccount
		return nil
	}
}

func (t *trialRun) learn(spec domain.JobSpec, r source.Result) {
	t.bucket(spec.Bucket).Done++
	containers := t.source.Describe().Kinds.Containers()
	for _, d := range r.Documents {
		if slices.Contains(containers, d.Kind) {
			t.found[d.Key] = true
		}
	}
	t.addJobs(r.Next)
}

// reserve asks for a call. If it has to be waited for, Wait says until when.
func (t *trialRun) reserve(ctx context.Context, spec domain.JobSpec) (quota.Permit, error) {
	for patience := t.cfg.Now().Add(dryRunPatience); ; {
		asked := t.cfg.Now()
		d, err := t.permits.reserveFrom(ctx, t.source, spec, domain.PriorityHigh, t.account)
		if err != nil {
			return quota.Permit{}, err
		}
		if d.Granted {
			if !olderThan(staleGrant, asked, t.cfg.Now()) {
				return d.Permit, nil
			}
			t.permits.refund(ctx, d.Permit)
			continue
		}
		if d.RetryAt.After(patience) || !backoff.Sleep(ctx, d.RetryAt.Sub(t.cfg.Now())) {
			t.Wait = &LaneWait{Lane: dispatch.Lane(t.account.Owner, spec.Bucket), Wait: Wait{Reason: string(d.Reason), Until: d.RetryAt}}
			return quota.Permit{}, ctx.Err()
		}
	}
}

// countCall counts a call that was made, for the owner that the answer names.
func (t *trialRun) countCall(ctx context.Context, p quota.Permit, r source.Result) {
	ctx = context.WithoutCancel(ctx)
	r.Quota.RetryAfter = max(r.Quota.RetryAfter, ownerBackoff(r))
	r.Quota.Succeeded = r.Verdict == source.Done
	t.permits.endPermit(ctx, p, r.Quota, r.Free)
	if owner := t.Vault.Name(t.account.Source + ":" + r.Owner); r.Owner != "" && owner != t.account.Owner {
		ask := p.Ask
		ask.Owner, t.account.Owner = owner, owner
		t.permits.endPermit(ctx, quota.Permit{Ask: ask, GrantedAt: p.GrantedAt}, r.Quota, r.Free)
	}
}

// estimate sums up. What was not walked to its end is estimated.
func (t *trialRun) estimate(ctx context.Context) (DryRun, error) {
	for _, s := range t.discoveries {
		b := t.bucket(s.Bucket)
		b.Left += int64(s.Calls())
		b.Discovering++
	}
	windows, err := t.Quota.Windows(ctx, t.account.Owner)
	if err != nil {
		return DryRun{}, err
	}
	var outlooks []state.Outlook
	made := int64(0)
	for _, bucket := range slices.Sorted(maps.Keys(t.buckets)) {
		o := *t.buckets[bucket]
		outlooks = append(outlooks, o)
		made += o.Done
		t.Calls += o.Done + o.Left
	}
	for _, typ := range slices.Sorted(maps.Keys(t.prices)) {
		t.Jobs = append(t.Jobs, JobPrice{typ, t.prices[typ]})
	}
	now, pace := t.cfg.Now(), 0.0
	if took := now.Sub(t.began).Seconds(); took > 0 {
		// Calls of a run are made by all workers, those of a dry run one by one.
		pace = float64(made) / took * float64(t.cfg.Workers)
	}
	f := forecast.Of(forecast.Load{
		Outlooks: outlooks, Windows: windows, Length: t.windowLength(t.account.Owner), PerSecond: pace, Now: now,
	})
	t.Login, t.Repositories, t.Forecast = t.run.Login, len(t.found), &f
	return t.DryRun, nil
}
