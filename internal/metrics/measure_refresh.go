package metrics

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/internal/domain"
	"sluice/internal/quota/rate"
	"sluice/internal/refresh"
	"sluice/internal/source"
)

// Upstream measures the calls of refreshes to an upstream.
func (i *Instruments) Upstream(name string, u refresh.Upstream) refresh.Upstream {
	m := &measuredUpstream{Upstream: u, name: name, errors: i.refreshErrors, reasons: i.reasons}
	for v := source.FetchDone; v <= source.FetchDead; v++ {
		m.calls[v] = i.call.WithLabelValues(name, v.String())
	}
	m.calls[0] = i.call.WithLabelValues(name, "unknown")
	if chained, ok := u.(source.Chained); ok {
		return &measuredChained{m, chained}
	}
	return m
}

type measuredUpstream struct {
	refresh.Upstream
	name    string
	calls   [source.FetchDead + 1]prometheus.Observer
	errors  *prometheus.CounterVec
	reasons *boundedNames
}

// Unwrap is the upstream that is measured.
func (m *measuredUpstream) Unwrap() refresh.Upstream { return m.Upstream }

// Fetch implements refresh.Fetcher.
func (m *measuredUpstream) Fetch(ctx context.Context, key string, sent func()) refresh.Fetched {
	began := time.Now()
	return m.fetched(began, m.Upstream.Fetch(ctx, key, sent))
}

// measuredChained is an upstream whose calls may need other records.
type measuredChained struct {
	*measuredUpstream
	source.Chained
}

// FetchKnowing implements source.Chained.
func (m *measuredChained) FetchKnowing(ctx context.Context, key string, known map[string][]byte, sent func()) refresh.Fetched {
	began := time.Now()
	return m.fetched(began, m.Chained.FetchKnowing(ctx, key, known, sent))
}

func (m *measuredUpstream) fetched(began time.Time, f refresh.Fetched) refresh.Fetched {
	at(m.calls[:], int(f.Verdict)).Observe(time.Since(began).Seconds())
	if f.Verdict != refresh.FetchDone {
		reason := f.Code
		if reason == "" {
			reason = f.Verdict.String()
		}
		m.errors.WithLabelValues(m.name, m.reasons.name(reason)).Inc()
	}
	return f
}

// Entities measures the store of snapshots.
func (i *Instruments) Entities(entities refresh.Entities) refresh.Entities {
	return measuredEntities{entities, i.operation("save_snapshots"), i.operation("read_snapshot"), i.conflicts}
}

type measuredEntities struct {
	refresh.Entities
	save, read timed
	conflicts  prometheus.Counter
}

// Save implements refresh.Entities.
func (m measuredEntities) Save(ctx context.Context, refreshed []refresh.Refreshed) ([]refresh.Saved, error) {
	began := time.Now()
	saved, err := m.Entities.Save(ctx, refreshed)
	m.save.ended(began, err)
	for _, s := range saved {
		if s == refresh.Obsolete {
			m.conflicts.Inc()
		}
	}
	return saved, err
}

// Snapshot implements refresh.Entities.
func (m measuredEntities) Snapshot(ctx context.Context, e refresh.Entity) (refresh.Snapshot, bool, *refresh.Status, error) {
	began := time.Now()
	snapshot, found, status, err := m.Entities.Snapshot(ctx, e)
	m.read.ended(began, err)
	return snapshot, found, status, err
}

// DeadLetters counts what is given up.
func (i *Instruments) DeadLetters(letters refresh.DeadLetters) refresh.DeadLetters {
	return measuredLetters{letters, i.died, i.reasons}
}

type measuredLetters struct {
	refresh.DeadLetters
	died    *prometheus.CounterVec
	reasons *boundedNames
}

// AddDeadLetters implements refresh.DeadLetters.
func (m measuredLetters) AddDeadLetters(ctx context.Context, letters []refresh.DeadLetter) error {
	err := m.DeadLetters.AddDeadLetters(ctx, letters)
	if err != nil {
		return err
	}
	for n := range letters {
		m.died.WithLabelValues(m.reasons.name(letters[n].Why)).Inc()
	}
	return nil
}

// Coalescer counts what becomes of requests.
func (i *Instruments) Coalescer(c refresh.Coalescer) refresh.Coalescer {
	m := measuredCoalescer{Coalescer: c}
	for result, name := range map[refresh.Coalesced]string{
		refresh.Published: "published", refresh.Upgraded: "upgraded", refresh.AlreadyProcessing: "already_processing",
	} {
		m.results[result] = i.coalesced.WithLabelValues(name)
	}
	return m
}

type measuredCoalescer struct {
	refresh.Coalescer
	results [refresh.AlreadyProcessing + 1]prometheus.Counter
}

// Acquire implements refresh.Coalescer.
func (m measuredCoalescer) Acquire(ctx context.Context, asks ...refresh.Ask) ([]refresh.Grant, error) {
	grants, err := m.Coalescer.Acquire(ctx, asks...)
	for n := range grants {
		if result := grants[n].Result; int(result) < len(m.results) && m.results[result] != nil {
			m.results[result].Inc()
		}
	}
	return grants, err
}

