// Package ration is the model of what upstreams grant: windows, sliding rates,
// buckets that refill and calls at once, as data. It is pure: it says what a
// ration is, which calls draw on it and what an answer tells about it; who keeps
// count is another's business.
//
//   - ration.go: a ration and its nine knobs.
//   - period.go: how long a window is, and when one of the calendar begins.
//   - match.go: which calls draw on a ration.
//   - form.go: instants and amounts as upstreams write them.
//   - read.go: what an answer tells about a ration.
//   - ietf.go, structured.go: the RateLimit fields of the IETF's draft.
//   - park.go: when an upstream wants to be left alone, and who waits.
package ration

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"sluice/internal/domain"
)

// Ration is what an upstream grants of one thing. Several hold for one call at
// once, and a call is made only if all of them have room.
type Ration struct {
	Name string
	// Per is what has a count of its own: each distinct combination of these has
	// the whole ration.
	Per []Dimension
	// Unit is what is counted.
	Unit Unit
	// Calls is how much is granted in every period; the most that may be under way
	// for Concurrent, and how much fits for Bucket.
	Calls int
	// Refill is what a bucket gets back in every period; all of it if zero.
	Refill int
	Every  Period
	Shape  Shape
	// Match says which calls draw on it; all of them if empty.
	Match []Match
	// Counts restricts it to calls that were answered with one of these statuses;
	// all calls if empty. Such a ration can only be kept after the fact.
	Counts []int
	// Cost is what a call is thought to take, before it is made; 1 if zero. Actual is
	// where its answer tells what it took; without it that is the size of the answer for
	// a ration of bytes, and else what was thought.
	Cost   int
	Actual Field
	Read   Read
	// Keep is what stays for the owner, in units, and Use and Low are the shares
	// that are used at all and by what is not urgent, in percent; zero means 100.
	Keep, Use, Low int
	// Reserve is what of it, in units, is left to what is urgent.
	Reserve int
	// Hard, of a bucket, is what the upstream grants in any period, wherever that
	// begins: the bucket paces calls so that no period has more. Whoever does not know
	// what was taken before waits for one period, and nothing is given back to it.
	Hard int
	// Ahead is how much is written down ahead of taking it; by default a hundredth of a
	// long window, a tenth of a short one, and nothing of what comes back quickly.
	Ahead int
	// Dated says that the upstream dates its windows: each begins with the first call that
	// is counted, and answers tell what is left of it and when it ends by the upstream's
	// clock. What is left is counted exactly then, and where only a clock says that a
	// window has ended one call goes first.
	Dated bool
	// Patient says that calls under way hold what they took in any case: whoever is refused
	// is told when that comes back.
	Patient bool
}

// Unlimited is how much is granted of what is counted for its own sake.
const Unlimited = 1 << 50

// Dimension is something that a ration is counted by.
type Dimension string

// The dimensions. A header is one too: HeaderDimension.
const (
	PerOwner  Dimension = "owner"  // whoever the credential belongs to
	PerKey    Dimension = "key"    // the credential itself
	PerSource Dimension = "source" // everybody together
	PerStream Dimension = "stream"
)

const headerPrefix = "header "

// HeaderDimension is the value of a header of the answer, by which an upstream
// tells which ration a call drew on.
func HeaderDimension(name string) Dimension { return Dimension(headerPrefix + name) }

// Header is the header whose value the dimension is, "" for other dimensions.
func (d Dimension) Header() string {
	if len(d) > len(headerPrefix) && d[:len(headerPrefix)] == headerPrefix {
		return string(d[len(headerPrefix):])
	}
	return ""
}

// Unit is what a ration counts.
type Unit string

// The units.
const (
	UnitCalls  Unit = "calls"
	UnitPoints Unit = "points"
	UnitBytes  Unit = "bytes"
)

// Shape is how a ration comes back.
type Shape string

// The shapes.
const (
	// Fixed: all of it, when the window ends.
	Fixed Shape = "fixed"
	// Sliding: each unit, one period after it was taken.
	Sliding Shape = "sliding"
	// Bucket: steadily, up to what fits.
	Bucket Shape = "bucket"
	// Concurrent: when the call ends.
	Concurrent Shape = "concurrent"
)

// Shapes and Units are all that there are, for messages.
func Shapes() []Shape { return []Shape{Fixed, Sliding, Bucket, Concurrent} }

// Units are all that there are.
func Units() []Unit { return []Unit{UnitCalls, UnitPoints, UnitBytes} }

// Dimensions are those that have a name of their own.
func Dimensions() []Dimension { return []Dimension{PerOwner, PerKey, PerSource, PerStream} }

