package dispatchtest

import (
	"flag"
	"fmt"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sluice/internal/dispatch"
	"sluice/internal/domain"
	"sluice/internal/testkit"
)

var modelLanes = []string{"a", "b", "c"}

// checkModel does the same random things to a dispatcher and to the model.
func checkModel(t *testing.T, f Factory) {
	checks := testkit.Effort(15, 200)
	if f.FakeClock {
		checks = testkit.Effort(150, 3000)
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
	seed := testkit.Seed(t)
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
	// drawn are the instants that were drawn.
	drawn map[time.Time]bool
}

func (f Factory) compare(t *rapid.T) {
	limit := 0
	if f.LaneLimit {
		limit = rapid.IntRange(0, 3).Draw(t, "lane limit")
	}
	x := f.fixture(t, leaseUnits, limit)
	c := &comparison{fixture: x, rt: t, model: newModel(x.now(), leaseUnits*unit, limit), drawn: make(map[time.Time]bool)}
	actions := map[string]func(*rapid.T){
		"push":      c.doPush,
		"push many": c.doPushMany,
		"lease":     c.doLease,
		"ack":       c.doAck,
		"release":   c.doRelease,
		"park":      c.doPark,
		"resume":    c.doResume,
		"remove":    c.doRemove,
		"renew":     c.doRenew,
		"pass":      c.doPass,
		"":          c.compareStats,
	}
	if !f.FakeClock {
		for name, do := range actions {
			actions[name] = c.later(do)
		}
	}
	t.Repeat(actions)
	c.drain()
}

func (c *comparison) drawEntry() dispatch.Entry {
	e := dispatch.Entry{
		ID:       c.drawID(),
		Lane:     rapid.SampledFrom(modelLanes).Draw(c.rt, "lane"),
		Priority: rapid.SampledFrom([]domain.Priority{domain.PriorityHigh, domain.PriorityLow}).Draw(c.rt, "priority"),
		Class:    rapid.SampledFrom([]domain.Class{domain.ClassChild, domain.ClassDiscovery}).Draw(c.rt, "class"),
	}
	if rapid.Bool().Draw(c.rt, "with an instant") {
		e.NotBefore = c.drawInstant()
	}
	return e
}

// drawID returns one of sixty ids, of which most are jobs.
func (c *comparison) drawID() string {
	number := rapid.Int64Range(1, 60).Draw(c.rt, "id")
	switch number % 6 {
	case 0:
		return fmt.Sprintf("request:%d/17", number)
	case 1:
		return fmt.Sprintf("timer:%d:tea: for two, at 5", number)
	}
	return dispatch.JobID(number)
}

// later does something at an instant of its own. In which order things happen
// that fall on one instant is promised by an adapter alone.
func (c *comparison) later(do func(*rapid.T)) func(*rapid.T) {
	return func(t *rapid.T) {
		c.passBoth(time.Millisecond)
		do(t)
	}
}

// drawInstant returns an instant around now; see later.
func (c *comparison) drawInstant() time.Time {
	at := c.model.now.Add(time.Duration(rapid.IntRange(-2, 40).Draw(c.rt, "units")) * unit / 2)
	for c.fixture.clock != nil && c.drawn[at] {
		at = at.Add(time.Millisecond)
	}
	c.drawn[at] = true
	return at
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
	c.leaseBoth(rapid.IntRange(1, 12).Draw(c.rt, "n"))
}

// leaseBoth leases from both. If nothing is ready, both wait for the same
// instant.
func (c *comparison) leaseBoth(n int) (got int) {
	leases := c.leaseAt(n)
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

// leaseAt leases when the model has something to give. In a bubble the
// dispatcher itself waits until then; a clock is moved there first, because a
// call that waits on it may be a little late.
func (c *comparison) leaseAt(n int) (leases []dispatch.Lease) {
	if c.fixture.clock == nil {
		leases = c.fixture.lease(n)
	}
	c.waitFor(dispatch.MaxWait)
	if c.fixture.clock == nil {
		if now := c.fixture.now(); !now.Equal(c.model.now) {
			c.Fatalf("lease returned at %v, want %v", now, c.model.now)
		}
		return leases
	}
	c.fixture.clock.AdvanceTo(c.model.now)
	if len(c.turn) == 0 {
		c.expectNone()
		return nil
	}
	return c.fixture.lease(n)
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
	id := c.drawID()
	c.ok(c.Remove(c.Context(), id))
	c.model.remove(id)
}

func (c *comparison) doPass(*rapid.T) {
	halves := rapid.IntRange(1, 30).Draw(c.rt, "half units")
	c.passBoth(time.Duration(halves) * unit / 2)
}

func (c *comparison) passBoth(d time.Duration) {
	c.passTime(d)
	c.advance(c.fixture.now())
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
	for len(c.entries) > 0 {
		got := c.leaseBoth(100)
		for _, l := range c.leases[len(c.leases)-got:] {
			c.fixture.ack(l)
			c.model.ack(l)
		}
	}
	c.expectStats(dispatch.Stats{})
}
