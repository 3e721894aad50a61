package notifytest

import (
	"slices"
	"strings"
	"time"

	"sluice/internal/domain"
	"sluice/internal/notify"
	"sluice/internal/refresh"
	"sluice/internal/state"
	"sluice/internal/timer"
	"sluice/internal/webhook"
)

// happened: an account is paused, a run fails, another ends with a job that
// failed, one ends well, a refresh is given up, and so is the delivery of a timer.
func (f *fixture) happened() {
	began := time.Now().Add(-time.Second)
	ada, bob := f.account("ada"), f.account("bob")
	if _, err := f.State.SetAccountState(f.Context(), ada.ID, domain.AccountPaused, "the token is refused"); err != nil {
		f.Fatal(err)
	}
	failed := f.run(bob)
	if _, err := f.State.FailRun(f.Context(), failed, "there is no such user"); err != nil {
		f.Fatal(err)
	}
	incomplete := f.ended(bob, domain.JobFailed)
	f.ended(bob, domain.JobSucceeded)
	err := f.Letters.AddDeadLetters(f.Context(), []refresh.DeadLetter{{
		ID: "letter", Event: refresh.Event{Entity: refresh.Entity{Source: "maplestory", Key: "basic:x"}}, Why: "OPENAPI00003", FailedAt: time.Now(),
	}})
	if err != nil {
		f.Fatal(err)
	}
	f.undelivered("tea")
	events, err := f.Happened(f.Context(), began, 10)
	if err != nil {
		f.Fatal(err)
	}
	want := []struct {
		kind  notify.Kind
		login string
		run   int64
		says  string
	}{
		{notify.AccountPaused, "ada", 0, "the token is refused"},
		{notify.RunFailed, "bob", failed, "there is no such user"},
		{notify.RunIncomplete, "bob", incomplete, "1 of its"},
		{notify.DeadLetters, "", 0, "basic:x: OPENAPI00003"},
		{notify.DeadLetters, "", 0, "timer tea was not delivered: the receiver is gone"},
	}
	if len(events) != len(want) {
		f.Fatalf("%d events: %+v", len(events), events)
	}
	keys := map[string]bool{}
	for i, w := range want {
		e := events[i]
		keys[e.Key] = true
		if e.Kind != w.kind || e.Login != w.login || e.Run != w.run || !strings.Contains(e.Text, w.says) || e.At.Before(began) {
			f.Errorf("event %d is %+v, want %+v", i, e, w)
		}
	}
	if len(keys) != len(want) {
		f.Errorf("the keys are %v", keys)
	}
	if again, err := f.Happened(f.Context(), began, 10); err != nil || len(again) != len(events) || again[0].Key != events[0].Key {
		f.Errorf("a second look finds %+v, %v", again, err)
	}
	if later, err := f.Happened(f.Context(), time.Now().Add(time.Hour), 10); err != nil || len(later) != 0 {
		f.Errorf("later there are %+v, %v", later, err)
	}
	if few, err := f.Happened(f.Context(), began, 1); err != nil || len(few) != 4 {
		f.Errorf("one of each table are %+v, %v", few, err)
	}
	if _, err := f.State.SetAccountState(f.Context(), ada.ID, domain.AccountActive, ""); err != nil {
		f.Fatal(err)
	}
	if _, err := f.State.SetAccountState(f.Context(), ada.ID, domain.AccountPaused, "the token is refused"); err != nil {
		f.Fatal(err)
	}
	again, err := f.Happened(f.Context(), began, 10)
	if err != nil || len(again) == 0 || again[0].Key == events[0].Key {
		f.Errorf("an account that is paused again is %+v, %v", again, err)
	}
}

