package timertest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"sluice/internal/domain"
	"sluice/internal/timer"
)

var dueCases = []testCase{
	{"OpenTellsEverything", openAll},
	{"OpenWhileOthersWrite", openWriting},
	{"OpenEndsWithAnError", openError},
	{"OverdueInOrder", overdueOrder},
	{"OverdueHasABoundary", overdueBoundary},
	{"PruneWhatHasEnded", pruneEnded},
	{"PruneUpToALimit", pruneLimit},
	{"PruneThenPut", pruneThenPut},
}

// openNow returns what Open tells.
func (x *fixture) openNow() map[string]time.Time {
	x.Helper()
	open := map[string]time.Time{}
	x.ok(x.Open(x.Context(), func(d timer.Due) error {
		if _, told := open[d.ID]; told {
			x.Errorf("timer %s was told twice", d.ID)
		}
		open[d.ID] = d.At
		return nil
	}))
	return open
}

func openAll(x *fixture) {
	want(x, "none", len(x.openNow()), 0)
	ids := x.putMany(5000)
	f := firing(after(2*time.Hour), ids[:100]...)
	f.Deliver = true
	x.fire(f)
	x.fire(firing(after(2*time.Hour), ids[100:200]...))
	open := x.openNow()
	want(x, "open", len(open), 4900)
	for i, id := range ids {
		expected := after(time.Hour)
		switch {
		case i < 100:
			expected = after(2*time.Hour + 15*time.Second)
		case i < 200:
			expected = time.Time{}
		}
		want(x, id, open[id], expected)
	}
}

// openWriting writes inside of fn and beside it.
func openWriting(x *fixture) {
	ids := x.putMany(3000)
	told, stop, stopped := 0, make(chan struct{}), make(chan error, 1)
	go func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				stopped <- nil
				return
			default:
			}
			if _, err := x.Put(x.Context(), []timer.Spec{spec(fmt.Sprint("beside-", i))}, start); err != nil {
				stopped <- err
				return
			}
		}
	}()
	seen := map[string]bool{}
	x.ok(x.Open(x.Context(), func(d timer.Due) error {
		seen[d.ID] = true
		told++
		if told%500 != 0 {
			return nil
		}
		if _, err := x.Fire(x.Context(), firing(after(2*time.Hour), d.ID)); err != nil {
			return err
		}
		// One that may not have been told yet moves before those that were.
		_, err := x.Reschedule(x.Context(), ids[len(ids)-told/500], after(-time.Hour), start)
		if err == nil || domain.CodeOf(err) == domain.CodeConflict {
			_, err = x.Put(x.Context(), []timer.Spec{spec(fmt.Sprint("inside-", told))}, start)
		}
		return err
	}))
	close(stop)
	x.ok(<-stopped)
	for _, id := range ids {
		if !seen[id] {
			x.Fatalf("timer %s was open all the time and not told", id)
		}
	}
}

func openError(x *fixture) {
	x.putMany(10)
	broken, calls := errors.New("broken"), 0
	for range 3 {
		calls = 0
		err := x.Open(x.Context(), func(timer.Due) error {
			calls++
			if calls == 3 {
				return broken
			}
			return nil
		})
		if !errors.Is(err, broken) || calls != 3 {
			x.Fatalf("got %v after %d calls", err, calls)
		}
	}
	want(x, "open", len(x.openNow()), 10)
}

func overdueOrder(x *fixture) {
	for i, id := range []string{"d", "a", "c", "b"} {
		x.put(timer.Spec{ID: id, At: after(time.Duration(i/2) * time.Minute)})
	}
	x.put(spec("later"))
	x.inStatus("canceled", timer.Canceled)
	x.inStatus("completed", timer.Completed)
	x.inStatus("delivering", timer.Delivering)
	listed := func(at time.Time, limit int) []timer.Due {
		due, err := x.Overdue(x.Context(), at, limit)
		x.ok(err)
		return due
	}
	first, second := after(0), after(time.Minute)
	all := []timer.Due{{ID: "a", At: first}, {ID: "d", At: first}, {ID: "b", At: second}, {ID: "c", At: second}}
	want(x, "in an hour", listed(after(time.Hour-1), 100), all)
	want(x, "the first three", listed(after(time.Hour-1), 3), all[:3])
	want(x, "one minute", listed(after(time.Minute-time.Microsecond), 100), all[:2])
	want(x, "long after", idsOf(listed(after(9*time.Hour), 100), dueID), []string{"a", "d", "b", "c", "later", "delivering"})
	want(x, "none", len(listed(after(-time.Hour), 100)), 0)
}

