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

	"sluice/internal/testkit"
	"sluice/internal/testkit/faulty"
	"sluice/internal/timer"
	"sluice/internal/webhook"
)

// memoryLog is a log of completions; what writes to it goes by a plan.
type memoryLog struct {
	plan *faulty.Plan
	mu   sync.Mutex
	by   map[string]timer.Completion
}

func newLog() *memoryLog {
	return &memoryLog{plan: faulty.NewPlan(), by: map[string]timer.Completion{}}
}

// failing is the log with its faults.
func (l *memoryLog) failing() timer.Log { return faulty.NewTimerLog(l, l.plan) }

func (l *memoryLog) Append(_ context.Context, completions []timer.Completion) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range completions {
		l.by[c.Timer] = c
	}
	return nil
}

func (l *memoryLog) Prune(_ context.Context, before time.Time, limit int) (n int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, c := range l.by {
		if c.FiredAt.Before(before) && n < limit {
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
		if c.FiredAt.After(from) || c.FiredAt.Equal(from) && c.Timer > after {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b timer.Completion) int {
		return cmp.Or(a.FiredAt.Compare(b.FiredAt), cmp.Compare(a.Timer, b.Timer))
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

// TestLogThatFailsForAWhile: nothing fires or is delivered late for it, and it
// gets everything that it missed.
func TestLogThatFailsForAWhile(t *testing.T) {
	const n = 100
	bubble(t, func(t *testing.T) {
		log, r := newLog(), newReceiver()
		w := started(t, func(o *timer.Options) { o.Log, o.Sender = log.failing(), r })
		breakDown(log.plan, "Append")
		now := time.Now()
		w.setMany(w.Service, n, func(i int) timer.Spec {
			spec := timer.Spec{ID: fmt.Sprintf("t%02d", i), At: now.Add(time.Duration(i) * 100 * time.Millisecond)}
			if i%2 == 0 {
				spec.Webhook = "https://example.com/"
			}
			return spec
		})
		pass(time.Minute)
		if got := all(t, w); len(got) != 0 {
			t.Errorf("%d in the log while it was down", len(got))
		}
		if done := count(t, w.store, timer.Completed); done != n {
			t.Errorf("%d are completed, want %d", done, n)
		}
		for i := 0; i < n; i += 2 {
			id := fmt.Sprintf("t%02d", i)
			if at := r.times(id); len(at) != 1 || at[0].Sub(now.Add(time.Duration(i)*100*time.Millisecond)) > 100*time.Millisecond {
				t.Errorf("%s was delivered at %v", id, at)
			}
		}
		log.plan.Heal()
		pass(5 * time.Second)
		got := all(t, w)
		if len(got) != n {
			t.Errorf("%d in the log, want %d", len(got), n)
		}
		for i, c := range got {
			if c.Status != timer.Completed || !c.Success || !c.FiredAt.Equal(now.Add(time.Duration(i)*100*time.Millisecond)) || c.Late {
				t.Errorf("the log says %+v", c)
			}
		}
		if done := count(t, w.store, timer.Completed); done != n {
			t.Errorf("%d are completed, want %d", done, n)
		}
		w.noneLeft()
	})
}

// TestLogThatFailsAtTheEnd: what became of a delivery reaches the log, too, and
// the receiver is called once.
func TestLogThatFailsAtTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log, r := newLog(), newReceiver()
		r.answer = func(_ context.Context, m webhook.Message, _ int) webhook.Result {
			// The log has heard of it, and dies while the receiver is called.
			pass(time.Second)
			breakDown(log.plan, "Append")
			if m.ID == "gone" {
				return webhook.Result{Error: "gone", Permanent: true}
			}
			return webhook.Result{OK: true}
		}
		w := started(t, func(o *timer.Options) { o.Log, o.Sender = log.failing(), r })
		for _, id := range []string{"good", "gone"} {
			w.set(id, time.Now(), "https://example.com/")
			pass(10 * time.Second)
			if len(r.times(id)) != 1 || w.row(id).Status == timer.Delivering || log.of(id).Status != timer.Delivering {
				t.Errorf("%s was sent at %v, the log says %+v", id, r.times(id), log.of(id))
			}
			log.plan.Heal()
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

// TestLogThatHangs answers nothing at all: deliveries do not wait for it.
func TestLogThatHangs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newReceiver()
		log := newLog()
		log.plan.Break(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, "Append")
		w := started(t, func(o *timer.Options) { o.Log, o.Sender = log.failing(), r })
		for i := range 50 {
			id := fmt.Sprintf("t%02d", i)
			at := time.Now()
			w.set(id, at, "https://example.com/")
			pass(time.Second)
			if sent := r.times(id); len(sent) != 1 || sent[0].Sub(at) > 100*time.Millisecond {
				t.Errorf("%s was delivered at %v", id, sent)
			}
		}
	})
}

// TestLogOfADeadProcess: what one process could not write, the next does.
func TestLogOfADeadProcess(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := newLog()
		breakDown(log.plan, "Append")
		w := started(t, func(o *timer.Options) { o.Log = log.failing() })
		w.set("a", time.Now(), "")
		pass(10 * time.Second)
		w.expect("a", timer.Completed)
		w.Stop(t.Context())
		log.plan.Heal()
		if c := log.of("a"); c.Timer != "" {
			t.Errorf("the log says %+v", c)
		}
		if err := w.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		if c := log.of("a"); c.Status != timer.Completed {
			t.Errorf("the log says %+v", c)
		}
	})
}

