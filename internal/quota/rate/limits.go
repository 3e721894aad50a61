package rate

import (
	"time"

	"sluice/internal/domain"
)

const (
	// Micro is how many parts a call has: with them a rate of n calls a second
	// is n parts a microsecond, and nothing is ever rounded.
	Micro = 1_000_000
	// Second is one in microseconds, which is what meters count.
	Second = 1_000_000
	// mostCalls bounds every limit, so that counts are exact in a double too:
	// that is what scripts count with.
	mostCalls = 1_000_000_000
	// mostDaily is as far as a double counts by ones.
	mostDaily = 1 << 53
)

// Check says whether the limits can be kept; the error, of code invalid, says
// what to change.
func (l Limits) Check() error {
	switch {
	case l.Hard < 2 || l.Hard > mostCalls:
		return invalid("hard is %d: set it to what the upstream allows in a second, 2 to %d", l.Hard, mostCalls)
	case l.Rate < 1 || l.Burst < 1:
		return invalid("rate is %d and burst %d: both are at least 1", l.Rate, l.Burst)
	case l.Rate >= l.Hard:
		return invalid("rate %d leaves no room for a burst below the %d that the upstream allows in a second: set rate to at most %d", l.Rate, l.Hard, l.Hard-1)
	case l.Rate+l.Burst > l.Hard:
		return invalid("rate %d and burst %d let %d calls through in one second, and the upstream allows %d: set burst to at most %d",
			l.Rate, l.Burst, l.Rate+l.Burst, l.Hard, l.Hard-l.Rate)
	case l.LowRate < 1 || l.LowRate > l.Rate:
		return invalid("the rate of LOW is %d: set it to 1 to %d, which is the rate of all", l.LowRate, l.Rate)
	case l.LowBurst < 1 || l.LowBurst > l.Burst:
		return invalid("the burst of LOW is %d: set it to 1 to %d, which is the burst of all", l.LowBurst, l.Burst)
	case l.Reserve < 0 || l.Reserve >= l.Burst:
		return invalid("the reserve is %d of a burst of %d, which leaves LOW nothing: set it to 0 to %d", l.Reserve, l.Burst, l.Burst-1)
	case l.Daily < 0 || l.Daily > mostDaily:
		return invalid("the day's limit is %d: set it to 0 for none, or to 1 to %d", l.Daily, int64(mostDaily))
	case l.DailyReserve < 0 || l.DailyReserve > l.Daily:
		return invalid("the day's reserve is %d: set it to 0 to %d, which is the day's limit", l.DailyReserve, l.Daily)
	}
	return nil
}

func invalid(format string, args ...any) error {
	return domain.Errorf(domain.CodeInvalid, format, args...)
}

// CheckAsk says whether calls can be asked for or given back like this.
func CheckAsk(p domain.Priority, n int) error {
	if p != domain.PriorityHigh && p != domain.PriorityLow {
		return invalid("calls are asked for as HIGH or LOW, not as priority %d", p)
	}
	if n < 1 || n > mostCalls {
		return invalid("%d calls were asked for; 1 to %d are", n, mostCalls)
	}
	return nil
}

// Unknown is the error of an upstream that has no limits.
func Unknown(upstream string) error {
	return invalid("upstream %q has no limits configured", upstream)
}

// Terms are limits in the parts and microseconds that meters count.
type Terms struct {
	// Rate and LowRate are parts a microsecond, and so calls a second.
	Rate, LowRate int64
	// Burst, LowBurst and Reserve are parts.
	Burst, LowBurst, Reserve int64
	// Guard is the burst that the upstream itself would bear. Calls that are
	// given back come out of the burst again, and never out of this.
	Guard int64
	// Daily, DailyReserve and Chunk are calls. Chunk is how many calls are
	// written down as made ahead of making them.
	Daily, DailyReserve, Chunk int64
}

// chunkTime is how long a chunk lasts at the full rate.
const chunkTime = 5

// Terms converts limits that were checked.
func (l Limits) Terms() Terms {
	t := Terms{
		Rate: int64(l.Rate), LowRate: int64(l.LowRate),
		Burst: int64(l.Burst) * Micro, LowBurst: int64(l.LowBurst) * Micro, Reserve: int64(l.Reserve) * Micro,
		Guard: int64(l.Hard-l.Rate) * Micro,
		Daily: l.Daily, DailyReserve: l.DailyReserve,
	}
	// Half a chunk is to last for a second, the least time between two writes.
	t.Chunk = max(2*int64(l.Rate)+int64(l.Burst), min(chunkTime*int64(l.Rate), l.Daily/100))
	return t
}

// Day is a day in the zone where an upstream counts its calls.
type Day struct {
	// Number is the date as a number: 20260301.
	Number     int64
	Start, End time.Time
}

// DayAt returns the day that an instant is in.
func (l Limits) DayAt(at time.Time) Day {
	zone := l.Zone
	if zone == nil {
		zone = time.UTC
	}
	y, m, d := at.In(zone).Date()
	return Day{
		Number: int64(y)*10_000 + int64(m)*100 + int64(d),
		Start:  time.Date(y, m, d, 0, 0, 0, 0, zone),
		End:    time.Date(y, m, d+1, 0, 0, 0, 0, zone),
	}
}

// Has says whether an instant is in the day.
func (d Day) Has(at time.Time) bool { return !at.Before(d.Start) && at.Before(d.End) }

// String returns the date: 2026-03-01.
func (d Day) String() string { return d.Start.Format(time.DateOnly) }
