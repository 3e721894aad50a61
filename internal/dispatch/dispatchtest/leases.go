package dispatchtest

import (
	"time"

	"sluice/internal/dispatch"
)

var leaseCases = []testCase{
	{name: "LeasedIsNobodyElses", check: leasedIsNobodyElses},
	{name: "AckEndsTheJob", check: ackEndsTheJob},
	{name: "AckIsIdempotent", check: ackIsIdempotent},
	{name: "SilentWorkerLosesItsJob", check: silentWorkerLosesItsJob},
	{name: "ReclaimedGoesFirst", check: reclaimedGoesFirst},
	{name: "RenewKeepsTheLease", check: renewKeepsTheLease},
	{name: "OutdatedTokenDoesNothing", check: outdatedTokenDoesNothing},
	{name: "RenewReportsEachLostLease", check: renewReportsEachLostLease},
	{name: "ReleaseGoesToTheFront", check: releaseGoesToTheFront},
	{name: "ReleasedKeepTheirOrder", check: releasedKeepTheirOrder},
	{name: "ReleaseStaysInItsPriority", check: releaseStaysInItsPriority},
	{name: "ReleaseUntilAnInstant", check: releaseUntilAnInstant},
	{name: "ReleaseIsNotADelivery", check: releaseIsNotADelivery},
	{name: "ReleasedTokenIsOutdated", check: releasedTokenIsOutdated},
}

func leasedIsNobodyElses(x *fixture) {
	x.push(high("a", 1))
	x.expect(1)
	x.expectNone()
}

func ackEndsTheJob(x *fixture) {
	x.push(high("a", 1), high("a", 2))
	x.ack(x.expect(1, 2)...)
	x.pass(leaseUnits + 1)
	x.expectNone()
	// A finished job may come again: a person retried it.
	x.push(high("a", 1))
	if l := x.expect(1)[0]; l.Deliveries != 1 {
		x.Fatalf("a job pushed anew was delivered %d times, want 1", l.Deliveries)
	}
}

func ackIsIdempotent(x *fixture) {
	x.push(high("a", 1), high("a", 2))
	first := x.expect(1)
	x.ack(first...)
	x.ack(first...)
	x.ack(dispatch.Lease{Entry: high("a", 77), Token: 1 << 40}, dispatch.Lease{Entry: high("a", 2)})
	x.ack()
	x.expect(2)
	x.ack(first...)
	stats, err := x.Stats(x.Context())
	x.ok(err)
	if stats.Leased != 1 {
		x.Fatalf("%d leases, want the one of job 2", stats.Leased)
	}
}

func silentWorkerLosesItsJob(x *fixture) {
	x.push(high("a", 1))
	x.expect(1)
	until := x.in(leaseUnits)
	for deliveries := 2; deliveries <= 3; deliveries++ {
		l := x.expect(1)[0]
		x.expectAt("the reclaimed job", x.now(), until)
		if l.Deliveries != deliveries {
			x.Fatalf("delivered %d times, want %d", l.Deliveries, deliveries)
		}
		until = x.in(leaseUnits)
	}
}

// reclaimedGoesFirst: a job that was handed out once is finished before
// others of its kind are begun, while the rest goes on.
func reclaimedGoesFirst(x *fixture) {
	x.push(high("a", 1), high("a", 2), high("a", 3), high("a", 4))
	x.expect(1)
	x.ack(x.expect(2)...)
	x.pass(leaseUnits + 1)
	x.expect(1, 3, 4)
}

func renewKeepsTheLease(x *fixture) {
	x.push(high("a", 1))
	held := x.expect(1)
	var last time.Time
	for range 4 {
		x.pass(leaseUnits / 2)
		lost, err := x.Renew(x.Context(), held...)
		x.ok(err)
		if len(lost) > 0 {
			x.Fatalf("lost %+v although it was renewed in time", lost)
		}
		last = x.in(leaseUnits)
	}
	if l := x.expect(1)[0]; l.Deliveries != 2 || l.Token == held[0].Token {
		x.Fatalf("after %+v the job came as %+v, want a second delivery with its own token", held[0], l)
	}
	x.expectAt("the end of a renewed lease", x.now(), last)
}

