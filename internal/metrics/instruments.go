package metrics

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/internal/access"
	"sluice/internal/domain"
	"sluice/internal/notify"
)

// Instruments measure what happens while it happens. Each of its methods that
// takes a part returns one that does the same and is measured; wiring puts them
// in place. Whatever has a label is looked up when a part is wrapped, so that
// measuring costs some 200 ns and allocates nothing (BenchmarkMeasuring).
type Instruments struct {
	registry *prometheus.Registry
	now      func() time.Time

	call, job, wait, late                *prometheus.HistogramVec
	store, redis, http                   *prometheus.HistogramVec
	refreshTook, refreshAge              *prometheus.HistogramVec
	commit, sleep, timerLate             prometheus.Observer
	leads, inFlight                      prometheus.Gauge
	reclaimed, redisFailures, conflicts  prometheus.Counter
	storeFailures, refreshErrors         *prometheus.CounterVec
	publishFailures, coalesced, died     *prometheus.CounterVec
	rateAcquired, rateRefunded, rateNone *prometheus.CounterVec
	rateLimit                            *prometheus.GaugeVec
	refusals, notifications, carried     *prometheus.CounterVec

	seconds *fullestSeconds
	reasons *boundedNames
	turns   turnObservers
}

// NewInstruments returns instruments that nothing is measured with yet. A nil
// clock means time.Now.
func NewInstruments(now func() time.Time) (*Instruments, error) {
	if now == nil {
		now = time.Now
	}
	r := registrar{registry: prometheus.NewRegistry(), declared: byName()}
	i := &Instruments{
		registry: r.registry, now: now,
		call: r.histogram("sluice_upstream_call_duration_seconds"), job: r.histogram("sluice_job_duration_seconds"),
		wait: r.histogram("sluice_job_wait_seconds"), late: r.histogram("sluice_due_lateness_seconds"),
		store: r.histogram("sluice_store_duration_seconds"), redis: r.histogram("sluice_redis_command_duration_seconds"),
		http:        r.histogram("sluice_http_request_duration_seconds"),
		refreshTook: r.histogram("sluice_refresh_duration_seconds"), refreshAge: r.histogram("sluice_refresh_age_seconds"),
		commit: r.histogram("sluice_commit_duration_seconds").WithLabelValues(),
		sleep:  r.histogram("sluice_scheduler_sleep_seconds").WithLabelValues(), timerLate: r.histogram("sluice_timer_lateness_seconds").WithLabelValues(),
		leads: r.gauge("sluice_scheduler_leads").WithLabelValues(), inFlight: r.gauge("sluice_http_requests_in_flight").WithLabelValues(),
		reclaimed: r.counter("sluice_jobs_reclaimed_total").WithLabelValues(), redisFailures: r.counter("sluice_redis_failures_total").WithLabelValues(),
		conflicts:     r.counter("sluice_coalescing_conflicts_total").WithLabelValues(),
		storeFailures: r.counter("sluice_store_failures_total"), refreshErrors: r.counter("sluice_refresh_errors_total"),
		publishFailures: r.counter("sluice_refresh_publish_failures_total"), coalesced: r.counter("sluice_coalescing_total"),
		died: r.counter("sluice_dead_letters_total"), rateAcquired: r.counter("sluice_rate_acquired_total"),
		rateRefunded: r.counter("sluice_rate_refunded_total"), rateNone: r.counter("sluice_rate_rejected_total"),
		rateLimit: r.gauge("sluice_rate_limit_calls"),
		refusals:  r.counter("sluice_http_refusals_total"), notifications: r.counter("sluice_notifications_total"), carried: r.counter("sluice_sink_rows_total"),
		seconds: newFullestSeconds(), reasons: newBoundedNames(mostReasons),
	}
	i.turns.by = map[string]*turnObserver{}
	// What was never counted has no past that it could be compared with.
	for _, why := range access.Refusals() {
		i.refusals.WithLabelValues(string(why))
	}
	for _, to := range notify.Types() {
		for _, became := range notify.Outcomes() {
			i.notifications.WithLabelValues(to, string(became))
		}
	}
	return i, r.err
}

// registrar makes metrics as they are declared.
type registrar struct {
	registry *prometheus.Registry
	declared map[string]Metric
	err      error
}

func (r *registrar) declare(name string, kind Kind) Metric {
	m, ok := r.declared[name]
	if !ok || m.Kind != kind {
		r.err = errors.Join(r.err, domain.Errorf(domain.CodeInternal, "the %s %s is not declared", kind, name))
	}
	return m
}

func (r *registrar) register(c prometheus.Collector) {
	r.err = errors.Join(r.err, r.registry.Register(c))
}

func (r *registrar) histogram(name string) *prometheus.HistogramVec {
	m := r.declare(name, Histogram)
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: m.Help, Buckets: m.Buckets}, m.Labels)
	r.register(v)
	return v
}

func (r *registrar) counter(name string) *prometheus.CounterVec {
	m := r.declare(name, Counter)
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: m.Help}, m.Labels)
	r.register(v)
	return v
}

func (r *registrar) gauge(name string) *prometheus.GaugeVec {
	m := r.declare(name, Gauge)
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: m.Help}, m.Labels)
	r.register(v)
	return v
}

// timed is one operation of a store.
type timed struct {
	took     prometheus.Observer
	failures prometheus.Counter
}

// operation measures an operation of a store.
func (i *Instruments) operation(name string) timed {
	return timed{i.store.WithLabelValues(name), i.storeFailures.WithLabelValues(name)}
}

// ended notes that it took until now, and whether the store was not available.
func (t timed) ended(began time.Time, err error) {
	t.took.Observe(time.Since(began).Seconds())
	if err != nil && domain.CodeOf(err) == domain.CodeUnavailable {
		t.failures.Inc()
	}
}
