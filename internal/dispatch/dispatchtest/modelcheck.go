package dispatchtest

import (
	"context"
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sluice/internal/dispatch"
	"sluice/internal/domain"
)

var modelLanes = []string{"a", "b", "c"}

// checkModel does the same random things to a dispatcher and to the model.
func checkModel(t *testing.T, f Factory) {
	checks := 40
	if f.FakeClock {
		checks = 1000
	}
	setRapid(t, checks)
	rapid.Check(t, func(t *rapid.T) {
		if f.FakeClock {
			rapid.SyncTest(t, func(t *rapid.T) { f.compare(t) })
		} else {
			f.compare(t)
		}
	})
}

// setRapid tells rapid how many cases to try and with which seed. It prints the
// seed and takes it from SLUICE_TEST_SEED if that is set.
func setRapid(t *testing.T, checks int) {
	seed := rand.Uint64()
	if s := os.Getenv("SLUICE_TEST_SEED"); s != "" {
		given, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatalf("SLUICE_TEST_SEED=%q is not a number: %v", s, err)
		}
		seed = given
	}
	t.Logf("SLUICE_TEST_SEED=%d", seed)
	settings := map[string]string{
		"rapid.seed":       strconv.FormatUint(seed, 10),
		"rapid.checks":     strconv.Itoa(checks),
		"rapid.nofailfile": "true",
	}
	for name, value := range settings {
		if err := flag.Set(name, value); err != nil {
			t.Fatalf("set %s: %v", name, err)
		}
	}
}

// comparison is a dispatcher and the model of it.
type comparison struct {
	*fixture
	rt *rapid.T
	*model
	// leases holds every lease ever handed out, outdated ones too.
	leases []dispatch.Lease
}

func (f Factory) compare(t *rapid.T) {
	limit := 0
	if f.LaneLimit {
		limit = rapid.IntRange(0, 3).Draw(t, "lane limit")
	}
	lease := leaseUnits
	if !f.FakeClock {
		// No lease may run out while the model's time stands still.
		lease = 1000 * leaseUnits
	}
	x := f.fixture(t, lease, limit)
	c := &comparison{fixture: x, rt: t, model: newModel(time.Now(), time.Duration(lease)*x.unit, limit)}
	actions := map[string]func(*rapid.T){
		"push":      c.doPush,
		"push many": c.doPushMany,
		"lease":     c.doLease,
		"ack":       c.doAck,
		"release":   c.doRelease,
		"park":      c.doPark,
		"resume":    c.doResume,
		"remove":    c.doRemove,
		"":          c.compareStats,
	}
	if x.fake {
		actions["renew"] = c.doRenew
		actions["pass"] = c.doPass
	}
	t.Repeat(actions)
	c.drain()
}

func (c *comparison) drawEntry() dispatch.Entry {
	e := dispatch.Entry{
		Job:      rapid.Int64Range(1, 60).Draw(c.rt, "job"),
		Lane:     rapid.SampledFrom(modelLanes).Draw(c.rt, "lane"),
		Priority: rapid.SampledFrom([]domain.Priority{domain.PriorityHigh, domain.PriorityLow}).Draw(c.rt, "priority"),
		Class:    rapid.SampledFrom([]domain.Class{domain.ClassChild, domain.ClassDiscovery}).Draw(c.rt, "class"),
	}
	if rapid.Bool().Draw(c.rt, "with an instant") {
		e.NotBefore = c.drawInstant()
	}
	return e
}

// drawInstant returns an instant around now. Where time is real it is far
// away, so that the comparison does not depend on how fast it runs.
func (c *comparison) drawInstant() time.Time {
	if !c.fake {
		return time.Now().Add(time.Hour + rapid.SampledFrom([]time.Duration{-2 * time.Hour, 0, time.Hour}).Draw(c.rt, "hours"))
	}
	return c.now.Add(time.Duration(rapid.IntRange(-2, 40).Draw(c.rt, "units")) * c.unit / 2)
}

func (c *comparison) drawLease() dispatch.Lease {
	if len(c.leases) == 0 {
		c.rt.Skip("nothing was leased yet")
	}
	// Recent leases are likelier to be held.
	back := min(rapid.IntRange(1, 20).Draw(c.rt, "lease"), len(c.leases))
	return c.leases[len(c.leases)-back]
}

func (c *comparison) doPush(*rapid.T) { c.pushBoth(c.drawEntry()) }

func (c *comparison) doPushMany(*rapid.T) {
	entries := make([]dispatch.Entry, rapid.IntRange(0, 20).Draw(c.rt, "entries"))
	for i := range entries {
		entries[i] = c.drawEntry()
	}
	c.pushBoth(entries...)
}

