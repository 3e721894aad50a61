package relational_test

import (
	"testing"

	"sluice/internal/backend/relational"
	"sluice/internal/timer/timertest"
)

func timersInstance(t *testing.T, url string) *timertest.StoreInstance {
	db := open(t, url)
	return &timertest.StoreInstance{
		Store: relational.NewTimers(db),
		Reopen: func(t *testing.T) *timertest.StoreInstance {
			if err := db.Close(); err != nil {
				t.Fatalf("close: %v", err)
			}
			return timersInstance(t, url)
		},
	}
}

func TestTimersConformance(t *testing.T) {
	t.Parallel()
	eachServer(t, testTimersConformance)
}

func testTimersConformance(t *testing.T, on server) {
	on.after(t)
	timertest.RunStore(t, timertest.StoreFactory{
		New: func(t *testing.T) *timertest.StoreInstance { return timersInstance(t, on.fresh(t)) },
	})
}