func overdueBoundary(x *fixture) {
	x.put(spec("a"))
	for at, expected := range map[time.Duration]int{time.Hour - time.Microsecond: 0, time.Hour: 1, time.Hour + time.Microsecond: 1} {
		due, err := x.Overdue(x.Context(), after(at), 10)
		x.ok(err)
		want(x, at.String(), len(due), expected)
	}
	x.fire(firing(after(time.Hour), "a"))
	due, err := x.Overdue(x.Context(), after(9*time.Hour), 10)
	x.ok(err)
	want(x, "after it fired", len(due), 0)
}

func (x *fixture) prune(before time.Time, limit int) int {
	x.Helper()
	n, err := x.Prune(x.Context(), before, limit)
	x.ok(err)
	return n
}

func pruneEnded(x *fixture) {
	for _, status := range allStatuses {
		x.inStatus("t-"+status.String(), status)
	}
	// They fired two hours after the start; the cancellation is of now.
	want(x, "at the end", x.prune(after(2*time.Hour), 100), 0)
	want(x, "after the end", x.prune(after(2*time.Hour+time.Microsecond), 100), 2)
	want(x, "left", idsOf(x.all(), timerID), []string{"t-CANCELED", "t-DELIVERING", "t-WAITING"})
	want(x, "canceled just now", x.prune(time.Now().Add(-time.Hour), 100), 0)
	want(x, "canceled long ago", x.prune(time.Now().Add(time.Hour), 100), 1)
	want(x, "left", idsOf(x.all(), timerID), []string{"t-DELIVERING", "t-WAITING"})
	_, err := x.Cancel(x.Context(), "t-WAITING")
	x.ok(err)
	_, err = x.Reschedule(x.Context(), "t-WAITING", after(time.Hour), start)
	x.ok(err)
	want(x, "taken back", x.prune(time.Now().Add(time.Hour), 100), 0)
	x.settle(timer.Settlement{ID: "t-DELIVERING", To: timer.Dead, Tries: 1})
	_, err = x.Redeliver(x.Context(), "t-DELIVERING", after(3*time.Hour))
	x.ok(err)
	want(x, "delivered again", x.prune(time.Now().Add(time.Hour), 100), 0)
}

func pruneLimit(x *fixture) {
	ids := x.putMany(30)
	for i, id := range ids {
		x.fire(firing(after(2*time.Hour-time.Duration(i)*time.Second), id))
	}
	want(x, "none", x.prune(after(3*time.Hour), 0), 0)
	want(x, "some of those before", x.prune(after(2*time.Hour-10*time.Second), 5), 5)
	left := idsOf(x.all(), timerID)
	want(x, "left", len(left), 25)
	want(x, "those after", left[:11], ids[:11])
	want(x, "the others before", x.prune(after(2*time.Hour-10*time.Second), 100), 14)
	want(x, "left", idsOf(x.all(), timerID), ids[:11])
	want(x, "some", x.prune(after(3*time.Hour), 4), 4)
	want(x, "the rest", x.prune(after(3*time.Hour), 100), 7)
	want(x, "no more", x.prune(after(3*time.Hour), 100), 0)
}

func pruneThenPut(x *fixture) {
	ids := x.putMany(5)
	x.fire(firing(after(2*time.Hour), ids...))
	want(x, "pruned", x.prune(after(3*time.Hour), 100), 5)
	completions, err := x.Completions(x.Context(), time.Time{}, "", 100)
	x.ok(err)
	want(x, "completions", len(completions), 0)
	x.putMany(5)
	want(x, "again", idsOf(x.all(), timerID), slices.Clone(ids))
}