func (c *comparison) pushBoth(entries ...dispatch.Entry) {
	c.fixture.push(entries...)
	for _, e := range entries {
		c.model.push(e)
	}
}

func (c *comparison) doLease(*rapid.T) {
	n := rapid.IntRange(1, 12).Draw(c.rt, "n")
	if !c.fake && len(c.turn) == 0 {
		c.expectNone()
		return
	}
	c.leaseBoth(n)
}

// leaseBoth leases from both. If nothing is ready, both wait for the same
// instant.
func (c *comparison) leaseBoth(n int) (got int) {
	leases := c.fixture.lease(n)
	if c.fake {
		c.waitFor(dispatch.MaxWait)
		if !time.Now().Equal(c.now) {
			c.Fatalf("lease returned at %v, want %v", time.Now(), c.now)
		}
	}
	for _, l := range leases {
		want := c.take()
		if want == nil {
			c.Fatalf("leased %+v, want nothing", l)
		}
		if l.Entry != want.Entry || l.Deliveries != want.deliveries {
			c.Fatalf("leased %+v, want %+v delivered %d times", l, want.Entry, want.deliveries)
		}
		want.token = l.Token
	}
	if len(leases) < n && len(c.turn) > 0 {
		c.Fatalf("leased %d of %d entries although more are ready: %v", len(leases), n, c.turn)
	}
	c.leases = append(c.leases, leases...)
	return len(leases)
}

func (c *comparison) doAck(*rapid.T) {
	l := c.drawLease()
	c.fixture.ack(l)
	c.model.ack(l)
}

func (c *comparison) doRenew(*rapid.T) {
	l := c.drawLease()
	lost, err := c.Renew(c.Context(), l)
	c.ok(err)
	if held := c.renew(l); held == (len(lost) > 0) {
		c.Fatalf("renewing %+v lost %+v, want held to be %v", l, lost, held)
	}
}

func (c *comparison) doRelease(*rapid.T) {
	l, when := c.drawLease(), time.Time{}
	if rapid.Bool().Draw(c.rt, "later") {
		when = c.drawInstant()
	}
	c.ok(c.Release(c.Context(), l, when))
	c.release(l, when)
}

func (c *comparison) doPark(*rapid.T) {
	lane, until := rapid.SampledFrom(modelLanes).Draw(c.rt, "lane"), c.drawInstant()
	c.ok(c.Park(c.Context(), lane, until))
	c.park(lane, until)
}

func (c *comparison) doResume(*rapid.T) {
	lane := rapid.SampledFrom(modelLanes).Draw(c.rt, "lane")
	c.ok(c.Resume(c.Context(), lane))
	c.resume(lane)
}

func (c *comparison) doRemove(*rapid.T) {
	job := rapid.Int64Range(1, 60).Draw(c.rt, "job")
	c.ok(c.Remove(c.Context(), job))
	c.remove(job)
}

func (c *comparison) doPass(*rapid.T) {
	halves := rapid.IntRange(1, 30).Draw(c.rt, "half units")
	time.Sleep(time.Duration(halves) * c.unit / 2)
	c.advance(time.Now())
}

func (c *comparison) compareStats(*rapid.T) {
	got, err := c.Stats(c.Context())
	c.ok(err)
	count := make(map[modelState]int)
	for _, e := range c.entries {
		count[e.state]++
	}
	if got.Ready != count[modelReady] || got.Due != count[modelDue] || got.Leased != count[modelLeased] {
		c.Fatalf("statistics are %+v, want %d ready, %d due, %d leased",
			got, count[modelReady], count[modelDue], count[modelLeased])
	}
}

// drain finishes everything: nothing may be lost, nothing left behind.
func (c *comparison) drain() {
	for _, lane := range modelLanes {
		c.ok(c.Resume(c.Context(), lane))
		c.resume(lane)
	}
	if !c.fake {
		c.drainReady()
		return
	}
	for len(c.entries) > 0 {
		got := c.leaseBoth(100)
		for _, l := range c.leases[len(c.leases)-got:] {
			c.fixture.ack(l)
			c.model.ack(l)
		}
	}
	c.expectStats(dispatch.Stats{})
}

// drainReady finishes what needs no time to pass.
func (c *comparison) drainReady() {
	for len(c.turn) > 0 {
		got := c.leaseBoth(100)
		c.fixture.ack(c.leases[len(c.leases)-got:]...)
		for _, l := range c.leases[len(c.leases)-got:] {
			c.model.ack(l)
		}
	}
	ctx, cancel := context.WithTimeout(c.Context(), c.unit/4)
	defer cancel()
	if leases, err := c.Lease(ctx, 1); !errors.Is(err, context.DeadlineExceeded) {
		c.Fatalf("leased %+v, %v, want nothing to be left", leases, err)
	}
}
