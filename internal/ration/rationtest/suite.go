// Package rationtest is what every keeper of rations has to pass.
//
//   - suite.go: the cases and what they run on.
//   - upstream.go: an upstream that remembers every call, and refuses one too many.
//   - cases*.go: one promise each.
//   - property.go: whatever happens in whatever order, nobody is ever refused.
package rationtest

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"sluice/internal/ration"
	"sluice/internal/ration/keeper"
)

// Morning is when cases begin.
var Morning = time.Date(2026, 3, 1, 1, 0, 0, 123456000, time.UTC)

// Group is the group that cases draw on.
const Group = "suite"

// Bench is a keeper whose processes and servers can end.
type Bench interface {
	// Keepers are the processes that share their counts.
	Keepers() []keeper.Keeper
	// Restart ends a process and begins it anew.
	Restart(i int)
	// Lose forgets all but what is stored.
	Lose()
}

// Factory makes a bench on a clock and a store; nothing is known of any group.
type Factory func(t testing.TB, c *Clock, s *Store) Bench

// Run runs every case against the adapter.
func Run(t *testing.T, f Factory) {
	for name, run := range map[string]func(*suite){
		"all or none":                               allOrNone,
		"a sliding rate":                            slidingRate,
		"a window whose end nobody tells":           unknownWindow,
		"a window whose end is told":                toldWindow,
		"a later window is told":                    laterWindow,
		"less is told":                              lessIsTold,
		"more is told":                              moreIsTold,
		"what is learnt from nothing":               learntLimit,
		"a bucket":                                  bucket,
		"a bucket that tells":                       bucketTells,
		"a bucket that tells how it refills":        bucketRefills,
		"a window whose length is told":             toldLength,
		"calls at once":                             concurrent,
		"places of the dead come back":              leases,
		"parts have counts of their own":            parts,
		"a part that is learnt":                     learntPart,
		"what is not urgent":                        lowPriority,
		"keep and use":                              keepAndUse,
		"a day in its zone":                         zonedDay,
		"points cost what they cost":                points,
		"a free call takes nothing":                 freeCalls,
		"a pause, and one call first":               pause,
		"a pause that doubles":                      backoff,
		"lifting a pause":                           lift,
		"a restart remembers":                       restart,
		"a loss remembers":                          loss,
		"a pause outlives a loss":                   pauseOutlives,
		"a store that fails":                        storeFails,
		"the store is written seldom":               storeSeldom,
		"a call that took more than was thought":    tookMore,
		"the clock is set":                          clockSet,
		"a clock that is set all the time":          clockSetAlways,
		"a permit that is given back twice":         twice,
		"a call that drew on other counts":          elsewhere,
		"many at once, never one too many":          crowd,
		"what is known":                             look,
		"asks that are larger than the whole":       larger,
		"nothing is granted to who has given up":    givenUp,
		"parts are forgotten when nothing is known": forgotten,
		"calls in bulk":                             bulk,
		"a bucket is exact":                         exactBucket,
		"a reserve in units":                        reserved,
		"a bucket that paces":                       paced,
		"a newcomer to what is paced":               newcomer,
		"calls that are given back":                 returned,
		"a line of those who wait":                  line,
		"a pause of calls in bulk":                  bulkPause,
		"calls in bulk are stored ahead":            bulkStored,
		"what is not limited":                       uncounted,
		"a dated window":                            datedWindow,
		"a dated window and a loss":                 datedLoss,
		"a dated window that ended unseen":          datedLostWindow,
		"a dated window in bulk":                    datedBulk,
		"a dated window that its owner keeps":       datedFloor,
		"a window that is dated from now on":        datedLater,
	} {
		t.Run(name, func(t *testing.T) { run(newSuite(t, f)) })
	}
	t.Run("property: nobody is refused, and nobody waits for nothing", func(t *testing.T) { property(t, f) })
}

// suite is one case under way.
type suite struct {
	testing.TB
	Bench
	clock *Clock
	store *Store
}

// newSuite makes a bench, longer ago than any brief period: what comes back in
// seconds is taken for spent at first.
func newSuite(t testing.TB, f Factory) *suite {
	s := &suite{TB: t, clock: NewClock(Morning), store: &Store{}}
	s.Bench = f(t, s.clock, s.store)
	s.settleIn()
	return s
}

// settleIn lets everybody meet the group, and what is brief be over.
func (s *suite) settleIn() {
	s.Helper()
	for _, k := range s.Keepers() {
		if err := k.Lift(s.Context(), Group); err != nil {
			s.Fatal(err)
		}
	}
	s.clock.Advance(11 * time.Second)
}

func (s *suite) first() keeper.Keeper { return s.Keepers()[0] }

