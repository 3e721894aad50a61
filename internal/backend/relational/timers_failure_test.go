package relational_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/internal/backend/relational"
	"sluice/internal/domain"
	"sluice/internal/timer"
)

// TestCulpritAloneFails: a timer that the server refuses does not harm those
// that share its transaction.
func TestCulpritAloneFails(t *testing.T) {
	t.Parallel()
	eachServer(t, testCulpritAloneFails)
}

func testCulpritAloneFails(t *testing.T, on server) {
	s := relational.NewTimers(open(t, on.fresh(t)))
	const n = 100
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			spec := timer.Spec{ID: fmt.Sprintf("t-%03d", i), At: start}
			code := domain.Code("")
			if i%20 == 0 {
				spec.ID, code = strings.Repeat("x", 300), domain.CodeInvalid
			}
			stored, err := s.Put(t.Context(), []timer.Spec{spec}, start)
			if domain.CodeOf(err) != code || err == nil && (len(stored) != 1 || !stored[0].New) {
				t.Errorf("timer %d: %+v, %v; want code %q", i, stored, err, code)
			}
		})
	}
	all.Wait()
	timers, err := s.Timers(t.Context(), timer.Query{Limit: n})
	if err != nil || len(timers) != n-n/20 {
		t.Errorf("%d timers: %v", len(timers), err)
	}
}

// TestTimersServerThatIsGone: everything says that it may be tried again, and can be
// when the server is back.
func TestTimersServerThatIsGone(t *testing.T) {
	t.Parallel()
	eachServer(t, testTimersServerThatIsGone)
}

func testTimersServerThatIsGone(t *testing.T, on server) {
	server := on.start(t)
	s := relational.NewTimers(open(t, server.URL()))
	specs := []timer.Spec{{ID: "a", At: start}}
	if _, err := s.Put(t.Context(), specs, start); err != nil {
		t.Fatalf("put: %v", err)
	}
	server.Kill()
	for name, err := range everyTimersCall(t, s) {
		if domain.CodeOf(err) != domain.CodeUnavailable {
			t.Errorf("%s without a server: %v", name, err)
		}
	}
	server.Start()
	stored, err := s.Put(t.Context(), specs, start)
	if err != nil || stored[0].New {
		t.Errorf("put again: %+v, %v", stored, err)
	}
	fired, err := s.Fire(t.Context(), timer.Firing{IDs: []string{"a"}, Now: start})
	if err != nil || len(fired) != 1 || !fired[0].New {
		t.Errorf("fire: %+v, %v", fired, err)
	}
}

// everyCall makes every call and returns the errors.
func everyTimersCall(t *testing.T, s timer.Store) map[string]error {
	t.Helper()
	ctx, errs := t.Context(), map[string]error{}
	_, errs["put"] = s.Put(ctx, []timer.Spec{{ID: "a", At: start}}, start)
	_, errs["timer"] = s.Timer(ctx, "a")
	_, errs["timers"] = s.Timers(ctx, timer.Query{})
	_, errs["cancel"] = s.Cancel(ctx, "a")
	_, errs["reschedule"] = s.Reschedule(ctx, "a", start, start)
	_, errs["fire"] = s.Fire(ctx, timer.Firing{IDs: []string{"a"}, Now: start})
	errs["settle"] = s.Settle(ctx, []timer.Settlement{{ID: "a", To: timer.Completed, Tries: 1}})
	_, errs["redeliver"] = s.Redeliver(ctx, "a", start)
	errs["open"] = s.Open(ctx, func(timer.Due) error { return nil })
	_, errs["overdue"] = s.Overdue(ctx, start, 1)
	_, errs["prune"] = s.Prune(ctx, start.Add(time.Hour), 1)
	_, errs["completions"] = s.Completions(ctx, start, "", 1)
	_, errs["stats"] = s.Stats(ctx, start)
	return errs
}
