package refreshtest

import (
	"context"
	"errors"
	"slices"
	"time"
)

var waitCases = []logCase{
	{name: "TakesNoMoreThanAsked", check: takesNoMoreThanAsked},
	{name: "PublishElsewhereWakes", check: publishElsewhereWakes},
	{name: "EndOfContextEndsTheWait", check: endOfContextEndsTheWait},
	{name: "EndedWaitsLoseNothing", check: endedWaitsLoseNothing},
	{name: "WaitEndsAtMaxWait", needs: func(x *logFixture) bool { return x.maxWait > 0 }, check: waitEndsAtMaxWait},
	{name: "PauseReturnsNothing", check: pauseReturnsNothing},
	{name: "ResumeEndsTheWait", check: resumeEndsTheWait},
	{name: "PauseKeepsThePartitions", check: pauseKeepsThePartitions},
	{name: "CloseEndsTheWait", check: closeEndsTheWait},
}

func takesNoMoreThanAsked(x *logFixture) {
	c := x.joinHere()
	x.publish(spread(0, 100)...)
	var all []int
	for n := 1; len(all) < 100; n++ {
		records, err := c.Take(x.Context(), n)
		x.ok(err)
		if len(records) > n {
			x.Fatalf("asked for %d and got %d", n, len(records))
		}
		all = append(all, numbers(records)...)
	}
	slices.Sort(all)
	if !slices.Equal(all, count(0, 100)) {
		x.Errorf("took %v", all)
	}
}

func publishElsewhereWakes(x *logFixture) {
	c, there := x.joinHere(), x.another()
	// It certainly has its partitions when it has taken something.
	x.publish(message(0))
	x.expect(c, []int{0})
	const rounds = 5
	late := 0
	for i := range rounds {
		waiting := takeBeside(x.Context(), c, 10)
		x.ok(there.Publish(x.Context(), "update-priority-high", message(i+1)))
		got := <-waiting
		x.ok(got.err)
		if x.maxWait > 0 && got.took > x.maxWait {
			late++
		}
		if len(got.records) == 0 { // the wait was over first
			got.records = x.take(c, 1)
		}
		if !slices.Equal(numbers(got.records), []int{i + 1}) {
			x.Fatalf("took %v, want %d", texts(got.records), i+1)
		}
	}
	// A busy machine may take longer than a wait to publish, though not each time.
	if late == rounds {
		x.Errorf("nobody was woken within %v", x.maxWait)
	}
}

func endOfContextEndsTheWait(x *logFixture) {
	c := x.joinHere()
	ctx, cancel := context.WithCancel(x.Context())
	waiting := takeBeside(ctx, c, 10)
	cancel()
	if got := <-waiting; !errors.Is(got.err, context.Canceled) || len(got.records) > 0 {
		x.Errorf("took %v with error %v", texts(got.records), got.err)
	}
	if _, err := c.Take(ctx, 1); !errors.Is(err, context.Canceled) {
		x.Errorf("with an ended context: %v", err)
	}
}

// endedWaitsLoseNothing ends waits at about the time of a publish: a record is
// either returned or there for the next.
func endedWaitsLoseNothing(x *logFixture) {
	c := x.joinHere()
	x.publish(message(0))
	x.expect(c, []int{0})
	var got []int
	const n = 50
	for i := range n {
		ctx, cancel := context.WithCancel(x.Context())
		waiting := takeBeside(ctx, c, 10)
		published := make(chan error, 1)
		go func() { published <- x.Publish(x.Context(), "update-priority-high", message(i+1)) }()
		if i%2 == 0 {
			x.ok(<-published)
			cancel()
		} else {
			cancel()
			x.ok(<-published)
		}
		t := <-waiting
		if len(t.records) > 0 && t.err != nil {
			x.Fatalf("both records and an error: %v", t.err)
		}
		got = append(got, numbers(t.records)...)
	}
	got = append(got, numbers(x.take(c, n-len(got)))...)
	slices.Sort(got)
	if !slices.Equal(got, count(1, n)) {
		x.Errorf("took %v", got)
	}
}

func waitEndsAtMaxWait(x *logFixture) {
	c := x.joinHere()
	x.publish(message(0))
	x.expect(c, []int{0})
	got := <-takeBeside(x.Context(), c, 10)
	x.ok(got.err)
	if len(got.records) > 0 || got.took < x.maxWait*9/10 {
		x.Errorf("took %v after %v, want nothing after %v", texts(got.records), got.took, x.maxWait)
	}
}

func pauseReturnsNothing(x *logFixture) {
	c := x.joinHere()
	x.publish(spread(0, 50)...)
	first := x.take(c, 10)
	c.Pause()
	x.publish(spread(50, 50)...)
	x.takeNothing(c)
	// What was taken before can be done all the same.
	x.done(c, first...)
	x.takeNothing(c)
	c.Resume()
	got := append(first, x.take(c, 90)...)
	x.inOrder(got)
	if have := sortedNumbers(got); !slices.Equal(have, count(0, 100)) {
		x.Errorf("took %v", have)
	}
	x.takeNothing(c)
}

func resumeEndsTheWait(x *logFixture) {
	c := x.joinHere()
	x.publish(message(0))
	x.expect(c, []int{0})
	c.Pause()
	x.publish(message(1))
	waiting := takeBeside(x.Context(), c, 10)
	c.Resume()
	// Where the wait ended before the pause did, there is another.
	got := <-waiting
	x.ok(got.err)
	if len(got.records) == 0 {
		got.records = x.take(c, 1)
	}
	if !slices.Equal(numbers(got.records), []int{1}) {
		x.Errorf("took %v", texts(got.records))
	}
}

// pauseKeepsThePartitions: while one consumer rests, nobody gets its part.
func pauseKeepsThePartitions(x *logFixture) {
	team := x.newTeam()
	resting, working := team.join(x.EventLog), team.join(x.another())
	team.settled()
	own := team.partitionsOf(resting)
	team.stop()
	resting.Pause()
	const n = 2 * keys
	x.publish(spread(n, n)...)
	ctx, cancel := context.WithTimeout(x.Context(), 2*time.Second)
	defer cancel()
	for {
		records, err := working.Take(ctx, 100)
		if ctx.Err() != nil {
			break
		}
		x.ok(err)
		for _, r := range records {
			if own[r.Partition] {
				x.Fatalf("%v is of a partition of the one that rests", texts([]record{r}))
			}
		}
	}
	resting.Resume()
	for _, r := range x.take(resting, 10) {
		if !own[r.Partition] {
			x.Errorf("%v is of a partition of the other", texts([]record{r}))
		}
	}
}

func closeEndsTheWait(x *logFixture) {
	c := x.join(x.EventLog)
	waiting := takeBeside(x.Context(), c, 10)
	x.close(c)
	if got := <-waiting; len(got.records) > 0 || got.took > patience/2 {
		x.Errorf("took %v after %v", texts(got.records), got.took)
	}
	if records, err := c.Take(x.Context(), 1); err == nil || len(records) > 0 {
		x.Errorf("a closed consumer takes %v, %v", texts(records), err)
	}
	x.ok(c.Close(x.Context()))
}
