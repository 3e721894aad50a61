package keeper

import (
	"time"

	"sluice/internal/ration"
)

const (
	second = int64(1_000_000)
	// brief is how long a period may be that is not written down: whoever begins
	// anew waits for one.
	brief = 10 * second
	// learntPeriod is how long a window is taken to be of which nothing is known.
	learntPeriod = time.Minute
	// longestLearnt is how long a window may be that an upstream tells of.
	longestLearnt = 745 * 3600 * second
	// Slots is into how many parts a period is cut for bookkeeping: what fell into one
	// part falls out with the last of it.
	Slots = 64
	// Soon is when to ask again, in microseconds, while calls under way may give back
	// what they hold. Those who wait for a lane are woken by what settles.
	Soon = second / 4
	// Life is how long a permit may be out, in microseconds, before its holder is
	// taken for gone and its call for made.
	Life = 180 * second
	// most bounds every amount and time, so that both are exact in a double too.
	most = int64(ration.Unlimited)
)

// Terms are a ration in whole units and microseconds.
type Terms struct {
	Shape ration.Shape
	// Limit is what is granted as far as was declared; Assumed says that it was not,
	// and one call tells.
	Limit   int64
	Assumed bool
	Refill  int64
	Period  int64
	// Open says that the period was not declared: what answers tell of it holds.
	Open bool
	// Keep, Use and Low are as declared: Use and Low are percent, 100 for all.
	Keep, Use, Low int64
	// Reserve is what of the limit is left to what is urgent, in units, and Ahead how much
	// is written down ahead of taking it; 0 is a part of the limit.
	Reserve, Ahead int64
	// Paced says that a bucket bounds what any period has: whoever does not know what was
	// taken before waits for one period, and then it is full.
	Paced bool
	// Calendar says that windows end with a part of the calendar.
	Calendar bool
	// Reads says that answers tell what is left.
	Reads bool
	// Stored says that the count is written down: what comes back quickly is not, and
	// whoever begins anew waits for it.
	Stored bool
	// Dated says that the upstream dates its windows, and Own what the owner himself wants
	// to keep of them, 0 if he does not say.
	Dated bool
	Own   int64
	// Patient says that calls under way give nothing back that is worth asking for.
	Patient bool
}

// TermsOf converts a draw's ration, which was checked.
func TermsOf(d *Draw) Terms {
	r := d.Ration
	t := Terms{
		Shape: r.Shape, Limit: min(int64(r.Calls), most), Refill: int64(r.Refill), Period: r.Every.Length.Microseconds(),
		Keep: int64(r.Keep), Use: percent(r.Use), Low: percent(r.Low), Calendar: r.Shape == ration.Fixed && r.Every.Part != "",
		Reads: r.Read != (ration.Read{}), Reserve: int64(r.Reserve), Ahead: int64(r.Ahead), Paced: r.Hard > 0,
		Dated: r.Dated, Patient: r.Patient,
	}
	if d.Keep > 0 {
		t.Keep, t.Own = int64(d.Keep), int64(d.Keep)
	}
	if t.Limit == 0 {
		t.Limit, t.Assumed = 1, true
	}
	if t.Period <= 0 {
		t.Period, t.Open = learntPeriod.Microseconds(), t.Shape != ration.Concurrent
	}
	if t.Refill <= 0 {
		t.Refill = t.Limit
	}
	t.Stored = t.Shape != ration.Concurrent && !t.Paced && t.Limit < ration.Unlimited &&
		(t.comesBack(t.Limit) > brief || t.Ahead > 0 || t.Shape == ration.Bucket && !r.Read.Refill.IsZero())
	return t
}

func percent(n int) int64 {
	if n <= 0 || n > 100 {
		return 100
	}
	return int64(n)
}

// Left is for how long the part of the calendar still lasts that now is in; 0 for
// other periods.
func Left(r *ration.Ration, now time.Time) int64 {
	if r.Shape != ration.Fixed || r.Every.Part == "" {
		return 0
	}
	_, to, known := r.Every.Window(now)
	if !known {
		return 0
	}
	return max(to.Sub(now).Microseconds(), 1)
}

// usable is what may be taken of a limit, and floor what is not.
func (t *Terms) usable(limit int64, low bool) int64 {
	keep, reserve := t.Keep, t.Reserve
	if !t.Assumed && limit < t.Limit {
		// A ration that turns out to be smaller is not kept back altogether.
		keep, reserve = keep*limit/t.Limit, reserve*limit/t.Limit
	}
	usable := limit*t.Use/100 - keep
	if low {
		usable = min(usable-reserve, limit*t.Low/100)
	}
	if t.Assumed && limit == t.Limit {
		usable = max(usable, 1)
	}
	return max(usable, 0)
}

// margin is by how much clocks are thought to be apart at the end of a part of the
// calendar.
func (t *Terms) margin() int64 { return min(second, t.Period/50) }

// comesBack is after how long a bucket that is empty is full, and else the period.
func (t *Terms) comesBack(limit int64) int64 {
	if t.Shape == ration.Bucket {
		return t.costTime(limit)
	}
	return t.Period
}

// costTime is how long a bucket takes to get so much back. It is counted in doubles,
// as scripts do.
func (t *Terms) costTime(n int64) int64 {
	return ceilOf(float64(n) * float64(t.Period) / float64(t.Refill))
}

func ceilOf(f float64) int64 {
	n := int64(f)
	if float64(n) < f {
		n++
	}
	return n
}

// chunk is how much is written down ahead of taking it: a hundredth of a long
// window, a tenth of a short one.
func (t *Terms) chunk(limit int64) int64 {
	if t.Ahead > 0 {
		return t.Ahead
	}
	if t.comesBack(limit) > 600*second {
		return max(limit/100, 1)
	}
	return max(limit/10, 1)
}

// cover is for how long what was written down holds: not for so long that much of it has
// come back, unless whoever is refused waits for that anyway.
func (t *Terms) cover(limit int64) int64 {
	if t.Patient {
		return max(t.comesBack(limit), 2*second)
	}
	return max(t.comesBack(limit)/4, 2*second)
}
