package memory

import "time"

// rateClock tells the time of day, which may be set, and the time that passes.
type rateClock struct {
	RateOptions
	start time.Time
}

func newRateClock(o RateOptions) rateClock {
	if o.Now == nil {
		o.Now = time.Now
	}
	return rateClock{o, o.Now()}
}

// read returns both, in microseconds what has passed. Unless a test says
// otherwise one look at the clock tells both: Go's times know what has passed.
func (c *rateClock) read() (now time.Time, passed int64) {
	now = c.Now()
	if c.Passed != nil {
		return now, c.Passed().Microseconds()
	}
	return now, now.Sub(c.start).Microseconds()
}

func (c *rateClock) passed() time.Duration {
	_, passed := c.read()
	return time.Duration(passed) * time.Microsecond
}
