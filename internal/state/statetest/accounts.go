package statetest

import (
	"strings"

	"sluice/internal/domain"
	"sluice/internal/state"
)

var accountCases = []testCase{
	{"PutAccountCreates", putAccountCreates},
	{"PutAccountAgainReplacesAndActivates", putAccountAgain},
	{"LoginsIgnoreCase", loginsIgnoreCase},
	{"SourcesAreApart", sourcesAreApart},
	{"ConcurrentSignupsMakeOneAccount", concurrentSignups},
	{"UnknownAccounts", unknownAccounts},
	{"AccountStates", accountStates},
	{"WhatTheOwnerKeeps", reserveForOwner},
	{"OneOwnerForOneCredential", oneOwner},
	{"WhatAnAccountTurnsOutToBe", learnTarget},
}

func learnTarget(x *fixture) {
	r, refs := x.running("octocat", "a", "b")
	other, err := x.PutAccount(x.Context(), state.AccountSpec{Source: "github", Login: "hubot", Name: "owner of octocat"})
	x.ok(err)
	target := func(id int64) domain.Target {
		a, err := x.Account(x.Context(), id)
		x.ok(err)
		return a.Target
	}
	want(x, "target before anything is known", target(r.AccountID), "")
	for i, learnt := range []domain.Target{domain.TargetUser, domain.TargetOrganization} {
		o := x.outcome(x.claim(refs[i].ID), domain.JobSucceeded)
		o.Target = learnt
		x.finish(o)
		want(x, "target", target(r.AccountID), learnt)
	}
	want(x, "target of another account", target(other.ID), "")
}

func oneOwner(x *fixture) {
	r, refs := x.running("octocat", "a")
	put := func(login, name string) domain.Account {
		a, err := x.PutAccount(x.Context(), state.AccountSpec{Source: "github", Login: login, Name: name})
		x.ok(err)
		return a
	}
	shared := put("hubot", "owner of octocat")
	other := put("mona", "another")
	o := x.outcome(x.claim(refs[0].ID), domain.JobSucceeded)
	o.Owner = "user 42"
	x.finish(o)
	owner := func(id int64) string {
		a, err := x.Account(x.Context(), id)
		x.ok(err)
		return a.Owner
	}
	want(x, "owners", [3]string{owner(r.AccountID), owner(shared.ID), owner(other.ID)}, [3]string{"user 42", "user 42", "another"})
	want(x, "owner after the same credential came again", put("octocat", "owner of octocat").Owner, "user 42")
	want(x, "owner of a new account with it", put("new", "owner of octocat").Owner, "user 42")
	want(x, "owner of a new credential", put("octocat", "fresh").Owner, "fresh")
}

func reserveForOwner(x *fixture) {
	a := x.account("octocat")
	hours, err := domain.ParseHours("22:00-06:00 Asia/Seoul")
	x.ok(err)
	got, err := x.ReserveForOwner(x.Context(), a.ID, 700, hours)
	x.ok(err)
	want(x, "what is kept", [2]any{got.Floor, got.Hours}, [2]any{700, hours})
	stored, err := x.Account(x.Context(), a.ID)
	x.ok(err)
	want(x, "stored account", stored, got)
	x.account("octocat")
	again, err := x.Account(x.Context(), a.ID)
	x.ok(err)
	want(x, "what is kept after a new credential", [2]any{again.Floor, again.Hours}, [2]any{700, hours})
	_, err = x.ReserveForOwner(x.Context(), 1<<40, 1, hours)
	x.wantCode(err, domain.CodeNotFound)
}

func putAccountCreates(x *fixture) {
	a := x.account("octocat")
	if a.ID == 0 || a.Version == 0 || a.CreatedAt.IsZero() || a.UpdatedAt.IsZero() {
		x.Fatalf("incomplete: %+v", a)
	}
	want(x, "account", a, domain.Account{
		ID: a.ID, Source: "github", Login: "octocat", State: domain.AccountActive, Owner: "owner of octocat",
		CreatedAt: a.CreatedAt, UpdatedAt: a.UpdatedAt, Version: a.Version,
	})
	got, err := x.Account(x.Context(), a.ID)
	x.ok(err)
	want(x, "by id", got, a)
	sealed, err := x.Credential(x.Context(), a.ID)
	x.ok(err)
	want(x, "credential", sealed, state.Sealed{KeyID: "key-1", Data: []byte("sealed octocat")})
	b := x.account("hubot")
	all, err := x.Accounts(x.Context())
	x.ok(err)
	want(x, "all accounts", all, []domain.Account{a, b})
}

