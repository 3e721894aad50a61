package redis

import (
	"encoding/binary"
	"math"
	"strconv"
	"time"

	"sluice/internal/domain"
	"sluice/internal/quota"
)

// bucket is how the scripts are told about a configured bucket.
type bucket struct {
	name string
	// shared is set when its endpoints need not be told apart.
	shared bool
	field  string
	config string
}

func newBucket(name string, l quota.Limits, concurrency int, life, ttl time.Duration) bucket {
	var config record
	config.integers(l.Limit)
	config.durations(l.Window)
	config.integers(l.Floor, l.PointsPerMinute)
	config.durations(quota.PeriodOf(l))
	config.integers(concurrency)
	config.durations(life, ttl)
	return bucket{
		name: name, shared: l.PointsShared || l.PointsPerMinute <= 0,
		field: "b:" + name, config: string(config),
	}
}

// pointsField names the points that a call of this endpoint takes.
func (b bucket) pointsField(endpoint string) string {
	if b.shared {
		endpoint = ""
	}
	return "p:" + b.name + "\x00" + endpoint
}

// permitField names a permit that is out.
func permitField(id uint64) string {
	return string(binary.BigEndian.AppendUint64(nil, id))
}

// record is a row of doubles, as the scripts read them.
type record []byte

func (r *record) double(f float64) {
	*r = binary.LittleEndian.AppendUint64(*r, math.Float64bits(f))
}

func (r *record) integers(all ...int) {
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

func fromMicros(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMicro(n).UTC()
}

// clock is what scripts are told about the time: nothing, except in tests.
func (k *Keeper) clock() string {
	if k.opts.Clock == nil {
		return ""
	}
	return strconv.FormatInt(k.opts.Clock().UnixMicro(), 10)
}

// sequenceStep makes sequences comparable with those of the keeper in the
// process, which counts on from the time in nanoseconds; scripts count on from
// microseconds.
const sequenceStep = 1000

// window reads the durable form of a window. Nothing remains of it, whatever
// it has now: it is stored when it begins and not with every call, and so must
// not be believed to have more than nothing.
func window(owner, bucket string, n []int64) *domain.QuotaWindow {
	return &domain.QuotaWindow{
		Owner: owner, Bucket: bucket, Seq: uint64(n[0]) * sequenceStep, Limit: int(n[1]),
		Reset: fromMicros(n[2]), Started: fromMicros(n[3]), ParkedUntil: fromMicros(n[4]),
	}
}
