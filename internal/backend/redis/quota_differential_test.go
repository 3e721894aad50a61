package redis_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"sluice/internal/backend/memory"
	"sluice/internal/quota"
	"sluice/internal/quota/bucketed"
	"sluice/internal/quota/quotatest"
	"sluice/internal/testkit"
)

// quotaTwins are the two keepers, asked the same things at the same time.
type quotaTwins struct {
	*quotaStand
	rng    *rand.Rand
	memory quota.Keeper
	up     map[string]*quotatest.Upstream
	out    []pair
	done   []pair
	events []string
}

// pair is what each of the twins granted for one ask.
type pair struct {
	memory, redis quota.Permit
}

// TestQuotaSameDecisionsAsInMemory plays random sequences of asks, answers, losses
// of answers and clock jumps through both keepers. On a clock of whole
// microseconds, which is what Redis counts, they decide alike to the
// microsecond: whether a call is granted, why not, when to come back, and what
// is shown.
//
// They differ on purpose in what is left after Redis lost everything (see
// loss_random_test.go), in permits whose holder is gone, and when the clock is set
// back: the keeper in memory has then already forgotten points that the one in
// Redis, which writes less, still holds. And the one in memory forgets idle
// owners when another one comes, so that here all of them come first.
func TestQuotaSameDecisionsAsInMemory(t *testing.T) {
	rng := rand.New(rand.NewPCG(testkit.Seed(t), 0))
	db := connectOwn(t, testkit.Redis(t))
	rounds := 400
	if testing.Short() {
		rounds = 20
	}
	for range rounds {
		cfg := randomConfig(rng)
		w := &quotaTwins{quotaStand: newQuotaStand(t, db, cfg, noon), rng: rng, up: make(map[string]*quotatest.Upstream)}
		w.forget()
		rations := memory.NewRations(memory.RationsOptions{
			Now: w.Now, Passed: func() time.Duration { return w.Now().Sub(time.Unix(0, 0)) }, PermitLife: w.life,
		})
		w.memory = bucketed.New(cfg, rations, bucketed.Options{Now: w.Now})
		for _, owner := range owners[:2] {
			w.reserve(owner)
		}
		for range 120 {
			w.step()
		}
		w.compareWindows()
	}
}

func randomConfig(rng *rand.Rand) quota.Config {
	cfg := quota.Config{Buckets: map[string]quota.Limits{}, Concurrency: []int{0, 3, 20}[rng.IntN(3)]}
	for _, name := range []string{"core", "graphql"} {
		cfg.Buckets[name] = quota.Limits{
			Limit: 1 + rng.IntN(30), Window: time.Duration(1+rng.IntN(60)) * time.Second, Floor: rng.IntN(4),
			PointsPerMinute: []int{0, 6, 25}[rng.IntN(3)], PointsShared: rng.IntN(2) == 0,
			PointsPeriod: time.Duration(1+rng.IntN(20)) * time.Second,
		}
	}
	return cfg
}

func (w *quotaTwins) step() {
	switch n := w.rng.IntN(20); {
	case n < 8:
		w.reserve(owners[w.rng.IntN(2)])
	case n < 14:
		w.giveBack()
	case n < 15:
		w.giveBackAgain()
	case n == 15 && w.rng.IntN(8) == 0:
		w.reset()
	default:
		w.jump()
	}
}

func (w *quotaTwins) jump() {
	most := []time.Duration{time.Millisecond, 300 * time.Millisecond, 3 * time.Second, 90 * time.Second, time.Hour}[w.rng.IntN(5)]
	d := time.Duration(w.rng.Int64N(int64(most))).Truncate(time.Microsecond)
	w.note("clock %v", d)
	w.now = w.now.Add(d)
}

func (w *quotaTwins) reserve(owner string) {
	a := quota.Ask{
		Owner: owner, Bucket: []string{"core", "graphql"}[w.rng.IntN(2)],
		Endpoint: []string{"list", "detail", "search"}[w.rng.IntN(3)],
		Cost:     w.rng.IntN(4), Points: w.rng.IntN(6), Floor: []int{0, 0, 0, 5}[w.rng.IntN(4)],
	}
	m, err := w.memory.Reserve(w.Context(), a)
	if err != nil {
		w.Fatal(err)
	}
	r, err := w.keeper.Reserve(w.Context(), a)
	if err != nil {
		w.Fatal(err)
	}
	w.Persist(r.Window)
	w.note("%+v: granted %v, %s until %v", a, m.Granted, m.Reason, m.RetryAt)
	if m.Granted != r.Granted || m.Reason != r.Reason || !m.RetryAt.Equal(r.RetryAt) {
		w.fail("in memory %+v\nin Redis %+v", m, r)
	}
	if !m.Granted {
		return
	}
	if m.Permit.Ask != r.Permit.Ask || !m.Permit.GrantedAt.Equal(r.Permit.GrantedAt) {
		w.fail("in memory %+v\nin Redis %+v", m.Permit, r.Permit)
	}
	w.out = append(w.out, pair{m.Permit, r.Permit})
}

