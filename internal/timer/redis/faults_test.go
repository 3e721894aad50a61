package redis_test

import (
	"context"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/testkit"
	"sluice/internal/timer"
	"sluice/internal/timer/redis"
)

var kinds = map[string]kind{"due set": dueSet, "key expiry": keyspace}

func eachKind(t *testing.T, check func(t *testing.T, make kind)) {
	t.Parallel()
	for name, make := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, make)
		})
	}
}

// takeOne takes until an id is handed out, and returns it alone. What else
// comes is done, and so is an error of code unavailable.
func takeOne(ctx context.Context, t *testing.T, trigger timer.Trigger, id string) (timer.Taken, bool) {
	for ctx.Err() == nil {
		batch, err := trigger.Take(ctx, 1)
		if err != nil && ctx.Err() == nil && domain.CodeOf(err) != domain.CodeUnavailable {
			t.Errorf("take: %v", err)
			return timer.Taken{}, false
		}
		for _, one := range batch.Taken {
			if one.ID == id {
				return one, true
			}
			_ = trigger.Done(ctx, one)
		}
	}
	return timer.Taken{}, false
}

// mustTake is takeOne that may not fail.
func mustTake(t *testing.T, trigger timer.Trigger, id string) timer.Taken {
	t.Helper()
	limited, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	one, ok := takeOne(limited, t, trigger, id)
	if !ok {
		t.Fatalf("%s was not handed out", id)
	}
	return one
}

// never checks that an id is not handed out for a while.
func never(t *testing.T, trigger timer.Trigger, id string, while time.Duration) {
	t.Helper()
	limited, cancel := context.WithTimeout(t.Context(), while)
	defer cancel()
	if one, ok := takeOne(limited, t, trigger, id); ok {
		t.Fatalf("%+v was handed out", one)
	}
}

func done(t *testing.T, trigger timer.Trigger, taken timer.Taken) {
	t.Helper()
	if err := trigger.Done(t.Context(), taken); err != nil {
		t.Fatalf("done: %v", err)
	}
}

// TestEmptied: who finds Redis emptied asks for a rebuild, once within the
// grace, and again if its taker does not finish.
func TestEmptied(t *testing.T) {
	eachKind(t, func(t *testing.T, make kind) {
		url := quick(t, testkit.StartRedis(t).URL())
		o := redis.Options{Grace: 2 * time.Second, MaxWait: 200 * time.Millisecond}
		here, there, w := open(t, make, url, "emptied", o), open(t, make, url, "emptied", o), watch(t, url, "emptied")
		done(t, here, mustTake(t, here, timer.RebuildID))
		never(t, there, timer.RebuildID, o.Grace+o.MaxWait)
		set(t, here, time.Now().Add(time.Hour), "lost")
		w.must("FLUSHALL")
		ctx, cancel := context.WithTimeout(t.Context(), o.Grace/2)
		defer cancel()
		type result struct {
			one timer.Taken
			ok  bool
		}
		results := [2]chan result{}
		for i, trigger := range []timer.Trigger{here, there} {
			results[i] = newChannel[result]()
			go func() {
				one, ok := takeOne(ctx, t, trigger, timer.RebuildID)
				results[i] <- result{one, ok}
			}()
		}
		first, second := <-results[0], <-results[1]
		if first.ok == second.ok {
			t.Fatalf("the rebuild was handed out as %+v and %+v", first, second)
		}
		again := mustTake(t, here, timer.RebuildID)
		done(t, there, first.one) // too late
		done(t, there, second.one)
		last := mustTake(t, there, timer.RebuildID)
		if again.Token == last.Token {
			t.Errorf("the token %d was given twice", last.Token)
		}
		done(t, there, last)
		never(t, here, timer.RebuildID, o.Grace+o.MaxWait)
	})
}

func newChannel[T any]() chan T { return make(chan T, 1) }