func putAccountAgain(x *fixture) {
	a := x.account("octocat")
	_, err := x.SetAccountState(x.Context(), a.ID, domain.AccountPaused, "the token expired")
	x.ok(err)
	again, err := x.PutAccount(x.Context(), state.AccountSpec{
		Source: "github", Login: "octocat", Name: "someone else",
		Credential: state.Sealed{KeyID: "key-2", Data: []byte{0, 1, 2, 255}},
	})
	x.ok(err)
	want(x, "id", again.ID, a.ID)
	want(x, "state", again.State, domain.AccountActive)
	want(x, "reason", again.Reason, "")
	want(x, "owner", again.Owner, "someone else")
	want(x, "creation", again.CreatedAt, a.CreatedAt)
	sealed, err := x.Credential(x.Context(), a.ID)
	x.ok(err)
	want(x, "credential", sealed, state.Sealed{KeyID: "key-2", Data: []byte{0, 1, 2, 255}})
	all, err := x.Accounts(x.Context())
	x.ok(err)
	want(x, "number of accounts", len(all), 1)
}

func loginsIgnoreCase(x *fixture) {
	a := x.account("OctoCat")
	for _, login := range []string{"octocat", "OCTOCAT", "OctoCat"} {
		got, err := x.AccountByLogin(x.Context(), "github", login)
		x.ok(err)
		want(x, login, got, a)
	}
	want(x, "second signup", x.account("oCTOcAT").ID, a.ID)
}

func sourcesAreApart(x *fixture) {
	a := x.account("octocat")
	b, err := x.PutAccount(x.Context(), state.AccountSpec{Source: "gitlab", Login: "octocat", Name: "o"})
	x.ok(err)
	if a.ID == b.ID {
		x.Fatalf("two sources share account %d", a.ID)
	}
	sealed, err := x.Credential(x.Context(), b.ID)
	x.ok(err)
	want(x, "length of no credential", len(sealed.Data), 0)
}

func concurrentSignups(x *fixture) {
	ids := make([]int64, crowd)
	errs := make([]error, crowd)
	together(crowd, func(i int) {
		a, err := x.PutAccount(x.Context(), state.AccountSpec{Source: "github", Login: "octocat", Name: "o"})
		ids[i], errs[i] = a.ID, err
	})
	for i := range ids {
		x.ok(errs[i])
		want(x, "id", ids[i], ids[0])
	}
}

func unknownAccounts(x *fixture) {
	known := x.account("octocat")
	_, err := x.Account(x.Context(), known.ID+1)
	x.wantCode(err, domain.CodeNotFound)
	_, err = x.AccountByLogin(x.Context(), "github", "octocatt")
	x.wantCode(err, domain.CodeNotFound)
	if !strings.Contains(err.Error(), "octocatt") {
		x.Errorf("the error does not say who is unknown: %v", err)
	}
	_, err = x.AccountByLogin(x.Context(), "gitlab", "octocat")
	x.wantCode(err, domain.CodeNotFound)
	_, err = x.Credential(x.Context(), known.ID+1)
	x.wantCode(err, domain.CodeNotFound)
	_, err = x.SetAccountState(x.Context(), known.ID+1, domain.AccountPaused, "")
	x.wantCode(err, domain.CodeNotFound)
	_, err = x.CreateRun(x.Context(), state.RunSpec{AccountID: known.ID + 1, Trigger: domain.TriggerManual, Priority: domain.PriorityLow})
	x.wantCode(err, domain.CodeNotFound)
}

func accountStates(x *fixture) {
	a := x.account("octocat")
	for _, s := range []domain.AccountState{domain.AccountPaused, domain.AccountDeleted, domain.AccountActive} {
		_, err := x.SetAccountState(x.Context(), a.ID, s, "because "+string(s))
		x.ok(err)
		got, err := x.Account(x.Context(), a.ID)
		x.ok(err)
		want(x, "state", got.State, s)
		want(x, "reason", got.Reason, "because "+string(s))
	}
}
