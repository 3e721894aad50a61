package dispatchtest

import (
	"context"
	"errors"
	"time"

	"sluice/internal/dispatch"
)

var waitCases = []testCase{
	{name: "WaitEndsAtMaxWait", check: waitEndsAtMaxWait},
	{name: "PushWakes", check: pushWakes},
	{name: "PushWakesEachOnce", check: pushWakesEachOnce},
	{name: "DueWakes", check: dueWakes},
	{name: "EarlierDueWakesEarlier", check: earlierDueWakesEarlier},
	{name: "ResumeWakes", check: resumeWakes},
	{name: "ReleaseWakes", check: releaseWakes},
	{name: "ExpiryWakes", check: expiryWakes},
	{name: "CancelEndsAWait", check: cancelEndsAWait},
	{name: "CanceledCallTakesNothing", check: canceledCallTakesNothing},
	{name: "CanceledWaiterIsSkipped", check: canceledWaiterIsSkipped},
	{name: "NothingToLeaseIsAnError", check: nothingToLeaseIsAnError},
}

func waitEndsAtMaxWait(x *fixture) {
	x.push(at(high("a", 1), x.now().Add(3*dispatch.MaxWait)))
	began := x.now()
	if leases := x.lease(1); len(leases) > 0 {
		x.Fatalf("leased %+v, want nothing", leases)
	}
	x.expectAt("the end of the wait", x.now(), began.Add(dispatch.MaxWait))
}

func pushWakes(x *fixture) {
	done := x.waitIn(x.Context(), x.Dispatcher, 5)
	x.ok(x.another().Push(x.Context(), high("a", 1)))
	x.expectJobs(<-done, 1)
}

// pushWakesEachOnce: a push wakes as many as it can serve; the others sleep on
// and get the next.
func pushWakesEachOnce(x *fixture) {
	results := make(chan waiting, 3)
	for range 3 {
		done := x.waitIn(x.Context(), x.Dispatcher, 1)
		go func() { results <- <-done }()
	}
	got := make(map[int64]bool)
	for job := int64(1); job <= 3; job++ {
		x.push(high("a", job))
		w := <-results
		x.settled()
		if len(results) > 0 {
			x.Fatalf("one entry ended %d waits", 1+len(results))
		}
		x.expectJobs(w, job)
		got[x.jobOf(w.leases[0])] = true
	}
	if len(got) != 3 {
		x.Fatalf("three waits brought %v", got)
	}
}

func dueWakes(x *fixture) {
	when := x.in(5)
	x.push(at(high("a", 1), when))
	done := x.await(x.waitIn(x.Context(), x.another(), 1))
	x.expectJobs(done, 1)
	x.expectAt("the due entry", done.ended, when)
}

func earlierDueWakesEarlier(x *fixture) {
	x.push(at(high("a", 1), x.in(20)))
	done := x.waitIn(x.Context(), x.Dispatcher, 1)
	when := x.in(2)
	x.ok(x.another().Push(x.Context(), at(high("a", 2), when)))
	w := x.awaitScheduled(done, when)
	x.expectJobs(w, 2)
	if x.Scheduled {
		x.expectAt("the earlier entry", w.ended, when)
	}
}

func resumeWakes(x *fixture) {
	x.push(high("a", 1), high("a", 2))
	x.ok(x.Park(x.Context(), "a", x.in(500)))
	done := x.waitIn(x.Context(), x.Dispatcher, 5)
	x.ok(x.another().Resume(x.Context(), "a"))
	x.expectJobs(<-done, 1, 2)
}

func releaseWakes(x *fixture) {
	x.push(high("a", 1))
	held := x.expect(1)
	done := x.waitIn(x.Context(), x.another(), 1)
	x.ok(x.Release(x.Context(), held[0], time.Time{}))
	x.expectJobs(<-done, 1)
}

func expiryWakes(x *fixture) {
	x.push(high("a", 1))
	x.expect(1)
	until := x.in(leaseUnits)
	done := x.await(x.waitIn(x.Context(), x.another(), 1))
	x.expectJobs(done, 1)
	x.expectAt("the expired lease", done.ended, until)
}

func cancelEndsAWait(x *fixture) {
	ctx, cancel := context.WithCancel(x.Context())
	done := x.waitIn(ctx, x.Dispatcher, 1)
	cancel()
	if w := <-done; !errors.Is(w.err, context.Canceled) || len(w.leases) > 0 {
		x.Fatalf("a canceled wait brought %+v, %v", w.leases, w.err)
	}
}

func canceledCallTakesNothing(x *fixture) {
	x.push(high("a", 1))
	ctx, cancel := context.WithCancel(x.Context())
	cancel()
	if leases, err := x.Lease(ctx, 1); !errors.Is(err, context.Canceled) || len(leases) > 0 {
		x.Fatalf("a canceled call brought %+v, %v", leases, err)
	}
	if l := x.expect(1)[0]; l.Deliveries != 1 {
		x.Fatalf("the canceled call counted as a delivery")
	}
}

// canceledWaiterIsSkipped: what is pushed after a wait was canceled goes to
// one that still waits.
func canceledWaiterIsSkipped(x *fixture) {
	ctx, cancel := context.WithCancel(x.Context())
	gone := x.waitIn(ctx, x.Dispatcher, 1)
	stays := x.waitIn(x.Context(), x.Dispatcher, 1)
	cancel()
	if w := <-gone; !errors.Is(w.err, context.Canceled) {
		x.Fatalf("a canceled wait ended with %v", w.err)
	}
	x.push(high("a", 1))
	x.expectJobs(<-stays, 1)
}

func nothingToLeaseIsAnError(x *fixture) {
	x.push(high("a", 1))
	for _, n := range []int{0, -1} {
		if leases, err := x.Lease(x.Context(), n); err == nil {
			x.Errorf("leasing %d entries brought %v and no error", n, leases)
		}
	}
}
