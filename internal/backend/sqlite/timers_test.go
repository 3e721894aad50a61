package sqlite_test

import (
	"testing"

	"sluice/internal/backend/sqlite"
	"sluice/internal/timer/timertest"
)

func timersInstance(t *testing.T, dir string) *timertest.StoreInstance {
	db := openIn(t, dir)
	return &timertest.StoreInstance{
		Store: sqlite.NewTimers(db),
		Reopen: func(t *testing.T) *timertest.StoreInstance {
			if err := db.Close(); err != nil {
				t.Fatalf("close: %v", err)
			}
			return timersInstance(t, dir)
		},
	}
}

func TestTimersConformance(t *testing.T) {
	suites.after(t)
	timertest.RunStore(t, timertest.StoreFactory{
		New: func(t *testing.T) *timertest.StoreInstance { return timersInstance(t, t.TempDir()) },
	})
}
