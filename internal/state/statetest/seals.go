package statetest

import (
	"fmt"

	"sluice/internal/state"
)

var sealCases = []testCase{
	{"CredentialsAreSealedAnew", resealed},
	{"ARenewedCredentialIsNotSealedAnew", renewedMeanwhile},
	{"WhatWasPurgedIsNotSealedAnew", purgedIsNotSealed},
}

func (x *fixture) seals() state.Seals {
	x.Helper()
	seals, ok := x.Store.(state.Seals)
	if !ok {
		x.Fatalf("%T cannot renew what seals credentials", x.Store)
	}
	return seals
}

func resealed(x *fixture) {
	seals := x.seals()
	var ids []int64
	for i := range 5 {
		ids = append(ids, x.account(fmt.Sprint("login-", i)).ID)
	}
	first, err := seals.SealedOtherwise(x.Context(), "key-2", 0, 2)
	x.ok(err)
	want(x, "the first page", first, []state.SealedAccount{
		{Account: ids[0], Source: "github", Login: "login-0", Credential: state.Sealed{KeyID: "key-1", Data: []byte("sealed login-0")}},
		{Account: ids[1], Source: "github", Login: "login-1", Credential: state.Sealed{KeyID: "key-1", Data: []byte("sealed login-1")}},
	})
	fresh := state.Sealed{KeyID: "key-2", Data: []byte{0, 255, 1}}
	changes := []state.Resealed{{Account: ids[0], Old: first[0].Credential, New: fresh}, {Account: ids[1], Old: first[1].Credential, New: fresh}}
	n, err := seals.Reseal(x.Context(), changes)
	x.ok(err)
	want(x, "sealed anew", n, 2)
	// A repetition finds nothing to do.
	n, err = seals.Reseal(x.Context(), changes)
	x.ok(err)
	want(x, "sealed anew again", n, 0)
	got, err := x.Credential(x.Context(), ids[1])
	x.ok(err)
	want(x, "credential", got, fresh)
	rest, err := seals.SealedOtherwise(x.Context(), "key-2", ids[2], 10)
	x.ok(err)
	want(x, "what is left above the third", len(rest), 2)
	none, err := seals.SealedOtherwise(x.Context(), "key-1", ids[1], 10)
	x.ok(err)
	want(x, "what the first key did not seal", len(none), 0)
	// Who was purged has nothing that is sealed.
	x.ok(x.BeginPurge(x.Context(), ids[4]))
	_, err = x.EndPurge(x.Context(), ids[4])
	x.ok(err)
	rest, err = seals.SealedOtherwise(x.Context(), "key-9", 0, 10)
	x.ok(err)
	want(x, "what is sealed without the purged one", len(rest), 4)
	n, err = seals.Reseal(x.Context(), nil)
	x.ok(err)
	want(x, "of nothing", n, 0)
}

func renewedMeanwhile(x *fixture) {
	seals := x.seals()
	a := x.account("octocat")
	found, err := seals.SealedOtherwise(x.Context(), "key-9", 0, 10)
	x.ok(err)
	renewed := state.Sealed{KeyID: "key-1", Data: []byte("another token")}
	_, err = x.PutAccount(x.Context(), state.AccountSpec{Source: "github", Login: "octocat", Name: "owner of octocat", Credential: renewed})
	x.ok(err)
	n, err := seals.Reseal(x.Context(), []state.Resealed{{Account: a.ID, Old: found[0].Credential, New: state.Sealed{KeyID: "key-9", Data: []byte("old token")}}})
	x.ok(err)
	want(x, "sealed anew", n, 0)
	got, err := x.Credential(x.Context(), a.ID)
	x.ok(err)
	want(x, "credential", got, renewed)
}

func purgedIsNotSealed(x *fixture) {
	gone, stays := x.account("octocat"), x.account("hubot")
	x.purge(gone.ID, 100)
	found, err := x.seals().SealedOtherwise(x.Context(), "key-9", 0, 10)
	x.ok(err)
	want(x, "what is to be sealed anew", found, []state.SealedAccount{
		{Account: stays.ID, Source: "github", Login: "hubot", Credential: state.Sealed{KeyID: "key-1", Data: []byte("sealed hubot")}},
	})
}
