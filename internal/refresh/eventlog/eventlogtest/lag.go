package eventlogtest

import (
	"context"
	"time"

	"sluice/internal/refresh/eventlog"
)

var lagCases = []testCase{
	{name: "LagIsExactAtRest", check: lagIsExactAtRest},
	{name: "LagSeesPositionsSoon", check: lagSeesPositionsSoon},
	{name: "LagOfTheOldest", check: lagOfTheOldest},
}

func (x *fixture) lag(log eventlog.Log) eventlog.Lag {
	x.Helper()
	lag, err := log.Lag(x.Context(), eventlog.HighWorkers, eventlog.High)
	x.ok(err)
	return lag
}

func lagIsExactAtRest(x *fixture) {
	if lag := x.lag(x.Log); lag.Records != 0 || !lag.Oldest.IsZero() {
		x.Errorf("an empty log lags by %+v", lag)
	}
	c, there := x.join(x.Log), x.another()
	if lag := x.lag(x.Log); lag.Records != 0 || !lag.Oldest.IsZero() {
		x.Errorf("nothing lags by %+v", lag)
	}
	x.publish(spread(0, 300)...)
	x.ok(x.Publish(x.Context(), eventlog.Low, spread(0, 50)...))
	if lag := x.lag(there); lag.Records != 300 {
		x.Errorf("lag is %+v, want 300 records", lag)
	}
	records := x.expect(c, count(0, 300))
	if lag := x.lag(x.Log); lag.Records != 300 {
		x.Errorf("lag is %+v, want 300 records: none is done", lag)
	}
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
	c = x.join(x.Log)
	x.done(c, x.take(c, int(left))...)
	x.close(c)
	if lag := x.lag(x.Log); lag.Records != 0 || !lag.Oldest.IsZero() {
		x.Errorf("lag is %+v, want none", lag)
	}
}

// lagSeesPositionsSoon: positions are durable within a second, without closing.
func lagSeesPositionsSoon(x *fixture) {
	c := x.joinHere()
	x.publish(spread(0, 100)...)
	x.done(c, x.expect(c, count(0, 100))...)
	ctx, cancel := context.WithTimeout(x.Context(), 10*time.Second)
	defer cancel()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		lag := x.lag(x.Log)
		if lag.Records == 0 {
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			x.Fatalf("lag is still %+v", lag)
		}
	}
}

func lagOfTheOldest(x *fixture) {
	c := x.join(x.Log)
	x.publish(sameKey("a", 0, 2)...)
	first := x.expect(c, count(0, 2))
	x.publish(sameKey("a", 2, 2)...)
	second := x.expect(c, count(2, 2))
	if lag := x.lag(x.Log); lag.Records != 4 || !near(lag.Oldest, first[0].At) {
		x.Errorf("lag is %+v, want 4 records since %v", lag, first[0].At)
	}
	x.done(c, first...)
	x.close(c)
	if lag := x.lag(x.Log); lag.Records != 2 || !near(lag.Oldest, second[0].At) {
		x.Errorf("lag is %+v, want 2 records since %v", lag, second[0].At)
	}
}

// near allows for instants that are kept in milliseconds.
func near(a, b time.Time) bool { return a.Sub(b).Abs() <= time.Millisecond }
