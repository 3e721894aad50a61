package redis

import (
	"encoding/binary"
	"strconv"
	"time"

	"sluice/internal/domain"
	"sluice/internal/quota"
)

// quotaBucket is how the scripts are told about a configured bucket.
type quotaBucket struct {
	name string
	// shared is set when its endpoints need not be told apart.
	shared bool
	field  string
	config string
}

func newQuotaBucket(name string, l quota.Limits, concurrency int, life, ttl time.Duration) quotaBucket {
	var config record
	config.integers(l.Limit)
	config.durations(l.Window)
	config.integers(l.Floor, l.PointsPerMinute)
	config.durations(quota.PeriodOf(l))
	config.integers(concurrency)
	config.durations(life, ttl)
	return quotaBucket{
		name: name, shared: l.PointsShared || l.PointsPerMinute <= 0,
		field: "b:" + name, config: string(config),
	}
}

// pointsField names the points that a call of this endpoint takes.
func (b quotaBucket) pointsField(endpoint string) string {
	if b.shared {
		endpoint = ""
	}
	return "p:" + b.name + "\x00" + endpoint
}

// permitField names a permit that is out.
func permitField(id uint64) string {
	return string(binary.BigEndian.AppendUint64(nil, id))
}

// clock is what scripts are told about the time: nothing, except in tests.
func (k *Quota) clock() string {
	if k.opts.Clock == nil {
		return ""
	}
	return strconv.FormatInt(k.opts.Clock().UnixMicro(), 10)
}

// now is the time by this process's clock.
func (k *Quota) now() time.Time {
	if k.opts.Clock == nil {
		return time.Now()
	}
	return k.opts.Clock()
}

// sequenceStep makes sequences comparable with those of the keeper in the
// process, which counts on from the time in nanoseconds; scripts count on from
// microseconds.
const sequenceStep = 1000

// window reads the durable form of a window. Nothing remains of it, whatever
// it has now: it is stored when it begins and not with every call, and so must
// not be believed to have more than nothing.
//
// It is stored by this process's clock, and not by that of the server, which
// said it was now when it answered: what is stored outlives a server whose clock
// was wrong.
func (k *Quota) window(owner, bucket string, now int64, n []int64) *domain.QuotaWindow {
	ahead := k.now().UnixMicro() - now
	here := func(at int64) time.Time {
		if at == 0 {
			return time.Time{}
		}
		return fromMicros(at + ahead)
	}
	return &domain.QuotaWindow{
		Owner: owner, Bucket: bucket, Seq: uint64(n[0]) * sequenceStep, Limit: int(n[1]),
		Reset: here(n[2]), Started: here(n[3]), ParkedUntil: here(n[4]),
	}
}
