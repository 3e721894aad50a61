package refresh_test

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/backend/memory"
	"sluice/internal/backend/sqlite"
	"sluice/internal/domain"
	"sluice/internal/quota/paced"
	"sluice/internal/quota/rate"
	"sluice/internal/refresh"
	sim "sluice/internal/simulator/maplestory"
	"sluice/internal/source/maplestory"
	"sluice/internal/testkit/faulty"
)

const game = "maplestory"

// later is the clock of tests in a bubble, whose time begins before the
// simulated characters are born.
func later() time.Time { return time.Now().Add(27 * 365 * 24 * time.Hour) }

// stand is a pipeline on the embedded adapters, with faults on demand.
type stand struct {
	*testing.T
	*faults
	*refresh.Pipeline
	dir      string
	db       *sqlite.DB
	now      func() time.Time
	upstream refresh.Upstream
	limits   rate.Limits
	// more are other upstreams, with limits of their own.
	more       map[string]refresh.Upstream
	moreLimits map[string]rate.Limits
	settings   refresh.Settings
	tiers      refresh.TierOptions
	parts      refresh.Parts
	// wrapLog, if set, puts something in front of the log.
	wrapLog func(refresh.EventLog) refresh.EventLog
}

// plenty are limits that no test meets unless it means to.
var plenty = rate.Limits{Hard: 20_000, Rate: 10_000, Burst: 10_000, LowRate: 9_000, LowBurst: 9_000, Daily: 1 << 40, DailyReserve: 1}

// newStand opens a pipeline that is not started, after the second that its rate
// keeper lets pass first.
func newStand(t *testing.T, upstream refresh.Upstream, change ...func(*stand)) *stand {
	t.Helper()
	s := &stand{T: t, faults: newFaults(), dir: t.TempDir(), now: later, upstream: upstream, limits: plenty, settings: refresh.Settings{Works: true}}
	for _, c := range change {
		c(s)
	}
	s.open()
	t.Cleanup(s.close)
	s.pass(time.Second)
	return s
}

func (s *stand) check(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *stand) open() {
	s.Helper()
	var err error
	s.db, err = sqlite.Open(s.Context(), sqlite.Options{Dir: s.dir, Holder: "a test"})
	s.check(err)
	store, err := sqlite.NewSnapshots(s.db, s.tiers)
	s.check(err)
	limits, upstreams := map[string]rate.Limits{game: s.limits}, map[string]refresh.Upstream{game: s.upstream}
	maps.Copy(limits, s.moreLimits)
	maps.Copy(upstreams, s.more)
	keeper, err := paced.New(limits, memory.NewRations(memory.RationsOptions{Store: sqlite.NewRations(s.db), Now: s.now}), paced.Options{Now: s.now})
	s.check(err)
	s.parts = refresh.Parts{
		Log:       faulty.NewEventLog(sqlite.NewEventLog(s.db, sqlite.EventLogOptions{Log: slog.New(slog.DiscardHandler)}), s.plan),
		Coalescer: faulty.NewCoalescer(memory.NewCoalescer(refresh.CoalescerTTLs{}, s.now), s.plan),
		Snapshots: faulty.NewSnapshots(pickyStore{store}, s.plan), Rate: faulty.NewRate(keeper, s.plan),
		Cache: faulty.NewCache(memory.NewCache(memory.CacheOptions{Now: s.now}), s.plan), Upstreams: upstreams, Now: s.now,
	}
	if s.wrapLog != nil {
		s.parts.Log = s.wrapLog(s.parts.Log)
	}
	s.Pipeline, err = refresh.NewPipeline(s.parts, s.settings)
	s.check(err)
}

func (s *stand) close() {
	s.check(s.Stop(context.WithoutCancel(s.Context())))
	s.pass(10 * time.Millisecond) // what was about to be saved is
	_ = s.parts.Log.Close(context.WithoutCancel(s.Context()))
	_ = s.db.Close()
}

// crash ends everything at once, without a chance to write anything down.
func (s *stand) crash() {
	_ = s.db.Close()
	s.close()
}

func (s *stand) start() {
	s.Helper()
	s.check(s.Start(s.Context()))
}

// pass lets time pass.
func (s *stand) pass(d time.Duration) { time.Sleep(d) }

// until lets time pass until something holds.
func (s *stand) until(what string, holds func() bool) {
	s.Helper()
	// What takes longer is looked at less often: looking costs, time does not.
	for began := time.Now(); time.Since(began) < time.Hour; {
		synctest.Wait()
		if holds() {
			return
		}
		s.pass(max(20*time.Millisecond, time.Since(began)/50))
	}
	s.Fatalf("never: %s", what)
}

func entity(key string) refresh.Entity { return refresh.Entity{Source: game, Key: key} }

func (s *stand) ask(p domain.Priority, keys ...string) ([]refresh.Grant, error) {
	q := refresh.Request{Priority: p, Reason: refresh.ReasonUserRequest, CorrelationID: "a test"}
	for _, key := range keys {
		q.Entities = append(q.Entities, entity(key))
	}
	return s.Request(s.Context(), q)
}

// want asks for one key and demands what becomes of it.
func (s *stand) want(result refresh.Coalesced, p domain.Priority, key string) refresh.Grant {
	s.Helper()
	grants, err := s.ask(p, key)
	s.check(err)
	if grants[0].Result != result {
		s.Fatalf("%s for %s is %s, want %s", p, key, grants[0].Result, result)
	}
	return grants[0]
}

// snapshot reads the store itself, whatever fails.
func (s *stand) snapshot(key string) (refresh.Snapshot, bool, *refresh.Status) {
	s.Helper()
	store := s.parts.Snapshots.(*faulty.Snapshots).Snapshots
	snapshot, found, status, err := store.Snapshot(s.Context(), entity(key))
	s.check(err)
	return snapshot, found, status
}

func (s *stand) stored(keys ...string) func() bool {
	return func() bool {
		for _, key := range keys {
			if _, found, _ := s.snapshot(key); !found {
				return false
			}
		}
		return true
	}
}

func (s *stand) letters() []refresh.DeadLetter {
	s.Helper()
	letters, err := s.DeadLetterList(s.Context(), refresh.DeadLetterQuery{Limit: 10_000})
	s.check(err)
	return letters
}

func (s *stand) values() []refresh.Value {
	s.Helper()
	values, _, err := s.parts.Snapshots.Values(s.Context(), s.now().Add(time.Hour), "", 10_000)
	s.check(err)
	return values
}

func (s *stand) wantCounts(want map[string]int64) {
	s.Helper()
	got, err := s.DeadLetterCounts(s.Context())
	s.check(err)
	if !maps.Equal(got, want) {
		s.Errorf("dead letters are %v, want %v", got, want)
	}
}

// world is the simulated game, called without a network.
type world struct {
	*sim.Server
	*maplestory.Source
}

func newWorld(t *testing.T, o sim.Options) *world {
	t.Helper()
	o.Now, o.BodySize = later, cmp.Or(o.BodySize, 2000)
	w := &world{Server: sim.New(o)}
	var err error
	w.Source, err = maplestory.New(maplestory.Options{BaseURL: "http://game", Key: sim.DefaultKey, Transport: direct{w.Server}, Now: later})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// keys are those of the first characters.
func (w *world) keys(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = maplestory.DefaultPart + ":" + w.Ocid(i)
	}
	return keys
}

// direct carries requests to a handler in the same process.
type direct struct{ http.Handler }

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return w.Result(), nil
}
