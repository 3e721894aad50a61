package engine

import (
	"context"
	"strconv"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/state"
)

// anyRuns has another name than its method Runs.
type anyRuns interface{ state.Runs }

// manyRuns is a store of runs of any number, whose accounts have many cursors.
type manyRuns struct {
	anyRuns
	state.Collection
	cursors map[string]time.Time
}

func (m manyRuns) Run(_ context.Context, id int64) (domain.Run, error) {
	return domain.Run{ID: id, AccountID: id}, nil
}

func (m manyRuns) Cursors(context.Context, int64) (map[string]time.Time, error) {
	return m.cursors, nil
}

// TestWhatIsRememberedOfRunsIsBounded: however many runs there are whose end nobody
// here hears of, and however many cursors their accounts have.
func TestWhatIsRememberedOfRunsIsBounded(t *testing.T) {
	for _, cursors := range []int{0, 2000, 2 * runCacheSize} {
		store := manyRuns{cursors: make(map[string]time.Time, cursors)}
		for i := range cursors {
			store.cursors[strconv.Itoa(i)] = time.Unix(1, 0)
		}
		c := newRunCache(store, store, nil)
		runs := int64(3*runCacheSize/(cursors+1)) + 3
		if cursors == 0 {
			runs = runCacheSize + 10
		}
		largest := 0
		for id := range runs {
			if _, err := c.get(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			held := 0
			if id%10_000 == 0 || runs < 1000 {
				for _, r := range c.byID {
					held += r.size()
				}
				if held != c.size {
					t.Fatalf("after %d runs it counts %d and holds %d", id+1, c.size, held)
				}
			}
			largest = max(largest, c.size)
		}
		// One that is larger than all there is room for is held alone.
		if most := max(runCacheSize, cursors+1); largest > most {
			t.Errorf("with %d cursors each it held %d, want at most %d", cursors, largest, most)
		}
		for id := range runs {
			c.forget(id)
		}
		if c.size != 0 || len(c.byID) != 0 {
			t.Errorf("what is over is still held: %d", c.size)
		}
	}
}
