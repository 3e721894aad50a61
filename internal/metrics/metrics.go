// Package metrics exports what Sluice counts to Prometheus.
//
//   - declared*.go: every metric, declared once; docs/metrics.md is written from it.
//   - metrics.go, collector.go, refreshes.go, letters.go, owners.go: what is read when it is
//     scraped, so that a service that nobody scrapes spends nothing on it; lately.go
//     keeps what takes long to count.
//   - instruments.go, measure_*.go, http.go: what is measured while it happens, in
//     wrappers of ports that wiring puts in place.
//   - bounds.go: what keeps labels from growing.
//
// Labels are bounded: names of the program's own, quota buckets, sources, routes,
// and a number of quota owners that is a setting; those are salted hashes. No
// account, login or token is in any of them.
package metrics

import (
	"context"
	"log/slog"
	"net/http"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"

	"sluice/internal/dispatch"
	"sluice/internal/document"
	"sluice/internal/engine"
	"sluice/internal/notify"
	"sluice/internal/quota"
	"sluice/internal/refresh"
	"sluice/internal/sink"
	"sluice/internal/state"
)

// Engine counts what the engine did; *engine.Engine is one.
type Engine interface {
	Counters() *engine.Counters
	// StatisticsRetrying is how many runs' statistics wait to be computed again.
	StatisticsRetrying() int
}

// Totals counts accounts and runs; every state.Store does.
type Totals interface {
	Total(ctx context.Context) (state.Total, error)
}

// Dispatch says what waits where; every dispatch.Dispatcher is one.
type Dispatch interface {
	Stats(ctx context.Context) (dispatch.Stats, error)
}

// Quota lists what is known about rations; every quota.Keeper is one.
type Quota interface {
	Windows(ctx context.Context, owner string) ([]quota.Window, error)
}

// SQL counts what the database was asked to do; *sqlite.DB is one.
type SQL interface {
	Transactions() int64
	Reads() int64
}

// Feed tells which changes of documents are kept; every document.Feed does.
type Feed interface {
	Bounds(ctx context.Context) (document.Bounds, error)
}

// Sources are what is measured. What is nil is left out.
type Sources struct {
	Engine   Engine
	State    Totals
	Dispatch Dispatch
	Quota    Quota
	SQL      SQL
	// Feed may be nil.
	Feed   Feed
	Timers Timers
	// Statistics tells which of them were given up.
	Statistics    Statistics
	Notifications Notifications
	Sinks         Sinks
	// Refreshes may be nil.
	Refreshes Refreshes
	// Instruments are what the parts were measured with.
	Instruments *Instruments
	// Owners is how many quota owners have series of their own; none if zero.
	Owners int
	// Version is the program's.
	Version string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// scrapeTimeout bounds what one scrape may ask of the sources.
const scrapeTimeout = 5 * time.Second

// Metrics serves the metrics of one process.
type Metrics struct {
	sources Sources
	reads   reads
	descs   descriptions
	process prometheus.Gatherers
	log     *slog.Logger
}

// reads are the parts that are asked for a scrape; nil is one that is not there.
type reads struct {
	total    *lately[state.Total]
	dispatch *lately[dispatch.Stats]
	quota    *lately[[]quota.Window]
	overview *lately[refresh.Overview]
	// lacking and undelivered count statistics and deliveries that were given up.
	lacking, undelivered *lately[int64]
	feed                 *lately[document.Bounds]
	notifications        *lately[map[notify.Counted]int64]
	sinks                *lately[[]sink.Listed]
}

// New returns the metrics of the sources, the process and the Go runtime.
func New(s Sources, log *slog.Logger) (*Metrics, error) {
	if s.Now == nil {
		s.Now = time.Now
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	m := &Metrics{sources: s, descs: describeAll(), log: log}
	if s.State != nil {
		m.reads.total = newLately(s.Now, s.State.Total)
	}
	if s.Feed != nil {
		m.reads.feed = newLately(s.Now, s.Feed.Bounds)
	}
	if s.Dispatch != nil {
		m.reads.dispatch = newLately(s.Now, s.Dispatch.Stats)
	}
	if s.Quota != nil {
		m.reads.quota = newLately(s.Now, func(ctx context.Context) ([]quota.Window, error) { return s.Quota.Windows(ctx, "") })
	}
	if s.Refreshes != nil {
		m.reads.overview = newLately(s.Now, s.Refreshes.Overview)
	}
	if s.Statistics != nil {
		m.reads.lacking = newLately(s.Now, countStatistics(s.Statistics))
	}
	if s.Timers != nil {
		m.reads.undelivered = newLately(s.Now, s.Timers.GivenUp)
	}
	if s.Notifications != nil {
		m.reads.notifications = newLately(s.Now, s.Notifications.Count)
	}
	if s.Sinks != nil && s.Sinks.Active() {
		m.reads.sinks = newLately(s.Now, s.Sinks.List)
	}
	own := prometheus.NewRegistry()
	for _, c := range []prometheus.Collector{
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), buildInfo(s.Version),
	} {
		if err := own.Register(c); err != nil {
			return nil, err
		}
	}
	m.process = prometheus.Gatherers{own}
	if s.Instruments != nil {
		m.process = append(m.process, s.Instruments.registry)
	}
	return m, nil
}

// buildInfo tells which program this is.
func buildInfo(version string) prometheus.Collector {
	m := byName()["sluice_build_info"]
	revision := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = s.Value
			}
		}
	}
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: m.Name, Help: m.Help}, m.Labels)
	v.WithLabelValues(version, revision, runtime.Version()).Set(1)
	return v
}

// Gather reads everything now. What cannot be read is left out and named by
// the error.
func (m *Metrics) Gather(ctx context.Context) ([]*dto.MetricFamily, error) {
	ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
	defer cancel()
	// The collector interface carries no context; a registry for one scrape is
	// cheap and lets a scrape that is given up end its reads.
	scrape := prometheus.NewRegistry()
	if err := scrape.Register(collector{ctx: ctx, Metrics: m}); err != nil {
		return nil, err
	}
	return append(prometheus.Gatherers{scrape}, m.process...).Gather()
}

// patience is how long whoever scrapes waits, less what is needed to answer: that
// a part does not answer is worth telling, and nobody hears of it who has left.
func patience(r *http.Request) time.Duration {
	const forParts = 0.8
	told, err := strconv.ParseFloat(r.Header.Get("X-Prometheus-Scrape-Timeout-Seconds"), 64)
	if err != nil || told <= 0 {
		return scrapeTimeout
	}
	return min(time.Duration(told*forParts*float64(time.Second)), scrapeTimeout)
}

// ServeHTTP serves a scrape: as much as could be read, and errors to the log.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), patience(r))
	defer cancel()
	gather := prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) { return m.Gather(ctx) })
	promhttp.HandlerFor(gather, promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError,
		ErrorLog:      slog.NewLogLogger(m.log.Handler(), slog.LevelWarn),
	}).ServeHTTP(w, r)
}

// together does things at the same time: a part that is slow holds up no other.
func together(all ...func()) {
	var wait sync.WaitGroup
	for _, do := range all {
		wait.Go(do)
	}
	wait.Wait()
}
