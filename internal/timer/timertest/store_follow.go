package timertest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"sluice/internal/timer"
)

var followCases = []testCase{
	{"FollowTellsWhatFired", followTells},
	{"FollowWhateverClocksSay", followClocks},
	{"FollowMissesNobody", followCrowd},
	{"PositionsAreNeverUsedAgain", followPruned},
	{"PositionOfAnInstant", positionOf},
	{"UnloggedUntilLogged", unlogged},
	{"UnloggedAgainWhenChanged", unloggedChanged},
}

func (x *fixture) follow(after int64, limit int) []timer.Completion {
	x.Helper()
	out, err := x.Follow(x.Context(), after, limit)
	x.ok(err)
	for i, c := range out {
		if c.Position <= after || i > 0 && c.Position <= out[i-1].Position {
			x.Fatalf("place %d after %d: position %d does not follow", i, after, c.Position)
		}
	}
	return out
}

func (x *fixture) position(from time.Time) int64 {
	x.Helper()
	position, err := x.Position(x.Context(), from)
	x.ok(err)
	return position
}

func followTells(x *fixture) {
	want(x, "nothing", len(x.follow(0, 100)), 0)
	var expected []timer.Completion
	for _, status := range allStatuses {
		if t := x.inStatus("t-"+status.String(), status); status.HasFired() {
			expected = append(expected, t.Completion())
		}
	}
	got := x.follow(0, 100)
	want(x, "completions", len(got), len(expected))
	last := got[len(got)-1].Position
	for i := range got {
		got[i].Position = 0
	}
	for _, one := range expected {
		if !slices.ContainsFunc(got, func(c timer.Completion) bool { return fmt.Sprint(c) == fmt.Sprint(one) }) {
			x.Errorf("%+v is missing in %+v", one, got)
		}
	}
	want(x, "after the last", len(x.follow(last, 100)), 0)
	want(x, "limit", len(x.follow(0, 1)), 1)
	want(x, "none", len(x.follow(0, 0)), 0)
}

// followClocks fires later what carries earlier times.
func followClocks(x *fixture) {
	ids := x.putMany(40)
	var got []string
	last := int64(0)
	for i := range 8 {
		x.fire(firing(after(10*time.Hour-time.Duration(i)*time.Hour), ids[i*5:(i+1)*5]...))
		for page := x.follow(last, 2); len(page) > 0; page = x.follow(last, 2) {
			got = append(got, idsOf(page, completionID)...)
			last = page[len(page)-1].Position
		}
		want(x, "told", len(got), (i+1)*5)
	}
	slices.Sort(got)
	slices.Sort(ids)
	want(x, "ids", got, ids)
}

// followCrowd follows while many fire at once.
func followCrowd(x *fixture) {
	const each = 4
	ids := x.putMany(crowd * each)
	var firing sync.WaitGroup
	for i := range crowd {
		firing.Go(func() {
			_, err := x.Fire(x.Context(), timer.Firing{IDs: ids[i*each : (i+1)*each], Now: after(2 * time.Hour), Server: "s", Grace: time.Second})
			if err != nil {
				x.Errorf("fire: %v", err)
			}
		})
	}
	over := make(chan struct{})
	go func() { firing.Wait(); close(over) }()
	seen := map[string]int{}
	for last, ended := int64(0), false; ; {
		page := x.follow(last, 7)
		for _, c := range page {
			seen[c.Timer]++
			last = c.Position
		}
		if len(page) == 0 && ended {
			break
		}
		select {
		case <-over:
			ended = len(page) == 0
		default:
		}
	}
	for _, id := range ids {
		if seen[id] != 1 {
			x.Errorf("%s was seen %d times", id, seen[id])
		}
	}
}

func followPruned(x *fixture) {
	ids := x.putMany(3)
	x.fire(firing(after(2*time.Hour), ids...))
	got := x.follow(0, 10)
	want(x, "completions", len(got), 3)
	last := got[2].Position
	n, err := x.Prune(x.Context(), after(100*time.Hour), 10)
	x.ok(err)
	want(x, "removed", n, 3)
	want(x, "left", len(x.follow(0, 10)), 0)
	x.put(spec("new"))
	x.fire(firing(after(2*time.Hour), "new"))
	want(x, "after all that were", idsOf(x.follow(last, 10), completionID), []string{"new"})
}

func positionOf(x *fixture) {
	want(x, "of nothing", x.position(after(100*time.Hour)), int64(0))
	ids := x.putMany(9)
	for i := range 3 {
		x.fire(firing(after(time.Duration(2+i)*time.Hour), ids[i*3:(i+1)*3]...))
	}
	got := x.follow(0, 10)
	for i := range 3 {
		from := x.follow(x.position(after(time.Duration(2+i)*time.Hour)), 10)
		want(x, "since an instant", from, got[i*3:])
	}
	want(x, "since the end", x.position(after(100*time.Hour)), got[8].Position)
	want(x, "since the beginning", x.follow(x.position(time.Time{}), 10), got)
}

func (x *fixture) unlogged() []timer.Timer {
	x.Helper()
	out, err := x.Unlogged(x.Context(), 100)
	x.ok(err)
	slices.SortFunc(out, func(a, b timer.Timer) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	return out
}

func unlogged(x *fixture) {
	ids := x.putMany(6)
	f := firing(after(2*time.Hour), ids[:3]...)
	x.fire(f)
	want(x, "nobody asked", len(x.unlogged()), 0)
	f = firing(after(2*time.Hour), ids[3:]...)
	f.Log = true
	x.fire(f)
	x.fire(f) // its answer was lost
	list := x.unlogged()
	want(x, "listed", len(list), 3)
	for i, t := range list {
		want(x, "timer", t, x.timer(ids[3+i]))
	}
	some, err := x.Unlogged(x.Context(), 2)
	x.ok(err)
	want(x, "limit", len(some), 2)
	x.ok(x.Logged(x.Context(), list[:2]))
	want(x, "left", x.unlogged(), list[2:])
	x.ok(x.Logged(x.Context(), list))
	x.ok(x.Logged(x.Context(), nil))
	want(x, "none left", len(x.unlogged()), 0)
	n, err := x.Prune(x.Context(), after(100*time.Hour), 10)
	x.ok(err)
	want(x, "removed", n, 6)
}

// unloggedChanged settles a delivery between the reading and the writing.
func unloggedChanged(x *fixture) {
	x.put(hooked("a"))
	f := firing(after(2*time.Hour), "a")
	f.Log = true
	x.fire(f)
	before := x.unlogged()
	want(x, "status", before[0].Status, timer.Delivering)
	x.ok(x.Settle(x.Context(), []timer.Settlement{{ID: "a", To: timer.Completed, Tries: 1, Log: true}}))
	x.ok(x.Logged(x.Context(), before))
	now := x.unlogged()
	want(x, "listed again", len(now), 1)
	want(x, "as it is", now[0].Status, timer.Completed)
	x.ok(x.Logged(x.Context(), now))
	// One who read it long ago has written what is not true any more.
	x.ok(x.Logged(x.Context(), before))
	want(x, "listed once more", len(x.unlogged()), 1)
	x.ok(x.Logged(x.Context(), x.unlogged()))
	// What changed nothing is not listed.
	x.ok(x.Settle(x.Context(), []timer.Settlement{{ID: "a", To: timer.Dead, Tries: 9, Log: true}}))
	want(x, "none", len(x.unlogged()), 0)
}