// TestConnectionsAreCut: takers go on afterwards.
func TestConnectionsAreCut(t *testing.T) {
	eachKind(t, func(t *testing.T, make kind) {
		url := quick(t, testkit.StartRedis(t).URL())
		here, there := open(t, make, url, "cut", redis.Options{}), open(t, make, url, "cut", redis.Options{})
		w := watch(t, url, "cut")
		subscribed := func() bool { return w.subscriptions() == 2 }
		done(t, here, mustTake(t, here, timer.RebuildID))
		set(t, here, time.Now(), "before")
		mustTake(t, there, "before")
		w.until("the subscriptions", subscribed)
		set(t, here, time.Now().Add(3*time.Second), "after")
		// One waits while he is cut off.
		got := newChannel[bool]()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		go func() {
			_, ok := takeOne(ctx, t, there, "after")
			got <- ok
		}()
		w.must("CLIENT", "KILL", "TYPE", "pubsub")
		w.must("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
		if !<-got {
			t.Error("nothing was handed out after the cut")
		}
	})
}

// subscriptions counts those who listen.
func (w *watcher) subscriptions() int {
	n := 0
	for _, subscriber := range []string{"sub=1", "psub=1"} {
		n += countFields(w.must("CLIENT", "LIST"), subscriber)
	}
	return n
}

// TestMissedAfterACut: whoever was cut off from announcements asks for a look.
func TestMissedAfterACut(t *testing.T) {
	t.Parallel()
	url := quick(t, testkit.StartRedis(t).URL())
	trigger := open(t, keyspace, url, "missed", redis.Options{})
	w := watch(t, url, "missed")
	done(t, trigger, mustTake(t, trigger, timer.MissedID))
	never(t, trigger, timer.MissedID, time.Second)
	w.must("CLIENT", "KILL", "TYPE", "pubsub")
	done(t, trigger, mustTake(t, trigger, timer.MissedID))
}

// TestRestart: while Redis is away every call says so; then the loss is
// noticed, also if the server comes back with what it had.
func TestRestart(t *testing.T) {
	eachKind(t, func(t *testing.T, make kind) {
		server := testkit.StartRedis(t, "--appendonly", "yes", "--appendfsync", "always", "--hz", "500")
		trigger := open(t, make, server.URL(), "restart", redis.Options{})
		done(t, trigger, mustTake(t, trigger, timer.RebuildID))
		set(t, trigger, time.Now().Add(time.Hour), "kept")
		server.Kill()
		ctx := t.Context()
		_, taking := trigger.Take(ctx, 1)
		for name, err := range map[string]error{
			"take": taking, "set": trigger.Set(ctx, timer.Due{ID: "a"}), "remove": trigger.Remove(ctx, "a"),
			"done": trigger.Done(ctx, timer.Taken{ID: "a"}), "again": trigger.Again(ctx, timer.Again{Taken: timer.Taken{ID: "a"}}),
		} {
			if domain.CodeOf(err) != domain.CodeUnavailable {
				t.Errorf("%s: %v, want an error of code unavailable", name, err)
			}
		}
		server.Start()
		mustTake(t, trigger, timer.RebuildID)
	})
}

func TestScriptsForgotten(t *testing.T) {
	eachKind(t, func(t *testing.T, make kind) {
		url := quick(t, testkit.StartRedis(t).URL())
		trigger, w := open(t, make, url, "scripts", redis.Options{}), watch(t, url, "scripts")
		done(t, trigger, mustTake(t, trigger, timer.RebuildID))
		for _, id := range []string{"a", "b"} {
			w.must("SCRIPT", "FLUSH")
			set(t, trigger, time.Now(), id)
			w.must("SCRIPT", "FLUSH")
			one := mustTake(t, trigger, id)
			w.must("SCRIPT", "FLUSH")
			if err := trigger.Again(t.Context(), timer.Again{Taken: one, At: time.Now()}); err != nil {
				t.Fatal(err)
			}
			one = mustTake(t, trigger, id)
			w.must("SCRIPT", "FLUSH")
			done(t, trigger, one)
			w.must("SCRIPT", "FLUSH")
			if err := trigger.Remove(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestClose: a wait ends, and nothing begins any more.
func TestClose(t *testing.T) {
	eachKind(t, func(t *testing.T, make kind) {
		url := quick(t, testkit.StartRedis(t).URL())
		trigger := open(t, make, url, "close", redis.Options{})
		done(t, trigger, mustTake(t, trigger, timer.RebuildID))
		ended := newChannel[error]()
		go func() {
			for {
				if _, err := trigger.Take(t.Context(), 1); err != nil {
					ended <- err
					return
				}
			}
		}()
		trigger.Close()
		if err := <-ended; domain.CodeOf(err) != domain.CodeUnavailable {
			t.Errorf("the wait ended with %v", err)
		}
	})
}
