package redis

import (
	"encoding/binary"
	"math"
	"strconv"
	"time"
)

// record is a row of doubles, as the scripts read them.
type record []byte

func (r *record) double(f float64) {
	*r = binary.LittleEndian.AppendUint64(*r, math.Float64bits(f))
}

// put overwrites the number at a place.
func (r record) put(at, n int) {
	binary.LittleEndian.PutUint64(r[8*at:], math.Float64bits(float64(n)))
}

func (r *record) integers(all ...int) {
	for _, n := range all {
		r.double(float64(n))
	}
}

func (r *record) int64s(all ...int64) {
	for _, n := range all {
		r.double(float64(n))
	}
}

func (r *record) durations(all ...time.Duration) {
	for _, d := range all {
		r.double(float64(d.Microseconds()))
	}
}

func (r *record) times(all ...time.Time) {
	for _, t := range all {
		r.double(float64(micros(t)))
	}
}

func (r *record) booleans(all ...bool) {
	for _, b := range all {
		if b {
			r.double(1)
		} else {
			r.double(0)
		}
	}
}

// micros is how scripts tell times: 0 for none.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// instantMillis is an instant for the scripts, rounded up: nothing comes early.
// What lies far in the past or is zero is 0.
func instantMillis(at time.Time) string {
	if at.Unix() <= 0 {
		return "0"
	}
	ms := at.UnixMilli()
	if at.Nanosecond()%int(time.Millisecond) > 0 {
		ms++
	}
	// Scripts count in doubles.
	return strconv.FormatInt(min(ms, math.MaxInt64>>12), 10)
}

// durationMillis is a time in milliseconds, rounded up and at least one: for
// Redis, to block for 0 is to block for ever.
func durationMillis(t time.Duration) int64 {
	return max((t + time.Millisecond - 1).Milliseconds(), 1)
}
