package timer_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"sluice/internal/timer"
	"sluice/internal/webhook"
)

// memoryLog is a log of completions that can fail.
type memoryLog struct {
	*faults
	mu sync.Mutex
	by map[string]timer.Completion
}

func newLog() *memoryLog { return &memoryLog{faults: noFaults(), by: map[string]timer.Completion{}} }

func (l *memoryLog) Append(_ context.Context, completions []timer.Completion) error {
	return l.do("Append", func() error {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, c := range completions {
			l.by[c.Timer] = c
		}
		return nil
	})
}

func (l *memoryLog) Prune(_ context.Context, before time.Time, limit int) (n int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, c := range l.by {
		if c.Fired.Before(before) && n < limit {
			delete(l.by, id)
			n++
		}
	}
	return n, nil
}

func (l *memoryLog) Completions(_ context.Context, from time.Time, after string, limit int) (out []timer.Completion, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.by {
		if c.Fired.After(from) || c.Fired.Equal(from) && c.Timer > after {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b timer.Completion) int {
		return cmp.Or(a.Fired.Compare(b.Fired), cmp.Compare(a.Timer, b.Timer))
	})
	return out[:min(limit, len(out))], nil
}

func (l *memoryLog) Stats(_ context.Context, from time.Time) (timer.Stats, error) {
	return timer.Stats{From: from, Completed: int64(len(l.by))}, nil
}

func (l *memoryLog) of(id string) timer.Completion {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.by[id]
}

// TestLogThatFailsForAWhile: nothing fires late for it, nothing is lost, and
// nobody is told before the log was.
func TestLogThatFailsForAWhile(t *testing.T) {
	const n = 100
	bubble(t, func(t *testing.T) {
		log, r := newLog(), newReceiver()
		w := started(t, func(o *timer.Options) { o.Log, o.Sender = log, r })
		log.breakDown(true)
		now := time.Now()
		w.setMany(w.Service, n, func(i int) timer.Spec {
			spec := timer.Spec{ID: fmt.Sprintf("t%02d", i), At: now.Add(time.Duration(i) * 100 * time.Millisecond)}
			if i%2 == 0 {
				spec.Webhook = "https://example.com/"
			}
			return spec
		})
		pass(time.Minute)
		if got := all(t, w); len(got) != 0 || len(r.got) != 0 {
			t.Errorf("%d in the log, %d delivered while it was down", len(got), len(r.got))
		}
		if got := count(t, w.store, timer.Delivering); got != n {
			t.Errorf("%d have fired, want %d", got, n)
		}
		if got, err := w.Fired(t.Context(), now, "", 2*n); err != nil || len(got) != n {
			t.Errorf("the store tells of %d, %v", len(got), err)
		}
		log.heal()
		pass(2 * time.Second)
		got := all(t, w)
		if len(got) != n {
			t.Errorf("%d in the log, want %d", len(got), n)
		}
		for i, c := range got {
			if c.Status != timer.Completed || !c.Success || !c.Fired.Equal(now.Add(time.Duration(i)*100*time.Millisecond)) || c.Late {
				t.Errorf("the log says %+v", c)
			}
		}
		if done := count(t, w.store, timer.Completed); done != n {
			t.Errorf("%d are completed, want %d", done, n)
		}
		w.noneLeft()
	})
}

// TestLogThatFailsAtTheEnd: what became of a delivery reaches the log, too.
func TestLogThatFailsAtTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log, r := newLog(), newReceiver()
		r.answer = func(_ context.Context, m webhook.Message, n int) webhook.Result {
			// The log dies while the receiver is called, and for good when it
			// was called again.
			log.breakDown(n == 1)
			if m.ID == "gone" {
				return webhook.Result{Error: "gone", Permanent: true}
			}
			return webhook.Result{OK: true}
		}
		w := started(t, func(o *timer.Options) { o.Log, o.Sender = log, r })
		for _, id := range []string{"good", "gone"} {
			w.set(id, time.Now(), "https://example.com/")
			pass(10 * time.Second)
			if len(r.times(id)) != 1 || w.row(id).Status != timer.Delivering || log.of(id).Status != timer.Delivering {
				t.Errorf("%s was sent at %v, the log says %+v", id, r.times(id), log.of(id))
			}
			log.heal()
			pass(time.Minute)
		}
		w.expect("good", timer.Completed)
		w.expect("gone", timer.Dead)
		if c := log.of("good"); c.Status != timer.Completed || !c.Success || c.Tries != 1 {
			t.Errorf("the log says %+v", c)
		}
		if c := log.of("gone"); c.Status != timer.Dead || c.Success || c.Error != "gone" {
			t.Errorf("the log says %+v", c)
		}
	})
}

// TestLogTellsWhatBecameOfHooks: a timer whose hook fails is no success.
func TestLogTellsWhatBecameOfHooks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := newLog()
		w := started(t, func(o *timer.Options) {
			o.Log = log
			o.Hook = func(context.Context, timer.Completion) error { return errors.New("never") }
		})
		w.set("a", time.Now(), "")
		pass(time.Second)
		if c := log.of("a"); c.Status != timer.Delivering || c.Success {
			t.Errorf("after the first try the log says %+v", c)
		}
		pass(5 * time.Hour)
		w.expect("a", timer.Dead)
		if c := log.of("a"); c.Status != timer.Dead || c.Success || c.Tries != webhook.MaxTries {
			t.Errorf("the log says %+v", c)
		}
	})
}

// TestEverythingFailsAtRandom: store, trigger, log, hook and receivers.
func TestEverythingFailsAtRandom(t *testing.T) {
	const n = 300
	seed := seed(t)
	bubble(t, func(t *testing.T) {
		log, r := newLog(), newReceiver()
		log.faults = randomFaults(seed, 0.2)
		f := randomFaults(seed+1, 0.1)
		dice := random(seed + 2)
		var mu sync.Mutex
		lucky := func() bool {
			mu.Lock()
			defer mu.Unlock()
			return dice.IntN(2) == 0
		}
		r.answer = func(context.Context, webhook.Message, int) webhook.Result {
			return webhook.Result{OK: lucky(), Error: "bad luck"}
		}
		w := newWorld(t, func(o *timer.Options) {
			o.Store, o.Trigger, o.Signals = faultyStore{o.Store, f}, faultyTrigger{o.Trigger, f}, newSignals()
			o.Log, o.Sender = log, r
			o.Hook = func(context.Context, timer.Completion) error {
				if lucky() {
					return nil
				}
				return errors.New("bad luck")
			}
		})
		if err := insist(t, func() error { return w.Start(t.Context()) }); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { w.Stop(t.Context()) })
		now := time.Now()
		for i := range n {
			spec := timer.Spec{ID: fmt.Sprint(i), At: now.Add(time.Duration(i) * 100 * time.Millisecond)}
			if i%2 == 0 {
				spec.Webhook = fmt.Sprintf("https://host-%d.example/", i%10)
			}
			if err := insist(t, func() error { _, err := w.Set(t.Context(), spec); return err }); err != nil {
				t.Fatal(err)
			}
		}
		pass(10 * time.Hour)
		f.heal()
		log.heal()
		pass(10 * time.Hour)
		w.noneLeft()
		if got := all(t, w.store); len(got) != n {
			t.Errorf("%d have fired, want %d", len(got), n)
		}
		for _, c := range all(t, w.store) {
			if logged := log.of(c.Timer); logged.Status != c.Status || !logged.Fired.Equal(c.Fired) || logged.Server != c.Server {
				t.Errorf("the store says %+v, the log %+v", c, logged)
			}
		}
	})
}
