// Package metrics exports what Sluice counts to Prometheus. Everything is read
// when it is scraped, so a service that nobody scrapes spends nothing on it.
//
// Labels are bounded: outcomes and quota buckets, never an account, an owner
// or a token. What is known per owner is exported as sums.
package metrics

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"

	"sluice/internal/dispatch"
	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/quota"
	"sluice/internal/state"
)

// Counter counts what the engine did; *engine.Engine is one.
type Counter interface {
	Counters() *engine.Counters
}

// Runs lists runs; every state.Store is one.
type Runs interface {
	Runs(ctx context.Context, q state.RunQuery) ([]domain.Run, error)
}

// Dispatch says what waits where; every dispatch.Dispatcher is one.
type Dispatch interface {
	Stats(ctx context.Context) (dispatch.Stats, error)
}

// Quota lists what is known about rations; every quota.Keeper is one.
type Quota interface {
	Windows(ctx context.Context, owner string) ([]quota.Window, error)
}

// SQL counts what the database was asked to do; *sqlitedb.DB is one.
type SQL interface {
	Transactions() int64
	Reads() int64
}

// Sources are what is measured. What is nil is left out.
type Sources struct {
	Engine   Counter
	Runs     Runs
	Dispatch Dispatch
	Quota    Quota
	SQL      SQL
	Timers   Timers
	// Refreshes may be nil.
	Refreshes Refreshes
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// scrapeTimeout bounds what one scrape may ask of the sources.
const scrapeTimeout = 5 * time.Second

// Metrics serves the metrics of one process.
type Metrics struct {
	sources Sources
	process *prometheus.Registry
	log     *slog.Logger
}

// New returns the metrics of the sources, the process and the Go runtime.
func New(s Sources, log *slog.Logger) (*Metrics, error) {
	if s.Now == nil {
		s.Now = time.Now
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	m := &Metrics{sources: s, process: prometheus.NewRegistry(), log: log}
	for _, c := range []prometheus.Collector{
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	} {
		if err := m.process.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Gather reads everything now. What cannot be read is left out and named by
// the error.
func (m *Metrics) Gather(ctx context.Context) ([]*dto.MetricFamily, error) {
	ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
	defer cancel()
	// The collector interface carries no context; a registry for one scrape is
	// cheap and lets a scrape that is given up end its reads.
	scrape := prometheus.NewRegistry()
	if err := scrape.Register(collector{ctx: ctx, Sources: m.sources}); err != nil {
		return nil, err
	}
	return prometheus.Gatherers{scrape, m.process}.Gather()
}

// ServeHTTP serves a scrape: as much as could be read, and errors to the log.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	//nolint:contextcheck // the gatherer's interface has no context; the request's goes in by closure
	gather := prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) { return m.Gather(r.Context()) })
	promhttp.HandlerFor(gather, promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError,
		ErrorLog:      slog.NewLogLogger(m.log.Handler(), slog.LevelWarn),
	}).ServeHTTP(w, r)
}