// undelivered is a timer that fired an hour ago and whose delivery was given up
// now; another was given up and is being delivered again.
func (f *fixture) undelivered(id string) {
	f.Helper()
	now := time.Now()
	fired := now.Add(-time.Hour)
	again := id + "-again"
	_, err := f.Timers.Put(f.Context(), []timer.Spec{{ID: id, At: fired, Webhook: "https://example.com/"}, {ID: again, At: fired, Webhook: "https://example.com/"}}, fired)
	if err == nil {
		_, err = f.Timers.Fire(f.Context(), timer.Firing{IDs: []string{id, again}, Now: fired, Server: "here", Grace: time.Minute})
	}
	if err == nil {
		err = f.Timers.Settle(f.Context(), []timer.Settlement{
			{ID: id, To: timer.Dead, Tries: 1, Error: "the receiver is gone", At: now}, {ID: again, To: timer.Dead, Tries: 1, Error: "no answer", At: now},
		})
	}
	if err == nil {
		_, err = f.Timers.Redeliver(f.Context(), again, now)
	}
	if err != nil {
		f.Fatal(err)
	}
}

// counted: what waits and what was given up, by target; what was sent is not.
func (f *fixture) counted() {
	if none, err := f.Counts(f.Context()); err != nil || len(none) != 0 {
		f.Errorf("of nothing there are %+v, %v", none, err)
	}
	r := f.recording(start, paused("a"), notify.OpenedBreaker("store", start), notify.OpenedBreaker("redis", start))
	r.Targets = append(r.Targets, notify.Wanted{Target: "chat", Every: time.Minute, Wants: func(k notify.Kind) bool { return k == notify.BreakerOpen }})
	if _, err := f.Record(f.Context(), r); err != nil {
		f.Fatal(err)
	}
	at := start.Add(time.Minute)
	for _, m := range f.due(at) {
		switch {
		case m.Target == "chat":
			f.settle(f.claim(m, at), at, webhook.Result{Error: "gone", Permanent: true})
		case m.Kind == notify.AccountPaused:
			f.settle(f.claim(m, at), at, webhook.Result{OK: true})
		}
	}
	counts, err := f.Counts(f.Context())
	slices.SortFunc(counts, func(a, b notify.Count) int { return strings.Compare(a.Target, b.Target) })
	if want := []notify.Count{{Target: "chat", State: notify.Dead, N: 1}, {Target: "ops", State: notify.Waiting, N: 1}}; err != nil || !slices.Equal(counts, want) {
		f.Errorf("counted are %+v, %v, want %+v", counts, err, want)
	}
}

func (f *fixture) account(login string) domain.Account {
	f.Helper()
	a, err := f.State.PutAccount(f.Context(), state.AccountSpec{Source: "github", Login: login, Name: login, Credential: state.Sealed{KeyID: "k", Data: []byte("x")}})
	if err != nil {
		f.Fatal(err)
	}
	return a
}

func (f *fixture) run(a domain.Account) int64 {
	f.Helper()
	run, err := f.State.CreateRun(f.Context(), state.RunSpec{AccountID: a.ID, Trigger: domain.TriggerManual, Priority: domain.PriorityHigh, Anchor: time.Now()})
	if err != nil {
		f.Fatal(err)
	}
	return run.ID
}

// ended is a run with one job, which ended so.
func (f *fixture) ended(a domain.Account, as domain.JobStatus) int64 {
	f.Helper()
	id := f.run(a)
	refs, err := f.State.PlanRun(f.Context(), id, []domain.JobSpec{{Type: "ROOT", Resource: "user", Bucket: "core", Expected: 1}})
	if err != nil || len(refs) != 1 {
		f.Fatalf("plan: %+v, %v", refs, err)
	}
	if err := f.State.Claim(f.Context(), state.Claim{Job: refs[0].ID, At: time.Now()}); err != nil {
		f.Fatal(err)
	}
	o := state.Outcome{Job: refs[0].ID, Attempt: 1, At: time.Now(), To: as}
	if as == domain.JobFailed {
		o.Failure = &domain.Failure{Kind: domain.FailureNotFound, Message: "not found"}
	}
	if _, err := f.State.Finish(f.Context(), o); err != nil {
		f.Fatal(err)
	}
	if _, err := f.State.CompleteRun(f.Context(), id, []byte("{}")); err != nil {
		f.Fatal(err)
	}
	return id
}
