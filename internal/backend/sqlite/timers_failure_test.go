package sqlite_test

import (
	"fmt"
	"testing"

	"sluice/internal/backend/sqlite"
	"sluice/internal/domain"
	"sluice/internal/timer"
)

// TestTimersClosedDatabaseIsUnavailable: every call says so.
func TestTimersClosedDatabaseIsUnavailable(t *testing.T) {
	t.Parallel()
	db := openIn(t, t.TempDir())
	s := sqlite.NewTimers(db)
	if err := db.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
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
	_, errs["prune"] = s.Prune(ctx, start, 1)
	_, errs["completions"] = s.Completions(ctx, start, "", 1)
	_, errs["stats"] = s.Stats(ctx, start)
	for name, err := range errs {
		if domain.CodeOf(err) != domain.CodeUnavailable {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTimersFullDiskKeepsWholeCalls: a Put that does not fit leaves nothing behind,
// and what was stored before is there.
func TestTimersFullDiskKeepsWholeCalls(t *testing.T) {
	t.Parallel()
	db := open(t, sqlite.Options{Dir: t.TempDir(), Holder: "a test", MaxPages: 200})
	s, stored := sqlite.NewTimers(db), 0
	for round := 0; ; round++ {
		specs := make([]timer.Spec, 100)
		for i := range specs {
			specs[i] = timer.Spec{ID: fmt.Sprintf("%d-%d", round, i), At: start, Payload: make([]byte, 500)}
		}
		_, err := s.Put(t.Context(), specs, start)
		if err != nil {
			if domain.CodeOf(err) != domain.CodeUnavailable {
				t.Errorf("a full disk: %v", err)
			}
			break
		}
		stored += len(specs)
	}
	timers, err := s.Timers(t.Context(), timer.Query{Limit: 1 << 20})
	if err != nil || len(timers) != stored || stored == 0 {
		t.Errorf("%d timers of %d: %v", len(timers), stored, err)
	}
}