// Rate counts calls that are granted and refused, and tells what upstreams allow.
func (i *Instruments) Rate(k rate.Keeper, limits map[string]rate.Limits) rate.Keeper {
	m := &measuredRate{Keeper: k, seconds: i.seconds, now: i.now, by: map[rateKey]rateCounters{}}
	for name, l := range limits {
		i.rateLimit.WithLabelValues(name).Set(float64(l.Hard))
		for _, p := range []domain.Priority{domain.PriorityLow, domain.PriorityHigh} {
			m.by[rateKey{name, p}] = rateCounters{
				i.rateAcquired.WithLabelValues(name, p.String()), i.rateRefunded.WithLabelValues(name, p.String()), i.rateNone.WithLabelValues(name, p.String()),
			}
		}
		i.seconds.add(name, i.now(), 0)
	}
	return m
}

type rateKey struct {
	upstream string
	priority domain.Priority
}

type rateCounters struct{ acquired, refunded, rejected prometheus.Counter }

type measuredRate struct {
	rate.Keeper
	seconds *fullestSeconds
	now     func() time.Time
	// by is not changed any more; what is not in it has no limits, and is granted
	// nothing.
	by map[rateKey]rateCounters
}

// Reserve implements rate.Keeper.
func (m *measuredRate) Reserve(ctx context.Context, upstream string, p domain.Priority, n int) (rate.Grant, error) {
	grant, err := m.Keeper.Reserve(ctx, upstream, p, n)
	if c, known := m.by[rateKey{upstream, p}]; known && err == nil {
		if grant.Calls > 0 {
			c.acquired.Add(float64(grant.Calls))
			m.seconds.add(upstream, m.now(), grant.Calls)
		} else {
			c.rejected.Inc()
		}
	}
	return grant, err
}

// Refund implements rate.Keeper.
func (m *measuredRate) Refund(ctx context.Context, upstream string, p domain.Priority, n int) error {
	err := m.Keeper.Refund(ctx, upstream, p, n)
	if c, known := m.by[rateKey{upstream, p}]; known && err == nil && n > 0 {
		c.refunded.Add(float64(n))
		m.seconds.add(upstream, m.now(), -n)
	}
	return err
}

// Log measures the log of refresh requests.
func (i *Instruments) Log(log refresh.EventLog) refresh.EventLog {
	m := measuredLog{EventLog: log, failures: map[refresh.Topic]prometheus.Counter{}, instruments: i}
	for _, topic := range []refresh.Topic{refresh.TopicHigh, refresh.TopicLow, refresh.TopicDead} {
		m.failures[topic] = i.publishFailures.WithLabelValues(string(topic))
	}
	return m
}

type measuredLog struct {
	refresh.EventLog
	failures    map[refresh.Topic]prometheus.Counter
	instruments *Instruments
}

// Publish implements refresh.EventLog.
func (m measuredLog) Publish(ctx context.Context, topic refresh.Topic, messages ...refresh.Message) error {
	err := m.EventLog.Publish(ctx, topic, messages...)
	if c := m.failures[topic]; err != nil && ctx.Err() == nil && c != nil {
		c.Add(float64(len(messages)))
	}
	return err
}

// Join implements refresh.EventLog.
func (m measuredLog) Join(ctx context.Context, group string, topic refresh.Topic) (refresh.LogConsumer, error) {
	consumer, err := m.EventLog.Join(ctx, group, topic)
	if err != nil {
		return nil, err
	}
	priority := domain.PriorityLow
	if topic == refresh.TopicHigh {
		priority = domain.PriorityHigh
	}
	return &measuredConsumer{
		LogConsumer: consumer, now: m.instruments.now, taken: map[recordKey]time.Time{},
		took: m.instruments.refreshTook.WithLabelValues(priority.String()), age: m.instruments.refreshAge.WithLabelValues(priority.String()),
	}, nil
}

// mostTaken bounds what is remembered of records that were taken: those of a
// partition that is lost are never done here.
const mostTaken = 4096

type recordKey struct {
	partition int32
	offset    int64
}

type measuredConsumer struct {
	refresh.LogConsumer
	now       func() time.Time
	took, age prometheus.Observer

	mu    sync.Mutex
	taken map[recordKey]time.Time
}

// Take implements refresh.LogConsumer.
func (m *measuredConsumer) Take(ctx context.Context, n int) ([]refresh.LogRecord, error) {
	records, err := m.LogConsumer.Take(ctx, n)
	if len(records) == 0 {
		return records, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.taken) > mostTaken {
		clear(m.taken)
	}
	now := time.Now()
	for i := range records {
		m.taken[recordKey{records[i].Partition, records[i].Offset}] = now
	}
	return records, err
}

// Done implements refresh.LogConsumer.
func (m *measuredConsumer) Done(ctx context.Context, records ...refresh.LogRecord) error {
	err := m.LogConsumer.Done(ctx, records...)
	now, passed := m.now(), time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range records {
		key := recordKey{records[i].Partition, records[i].Offset}
		if at, known := m.taken[key]; known {
			m.took.Observe(passed.Sub(at).Seconds())
			delete(m.taken, key)
		}
		if !records[i].At.IsZero() {
			m.age.Observe(max(now.Sub(records[i].At), 0).Seconds())
		}
	}
	return err
}
