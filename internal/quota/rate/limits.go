package rate

import (
	"time"

	"sluice/internal/domain"
	"sluice/internal/ration"
)

const (
	// mostCalls bounds every limit, so that counts are exact in a double too: that is
	// what scripts count with.
	mostCalls = 1_000_000_000
	// mostDaily is as far as rations count.
	mostDaily = ration.Unlimited
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
		return invalid("the day's limit is %d: set it to 0 for none, or to 1 to %d", l.Daily, mostDaily)
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
