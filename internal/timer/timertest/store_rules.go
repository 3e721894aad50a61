package timertest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"sluice/internal/testkit"
	"sluice/internal/timer"
)

// checkRules makes random calls and compares what comes of them with the rules
// beside the port: a store that decides in its own language decides the same.
func checkRules(x *fixture) {
	dice := rand.New(rand.NewPCG(testkit.Seed(x.t), 2))
	rows, ids := map[string]*timer.Timer{}, []string{}
	now := start
	for i := range 20 {
		s := spec(fmt.Sprint("ruled-", i))
		s.At = now.Add(time.Duration(dice.IntN(40)) * time.Second)
		if dice.IntN(2) == 0 {
			s.Webhook = "https://example.org/"
		}
		t := timer.NewTimer(s, start)
		rows[s.ID], ids = &t, append(ids, s.ID)
		x.put(s)
	}
	some := func() []string {
		dice.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		return slices.Clone(ids[:1+dice.IntN(6)])
	}
	// changed compares a change of one timer: both refuse it, or both make it.
	changed := func(what string, got timer.Timer, err, rule error, row *timer.Timer) {
		x.Helper()
		if (err == nil) != (rule == nil) {
			x.Fatalf("%s of %+v: %v, by the rule: %v", what, *row, err, rule)
		}
		if err == nil {
			want(x, what, got, *row)
		}
	}
	for range testkit.Effort(50, 500) {
		now = now.Add(time.Duration(dice.IntN(3000)) * time.Millisecond)
		row := rows[some()[0]]
		switch dice.IntN(6) {
		case 0, 1:
			f := timer.Firing{IDs: some(), Now: now, Server: "ruled", Deliver: dice.IntN(2) == 0, Grace: time.Second}
			for _, got := range x.fire(f) {
				fired := f.Fire(rows[got.ID])
				want(x, "fired", got, timer.FireResult{Timer: *rows[got.ID], New: fired})
			}
		case 2:
			var settled []timer.Settlement
			for _, id := range some() {
				s := timer.Settlement{ID: id, To: allStatuses[1+dice.IntN(3)], Next: now.Add(time.Second), Tries: dice.IntN(4), Error: "no"}
				s.Settle(rows[id])
				settled = append(settled, s)
			}
			x.settle(settled...)
		case 3:
			got, err := x.Cancel(x.Context(), row.ID)
			_, rule := row.Cancel()
			changed("cancel", got, err, rule, row)
		case 4:
			at := now.Add(time.Duration(dice.IntN(20)) * time.Second)
			got, err := x.Reschedule(x.Context(), row.ID, at, now)
			changed("reschedule", got, err, row.Reschedule(at, now), row)
		case 5:
			got, err := x.Redeliver(x.Context(), row.ID, now)
			changed("redeliver", got, err, row.Redeliver(now), row)
		}
		for _, t := range x.all() {
			want(x, "timer", t, *rows[t.ID])
		}
	}
}
