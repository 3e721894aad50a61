// Package quotatest is the conformance suite of the quota port: what every
// adapter must do, and a model upstream that counts what it lets through.
package quotatest

import (
	"context"
	"testing"
	"time"

	"sluice/internal/quota"
)

// Features declares what an adapter's test bench can do.
type Features struct {
	// FakeClock is set when time passes only by Advance. Without it Advance
	// waits, windows are a few seconds long, and the property tests, which
	// need to play years, do not apply.
	FakeClock bool
	// CasesAlone leaves the property tests out, for a second kind of server
	// behind the same adapter.
	CasesAlone bool
}

// Factory makes test benches for one adapter.
type Factory struct {
	Features Features
	New      func(t testing.TB, cfg quota.Config) Bench
}

// Bench is one adapter under test with its clock and its durable storage.
type Bench interface {
	// Keeper returns the running keeper.
	Keeper() quota.Keeper
	// Crash ends the keeper without warning and starts a new one from what it has
	// stored.
	Crash()
	Now() time.Time
	Advance(d time.Duration)
}

const (
	core    = "core"
	graphql = "graphql"
	alice   = "alice"
	bob     = "bob"
)

// Run runs every case against the adapter.
func Run(t *testing.T, f Factory) {
	for name, run := range cases() {
		t.Run(name, func(t *testing.T) {
			if !f.Features.FakeClock {
				t.Parallel() // they mostly wait
			}
			run(newSuite(t, f))
		})
	}
	if f.Features.FakeClock {
		for _, some := range []map[string]func(*suite){resetCases(), clockCases(), parkCases()} {
			for name, run := range some {
				t.Run(name, func(t *testing.T) { run(newSuite(t, f)) })
			}
		}
	}
	if f.Features.FakeClock && !f.Features.CasesAlone {
		t.Run("property: a clock that is set costs one call", func(t *testing.T) { repeat(t, 10, f, clockCostsOneCall) })
		t.Run("property: never a call too many", func(t *testing.T) { repeat(t, 15, f, neverTooMany) })
		t.Run("property: the ration is used", func(t *testing.T) { repeat(t, 4, f, rationIsUsed) })
	}
}

// cases lists what an adapter must do, by name.
func cases() map[string]func(*suite) {
	return map[string]func(*suite){
		"grants to the limit and not one more":   limitIsExact,
		"the floor is kept":                      floorIsKept,
		"an owner has a floor of his own":        floorOfTheOwner,
		"the floor shrinks with the limit":       floorShrinks,
		"concurrency over all buckets":           concurrencyIsBounded,
		"points fall out of the period":          pointsFallOut,
		"points are per endpoint":                pointsPerEndpoint,
		"points may be shared":                   pointsShared,
		"points outlast slow answers":            pointsOutlastSlowAnswers,
		"Retry-After parks all buckets":          retryAfterParks,
		"cold start counts from the first call":  coldStart,
		"the first response corrects the limit":  firstResponseCorrects,
		"a limit change counts from next window": limitChange,
		"headers out of order":                   headersOutOfOrder,
		"a header never raises":                  headerNeverRaises,
		"a header lowers":                        headerLowers,
		"reset jitter is the same window":        resetJitter,
		"a later reset opens a window":           laterResetOpens,
		"an earlier reset is ignored":            earlierResetIgnored,
		"a call without an answer is counted":    lostIsCounted,
		"a loss is not undone by older headers":  lossSurvivesOlderHeader,
		"a window without headers ends":          windowWithoutHeadersEnds,
		"refund gives back":                      refundGivesBack,
		"giving back twice counts once":          doubleSettle,
		"a call may cost more than asked":        costAboveAsked,
		"a call may cost less than asked":        costBelowAsked,
		"exhausted although some remain":         exhaustedWithRest,
		"owners are isolated":                    ownersIsolated,
		"restart keeps the count":                restartKeepsCount,
		"restart then a later window":            restartThenLater,
		"a carried call is charged once":         carriedOnce,
		"restart keeps Retry-After":              restartKeepsPark,
		"restart forgets an ended window":        restartAfterEnd,
		"restart keeps the points":               restartKeepsPoints,
		"a clock that differs":                   skewedClock,
		"a stopped caller is refused":            canceledContext,
		"an unknown bucket is refused":           unknownBucket,
		"windows are listed":                     windowsListed,
		"many callers at once":                   concurrentCallers,
		"a floor that keeps everything":          floorKeepsAll,
		"reset of an unknown owner":              resetUnknown,
	}
}

// resetCases are those that need the clock to stand at a reset.
func resetCases() map[string]func(*suite) {
	return map[string]func(*suite){
		"a call lost at the reset":         lostAtReset,
		"a crash at the reset":             crashAtReset,
		"a crash after the reset":          crashAfterReset,
		"a slow first answer":              slowFirstAnswer,
		"a later window's header and loss": laterHeaderThenLoss,
	}
}

