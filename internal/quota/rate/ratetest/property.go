package ratetest

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/quota/rate"
	"sluice/internal/testkit"
)

// world plays random asks, losses, restarts and clocks that are set.
type world struct {
	*suite
	rng    *rand.Rand
	limits rate.Limits
	days   map[string]int
	// refunded counts calls that were given back although they were made, so
	// that a day may have a call more for each.
	refunded int
	events   []string
}

// neverTooMany: whatever happens, no second has more calls than the upstream
// allows, and no day.
func neverTooMany(t *testing.T, f Factory) {
	rng := rand.New(rand.NewPCG(testkit.Seed(t), 1))
	rounds := 60
	if testing.Short() {
		rounds = 5
	}
	for range rounds {
		w := &world{suite: &suite{T: t, factory: f}, rng: rng, limits: RandomLimits(rng), days: make(map[string]int)}
		w.start(w.limits)
		for range 400 {
			w.step()
			if most := w.seconds.Fullest(); most > w.limits.Hard {
				w.fail("%d calls in a second", most)
			}
		}
	}
}

// RandomLimits returns limits that can be kept.
func RandomLimits(rng *rand.Rand) rate.Limits {
	l := rate.Limits{Rate: 1 + rng.IntN(40), Burst: 1 + rng.IntN(20), Zone: Seoul}
	l.Hard = l.Rate + l.Burst + rng.IntN(3)*rng.IntN(20)
	l.LowRate, l.LowBurst, l.Reserve = 1+rng.IntN(l.Rate), 1+rng.IntN(l.Burst), rng.IntN(l.Burst)
	if rng.IntN(2) == 0 {
		l.Daily = int64(50 + rng.IntN(2000))
		l.DailyReserve = rng.Int64N(l.Daily / 2)
	}
	return l
}

func (w *world) step() {
	process := w.rng.IntN(len(w.Keepers()))
	switch n := w.rng.IntN(40); {
	case n < 20:
		w.askOf(process, []domain.Priority{high, low}[w.rng.IntN(2)], 1+w.rng.IntN(12))
	case n < 32:
		w.pass()
	case n < 35:
		w.set()
	case n < 36:
		w.note("restart %d", process)
		w.Restart(process)
	case n < 37:
		w.note("loss")
		w.Lose()
	case n < 39:
		w.note("refund")
		w.refunded++
		if err := w.Keepers()[process].Refund(w.Context(), Upstream, high, 1); err != nil {
			w.fail("%v", err)
		}
	default:
		w.note("pause")
		if err := w.Keepers()[process].Pause(w.Context(), Upstream, w.clock.Now().Add(200*time.Millisecond)); err != nil {
			w.fail("%v", err)
		}
	}
}

func (w *world) askOf(process int, p domain.Priority, n int) {
	day := w.limits.DayAt(w.clock.Now()).String()
	g, err := w.Keepers()[process].Reserve(w.Context(), Upstream, p, n)
	if err != nil {
		w.fail("%v", err)
	}
	w.note("process %d asks for %d %s: %+v", process, n, p, g)
	w.check(g, n)
	w.days[day] += g.Calls
	if w.limits.Daily > 0 && int64(w.days[day]) > w.limits.Daily+int64(w.refunded) {
		w.fail("%d calls on %s", w.days[day], day)
	}
}

func (w *world) pass() {
	most := []time.Duration{time.Millisecond, 100 * time.Millisecond, 2 * time.Second, time.Hour, 30 * time.Hour}[w.rng.IntN(5)]
	d := time.Duration(w.rng.Int64N(int64(most)))
	w.note("%v pass", d)
	w.clock.Advance(d)
}

func (w *world) set() {
	most := []time.Duration{time.Second, time.Minute, 40 * time.Hour}[w.rng.IntN(3)]
	d := time.Duration(w.rng.Int64N(int64(2*most))) - most
	w.note("the clock is set by %v", d)
	w.clock.Set(d)
}

func (w *world) note(format string, args ...any) {
	w.events = append(w.events, fmt.Sprintf("%v %s ", w.clock.Passed(), w.clock.Now().Format("01-02 15:04:05.000000"))+fmt.Sprintf(format, args...))
}

func (w *world) fail(format string, args ...any) {
	w.Helper()
	for _, e := range w.events[max(0, len(w.events)-60):] {
		w.Log(e)
	}
	w.Logf("%+v", w.limits)
	w.Fatalf(format, args...)
}

// highNeverWaits: HIGH asks as a bucket of the reserve, refilled at the full
// rate, would allow; LOW takes whatever it can get at any time. HIGH gets
// everything it asks for.
func highNeverWaits(t *testing.T, f Factory) {
	rng := rand.New(rand.NewPCG(testkit.Seed(t), 2))
	rounds := 40
	if testing.Short() {
		rounds = 5
	}
	for range rounds {
		l := RandomLimits(rng)
		l.Daily, l.DailyReserve = 0, 0
		if l.Reserve == 0 {
			continue
		}
		w := &world{suite: &suite{T: t, factory: f}, rng: rng, limits: l, days: make(map[string]int)}
		w.start(l)
		const micro = 1_000_000 // what is allowed is counted in parts of a call
		most := int64(l.Reserve) * micro
		allowed := most
		for range 300 {
			process := rng.IntN(len(w.Keepers()))
			w.askOf(process, low, 1+rng.IntN(30))
			if n := min(int(allowed/micro), 1+rng.IntN(4)); n > 0 {
				g, err := w.Keepers()[process].Reserve(t.Context(), Upstream, high, n)
				if err != nil || g.Calls != n {
					w.fail("HIGH asks for %d: %+v, %v", n, g, err)
				}
				allowed -= int64(n) * micro
			}
			d := time.Duration(rng.IntN(200_000)) * time.Microsecond
			w.clock.Advance(d)
			allowed = min(most, allowed+d.Microseconds()*int64(l.Rate))
		}
	}
}
