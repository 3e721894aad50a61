package rationtest

import (
	"fmt"
	"math/rand/v2"
	"time"

	"sluice/internal/ration"
)

// upstream is one ration as the upstream counts it: it remembers every call, and
// refuses what is one too many. Its time is the time that passes.
type upstream struct {
	*ration.Ration
	rng *rand.Rand
	// aligned says that windows begin at whole periods of its clock, which is ahead of
	// ours by phase; else they begin with a call.
	aligned bool
	phase   time.Duration
	begins  time.Duration
	used    int
	begun   bool
	// calls are all that were ever counted.
	calls []counted
	level float64
	at    time.Duration
	busy  int
}

type counted struct {
	at time.Duration
	n  int
}

func newUpstream(r *ration.Ration, rng *rand.Rand) *upstream {
	u := &upstream{Ration: r, rng: rng, aligned: rng.IntN(2) == 0, level: float64(r.Calls)}
	if r.Every.Length > 0 {
		u.phase = time.Duration(rng.Int64N(int64(r.Every.Length)))
	}
	return u
}

func (u *upstream) refill() float64 {
	n := u.Refill
	if n == 0 {
		n = u.Calls
	}
	return float64(n) / u.Every.Length.Seconds()
}

// window lets the window of an instant begin.
func (u *upstream) window(now time.Duration) {
	if u.aligned {
		if begins := (now + u.phase).Truncate(u.Every.Length) - u.phase; begins != u.begins || !u.begun {
			u.begins, u.used = begins, 0
		}
		u.begun = true
		return
	}
	if u.begun && now >= u.begins+u.Every.Length {
		u.begun, u.used = false, 0
	}
}

// count counts a call, and says what is wrong with it.
func (u *upstream) count(now time.Duration, n int) error {
	u.calls = append(u.calls, counted{now, n})
	switch u.Shape {
	case ration.Sliding:
		sum := 0
		for _, c := range u.calls {
			if c.at > now-u.Every.Length {
				sum += c.n
			}
		}
		if sum > u.Calls {
			return fmt.Errorf("%s: %d within %s before %v", u.Name, sum, u.Every.Length, now)
		}
	case ration.Fixed:
		u.window(now)
		if !u.begun {
			u.begun, u.begins = true, now
		}
		if u.used += n; u.used > u.Calls {
			return fmt.Errorf("%s: %d in the window from %v, at %v", u.Name, u.used, u.begins, now)
		}
	case ration.Bucket:
		u.level = min(float64(u.Calls), u.level+(now-u.at).Seconds()*u.refill())
		u.at = now
		// What is computed otherwise is off by the last digits.
		if u.level -= float64(n); u.level < -1e-6 {
			return fmt.Errorf("%s: the bucket is at %v, at %v", u.Name, u.level, now)
		}
	case ration.Concurrent:
	}
	return nil
}

// enter and leave count calls under way.
func (u *upstream) enter(n int) error {
	if u.busy += n; u.Shape == ration.Concurrent && u.busy > u.Calls {
		return fmt.Errorf("%s: %d calls at once", u.Name, u.busy)
	}
	return nil
}

func (u *upstream) leave(n int) { u.busy -= n }

// tell is what its answers say: what is left, and when the window ends.
func (u *upstream) tell(now time.Duration) (left int, in time.Duration) {
	switch u.Shape {
	case ration.Fixed:
		u.window(now)
		return max(u.Calls-u.used, 0), u.begins + u.Every.Length - now
	case ration.Bucket:
		u.level = min(float64(u.Calls), u.level+(now-u.at).Seconds()*u.refill())
		u.at = now
		return int(u.level), 0
	case ration.Sliding:
		left = u.Calls
		for _, c := range u.calls {
			if c.at > now-u.Every.Length {
				left -= c.n
			}
		}
		return max(left, 0), 0
	case ration.Concurrent:
	}
	return 0, 0
}
