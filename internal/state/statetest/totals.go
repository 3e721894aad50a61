package statetest

import (
	"sluice/internal/domain"
	"sluice/internal/state"
)

var totalCases = []testCase{{"Total", total}}

// total counts accounts in every state, and runs that have and have not ended.
func total(x *fixture) {
	got, err := x.Total(x.Context())
	x.ok(err)
	want(x, "the total of nothing", got, state.NewTotal())

	running, _ := x.running("octocat", "a", "b", "c")
	_, last := x.running("hubot", "a")
	x.succeed(last[0].ID) // finalizing
	ended, _ := x.running("ended", "a")
	_, err = x.CancelRun(x.Context(), ended.ID, "test")
	x.ok(err)
	paused := x.account("paused")
	_, err = x.SetAccountState(x.Context(), paused.ID, domain.AccountPaused, "test")
	x.ok(err)
	got, err = x.Total(x.Context())
	x.ok(err)
	expected := state.NewTotal()
	expected.Accounts[domain.AccountActive], expected.Accounts[domain.AccountPaused] = 3, 1
	expected.Active[domain.RunRunning], expected.Active[domain.RunFinalizing] = 1, 1
	expected.Pending = 3
	want(x, "the total", got, expected)

	_, err = x.CancelRun(x.Context(), running.ID, "test")
	x.ok(err)
	_, err = x.SetAccountState(x.Context(), paused.ID, domain.AccountActive, "")
	x.ok(err)
	got, err = x.Total(x.Context())
	x.ok(err)
	delete(expected.Active, domain.RunRunning)
	delete(expected.Accounts, domain.AccountPaused)
	expected.Accounts[domain.AccountActive], expected.Pending = 4, 0
	want(x, "the total later", got, expected)
}
