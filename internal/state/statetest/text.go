package statetest

import (
	"context"
	"errors"
	"time"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/state"
)

var textCases = []testCase{
	{"StringsAreKeptAsTheyAre", stringsKept},
	{"TimesKeepMicroseconds", timesKept},
	{"CanceledContexts", canceledContexts},
	{"CancelingUnderWayHarmsNobody", cancelUnderWay},
}

// awkward are strings that break what is pasted together.
var awkward = []string{
	`'; DROP TABLE job; --`, `"quoted"`, `back\slash`, "Ω≈ç√ 한국어 🚰", "line\nbreak\ttab", `{"json":[1,"2"]}`, "?,?1,:a,@b,$c", "  spaces  ", "%_like",
}

func stringsKept(x *fixture) {
	for _, s := range awkward {
		a := x.account(s)
		want(x, "login", a.Login, s)
		got, err := x.AccountByLogin(x.Context(), "github", s)
		x.ok(err)
		want(x, "account", got, a)
		r := x.created(a.ID)
		sp := domain.JobSpec{Type: s, Resource: s, PageKey: s, Bucket: s, Class: domain.ClassChild, Params: []byte(s)}
		refs, err := x.PlanRun(x.Context(), r.ID, []domain.JobSpec{sp})
		x.ok(err)
		j := x.claim(refs[0].ID)
		want(x, "spec", j.JobSpec, stored(sp, r.Priority))
		o := x.outcome(j, domain.JobReady)
		o.Failure = &domain.Failure{Kind: domain.FailureServer, Message: s}
		o.Cursors = []domain.Cursor{{AccountID: a.ID, Resource: s, At: o.At}}
		o.Stored = []domain.Page{{AccountID: a.ID, Key: s, ETag: s, Next: s}}
		x.finish(o)
		want(x, "error", x.job(j.ID).Error, s)
		at, err := x.cursor(a.ID, s)
		x.ok(err)
		want(x, "cursor", at, o.At)
		p, _, err := x.StoredPage(x.Context(), a.ID, s)
		x.ok(err)
		want(x, "page", p, o.Stored[0])
		ended, err := x.CancelRun(x.Context(), r.ID, s)
		x.ok(err)
		want(x, "reason", ended.Reason, s)
	}
}

func timesKept(x *fixture) {
	a := x.account("octocat")
	zone := time.FixedZone("elsewhere", 9*3600)
	for _, at := range []time.Time{
		{},
		time.Date(2026, 2, 3, 4, 5, 6, 123456000, zone),
		time.Date(1969, 12, 31, 23, 59, 59, 999999000, time.UTC),
		time.Date(9999, 1, 1, 0, 0, 0, 1000, time.UTC),
	} {
		r, err := x.CreateRun(x.Context(), state.RunSpec{AccountID: a.ID, Trigger: domain.TriggerManual, Priority: domain.PriorityLow, Anchor: at})
		x.ok(err)
		got := x.run(r.ID)
		if !got.Anchor.Equal(at) || got.Anchor.IsZero() != at.IsZero() || got.Anchor.Location() != time.UTC {
			x.Errorf("anchor %v came back as %v", at, got.Anchor)
		}
		_, err = x.CancelRun(x.Context(), r.ID, "")
		x.ok(err)
	}
}

func canceledContexts(x *fixture) {
	r, refs := x.running("octocat", "a")
	before := x.run(r.ID)
	ctx, cancel := context.WithCancel(x.Context())
	cancel()
	calls := map[string]func() error{
		"PutAccount": func() error {
			_, err := x.PutAccount(ctx, state.AccountSpec{Source: "github", Login: "ghost"})
			return err
		},
		"Claim": func() error { return x.Claim(ctx, state.Claim{Job: refs[0].ID}) },
		"Finish": func() error {
			_, err := x.Finish(ctx, state.Outcome{Job: refs[0].ID, To: domain.JobFailed})
			return err
		},
		"CancelRun": func() error { _, err := x.CancelRun(ctx, r.ID, ""); return err },
		"Run":       func() error { _, err := x.Run(ctx, r.ID); return err },
		"Waiting":   func() error { return x.Waiting(ctx, func(domain.JobRef) error { return nil }) },
		"Check":     func() error { return x.Check(ctx) },
	}
	for name, call := range calls {
		for range 20 {
			if err := call(); !errors.Is(err, context.Canceled) {
				x.Fatalf("%s with a canceled context: %v", name, err)
			}
		}
	}
	want(x, "run", x.run(r.ID), before)
	want(x, "waiting", x.waitingIDs(), refIDs(refs))
	_, err := x.AccountByLogin(x.Context(), "github", "ghost")
	x.wantCode(err, domain.CodeNotFound)
}

// cancelUnderWay has callers that give up at any moment among callers that
// do not. The latter must not notice.
func cancelUnderWay(x *fixture) {
	r, refs := x.running("octocat", resources(crowd)...)
	hurry := x.account("hurry")
	at := x.instant()
	together(crowd, func(i int) {
		ctx, cancel := context.WithCancel(x.Context())
		if i%2 == 1 {
			go cancel()
			run, err := x.CreateRun(ctx, state.RunSpec{AccountID: hurry.ID, Trigger: domain.TriggerManual, Priority: domain.PriorityLow})
			if err == nil && run.ID == 0 {
				x.Errorf("no run and no error")
			}
		}
		defer cancel()
		j, err := x.take(state.Claim{Job: refs[i].ID, At: at})
		if err != nil {
			x.Errorf("claim: %v", err)
			return
		}
		o := x.outcomeAt(j, domain.JobSucceeded, at)
		o.Documents = []document.Document{doc(r.AccountID, j.Resource, at)}
		if _, err := x.Finish(x.Context(), o); err != nil {
			x.Errorf("finish: %v", err)
		}
	})
	want(x, "succeeded", x.wantCounts(r.ID).Succeeded, int64(crowd))
	runs, err := x.Runs(x.Context(), state.RunQuery{AccountID: hurry.ID})
	x.ok(err)
	if len(runs) > 1 {
		x.Errorf("%d active runs", len(runs))
	}
}
