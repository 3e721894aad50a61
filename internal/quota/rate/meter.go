package rate

import "sluice/internal/domain"

const (
	// refundGrace is how long after the beginning of a day calls that are given
	// back may be those of the day before, and do not lower the new day's count.
	refundGrace = 10 * 60 * Second
	// saveGap is the least time between two writes of the day's count.
	saveGap = Second
	// savePoll is how soon who waits for such a write may ask again.
	savePoll = Second / 10
	// linePlaces is how many callers are told instants of their own at least,
	// however long that takes.
	linePlaces = 32
)

// Meter counts what an upstream was asked for. Its time is microseconds that
// have passed, on a clock that nobody sets; only days are told by the wall
// clock. The scripts of the keeper on Redis follow it rule by rule.
//
// Three buckets of parts of a call refill: tokens is the burst of all, low that
// of LOW, and guard what the upstream itself would bear. From a bucket of b
// calls refilled at r a second, no second gets more than b + r; guard holds
// hard − r. LOW never takes what is below the reserve of tokens and of guard, so
// that whatever it does HIGH finds a bucket of that size refilled at the full
// rate.
type Meter struct {
	Now                int64
	Tokens, Guard, Low int64
	// Hold and Paused are until when nothing is granted: because calls of before
	// may be unknown, or because the upstream said so.
	Hold, Paused int64
	// HighLine and LowLine are the latest instants that callers were told to come
	// back at, so that the next one is told a later one.
	HighLine, LowLine int64
	// Day is the day's number, and DayBegan when counting it began.
	Day, DayBegan int64
	Used, UsedLow int64
	// Ceiling is how many calls of the day are written down as made. No call
	// is granted beyond it.
	Ceiling int64
	// What was used of the day before, in case the wall clock is set back to it.
	PreviousDay, PreviousUsed, PreviousLow int64
	// SaveAt is when the day's count may be written down next.
	SaveAt int64
}

// NewMeter begins to count when what was granted before is not known: for one
// second nothing is.
func NewMeter(t Terms, now int64) Meter {
	return Meter{Now: now, Tokens: t.Burst, Guard: t.Guard, Low: t.LowBurst, Hold: now + Second}
}

// Advance lets time pass.
func (m *Meter) Advance(t *Terms, now int64) {
	passed := now - m.Now
	if passed <= 0 {
		return
	}
	m.Now = now
	m.Tokens = refill(m.Tokens, t.Burst, t.Rate, passed)
	m.Guard = refill(m.Guard, t.Guard, t.Rate, passed)
	m.Low = refill(m.Low, t.LowBurst, t.LowRate, passed)
}

func refill(level, most, rate, passed int64) int64 {
	if passed >= divideUp(most, rate) {
		return most
	}
	return min(most, level+passed*rate)
}

func divideUp(a, b int64) int64 { return (a + b - 1) / b }

// Taken is what a meter answers: how many calls, and if that is fewer than
// asked for, why, and after how many microseconds to come back.
type Taken struct {
	Calls  int64
	Wait   int64
	Reason Reason
}

// Take grants up to n calls. dayLeft is how long the day still lasts.
func (m *Meter) Take(t *Terms, p domain.Priority, n, dayLeft int64) Taken {
	if m.Now < m.Paused {
		return Taken{Wait: m.Paused - m.Now, Reason: ReasonPause}
	}
	low := p == domain.PriorityLow
	if m.Now < m.Hold {
		return Taken{Wait: m.line(t, low, m.Hold, min(n, largest(t, low))), Reason: ReasonRate}
	}
	daily, saved := m.dayRoom(t, low, n)
	second, share := m.secondRoom(t, low, n)
	calls := min(n, daily, saved, second, share)
	m.charge(low, calls)
	if calls == n {
		return Taken{Calls: calls}
	}
	switch calls {
	case daily:
		return Taken{calls, max(dayLeft, 1), ReasonDaily}
	case saved:
		return Taken{calls, min(max(m.SaveAt-m.Now, 1000), savePoll), ReasonSave}
	case second:
		return Taken{calls, m.secondWait(t, low, n-calls), ReasonRate}
	}
	return Taken{calls, m.secondWait(t, low, n-calls), ReasonLow}
}

// dayRoom is how many of n calls the day allows, and how many of them are
// written down.
func (m *Meter) dayRoom(t *Terms, low bool, n int64) (daily, saved int64) {
	if t.Daily == 0 {
		return n, n
	}
	daily = t.Daily - m.Used
	if low {
		daily -= t.DailyReserve
	}
	return max(daily, 0), max(m.Ceiling-m.Used, 0)
}