func outdatedTokenDoesNothing(x *fixture) {
	x.push(high("a", 1))
	old := x.expect(1)[0]
	x.pass(leaseUnits + 1)
	current := x.expect(1)[0]

	x.ack(old)
	x.ok(x.Release(x.Context(), old, time.Time{}))
	x.ok(x.Release(x.Context(), old, x.in(1)))
	lost, err := x.Renew(x.Context(), old, current)
	x.ok(err)
	if len(lost) != 1 || lost[0] != old {
		x.Fatalf("lost %+v, want %+v alone", lost, old)
	}
	x.expectNone()
	x.ack(current)
	x.pass(leaseUnits + 1)
	x.expectNone()
}

func renewReportsEachLostLease(x *fixture) {
	x.push(high("a", 1), high("a", 2), high("a", 3))
	held := x.expect(1, 2, 3)
	x.ack(held[1])
	unknown := dispatch.Lease{Entry: high("a", 9), Token: 12345}
	lost, err := x.Renew(x.Context(), held[0], held[1], held[2], unknown)
	x.ok(err)
	if len(lost) != 2 || lost[0] != held[1] || lost[1] != unknown {
		x.Fatalf("lost %+v, want the acknowledged and the unknown one", lost)
	}
}

func releaseGoesToTheFront(x *fixture) {
	x.push(high("a", 1), high("a", 2), high("a", 3))
	held := x.expect(1)
	x.ok(x.Release(x.Context(), held[0], time.Time{}))
	x.expect(1, 2, 3)
}

func releasedKeepTheirOrder(x *fixture) {
	x.push(high("a", 1), high("a", 2), high("a", 3), high("a", 4))
	for _, l := range x.expect(1, 2, 3) {
		x.ok(x.Release(x.Context(), l, time.Time{}))
	}
	x.expect(1, 2, 3, 4)
}

func releaseStaysInItsPriority(x *fixture) {
	x.push(low("a", 1), low("a", 2))
	held := x.expect(1)
	x.push(high("a", 3), discovery(high("a", 4)))
	x.ok(x.Release(x.Context(), held[0], time.Time{}))
	x.expect(3, 4, 1, 2)
}

func releaseUntilAnInstant(x *fixture) {
	x.push(high("a", 1), high("a", 2), high("a", 3))
	when := x.in(3)
	x.ok(x.Release(x.Context(), x.expect(1)[0], when))
	x.ack(x.expect(2)...)
	x.pass(4)
	x.expect(1, 3)
	when = x.in(2)
	x.push(high("a", 4))
	x.ok(x.Release(x.Context(), x.expect(4)[0], when))
	x.expect(4)
	x.expectAt("the released entry", x.now(), when)
}

func releaseIsNotADelivery(x *fixture) {
	x.push(high("a", 1))
	l := x.expect(1)[0]
	for _, when := range []time.Time{{}, x.in(-1), x.in(1)} {
		x.ok(x.Release(x.Context(), l, when))
		before := l.Token
		if l = x.expect(1)[0]; l.Deliveries != 1 || l.Token == before {
			x.Fatalf("released entry came as %+v, want the first delivery with a new token", l)
		}
	}
}

func releasedTokenIsOutdated(x *fixture) {
	x.push(high("a", 1))
	old := x.expect(1)[0]
	x.ok(x.Release(x.Context(), old, time.Time{}))
	x.ok(x.Release(x.Context(), old, x.in(500)))
	x.ack(old)
	lost, err := x.Renew(x.Context(), old)
	x.ok(err)
	if len(lost) != 1 {
		x.Fatalf("a released lease was renewed")
	}
	x.ack(x.expect(1)...)
}