// Check says what is wrong with a ration, and what to do about it.
func (r *Ration) Check() error {
	wrong := func(format string, args ...any) error {
		return domain.Errorf(domain.CodeInvalid, "the ration "+r.Name+": "+format, args...)
	}
	switch {
	case !slices.Contains(Shapes(), r.Shape):
		return wrong("there is no shape %q; there are %q", r.Shape, Shapes())
	case !slices.Contains(Units(), r.Unit):
		return wrong("there is no unit %q; there are %q", r.Unit, Units())
	case len(r.Per) == 0:
		return wrong("it must say whose it is; give per: owner, key, source or stream")
	case r.Calls <= 0 && !r.learns():
		return wrong("it must say how much is granted; give calls: N, or read: from where that is learnt")
	case r.Calls < 0 || r.Refill < 0 || r.Keep < 0 || r.Cost < 0:
		return wrong("calls, refill, keep and cost cannot be negative")
	case r.Unit == UnitPoints && r.Cost == 0 && r.Actual.IsZero():
		return wrong("it must say how many points a call takes; give actual: where an answer tells it, or cost: N")
	case r.Unit != UnitCalls && r.Shape == Concurrent:
		return wrong("what is under way are calls; leave out unit")
	case r.Unit == UnitCalls && !r.Actual.IsZero():
		return wrong("a call is one call, whatever its answer tells; give unit: points, or leave out actual")
	case r.Shape != Concurrent && r.Every.IsZero() && !r.learns():
		return wrong("it must say for how long; give every: 1m, hour or day")
	case r.Shape == Concurrent && !r.Every.IsZero():
		return wrong("calls at once come back when they end; leave out every")
	case r.Refill > 0 && r.Shape != Bucket:
		return wrong("only a bucket refills; give shape: bucket, or leave out refill")
	case r.Use < 0 || r.Use > 100 || r.Low < 0 || r.Low > 100:
		return wrong("use and low are shares from 1%% to 100%%")
	case r.Hard != 0 && (r.Shape != Bucket || r.Calls+r.Refill > r.Hard):
		return wrong("calls (%d) and refill (%d) let more through in one period than the %d that are granted; a bucket that paces has less", r.Calls, r.Refill, r.Hard)
	case r.Calls > 0 && r.Usable() <= 0:
		return wrong("keep (%d) and use leave nothing of %d", r.Keep, r.Calls)
	case r.Dated && (r.Shape != Fixed || r.Every.Part != "" || r.Every.Length <= 0 || r.Calls <= 0):
		return wrong("only windows that begin with a call are dated; give calls: N and every: 1h")
	case r.Reserve < 0 || r.Ahead < 0 || r.Calls > 0 && r.Reserve > r.Usable():
		return wrong("a reserve of %d is more than the %d that are used; give less", r.Reserve, r.Usable())
	}
	for _, d := range r.Per {
		if !slices.Contains(Dimensions(), d) && d.Header() == "" {
			return wrong("it cannot be per %q; give one of %q, or {header: NAME}", d, Dimensions())
		}
	}
	return r.Read.check(r.Name)
}

// learns says whether answers tell how much there is.
func (r *Ration) learns() bool {
	return r.Read.IETF || !r.Read.Limit.IsZero() || !r.Read.Remaining.IsZero()
}

// Usable is what may be taken of one window: the share that is used, less what
// stays for the owner.
func (r *Ration) Usable() int { return share(r.Calls, r.Use) - r.Keep }

// UsableLow is what may be taken of it by what is not urgent.
func (r *Ration) UsableLow() int { return min(share(r.Calls, r.Low), r.Usable()-r.Reserve) }

func share(n, percent int) int {
	if percent <= 0 || percent >= 100 {
		return n
	}
	// Wide enough for any count: percent is below 100.
	return int(int64(n)/100*int64(percent) + int64(n)%100*int64(percent)/100)
}

// Took is what a call took by its answer, if that is known. Of a fraction a whole unit
// was taken.
func (r *Ration) Took(a *Answer) (n int, known bool) {
	if r.Actual.IsZero() {
		return a.Size, r.Unit == UnitBytes
	}
	f, err := strconv.ParseFloat(strings.TrimSpace(r.Actual.Text(a)), 64)
	if err != nil || math.IsNaN(f) || f < 0 || f > largest {
		return 0, false
	}
	return int(math.Ceil(f)), true
}

// Applies says whether a call draws on the ration.
func (r *Ration) Applies(method, path, stream string) bool {
	if len(r.Match) == 0 {
		return true
	}
	return slices.ContainsFunc(r.Match, func(m Match) bool { return m.Applies(method, path, stream) })
}