// secondRoom is how many of n calls the buckets of all have, and that of LOW.
func (m *Meter) secondRoom(t *Terms, low bool, n int64) (second, share int64) {
	room := min(m.Tokens, m.Guard)
	if !low {
		return room / Micro, n
	}
	return max(room-t.Reserve, 0) / Micro, m.Low / Micro
}

func (m *Meter) charge(low bool, calls int64) {
	m.Tokens -= calls * Micro
	m.Guard -= calls * Micro
	m.Used += calls
	if low {
		m.Low -= calls * Micro
		m.UsedLow += calls
	}
}

// largest is for how many calls it pays to wait: more would overflow the
// buckets when whoever waits comes late.
func largest(t *Terms, low bool) int64 {
	most := t.Burst
	if low {
		most = min(t.Burst-t.Reserve, t.LowBurst)
	}
	return max(most/Micro/2, 1)
}

// secondWait is how long to wait for so many calls, or as many as it pays to
// wait for.
func (m *Meter) secondWait(t *Terms, low bool, n int64) int64 {
	n = min(n, largest(t, low))
	missing := n*Micro - min(m.Tokens, m.Guard)
	if low {
		missing += t.Reserve
	}
	wait := divideUp(max(missing, 0), t.Rate)
	if low {
		wait = max(wait, divideUp(max(n*Micro-m.Low, 0), t.LowRate))
	}
	return m.line(t, low, m.Now+max(wait, 1), n)
}

// line lets callers come back one after the other, as calls become free, and
// not all for the same one. When the line is long it begins again at its head.
func (m *Meter) line(t *Terms, low bool, earliest, n int64) int64 {
	last, rate := &m.HighLine, t.Rate
	if low {
		last, rate = &m.LowLine, t.LowRate
	}
	step := divideUp(n*Micro, rate)
	at := earliest
	if *last > m.Now {
		at = max(at, *last+step)
	}
	if at > earliest+max(Second, linePlaces*step) {
		at = earliest
	}
	*last = at
	return at - m.Now
}

// SaveDue says whether the caller has to write the day's count down, with
// another chunk; it is said to one caller at a time.
func (m *Meter) SaveDue(t *Terms) bool {
	if t.Daily == 0 || m.Ceiling >= t.Daily || m.Ceiling-m.Used > t.Chunk/2 || m.Now < m.SaveAt {
		return false
	}
	m.SaveAt = m.Now + saveGap
	return true
}

// Raise notes that so many calls of a day are written down.
func (m *Meter) Raise(day, ceiling int64) {
	if day == m.Day {
		m.Ceiling = max(m.Ceiling, ceiling)
	}
}

// Begin goes over to another day, of which so much was written down before and
// is now. If the wall clock was set forward and back again, what was used of
// both days is taken to be of this one.
func (m *Meter) Begin(day int64, stored Spent, ceiling int64) {
	if day == m.Day {
		return
	}
	var used, low int64
	if day == m.PreviousDay {
		used, low = m.Used+m.PreviousUsed, m.UsedLow+m.PreviousLow
		m.PreviousDay, m.PreviousUsed, m.PreviousLow = 0, 0, 0
	} else {
		m.PreviousDay, m.PreviousUsed, m.PreviousLow = m.Day, m.Used, m.UsedLow
	}
	m.Day, m.DayBegan = day, m.Now
	m.Used, m.UsedLow, m.Ceiling = max(used, stored.Calls), max(low, stored.Low), ceiling
}

// Refund gives calls back. Those of yesterday are not today's, and the guard
// keeps them: they may be older than a second.
func (m *Meter) Refund(t *Terms, p domain.Priority, n int64) {
	n = min(n, mostCalls)
	low := p == domain.PriorityLow
	m.Tokens = min(t.Burst, m.Tokens+n*Micro)
	if low {
		m.Low = min(t.LowBurst, m.Low+n*Micro)
	}
	if m.Now < m.DayBegan+refundGrace {
		return
	}
	m.Used = max(m.Used-n, 0)
	if low {
		m.UsedLow = max(m.UsedLow-n, 0)
	}
}

// Pause grants nothing for so long.
func (m *Meter) Pause(wait int64) { m.Paused = max(m.Paused, m.Now+wait) }
