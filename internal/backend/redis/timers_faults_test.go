package redis_test

import (
	"context"
	"testing"
	"time"

	"sluice/internal/backend/redis"
	"sluice/internal/domain"
	"sluice/internal/due"
	"sluice/internal/testkit"
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
func takeOne(ctx context.Context, t *testing.T, trigger due.Set, id string) (due.Taken, bool) {
	for ctx.Err() == nil {
		batch, err := trigger.Take(ctx, 1)
		if err != nil && ctx.Err() == nil && domain.CodeOf(err) != domain.CodeUnavailable {
			t.Errorf("take: %v", err)
			return due.Taken{}, false
		}
		for _, one := range batch.Taken {
			if one.ID == entryOf(id) {
				return one, true
			}
			_ = trigger.Done(ctx, one)
		}
	}
	return due.Taken{}, false
}

// mustTake is takeOne that may not fail.
func mustTake(t *testing.T, trigger due.Set, id string) due.Taken {
	t.Helper()
	limited, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	one, ok := takeOne(limited, t, trigger, id)
	if !ok {
		t.Fatalf("%s was not handed out", id)
	}
	return one
}

// timersNever checks that an id is not handed out for a while.
func timersNever(t *testing.T, trigger due.Set, id string, while time.Duration) {
	t.Helper()
	limited, cancel := context.WithTimeout(t.Context(), while)
	defer cancel()
	if one, ok := takeOne(limited, t, trigger, id); ok {
		t.Fatalf("%+v was handed out", one)
	}
}

func timersDone(t *testing.T, trigger due.Set, taken due.Taken) {
	t.Helper()
	if err := trigger.Done(t.Context(), taken); err != nil {
		t.Fatalf("done: %v", err)
	}
}

// TestEmptied: who finds Redis emptied asks for a rebuild, once within the
// grace, and again if its taker does not finish.
func TestEmptied(t *testing.T) {
	eachKind(t, func(t *testing.T, make kind) {
		server, clock := testkit.StartRedisWithClock(t, "--hz", "500")
		url := server.URL()
		o := redis.DueSetOptions{Grace: time.Hour, MaxWait: 200 * time.Millisecond}
		here, there, w := openTrigger(t, make, url, "emptied", o), openTrigger(t, make, url, "emptied", o), newWatcher(t, url, "emptied")
		ahead := time.Duration(0)
		graceEnds := func() {
			ahead += o.Grace + time.Minute
			clock.Set(ahead)
		}
		timersDone(t, here, mustTake(t, here, due.RebuildID))
		graceEnds()
		timersNever(t, there, due.RebuildID, 2*o.MaxWait)
		setTimers(t, here, time.Now().Add(100*time.Hour), "lost")
		w.must("FLUSHALL")
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		type result struct {
			one due.Taken
			ok  bool
		}
		results := newChannel[result]()
		for _, trigger := range []due.Set{here, there} {
			go func() {
				one, ok := takeOne(ctx, t, trigger, due.RebuildID)
				results <- result{one, ok}
			}()
		}
		first := <-results
		defer time.AfterFunc(2*o.MaxWait, cancel).Stop()
		if second := <-results; !first.ok || second.ok {
			t.Fatalf("the rebuild was handed out as %+v and %+v", first, second)
		}
		graceEnds()
		again := mustTake(t, here, due.RebuildID)
		timersDone(t, there, first.one) // too late
		graceEnds()
		last := mustTake(t, there, due.RebuildID)
		if again.Token == last.Token {
			t.Errorf("the token %d was given twice", last.Token)
		}
		timersDone(t, there, last)
		graceEnds()
		timersNever(t, here, due.RebuildID, 2*o.MaxWait)
	})
}

func newChannel[T any]() chan T { return make(chan T, 1) }

// TestConnectionsAreCut: takers go on afterwards.
func TestConnectionsAreCut(t *testing.T) {
	eachKind(t, func(t *testing.T, make kind) {
		url := quick(t, testkit.StartRedis(t).URL())
		here, there := openTrigger(t, make, url, "cut", redis.DueSetOptions{}), openTrigger(t, make, url, "cut", redis.DueSetOptions{})
		w := newWatcher(t, url, "cut")
		subscribed := func() bool { return w.subscriptions() == 2 }
		timersDone(t, here, mustTake(t, here, due.RebuildID))
		setTimers(t, here, time.Now(), "before")
		mustTake(t, there, "before")
		w.until("the subscriptions", subscribed)
		setTimers(t, here, time.Now().Add(3*time.Second), "after")
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
		n += countFields(w.text("CLIENT", "LIST"), subscriber)
	}
	return n
}

// TestMissedAfterACut: whoever was cut off from announcements asks for a look.
func TestMissedAfterACut(t *testing.T) {
	t.Parallel()
	url := quick(t, testkit.StartRedis(t).URL())
	trigger := openTrigger(t, keyspace, url, "missed", redis.DueSetOptions{})
	w := newWatcher(t, url, "missed")
	timersDone(t, trigger, mustTake(t, trigger, due.MissedID))
	timersNever(t, trigger, due.MissedID, time.Second)
	w.must("CLIENT", "KILL", "TYPE", "pubsub")
	timersDone(t, trigger, mustTake(t, trigger, due.MissedID))
}

// TestRestart: while Redis is away every call says so; then the loss is
// noticed, also if the server comes back with what it had.
func TestRestart(t *testing.T) {
	eachKind(t, func(t *testing.T, make kind) {
		server := testkit.StartRedis(t, "--appendonly", "yes", "--appendfsync", "always", "--hz", "500")
		trigger := openTrigger(t, make, server.URL(), "restart", redis.DueSetOptions{})
		timersDone(t, trigger, mustTake(t, trigger, due.RebuildID))
		setTimers(t, trigger, time.Now().Add(time.Hour), "kept")
		server.Kill()
		ctx := t.Context()
		_, taking := trigger.Take(ctx, 1)
		for name, err := range map[string]error{
			"take": taking, "put": trigger.Put(ctx, due.Entry{ID: "a"}), "remove": trigger.Remove(ctx, "a"),
			"done": trigger.Done(ctx, due.Taken{ID: "a"}), "again": trigger.Again(ctx, due.Again{Taken: due.Taken{ID: "a"}}),
		} {
			if domain.CodeOf(err) != domain.CodeUnavailable {
				t.Errorf("%s: %v, want an error of code unavailable", name, err)
			}
		}
		server.Start()
		mustTake(t, trigger, due.RebuildID)
	})
}

func TestScriptsForgotten(t *testing.T) {
	eachKind(t, func(t *testing.T, make kind) {
		url := quick(t, testkit.StartRedis(t).URL())
		trigger, w := openTrigger(t, make, url, "scripts", redis.DueSetOptions{}), newWatcher(t, url, "scripts")
		timersDone(t, trigger, mustTake(t, trigger, due.RebuildID))
		for _, id := range []string{"a", "b"} {
			w.must("SCRIPT", "FLUSH")
			setTimers(t, trigger, time.Now(), id)
			w.must("SCRIPT", "FLUSH")
			one := mustTake(t, trigger, id)
			w.must("SCRIPT", "FLUSH")
			if err := trigger.Again(t.Context(), due.Again{Taken: one, At: time.Now()}); err != nil {
				t.Fatal(err)
			}
			one = mustTake(t, trigger, id)
			w.must("SCRIPT", "FLUSH")
			timersDone(t, trigger, one)
			w.must("SCRIPT", "FLUSH")
			if err := trigger.Remove(t.Context(), entryOf(id)); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestClose: a wait ends, and nothing begins any more.
func TestClose(t *testing.T) {
	eachKind(t, func(t *testing.T, make kind) {
		url := quick(t, testkit.StartRedis(t).URL())
		trigger := openTrigger(t, make, url, "close", redis.DueSetOptions{})
		timersDone(t, trigger, mustTake(t, trigger, due.RebuildID))
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

// TestTimersClockIsSetBack: what somebody took who is gone is handed out again
// after the grace, and not when the clock is where it was. Keys that expire are
// made anew for that, from the store.
func TestTimersClockIsSetBack(t *testing.T) {
	eachKind(t, func(t *testing.T, make kind) {
		server, clock := testkit.StartRedisWithClock(t, "--hz", "500")
		clock.Set(2 * time.Hour)
		prefix, o := testkit.Prefix(t), redis.DueSetOptions{Grace: 500 * time.Millisecond, MaxWait: 200 * time.Millisecond}
		gone := openTrigger(t, make, server.URL(), prefix, o)
		timersDone(t, gone, mustTake(t, gone, due.RebuildID))
		stored := []due.Entry{{ID: entryOf("tea"), At: time.Now()}, {ID: entryOf("later"), At: time.Now().Add(3 * time.Hour)}}
		if err := gone.Put(t.Context(), stored...); err != nil {
			t.Fatal(err)
		}
		taken := mustTake(t, gone, "tea")
		clock.Set(0)
		here := openTrigger(t, make, server.URL(), prefix, o)
		again := takeOrRebuild(t, here, "tea", stored)
		timersDone(t, gone, taken) // it comes too late
		timersDone(t, here, again)
		timersNever(t, here, "later", 3*o.Grace)
		timersNever(t, here, "tea", 3*o.Grace)
	})
}

// takeOrRebuild takes until an id is handed out, and fills the set if that is
// asked for.
func takeOrRebuild(t *testing.T, set due.Set, id string, stored []due.Entry) due.Taken {
	t.Helper()
	limited, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for limited.Err() == nil {
		batch, err := set.Take(limited, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range batch.Taken {
			if one.ID == entryOf(id) {
				return one
			}
			if one.ID == due.RebuildID {
				if err := set.Put(limited, stored...); err != nil {
					t.Fatal(err)
				}
			}
			timersDone(t, set, one)
		}
	}
	t.Fatalf("%s was not handed out", id)
	return due.Taken{}
}
