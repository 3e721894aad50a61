package statetest

import (
	"errors"

	"sluice/internal/domain"
)

var harvestCases = []testCase{
	{"Schedules", schedules},
	{"PlanHarvest", planHarvest},
	{"HarvestAfterALaterRunStays", laterHarvestStays},
	{"ConcurrentHarvestsTheLatestWins", concurrentHarvests},
	{"HarvestsByAccount", harvestsByAccount},
	{"HarvestsSurviveARestart", harvestsAfterRestart},
}

func schedules(x *fixture) {
	a, b := x.account("octocat"), x.account("hubot")
	read := func(account int64) []byte {
		x.Helper()
		s, err := x.Schedule(x.Context(), account)
		x.ok(err)
		return s
	}
	want(x, "schedule that never was", read(a.ID) == nil, true)
	for _, s := range []string{`{"every":"1h"}`, "\x00\xff'; --", "x"} {
		x.ok(x.SetSchedule(x.Context(), a.ID, []byte(s)))
		x.ok(x.SetSchedule(x.Context(), a.ID, []byte(s)))
		want(x, "schedule", string(read(a.ID)), s)
	}
	want(x, "schedule of another account", read(b.ID) == nil, true)
	got, err := x.Account(x.Context(), a.ID)
	x.ok(err)
	want(x, "account", got, a)
	x.account("octocat")
	want(x, "schedule after a new credential", string(read(a.ID)), "x")
	for range 2 {
		x.ok(x.SetSchedule(x.Context(), a.ID, nil))
		want(x, "removed schedule", read(a.ID) == nil, true)
	}
	x.ok(x.SetSchedule(x.Context(), b.ID, []byte("y")))
	x.ok(x.SetSchedule(x.Context(), b.ID, []byte{}))
	want(x, "schedule made empty", read(b.ID) == nil, true)
	x.wantCode(x.SetSchedule(x.Context(), b.ID+1, []byte("y")), domain.CodeNotFound)
	_, err = x.Schedule(x.Context(), b.ID+1)
	x.wantCode(err, domain.CodeNotFound)
}

// harvest returns an account's planned harvest, zero if there is none.
func (x *fixture) harvest(account int64) domain.Harvest {
	x.Helper()
	h, found, err := x.Harvest(x.Context(), account)
	x.ok(err)
	want(x, "found", found, h != domain.Harvest{})
	return h
}

func planHarvest(x *fixture) {
	a, b := x.account("octocat"), x.account("hubot")
	want(x, "harvest that never was", x.harvest(a.ID), domain.Harvest{})
	full := domain.Harvest{
		AccountID: a.ID, After: 7, At: x.instant(), Priority: domain.PriorityHigh, Resume: 6, Tries: 3, Reason: `it's "failed" — 한국어 🚰`,
	}
	for range 2 {
		x.ok(x.PlanHarvest(x.Context(), full))
		want(x, "harvest", x.harvest(a.ID), full)
	}
	want(x, "harvest of another account", x.harvest(b.ID), domain.Harvest{})
	blank := domain.Harvest{AccountID: a.ID, After: 7, At: x.instant(), Priority: domain.PriorityLow}
	x.ok(x.PlanHarvest(x.Context(), blank))
	want(x, "another harvest after the same run", x.harvest(a.ID), blank)
	for range 2 {
		x.ok(x.DropHarvest(x.Context(), a.ID))
		want(x, "dropped harvest", x.harvest(a.ID), domain.Harvest{})
	}
	early := domain.Harvest{AccountID: a.ID, At: x.instant(), Priority: domain.PriorityLow}
	x.ok(x.PlanHarvest(x.Context(), early))
	want(x, "harvest after one was dropped", x.harvest(a.ID), early)
	x.wantCode(x.PlanHarvest(x.Context(), domain.Harvest{AccountID: b.ID + 1, At: x.instant()}), domain.CodeNotFound)
	want(x, "harvest of an unknown account", x.harvest(b.ID+1), domain.Harvest{})
	x.ok(x.DropHarvest(x.Context(), b.ID+1))
}

func laterHarvestStays(x *fixture) {
	a := x.account("octocat")
	plan := func(after int64) domain.Harvest {
		h := domain.Harvest{
			AccountID: a.ID, After: after, At: x.instant(), Priority: domain.PriorityHigh, Resume: after, Tries: int(after), Reason: "run " + string(rune('0'+after)),
		}
		if after == 2 {
			h.Priority = domain.PriorityLow
		}
		x.ok(x.PlanHarvest(x.Context(), h))
		return h
	}
	plan(1)
	second := plan(2)
	want(x, "harvest after a later run", x.harvest(a.ID), second)
	plan(1)
	want(x, "harvest after an earlier run came late", x.harvest(a.ID), second)
	plan(0)
	want(x, "harvest after no run came late", x.harvest(a.ID), second)
	third := plan(3)
	want(x, "harvest", x.harvest(a.ID), third)
}

func concurrentHarvests(x *fixture) {
	a := x.account("octocat")
	at := x.instant()
	errs := make([]error, crowd)
	together(crowd, func(i int) {
		errs[i] = x.PlanHarvest(x.Context(), domain.Harvest{AccountID: a.ID, After: int64(i), At: at, Priority: domain.PriorityLow, Tries: i})
	})
	for _, err := range errs {
		x.ok(err)
	}
	h := x.harvest(a.ID)
	want(x, "harvest", [2]int{int(h.After), h.Tries}, [2]int{crowd - 1, crowd - 1})
}

func harvestsByAccount(x *fixture) {
	list := func() (all []domain.Harvest) {
		x.ok(x.Harvests(x.Context(), func(h domain.Harvest) error {
			all = append(all, h)
			return nil
		}))
		return all
	}
	want(x, "harvests of an empty store", len(list()), 0)
	accounts := []domain.Account{x.account("a"), x.account("b"), x.account("c")}
	var planned []domain.Harvest
	for i, a := range accounts {
		planned = append(planned, domain.Harvest{AccountID: a.ID, At: x.instant(), Priority: domain.PriorityLow, Tries: i})
	}
	for _, i := range []int{2, 0, 1} {
		x.ok(x.PlanHarvest(x.Context(), planned[i]))
	}
	want(x, "harvests", list(), planned)
	x.ok(x.DropHarvest(x.Context(), accounts[1].ID))
	want(x, "harvests", list(), []domain.Harvest{planned[0], planned[2]})
	enough, calls := errors.New("enough"), 0
	err := x.Harvests(x.Context(), func(domain.Harvest) error { calls++; return enough })
	if !errors.Is(err, enough) || calls != 1 {
		x.Errorf("a caller that had enough was called %d times and told %v", calls, err)
	}
	x.ok(x.Harvests(x.Context(), func(h domain.Harvest) error { return x.DropHarvest(x.Context(), h.AccountID) }))
	want(x, "harvests after each dropped itself", len(list()), 0)
}

func harvestsAfterRestart(x *fixture) {
	a := x.account("octocat")
	h := domain.Harvest{AccountID: a.ID, After: 1, At: x.instant(), Priority: domain.PriorityHigh, Resume: 1, Tries: 2, Reason: "why"}
	x.ok(x.PlanHarvest(x.Context(), h))
	x.ok(x.SetSchedule(x.Context(), a.ID, []byte("daily")))
	x = x.on(x.Reopen(x.t))
	want(x, "harvest", x.harvest(a.ID), h)
	s, err := x.Schedule(x.Context(), a.ID)
	x.ok(err)
	want(x, "schedule", string(s), "daily")
}