// repeat checks a property in rounds, each with a seed of its own that a
// failure prints: the mistakes worth finding need thousands of tries.
func repeat(t *testing.T, rounds int, f Factory, property func(*testing.T, Factory)) {
	for range rounds {
		property(t, f)
		if testing.Short() || t.Failed() {
			return
		}
	}
}

// suite is one case under way.
type suite struct {
	*testing.T
	factory Factory
	Bench
	window time.Duration
	period time.Duration
}

func newSuite(t *testing.T, f Factory) *suite {
	s := &suite{T: t, factory: f, window: time.Hour, period: time.Minute}
	if !f.Features.FakeClock {
		s.window, s.period = 4*time.Second, 2*time.Second
	}
	return s
}

// limits is a bucket of the given limit and nothing else.
func (s *suite) limits(limit int) quota.Limits {
	return quota.Limits{Limit: limit, Window: s.window, PointsPeriod: s.period}
}

// start makes the bench with the same limits for both buckets.
func (s *suite) start(l quota.Limits) { s.startWith(quota.Config{Buckets: both(l)}) }

func (s *suite) startWith(cfg quota.Config) { s.Bench = s.factory.New(s, cfg) }

func both(l quota.Limits) map[string]quota.Limits {
	return map[string]quota.Limits{core: l, graphql: l}
}

func ask(owner, bucket string) quota.Ask {
	return quota.Ask{Owner: owner, Bucket: bucket, Endpoint: "list", Cost: 1, Points: 1}
}

func (s *suite) reserve(a quota.Ask) quota.Decision {
	s.Helper()
	d, err := s.Keeper().Reserve(s.Context(), a)
	if err != nil {
		s.Fatalf("Reserve(%+v): %v", a, err)
	}
	if !d.Granted && !d.RetryAt.After(s.Now()) && s.factory.Features.FakeClock {
		s.Fatalf("refused with RetryAt %v, not after now %v", d.RetryAt, s.Now())
	}
	if !d.Granted && d.Reason == "" {
		s.Fatal("refused without a reason")
	}
	return d
}

func (s *suite) grant(a quota.Ask) quota.Permit {
	s.Helper()
	d := s.reserve(a)
	if !d.Granted {
		s.Fatalf("Reserve(%+v) refused for %s until %v", a, d.Reason, d.RetryAt)
	}
	return d.Permit
}

func (s *suite) refused(a quota.Ask, why quota.Reason) time.Time {
	s.Helper()
	d := s.reserve(a)
	if d.Granted {
		s.Fatalf("Reserve(%+v) granted, want a refusal for %s", a, why)
	}
	if d.Reason != why {
		s.Fatalf("refused for %s, want %s", d.Reason, why)
	}
	return d.RetryAt
}

func (s *suite) settle(p quota.Permit, r quota.Response) {
	s.Helper()
	s.returned(s.Keeper().Settle(s.Context(), p, r))
}

func (s *suite) refund(p quota.Permit, r quota.Response) {
	s.Helper()
	s.returned(s.Keeper().Refund(s.Context(), p, r))
}

func (s *suite) returned(err error) {
	s.Helper()
	if err != nil {
		s.Fatalf("give back: %v", err)
	}
}

// spend grants and settles n calls that the upstream counts.
func (s *suite) spend(u *Upstream, a quota.Ask, n int) {
	s.Helper()
	for range n {
		p := s.grant(a)
		s.settle(p, u.Count(s.Now(), p.Ask))
	}
}

// upstream is a model that fits the case's limits.
func (s *suite) upstream(limit int) *Upstream {
	return &Upstream{Limit: limit, Window: s.window}
}

// available counts how many more calls are granted right now, by taking them
// and giving them back untouched.
func (s *suite) available(a quota.Ask) int {
	s.Helper()
	var held []quota.Permit
	for {
		d := s.reserve(a)
		if !d.Granted {
			break
		}
		held = append(held, d.Permit)
		if len(held) > 1_000_000 {
			s.Fatal("no limit at all")
		}
	}
	for _, p := range held {
		s.refund(p, quota.Response{})
	}
	return len(held)
}

func (s *suite) wantAvailable(a quota.Ask, want int) {
	s.Helper()
	if got := s.available(a); got != want {
		s.Fatalf("%d calls available, want %d", got, want)
	}
}

// wantResetWait checks that RetryAt is the reset: never before it, and after
// it only for the coarseness of the upstream's Date.
func (s *suite) wantResetWait(retryAt, reset time.Time) {
	s.Helper()
	if retryAt.Before(reset) || retryAt.Sub(reset) > 1100*time.Millisecond {
		s.Fatalf("RetryAt is %v after the reset, want 0 to 1.1s", retryAt.Sub(reset))
	}
}

// until advances to an instant.
func (s *suite) until(at time.Time) {
	if d := at.Sub(s.Now()); d > 0 {
		s.Advance(d)
	}
}

// canceled is a context that is done.
func (s *suite) canceled() context.Context {
	ctx, cancel := context.WithCancel(s.Context())
	cancel()
	return ctx
}