// decide asks for a call.
func (s *suite) decide(ask keeper.Ask) keeper.Decision {
	s.Helper()
	d, err := s.first().Reserve(s.Context(), ask)
	if err != nil {
		s.Fatal(err)
	}
	if !d.Granted && (!d.RetryAt.After(s.clock.Now()) || d.Reason == "" || d.Refused == "") {
		s.Fatalf("a refusal that does not say enough: %+v at %v", d, s.clock.Now())
	}
	return d
}

func (s *suite) grant(ask keeper.Ask) keeper.Permit {
	s.Helper()
	d := s.decide(ask)
	if !d.Granted {
		s.Fatalf("refused at %v: %+v", s.clock.Now(), d)
	}
	return d.Permit
}

func (s *suite) refuse(ask keeper.Ask) keeper.Decision {
	s.Helper()
	d := s.decide(ask)
	if d.Granted {
		s.Fatalf("granted at %v", s.clock.Now())
	}
	return d
}

func (s *suite) settle(p keeper.Permit, o keeper.Outcome) {
	s.Helper()
	if err := s.first().Settle(s.Context(), p, o); err != nil {
		s.Fatal(err)
	}
}

// spend makes so many calls, one after the other.
func (s *suite) spend(n int, ask keeper.Ask) {
	s.Helper()
	for range n {
		s.settle(s.grant(ask), keeper.Outcome{Well: true})
	}
}

// windows are what is known, by count.
func (s *suite) windows() map[string]keeper.Window {
	s.Helper()
	all, err := s.first().Look(s.Context(), Group)
	if err != nil {
		s.Fatal(err)
	}
	by := map[string]keeper.Window{}
	for _, w := range all {
		by[w.Count] = w
	}
	return by
}

// ask draws one on each of these.
func ask(rations ...*ration.Ration) keeper.Ask {
	a := keeper.Ask{Group: Group}
	for _, r := range rations {
		a.Draws = append(a.Draws, keeper.Draw{Ration: r, Part: "alice", Cost: 1})
	}
	return a
}

func make1(name string, shape ration.Shape, calls int, every time.Duration) *ration.Ration {
	return &ration.Ration{
		Name: name, Per: []ration.Dimension{ration.PerOwner}, Unit: ration.UnitCalls, Shape: shape, Calls: calls, Every: ration.Period{Length: every},
	}
}

// Clock is one that tests move and set.
type Clock struct {
	// held is by whoever needs the clock to stand still.
	held   sync.RWMutex
	mu     sync.Mutex
	now    time.Time
	passed time.Duration
}

// NewClock returns a clock that shows this.
func NewClock(now time.Time) *Clock { return &Clock{now: now} }

// Now is the time of day, in whole microseconds.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Passed is the time that has passed.
func (c *Clock) Passed() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.passed
}

// Hold keeps the clock from being moved until release is called.
func (c *Clock) Hold() (release func()) {
	c.held.RLock()
	return c.held.RUnlock
}

// Advance lets time pass, in whole microseconds.
func (c *Clock) Advance(d time.Duration) {
	c.held.Lock()
	defer c.held.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	d = (d + time.Microsecond - 1).Truncate(time.Microsecond)
	c.now, c.passed = c.now.Add(d), c.passed+d
}

// Set sets the time of day.
func (c *Clock) Set(by time.Duration) {
	c.held.Lock()
	defer c.held.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(by.Truncate(time.Microsecond))
}

// Store keeps what is stored, and fails if it is told to.
type Store struct {
	mu    sync.Mutex
	rows  map[[2]string]keeper.Stored
	saves int
	fail  error
}

// Load implements keeper.Store.
func (s *Store) Load(_ context.Context, group string) ([]keeper.Stored, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []keeper.Stored
	for key, row := range s.rows {
		if key[0] == group {
			all = append(all, row)
		}
	}
	return all, s.fail
}

// Save implements keeper.Store.
func (s *Store) Save(_ context.Context, all []keeper.Stored) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return s.fail
	}
	if s.rows == nil {
		s.rows = map[[2]string]keeper.Stored{}
	}
	s.saves++
	for _, row := range all {
		key := [2]string{row.Group, row.Count}
		if have, ok := s.rows[key]; !ok || row.Seq >= have.Seq {
			s.rows[key] = row
		}
	}
	return nil
}

// Groups implements keeper.Store.
func (s *Store) Groups(context.Context) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	groups := map[string]struct{}{}
	for key := range s.rows {
		groups[key[0]] = struct{}{}
	}
	return slices.Sorted(maps.Keys(groups)), s.fail
}

// Fail lets everything fail with this from now on; nil ends it.
func (s *Store) Fail(with error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = with
}

// Saves is how often something was saved.
func (s *Store) Saves() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.saves
}
