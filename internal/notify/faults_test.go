package notify_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/internal/backend/sqlite"
	"sluice/internal/notify"
	"sluice/internal/testkit/faulty"
	"sluice/internal/webhook"
)

// faultyWorld is a world whose store fails by plan.
func faultyWorld(t *testing.T, all notify.Targets) (*world, *faulty.Plan, *[]notify.Outcome) {
	t.Helper()
	w, plan, became := &world{T: t, now: time.Now()}, faulty.NewPlan(), &[]notify.Outcome{}
	db, err := sqlite.Open(t.Context(), sqlite.Options{Dir: t.TempDir(), Holder: "a test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if w.state, err = sqlite.NewState(t.Context(), db, nil, w.clock); err != nil {
		t.Fatal(err)
	}
	w.Service, err = notify.New(notify.Options{
		Store: faulty.NewNotifications(sqlite.NewNotifications(db), plan), Targets: all, Now: w.clock,
		Attempted: func(_ string, outcome notify.Outcome) { *became = append(*became, outcome) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	w.Look()
	w.round()
	return w, plan, became
}

// until does rounds, those that fail included, until nothing is left to be done.
func (w *world) until(done func() bool) {
	w.Helper()
	for range 20 {
		// What failed is looked for again, as Run has it.
		if _, err := w.Round(w.Context()); err != nil {
			w.Look()
		} else if done() {
			return
		}
		w.pass(time.Minute)
	}
	w.Fatal("it is never done")
}

// TestLostAnswersOfTheStore loses the answer to each call of the store, or the call
// itself, while an account is paused, told and handed in again: the receiver hears
// of it once. Only where it could not be noted that a message was sent does it come
// again, under the same id.
func TestLostAnswersOfTheStore(t *testing.T) {
	for _, method := range []string{"Happened", "Mark", "Record", "Due", "Claim", "Settle"} {
		for name, fail := range map[string]func(*faulty.Plan, string, int){"before": (*faulty.Plan).FailBefore, "after": (*faulty.Plan).FailAfter} {
			t.Run(method+" "+name, func(t *testing.T) {
				t.Parallel()
				r := startReceiver(t)
				w, plan, became := faultyWorld(t, webhookTarget(t, r.URL))
				fail(plan, method, 1)
				w.pauses("ada")
				w.Happened(notify.OpenedBreaker("store", w.clock()))
				w.until(func() bool { return len(w.list(notify.Query{State: notify.Sent})) == 2 })
				if plan.Unmet() != 0 {
					t.Fatal("the fault was not met")
				}
				w.pass(time.Hour)
				w.Look()
				w.until(func() bool { return true })
				checkArrivals(t, r.arrivals(), method == "Settle" && name == "before")
				if !slices.Contains(*became, notify.OutcomeSent) || slices.Contains(*became, notify.OutcomeFailed) {
					t.Errorf("the attempts became %v", *became)
				}
			})
		}
	}
}

// checkArrivals demands that the pause and the breaker came once each; or that one
// of them came twice as the same message.
func checkArrivals(t *testing.T, came []arrival, twice bool) {
	t.Helper()
	ids, told := map[string]int{}, map[string]int{}
	for _, a := range came {
		ids[a.header.Get(webhook.HeaderID)]++
		for _, kind := range []string{"sluice.account_paused", "sluice.breaker_open"} {
			if strings.Contains(string(a.body), `"type":"`+kind+`"`) {
				told[kind]++
			}
		}
	}
	want := 2
	if twice {
		want = 3
	}
	if len(came) != want || len(ids) != 2 || len(told) != 2 {
		t.Errorf("%d came, want %d: ids %v, kinds %v", len(came), want, ids, told)
	}
}

// TestCounts: what waits and what was given up is counted by the type of target,
// one that is not set any more included; nobody to tell costs nothing.
func TestCounts(t *testing.T) {
	r := startReceiver(t)
	all := append(webhookTarget(t, r.URL), targets(t, "[{name: chat, type: slack, url: '@"+secretFile(t, r.URL)+"', allow_private: true, kinds: [run_failed]}]")...)
	w, plan, became := faultyWorld(t, all)
	r.answer(410)
	w.pauses("ada")
	w.until(func() bool { return len(w.list(notify.Query{State: notify.Dead})) == 1 })
	w.pauses("bob")
	w.round()
	counts, err := w.Count(t.Context())
	want := map[notify.Counted]int64{
		{Type: notify.TypeWebhook, State: notify.Dead}: 1, {Type: notify.TypeWebhook, State: notify.Waiting}: 1,
		{Type: notify.TypeSlack, State: notify.Dead}: 0, {Type: notify.TypeSlack, State: notify.Waiting}: 0,
	}
	if err != nil || len(counts) != len(want) {
		t.Fatalf("got %v, %v", counts, err)
	}
	for of, n := range want {
		if counts[of] != n {
			t.Errorf("%+v: %d, want %d", of, counts[of], n)
		}
	}
	if !slices.Equal(*became, []notify.Outcome{notify.OutcomeGivenUp}) {
		t.Errorf("the attempts became %v", *became)
	}
	quiet, err := notify.New(notify.Options{Store: faulty.NewNotifications(nil, plan)})
	if err != nil {
		t.Fatal(err)
	}
	if none, err := quiet.Count(context.Background()); len(none) != 0 || err != nil || plan.Calls("Counts") != 1 {
		t.Errorf("nobody to tell: %v, %v, asked %d times", none, err, plan.Calls("Counts"))
	}
}
