package relational_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/state"
	"sluice/internal/testkit"
)

// TestProcessesShareManyRuns: groups of several processes change many runs at
// once, and all of them in the same order, so that none waits for one that waits
// for it.
func TestProcessesShareManyRuns(t *testing.T) {
	t.Parallel()
	eachServer(t, testProcessesShareManyRuns)
}

func testProcessesShareManyRuns(t *testing.T, on server) {
	url := on.bare(t) // deadlocks are counted by database
	stores := []*opened{mustOpenState(t, url), mustOpenState(t, url), mustOpenState(t, url)}
	const runs = 30
	var refs []domain.JobRef
	for i := range runs {
		refs = append(refs, planned(t, stores[0].State, fmt.Sprint("user-", i), testkit.Effort(30, 150))...)
	}
	for _, s := range stores[1:] {
		if _, err := s.Load(t.Context(), ids(refs)); err != nil {
			t.Fatalf("load: %v", err)
		}
	}
	if on.name == "postgres" {
		// It now knows that the tables are small.
		for _, table := range []string{"run", "job", "account"} {
			if _, err := stores[0].db.Exec(t.Context(), "ANALYZE "+table); err != nil {
				t.Fatalf("analyze: %v", err)
			}
		}
	}
	rand.Shuffle(len(refs), func(i, k int) { refs[i], refs[k] = refs[k], refs[i] })
	var all sync.WaitGroup
	for i, part := range slices.Collect(slices.Chunk(refs, len(refs)/60)) {
		all.Go(func() {
			for _, ref := range part {
				if err := finishOne(t, stores[i%len(stores)], ref); err != nil {
					t.Errorf("job %d: %v", ref.ID, err)
				}
			}
		})
	}
	all.Wait()
	for id := range int64(runs) {
		wantSound(t, stores[0].State, id+1)
	}
	if on.name == "postgres" {
		n := 0
		err := stores[0].db.Query(t.Context(), func(r *sql.Rows) error { return r.Scan(&n) }, "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
		if err != nil || n != 0 {
			t.Errorf("%d deadlocks (%v)", n, err)
		}
	}
}

// finishOne claims a job and finishes it with another that follows.
func finishOne(t *testing.T, s *opened, ref domain.JobRef) error {
	t.Helper()
	if err := s.Claim(t.Context(), state.Claim{Job: ref.ID, At: time.Now()}); err != nil {
		return err
	}
	o := success(ref, 1)
	o.Next = []domain.JobSpec{{Type: "NEXT", Resource: fmt.Sprint(ref.ID), Bucket: "core", Class: domain.ClassChild}}
	_, err := s.Finish(t.Context(), o)
	return err
}
