package timer_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/domain"
	"sluice/internal/sqlitedb"
	"sluice/internal/timer"
	"sluice/internal/timer/memory"
	"sluice/internal/timer/sqlite"
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
	<-time.After(d)
	synctest.Wait()
}

// seed returns the seed of a random test.
func seed(t *testing.T) uint64 {
	t.Helper()
	n := rand.Uint64()
	if text := os.Getenv("SLUICE_TEST_SEED"); text != "" {
		var err error
		if n, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("SLUICE_TEST_SEED: %v", err)
		}
	}
	t.Logf("SLUICE_TEST_SEED=%d", n)
	return n
}

func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, seed)) }

// openStore opens a store; close may be called before the test's end.
func openStore(tb testing.TB, dir string) (store timer.Store, closeStore func()) {
	tb.Helper()
	db, err := sqlitedb.Open(tb.Context(), sqlitedb.Options{Dir: dir, Holder: "a test"})
	if err != nil {
		tb.Fatal(err)
	}
	closeStore = sync.OnceFunc(func() {
		if err := db.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	tb.Cleanup(closeStore)
	return sqlite.New(db), closeStore
}

// world is a service and what it works with.
type world struct {
	*timer.Service
	t testing.TB
	// store and trigger are without the faults that a test wraps around them.
	store   timer.Store
	trigger *memory.Trigger
}

// newWorld makes a service that does not run yet.
func newWorld(tb testing.TB, change func(o *timer.Options)) *world {
	tb.Helper()
	w := &world{t: tb, trigger: memory.New(memory.Options{})}
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
		from, after = page[999].Fired, page[999].Timer
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

// faults breaks calls. A call that fails was done, or was not: its caller
// cannot know.
type faults struct {
	mu            sync.Mutex
	dice          *rand.Rand
	before, after float64
	// left, if not negative, is how many calls are still answered: the process
	// dies then, at one of them or after it.
	left int
	// only names the methods that are broken; nil means all.
	only map[string]bool
	// broken lets every call fail before it was done.
	broken bool
	calls  map[string]int
}

func noFaults() *faults { return &faults{left: -1, calls: map[string]int{}} }

func randomFaults(seed uint64, p float64) *faults {
	f := noFaults()
	f.dice, f.before, f.after = random(seed), p, p
	return f
}

// dying is a process that answers so many calls.
func dying(dice *rand.Rand, calls int) *faults {
	f := noFaults()
	f.dice, f.left = dice, calls
	return f
}

func (f *faults) breakDown(broken bool, methods ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.broken, f.only = broken, nil
	for _, m := range methods {
		if f.only == nil {
			f.only = map[string]bool{}
		}
		f.only[m] = true
	}
}

func (f *faults) heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.broken, f.before, f.after, f.left = false, 0, 0, -1
}

func (f *faults) dead() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.left == 0
}

func (f *faults) decide(method string) (before, after bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[method]++
	if f.only != nil && !f.only[method] {
		return false, false
	}
	switch {
	case f.broken || f.left == 0:
		return true, false
	case f.left > 0:
		f.left--
		// The last call may have been done.
		return f.left == 0 && f.dice.IntN(2) == 0, f.left == 0
	case f.dice == nil:
		return false, false
	}
	roll := f.dice.Float64()
	return roll < f.before, roll > 1-f.after
}

var errInjected = domain.Errorf(domain.CodeUnavailable, "injected")

func (f *faults) do(method string, call func() error) error {
	before, after := f.decide(method)
	if before {
		return errInjected
	}
	if err := call(); err != nil || !after {
		return err
	}
	return errInjected
}

// faultyStore is a store that fails.
type faultyStore struct {
	timer.Store
	*faults
}

func (s faultyStore) Put(ctx context.Context, specs []timer.Spec, now time.Time) (out []timer.Stored, err error) {
	err = s.do("Put", func() (err error) { out, err = s.Store.Put(ctx, specs, now); return err })
	return out, err
}

func (s faultyStore) Timer(ctx context.Context, id string) (out timer.Timer, err error) {
	err = s.do("Timer", func() (err error) { out, err = s.Store.Timer(ctx, id); return err })
	return out, err
}

func (s faultyStore) Cancel(ctx context.Context, id string) (out timer.Timer, err error) {
	err = s.do("Cancel", func() (err error) { out, err = s.Store.Cancel(ctx, id); return err })
	return out, err
}

func (s faultyStore) Reschedule(ctx context.Context, id string, at, now time.Time) (out timer.Timer, err error) {
	err = s.do("Reschedule", func() (err error) { out, err = s.Store.Reschedule(ctx, id, at, now); return err })
	return out, err
}

func (s faultyStore) Fire(ctx context.Context, f timer.Firing) (out []timer.Fired, err error) {
	err = s.do("Fire", func() (err error) { out, err = s.Store.Fire(ctx, f); return err })
	return out, err
}

func (s faultyStore) Settle(ctx context.Context, settled []timer.Settlement) error {
	return s.do("Settle", func() error { return s.Store.Settle(ctx, settled) })
}

func (s faultyStore) Open(ctx context.Context, fn func(timer.Due) error) error {
	return s.do("Open", func() error { return s.Store.Open(ctx, fn) })
}

func (s faultyStore) Overdue(ctx context.Context, at time.Time, limit int) (out []timer.Due, err error) {
	err = s.do("Overdue", func() (err error) { out, err = s.Store.Overdue(ctx, at, limit); return err })
	return out, err
}

// faultyTrigger is a trigger that fails.
type faultyTrigger struct {
	timer.Trigger
	*faults
}

func (s faultyTrigger) Set(ctx context.Context, dues ...timer.Due) error {
	return s.do("Set", func() error { return s.Trigger.Set(ctx, dues...) })
}

func (s faultyTrigger) Remove(ctx context.Context, ids ...string) error {
	return s.do("Remove", func() error { return s.Trigger.Remove(ctx, ids...) })
}

func (s faultyTrigger) Take(ctx context.Context, n int) (out timer.Batch, err error) {
	err = s.do("Take", func() (err error) { out, err = s.Trigger.Take(ctx, n); return err })
	return out, err
}

func (s faultyTrigger) Done(ctx context.Context, taken ...timer.Taken) error {
	return s.do("Done", func() error { return s.Trigger.Done(ctx, taken...) })
}

func (s faultyTrigger) Again(ctx context.Context, again ...timer.Again) error {
	return s.do("Again", func() error { return s.Trigger.Again(ctx, again...) })
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

// insist repeats a call that the backends do not take, as a person would.
func insist(tb testing.TB, call func() error) error {
	tb.Helper()
	for range 10_000 {
		if err := call(); !errors.Is(err, errInjected) {
			return err
		}
	}
	tb.Fatal("it never works")
	return nil
}
