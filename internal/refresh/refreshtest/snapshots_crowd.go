package refreshtest

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"sluice/internal/refresh"
)

// crowd is how many goroutines the concurrent cases use.
const crowd = 32

var crowdCases = []testCase{
	{"LargestVersionWins", func(x *fixture) {
		const entities = 20
		var mu sync.Mutex
		var kept []refresh.Value
		together(crowd, func(i int) {
			var all []refresh.Refreshed
			for k := range entities {
				// Each in another order, and each with a version of its own.
				key := (k + i) % entities
				all = append(all, brought(keyOf(key), int64(1+(i*7+key)%crowd), after(time.Duration(i)*time.Second), fmt.Sprint("body ", i)))
			}
			saved, err := x.Save(x.Context(), all)
			if err != nil {
				x.Errorf("save: %v", err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			for k, s := range saved {
				if s == refresh.Stored {
					kept = append(kept, value(all[k]))
				}
			}
		})
		for k := range entities {
			got, _, _, err := x.Snapshot(x.Context(), entity(keyOf(k)))
			x.ok(err)
			want(x, "version", got.Version, crowd)
		}
		// Every value that was said to be stored is in the history, once.
		values, _ := x.listed(far, 100)
		order := func(a, b refresh.Value) int {
			return slices.Compare([]byte(fmt.Sprint(a.Key, a.Version, " ")), []byte(fmt.Sprint(b.Key, b.Version, " ")))
		}
		slices.SortFunc(values, order)
		slices.SortFunc(kept, order)
		want(x, "values", values, kept)
	}},
	{"SameRefreshByManyIsStoredOnce", func(x *fixture) {
		for round := range 5 {
			var stored, touched atomic.Int64
			together(crowd, func(int) {
				saved, err := x.Save(x.Context(), []refresh.Refreshed{brought(keyOf(round), 1, start, "1"), brought("shared", int64(round+1), start, fmt.Sprint(round))})
				if err != nil {
					x.Errorf("save: %v", err)
					return
				}
				for _, s := range saved {
					switch s {
					case refresh.Stored:
						stored.Add(1)
					case refresh.Touched:
						touched.Add(1)
					}
				}
			})
			want(x, "stored", stored.Load(), 2)
			want(x, "touched", touched.Load(), 2*crowd-2)
		}
	}},
	{"DueIsGivenToOne", func(x *fixture) {
		const entities = 400
		var all []refresh.Refreshed
		for i := range entities {
			all = append(all, brought(keyOf(i), 1, after(time.Duration(i)*time.Microsecond), "1"))
		}
		for part := range slices.Chunk(all, 100) {
			x.store(part...)
		}
		var mu sync.Mutex
		given := map[string]int{}
		together(8, func(int) {
			for empty := 0; empty < 3; {
				due, err := x.Due(x.Context(), refresh.DueQuery{Source: "shop", Now: far, Limit: 23})
				if err != nil {
					x.Errorf("due: %v", err)
					return
				}
				if len(due.Entities) == 0 {
					empty++
				}
				mu.Lock()
				for _, e := range due.Entities {
					given[e.Key]++
				}
				mu.Unlock()
			}
		})
		// Nobody holds a row any more: what is left was never given.
		for _, key := range x.due(far, entities) {
			given[key]++
		}
		want(x, "entities given", len(given), entities)
		for key, n := range given {
			if n != 1 {
				x.Errorf("%s was given %d times", key, n)
			}
		}
	}},
	{"NothingIsLostBetweenSavingAndArchiving", func(x *fixture) {
		const savers, rounds = 6, 30
		var saving sync.WaitGroup
		for i := range savers {
			saving.Go(func() {
				for r := range rounds {
					// All are of one instant, or come late: only the order in which they are stored tells them apart.
					at := start.Add(-time.Duration(r%3) * time.Second)
					_, err := x.Save(x.Context(), []refresh.Refreshed{
						brought(keyOf(i), int64(r+1), at, fmt.Sprint(i, " ", r)), brought("shared", int64(r*savers+i+1), at, fmt.Sprint(i, " ", r))})
					if err != nil {
						x.Errorf("save: %v", err)
					}
				}
			})
		}
		done := make(chan struct{})
		go func() { saving.Wait(); close(done) }()
		archived := map[string]int{}
		take := func() {
			values, last := x.listed(far, 7)
			for _, v := range values {
				archived[fmt.Sprint(v.Key, "/", v.Version)]++
			}
			if _, err := x.Forget(x.Context(), last); err != nil {
				x.Errorf("forget: %v", err)
			}
		}
		for ended := false; !ended; {
			select {
			case <-done:
				ended = true
			default:
			}
			take()
		}
		take()
		own := 0
		for name, n := range archived {
			if n != 1 {
				x.Errorf("%s was archived %d times", name, n)
			}
			if name[:len("key-")] == "key-" {
				own++
			}
		}
		want(x, "values archived", own, savers*rounds)
		for i := range savers {
			got, ok, _, err := x.Snapshot(x.Context(), entity(keyOf(i)))
			x.ok(err)
			want(x, "there is a snapshot", ok, true)
			want(x, "body", string(got.Body), fmt.Sprint(i, " ", rounds-1))
		}
	}},
	{"StatusNeverOutlivesALaterRefresh", func(x *fixture) {
		for round := range 20 {
			keys := []string{fmt.Sprint("new-", round), "old"}
			together(8, func(i int) {
				var err error
				if i%2 == 0 {
					_, err = x.Save(x.Context(), []refresh.Refreshed{brought(keys[i/2%2], int64(10*round+9), start, "1")})
				} else {
					err = x.SetStatus(x.Context(), []refresh.VersionedStatus{failed(keys[i/2%2], int64(10*round+i))})
				}
				if err != nil {
					x.Errorf("call %d: %v", i, err)
				}
			})
			for _, key := range keys {
				want(x, "status of "+key, x.status(key), nil)
			}
		}
	}},
}