// TestLogTellsWhatBecameOfHooks: a timer whose hook fails is no success.
func TestLogTellsWhatBecameOfHooks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		log := newLog()
		w := started(t, func(o *timer.Options) {
			o.Log = log.failing()
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

// TestLogIsTriedThoughTheTriggerWasDown: the last that fired is in the log, though the
// trigger could not be told that the log is behind, and nothing fires after it.
func TestLogIsTriedThoughTheTriggerWasDown(t *testing.T) {
	for name, address := range map[string]string{"alone": "", "delivered": "https://example.com/"} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				log, f := newLog(), faulty.NewPlan()
				w := started(t, func(o *timer.Options) {
					o.Log, o.Sender, o.Trigger = log, newReceiver(), faulty.NewDueSet(o.Trigger, f)
				})
				w.set("last", time.Now().Add(time.Minute), address)
				breakDown(f, "Put")
				pass(time.Minute + time.Second)
				f.Heal()
				w.expect("last", timer.Completed)
				pass(10 * time.Minute)
				if c := log.of("last"); c.Status != timer.Completed {
					t.Errorf("the log says %+v", c)
				}
			})
		})
	}
}

// TestEverythingFailsAtRandom: store, trigger, log, hook and receivers.
func TestEverythingFailsAtRandom(t *testing.T) {
	const n = 300
	seed := testkit.Seed(t)
	bubble(t, func(t *testing.T) {
		log, r := newLog(), newReceiver()
		log.plan = faulty.Random(seed, 0.2, 0.2)
		f := faulty.Random(seed+1, 0.1, 0.1)
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
			o.Store, o.Trigger, o.Signals = faulty.NewTimers(o.Store, f), faulty.NewDueSet(o.Trigger, f), newSignals()
			o.Log, o.Sender = log.failing(), r
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
		f.Heal()
		log.plan.Heal()
		pass(10 * time.Hour)
		w.noneLeft()
		if got := all(t, w.store); len(got) != n {
			t.Errorf("%d have fired, want %d", len(got), n)
		}
		for _, c := range all(t, w.store) {
			if logged := log.of(c.Timer); logged.Status != c.Status || !logged.FiredAt.Equal(c.FiredAt) || logged.Server != c.Server {
				t.Errorf("the store says %+v, the log %+v", c, logged)
			}
		}
	})
}