func (w *quotaTwins) giveBack() {
	if len(w.out) == 0 {
		return
	}
	i := w.rng.IntN(len(w.out))
	p := w.out[i]
	w.out = slices.Delete(w.out, i, i+1)
	w.done = append(w.done, p)
	w.end(p)
}

func (w *quotaTwins) giveBackAgain() {
	if len(w.done) > 0 {
		w.end(w.done[w.rng.IntN(len(w.done))])
	}
}

func (w *quotaTwins) end(p pair) {
	r := w.response(p.redis.Ask)
	free := w.rng.IntN(4) == 0
	w.note("give back %d, free %v: %+v", p.redis.ID, free, r)
	inMemory, inRedis := w.memory.Settle, w.keeper.Settle
	if free {
		inMemory, inRedis = w.memory.Refund, w.keeper.Refund
	}
	if _, err := inMemory(w.Context(), p.memory, r); err != nil {
		w.Fatal(err)
	}
	window, err := inRedis(w.Context(), p.redis, r)
	if err != nil {
		w.Fatal(err)
	}
	w.Persist(window)
}

// response is mostly what a model says, and sometimes whatever.
func (w *quotaTwins) response(a quota.Ask) quota.Response {
	key := a.Owner + a.Bucket
	if w.up[key] == nil {
		w.up[key] = &quotatest.Upstream{
			Limit: 1 + w.rng.IntN(40), Window: w.cfg.Buckets[a.Bucket].Window,
			Ahead: time.Duration(w.rng.Int64N(int64(time.Hour))).Truncate(time.Microsecond) - 30*time.Minute,
		}
	}
	up := w.up[key]
	var r quota.Response
	switch n := w.rng.IntN(20); {
	case n < 11:
		r = up.Count(w.Now(), a)
	case n < 14:
		r = up.NotModified(w.Now(), a)
	case n < 16:
		up.Foreign(w.Now(), 2)
		r = up.Count(w.Now(), a)
	case n < 17:
		r = quota.Response{
			Known: true, Limit: w.rng.IntN(40), Remaining: w.rng.IntN(40) - 2,
			Reset: w.Now().Add(time.Duration(w.rng.IntN(200)-50) * time.Second).Truncate(time.Second),
		}
	case n < 18:
		r = quota.Response{Known: true, Limit: 10, Remaining: 3}
	}
	r.Cost = []int{0, 0, 0, 1, 5}[w.rng.IntN(5)]
	r.Exhausted = r.Exhausted || w.rng.IntN(30) == 0
	switch w.rng.IntN(40) {
	case 0:
		r.RetryAfter = time.Duration(w.rng.IntN(20)) * time.Second
	case 1:
		r.RetryAfter = time.Duration(w.rng.IntN(20)) * time.Hour
	case 2:
		r.Backoff = true
	case 3:
		r.Reset = w.Now().Add(time.Duration(w.rng.IntN(1000)) * time.Hour).Truncate(time.Second)
	}
	r.Succeeded = w.rng.IntN(2) == 0
	return r
}

// reset lifts what parks an owner in both.
func (w *quotaTwins) reset() {
	owner := owners[w.rng.IntN(2)]
	w.note("reset %s", owner)
	if _, err := w.memory.Reset(w.Context(), owner); err != nil {
		w.Fatal(err)
	}
	windows, err := w.keeper.Reset(w.Context(), owner)
	if err != nil {
		w.Fatal(err)
	}
	for i := range windows {
		w.Persist(&windows[i])
	}
}

// compareWindows comes last: listing in memory also begins windows that are
// due, which listing in Redis leaves to the next decision.
func (w *quotaTwins) compareWindows() {
	m, err := w.memory.Windows(w.Context(), "")
	if err != nil {
		w.Fatal(err)
	}
	r, err := w.keeper.Windows(w.Context(), "")
	if err != nil {
		w.Fatal(err)
	}
	if !slices.EqualFunc(m, r, func(a, b quota.Window) bool {
		same := a.Reset.Equal(b.Reset) && a.ParkedUntil.Equal(b.ParkedUntil)
		a.Reset, a.ParkedUntil, b.Reset, b.ParkedUntil = time.Time{}, time.Time{}, time.Time{}, time.Time{}
		return same && a == b
	}) {
		w.fail("in memory %+v\nin Redis %+v", m, r)
	}
}

func (w *quotaTwins) note(format string, args ...any) {
	w.events = append(w.events, w.Now().Format("15:04:05.000000 ")+fmt.Sprintf(format, args...))
}

func (w *quotaTwins) fail(format string, args ...any) {
	w.Helper()
	for _, e := range w.events {
		w.Log(e)
	}
	w.Logf("%+v", w.cfg)
	w.Fatalf(format, args...)
}
