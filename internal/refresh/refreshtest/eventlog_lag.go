package refreshtest

import (
	"context"
	"time"

	"sluice/internal/refresh"
)

var lagCases = []logCase{
	{name: "LagIsExactAtRest", check: lagIsExactAtRest},
	{name: "LagSeesPositionsSoon", check: lagSeesPositionsSoon},
	{name: "LagOfTheOldest", check: lagOfTheOldest},
	{name: "LagIsWhatNobodyHasTaken", check: lagIsWhatNobodyHasTaken},
}

func (x *logFixture) lag(log refresh.EventLog) refresh.Lag {
	x.Helper()
	lag, err := log.Lag(x.Context(), refresh.HighWorkers, refresh.TopicHigh)
	x.ok(err)
	return lag
}

func lagIsExactAtRest(x *logFixture) {
	if lag := x.lag(x.EventLog); lag.Records != 0 || !lag.Oldest.IsZero() {
		x.Errorf("an empty log lags by %+v", lag)
	}
	c, there := x.join(x.EventLog), x.another()
	if lag := x.lag(x.EventLog); lag.Records != 0 || !lag.Oldest.IsZero() {
		x.Errorf("nothing lags by %+v", lag)
	}
	x.publish(spread(0, 300)...)
	x.ok(x.Publish(x.Context(), refresh.TopicLow, spread(0, 50)...))
	if lag := x.lag(there); lag.Records != 300 {
		x.Errorf("lag is %+v, want 300 records", lag)
	}
	records := x.expect(c, count(0, 300))
	// A gap in every partition: only the prefix counts.
	left := int64(0)
	for _, part := range byPartition(records) {
		gap := len(part) / 2
		x.done(c, part[:gap]...)
		x.done(c, part[gap+1:]...)
		left += int64(len(part) - gap)
	}
	x.close(c)
	if lag := x.lag(there); lag.Records != left || lag.Oldest.IsZero() {
		x.Errorf("lag is %+v, want %d records", lag, left)
	}
	c = x.join(x.EventLog)
	x.done(c, x.take(c, int(left))...)
	x.close(c)
	if lag := x.lag(x.EventLog); lag.Records != 0 || !lag.Oldest.IsZero() {
		x.Errorf("lag is %+v, want none", lag)
	}
}

// lagSeesPositionsSoon: positions are durable within a second, without closing.
func lagSeesPositionsSoon(x *logFixture) {
	c := x.joinHere()
	x.publish(spread(0, 100)...)
	x.done(c, x.expect(c, count(0, 100))...)
	x.lagBecomes(x.EventLog, 0)
}

// lagIsWhatNobodyHasTaken: one record that is not done for long does not make
// those behind it wait that are under way or done.
func lagIsWhatNobodyHasTaken(x *logFixture) {
	c, there := x.join(x.EventLog), x.another()
	x.publish(sameKey("a", 0, 50)...)
	records := x.take(c, 20)
	x.lagBecomes(there, 30)
	x.done(c, records[1:]...) // the first is open
	records = append(records, x.take(c, 30)...)
	x.lagBecomes(there, 0)
	x.done(c, records[20:]...)
	x.lagBecomes(there, 0)
	// What it has taken and not done is nobody's when it is gone.
	x.close(c)
	x.lagBecomes(there, 50)
}

// lagBecomes waits until a log lags by so many.
func (x *logFixture) lagBecomes(log refresh.EventLog, want int64) {
	x.Helper()
	ctx, cancel := context.WithTimeout(x.Context(), patience)
	defer cancel()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		lag := x.lag(log)
		if lag.Records == want {
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			x.Fatalf("lag is still %+v, want %d", lag, want)
		}
	}
}

func lagOfTheOldest(x *logFixture) {
	c := x.join(x.EventLog)
	x.publish(sameKey("a", 0, 2)...)
	if lag := x.lag(x.EventLog); lag.Records != 2 || lag.Oldest.IsZero() {
		x.Errorf("lag is %+v, want 2 records", lag)
	}
	first := x.expect(c, count(0, 2))
	x.publish(sameKey("a", 2, 2)...)
	second := x.expect(c, count(2, 2))
	x.done(c, first...)
	x.close(c)
	if lag := x.lag(x.EventLog); lag.Records != 2 || !near(lag.Oldest, second[0].At) {
		x.Errorf("lag is %+v, want 2 records since %v", lag, second[0].At)
	}
}

// near allows for instants that are kept in milliseconds.
func near(a, b time.Time) bool { return a.Sub(b).Abs() <= time.Millisecond }
