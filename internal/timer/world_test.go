package timer_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/backend/memory"
	"sluice/internal/backend/sqlite"
	"sluice/internal/timer"
)

// bubble runs a test whose clock stands still unless everybody waits.
func bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		pass(time.Until(time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)))
		test(t)
	})
}

// pass lets time go by in a bubble, and everybody finish what it brought.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, seed)) }

// openStore opens a store; close may be called before the test's end.
func openStore(tb testing.TB, dir string) (store timer.Store, closeStore func()) {
	tb.Helper()
	db, err := sqlite.Open(tb.Context(), sqlite.Options{Dir: dir, Holder: "a test"})
	if err != nil {
		tb.Fatal(err)
	}
	closeStore = sync.OnceFunc(func() {
		if err := db.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	tb.Cleanup(closeStore)
	return sqlite.NewTimers(db), closeStore
}

// world is a service and what it works with.
type world struct {
	*timer.Service
	t testing.TB
	// store and trigger are without the faults that a test wraps around them.
	store   timer.Store
	trigger *memory.DueSet
}

// newWorld makes a service that does not run yet.
func newWorld(tb testing.TB, change func(o *timer.Options)) *world {
	tb.Helper()
	w := &world{t: tb, trigger: memory.NewDueSet(memory.DueSetOptions{})}
	w.store, _ = openStore(tb, tb.TempDir())
	w.Service = w.service("alone", change)
	return w
}

// started is newWorld with its service at work.
func started(tb testing.TB, change func(o *timer.Options)) *world {
	tb.Helper()
	w := newWorld(tb, change)
	w.start(w.Service)
	return w
}

// service makes another service on the same store and trigger.
func (w *world) service(name string, change func(o *timer.Options)) *timer.Service {
	w.t.Helper()
	o := timer.Options{Store: w.store, Trigger: w.trigger, Server: name}
	if testing.Verbose() && os.Getenv("SLUICE_TEST_LOG") != "" {
		o.Slog = slog.New(slog.NewTextHandler(w.t.Output(), nil)).With("server", name)
	}
	if change != nil {
		change(&o)
	}
	s, err := timer.New(o)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func (w *world) start(s *timer.Service) {
	w.t.Helper()
	if err := s.Start(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { s.Stop(context.WithoutCancel(w.t.Context())) })
}

// set sets a timer that must be accepted.
func (w *world) set(id string, at time.Time, webhook string) timer.Timer {
	w.t.Helper()
	stored, err := w.Set(w.t.Context(), timer.Spec{ID: id, At: at, Webhook: webhook})
	if err != nil {
		w.t.Fatal(err)
	}
	return stored[0].Timer
}

// setMany sets timers in calls of a thousand.
func (w *world) setMany(s *timer.Service, n int, spec func(i int) timer.Spec) {
	w.t.Helper()
	for i := 0; i < n; i += 1000 {
		var specs []timer.Spec
		for j := i; j < min(n, i+1000); j++ {
			specs = append(specs, spec(j))
		}
		if _, err := s.Set(w.t.Context(), specs...); err != nil {
			w.t.Fatal(err)
		}
	}
}

// row reads a timer from the store.
func (w *world) row(id string) timer.Timer {
	w.t.Helper()
	t, err := w.store.Timer(w.t.Context(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	return t
}

func (w *world) expect(id string, status timer.Status) timer.Timer {
	w.t.Helper()
	row := w.row(id)
	if row.Status != status {
		w.t.Errorf("timer %s is %s, want %s: %+v", id, row.Status, status, row)
	}
	return row
}

// all reads every completion, in the order of the log.
func all(tb testing.TB, h timer.History) []timer.Completion {
	tb.Helper()
	var out []timer.Completion
	from, after := time.Unix(0, 0), ""
	for {
		page, err := h.Completions(tb.Context(), from, after, 1000)
		if err != nil {
			tb.Fatal(err)
		}
		if out = append(out, page...); len(page) < 1000 {
			return out
		}
		from, after = page[999].FiredAt, page[999].Timer
	}
}

// count reads how many timers have a status.
func count(tb testing.TB, store timer.Store, status timer.Status) int {
	tb.Helper()
	n, after := 0, ""
	for {
		page, err := store.Timers(tb.Context(), timer.Query{Statuses: []timer.Status{status}, AfterID: after, Limit: 1000})
		if err != nil {
			tb.Fatal(err)
		}
		if n += len(page); len(page) < 1000 {
			return n
		}
		after = page[999].ID
	}
}

// noneLeft fails the test if something is to be done with a timer still.
func (w *world) noneLeft() {
	w.t.Helper()
	err := w.store.Open(w.t.Context(), func(d timer.Due) error { return fmt.Errorf("timer %s waits for %v", d.ID, d.At) })
	if err != nil {
		w.t.Error(err)
	}
}

// signals are announcements between services of one test.
type signals struct {
	mu sync.Mutex
	by map[chan struct{}]bool
}

func newSignals() *signals { return &signals{by: map[chan struct{}]bool{}} }

func (s *signals) Announce(context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ch := range s.by {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}

func (s *signals) Changes(context.Context) (<-chan struct{}, func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ch := make(chan struct{}, 1)
	s.by[ch] = true
	return ch, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.by, ch)
	}
}
