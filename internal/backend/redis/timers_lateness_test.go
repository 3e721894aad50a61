package redis_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"os"

	"sluice/internal/backend/memory"
	"sluice/internal/backend/redis"
	"sluice/internal/due"
	"sluice/internal/testkit"
	"sluice/internal/timer"
)

// timerLoad is what the triggers are measured with: so many timers a second, set a
// little ahead, over so long.
type timerLoad struct {
	rate    int
	over    time.Duration
	ahead   time.Duration
	waiting int // timers that wait for another day meanwhile
}

// measurement is how late the timers of a load were handed out.
type measurement struct {
	late  []time.Duration
	early int
	twice int
	lost  int
}

func (m measurement) String() string {
	slices.Sort(m.late)
	at := func(share float64) time.Duration {
		if len(m.late) == 0 {
			return 0
		}
		return m.late[min(len(m.late)-1, int(share*float64(len(m.late))))].Round(10 * time.Microsecond)
	}
	over := 0
	for _, late := range m.late {
		if late > timer.LateAfter {
			over++
		}
	}
	return fmt.Sprintf("p50 %v, p99 %v, most %v; later than 1s %d, not handed out when patience ended %d, early %d, twice %d",
		at(0.5), at(0.99), at(1), over, m.lost, m.early, m.twice)
}

// measure sets the load with one trigger and takes with all of them. What is
// not handed out within patience counts as lost; looks for what was missed do nothing.
func (l timerLoad) measure(t *testing.T, triggers []due.Set, patience time.Duration) measurement {
	t.Helper()
	total := int(l.over.Seconds() * float64(l.rate))
	var (
		mu   sync.Mutex
		m    measurement
		seen = make(map[string]bool, total)
		all  sync.WaitGroup
	)
	for from := 0; from < l.waiting; from += 1000 {
		dues := make([]due.Entry, 0, 1000)
		for i := from; i < min(from+1000, l.waiting); i++ {
			dues = append(dues, due.Entry{ID: timer.DueID("far-" + strconv.Itoa(i)), At: time.Now().Add(24 * time.Hour)})
		}
		if err := triggers[0].Put(t.Context(), dues...); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now().Add(l.ahead).Truncate(time.Microsecond)
	instant := func(i int) time.Time { return began.Add(time.Duration(i) * time.Second / time.Duration(l.rate)) }
	ctx, cancel := context.WithDeadline(t.Context(), instant(total).Add(patience))
	defer cancel()
	for _, trigger := range triggers {
		all.Go(func() {
			for ctx.Err() == nil {
				batch, err := trigger.Take(ctx, 500)
				now := time.Now()
				if err != nil {
					continue
				}
				mu.Lock()
				for _, one := range batch.Taken {
					id, _ := timer.FromDueID(one.ID)
					i, err := strconv.Atoi(id)
					if err != nil {
						continue // no timer of the load
					}
					late := now.Sub(instant(i))
					m.late = append(m.late, late)
					if late < 0 {
						m.early++
					}
					if seen[one.ID] {
						m.twice++
					}
					seen[one.ID] = true
				}
				if len(seen) == total {
					cancel()
				}
				mu.Unlock()
				_ = trigger.Done(context.WithoutCancel(ctx), batch.Taken...)
			}
		})
	}
	// Setting goes on while others are due: a hundredth of a second at a time.
	step := max(1, l.rate/100)
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for i := 0; i < total; {
		for ; i < total && time.Until(instant(i)) < l.ahead; i += step {
			dues := make([]due.Entry, 0, step)
			for j := i; j < min(i+step, total); j++ {
				dues = append(dues, due.Entry{ID: timer.DueID(strconv.Itoa(j)), At: instant(j)})
			}
			if err := triggers[0].Put(t.Context(), dues...); err != nil {
				t.Errorf("set: %v", err)
			}
		}
		<-ticker.C
	}
	all.Wait()
	m.lost = total - len(seen)
	return m
}

// TestLateness measures the three triggers with the same load. It is short
// unless SLUICE_TEST_LATENESS says for how long.
func TestLateness(t *testing.T) {
	l := timerLoad{rate: 1000, over: time.Second, ahead: time.Second}
	if given := os.Getenv("SLUICE_TEST_LATENESS"); given != "" {
		over, err := time.ParseDuration(given)
		if err != nil {
			t.Fatal(err)
		}
		l.over = over
	}
	pair := func(make kind) []due.Set {
		url := testkit.StartRedis(t).URL()
		return []due.Set{openTrigger(t, make, url, "late", redis.DueSetOptions{}), openTrigger(t, make, url, "late", redis.DueSetOptions{})}
	}
	check := func(name string, m measurement) {
		t.Logf("%-30s %v", name, m)
		if m.early+m.twice > 0 {
			t.Errorf("%s: %v", name, m)
		}
	}
	// All are handed out in the end, which is what is waited for.
	inMemory := l.measure(t, []due.Set{memory.NewDueSet(memory.DueSetOptions{})}, patience)
	inSet := l.measure(t, pair(dueSet), patience)
	check("memory", inMemory)
	check("due set", inSet)
	if inMemory.lost+inSet.lost > 0 {
		t.Errorf("%d and %d were lost", inMemory.lost, inSet.lost)
	}
	// Of Redis's own announcements nothing is promised but that none is early.
	check("key expiry", l.measure(t, pair(keyspace), 10*time.Second))
	if os.Getenv("SLUICE_TEST_LATENESS") != "" {
		l.waiting = 100_000
		check("due set, 100000 wait", l.measure(t, pair(dueSet), 10*time.Second))
		check("key expiry, 100000 wait", l.measure(t, pair(keyspace), 10*time.Second))
	}
}

func BenchmarkSet(b *testing.B) {
	for name, make := range kinds {
		for _, size := range []int{1, 1000} {
			b.Run(fmt.Sprintf("%s/%d at once", name, size), func(b *testing.B) {
				trigger := openTrigger(b, make, testkit.StartRedis(b).URL(), "bench", redis.DueSetOptions{})
				at := time.Now().Add(time.Hour)
				b.SetParallelism(16)
				var number sync.Mutex
				n := 0
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						number.Lock()
						n++
						mine := n
						number.Unlock()
						dues := []due.Entry{}
						for i := range size {
							dues = append(dues, due.Entry{ID: timer.DueID(fmt.Sprint(mine, "-", i)), At: at.Add(time.Duration(mine%1000) * time.Second)})
						}
						if err := trigger.Put(b.Context(), dues...); err != nil {
							b.Error(err)
						}
					}
				})
				b.ReportMetric(float64(n*size)/b.Elapsed().Seconds(), "timers/s")
			})
		}
	}
}
