// Package httpapi serves Sluice over HTTP: accounts, runs, jobs and quota
// under /api/v1, described by OpenAPI 3.1 at /api/openapi.json, and the probes
// /livez, /readyz and /metrics. Errors are RFC 9457 problems with a code.
//
// It decides nothing: it checks input, calls the engine or reads the state,
// and shows the outcome. Secrets go in and never come out.
package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/quota"
	"sluice/internal/state"
)

// Orchestrator carries out what a request asks for; *engine.Engine is one.
type Orchestrator interface {
	Signup(ctx context.Context, s engine.Signup) (domain.Account, domain.Run, error)
	StartRun(ctx context.Context, account int64, by domain.Trigger, p domain.Priority) (domain.Run, error)
	CancelRun(ctx context.Context, id int64, reason string) (domain.Run, error)
	PauseAccount(ctx context.Context, id int64, reason string) error
	ResumeAccount(ctx context.Context, id int64) error
	ReserveForOwner(ctx context.Context, id int64, floor int, hours domain.Hours) (domain.Account, error)
	RetryJob(ctx context.Context, id int64) (domain.Job, error)
	Scheduler
}

// Observer says how things stand; *engine.Engine is one.
type Observer interface {
	Progress(ctx context.Context, run domain.Run) (engine.Progress, error)
	Watch() (changed <-chan struct{}, end func())
	Waits() map[string]engine.Wait
}

// Reader reads the state; every state.Store is one.
type Reader interface {
	Account(ctx context.Context, id int64) (domain.Account, error)
	AccountByLogin(ctx context.Context, source, login string) (domain.Account, error)
	Accounts(ctx context.Context) ([]domain.Account, error)
	Run(ctx context.Context, id int64) (domain.Run, error)
	Runs(ctx context.Context, q state.RunQuery) ([]domain.Run, error)
	Ledger(ctx context.Context, run int64) ([]state.LedgerLine, error)
	Job(ctx context.Context, id int64) (domain.Job, error)
	Jobs(ctx context.Context, q state.JobQuery) ([]domain.Job, error)
	AccountStatistics(ctx context.Context, account int64) ([]byte, bool, error)
	Check(ctx context.Context) error
}

// QuotaReader lists what is known about rations; every quota.Keeper is one.
type QuotaReader interface {
	Windows(ctx context.Context, owner string) ([]quota.Window, error)
}

// Deps are what the API works with. All but Metrics, Lifecycle and Log are
// needed.
type Deps struct {
	Orchestrator Orchestrator
	Observer     Observer
	Reader       Reader
	Quota        QuotaReader
	Statistics   StatisticsReader
	Documents    document.Reader
	Timers       Timers
	// Refreshes may be nil: then there are no snapshots.
	Refreshes Refreshes
	// Archive may be nil; it needs Refreshes.
	Archive Archive
	// Redis tells about the Redis in use; nil if there is none.
	Redis func(ctx context.Context) (any, error)
	// Metrics serves /metrics; nil leaves the path out.
	Metrics http.Handler
	// Check proves that what the service needs works; nil means Reader's.
	Check func(ctx context.Context) error
	// Lifecycle says whether the service is ready; nil means always.
	Lifecycle *Lifecycle
	// HookSecret is what GitHub signs its webhooks with; without one they are
	// refused.
	HookSecret string
	// Log gets one line for each request; nil means none.
	Log *slog.Logger
}

// Options configures the API.
type Options struct {
	// APIToken, when set, must come as a bearer token with every request to
	// /api/v1 and /metrics. Without it, only requests that name a loopback
	// host are served.
	APIToken string
	// Version is shown in the OpenAPI document.
	Version string
	// ProbesOnly serves nothing but the probes and the metrics.
	ProbesOnly bool
}

// requestTimeout bounds every request but the event streams.
const requestTimeout = 30 * time.Second

type server struct {
	Deps
	mux *http.ServeMux
}

// New returns the handler of every path.
func New(d Deps, o Options) http.Handler {
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	if d.Check == nil {
		d.Check = d.Reader.Check
	}
	if d.Lifecycle == nil {
		d.Lifecycle = NewLifecycle()
		d.Lifecycle.Ready()
	}
	s := &server{Deps: d, mux: http.NewServeMux()}
	api := humago.New(s.mux, config(o))
	if !o.ProbesOnly {
		s.registerAccounts(api)
		s.registerRuns(api)
		s.registerJobs(api)
		s.registerEvents(api)
		s.registerStats(api)
		s.registerExport(api)
		s.registerTimers(api)
		s.registerDebug(api)
		s.registerSchedules(api)
		s.registerHooks(api)
		s.registerArchive(api)
		if d.Refreshes != nil {
			s.registerSnapshots(api)
		}
	}
	s.registerProbes(api)
	describeProblems(api.OpenAPI())
	s.mux.HandleFunc("GET /api/openapi.json", s.serveOpenAPI(api.OpenAPI()))
	if d.Metrics != nil {
		s.mux.Handle("GET /metrics", d.Metrics)
	}
	s.mux.HandleFunc("/", s.noSuchRoute)

	var h http.Handler = s.mux
	if o.APIToken != "" {
		h = requireToken(o.APIToken, h)
	} else {
		h = requireLoopbackHost(h)
	}
	return observe(d.Log, h)
}

func config(o Options) huma.Config {
	c := huma.DefaultConfig("Sluice", o.Version)
	c.Info.Description = "Collects data from APIs that ration their calls."
	// Huma's own handler of the document is not safe for concurrent use.
	c.OpenAPIPath, c.DocsPath, c.SchemasPath = "", "", ""
	// The default hooks add a $schema field to every answer.
	c.CreateHooks = nil
	c.RejectUnknownQueryParameters = true
	c.Transformers = []huma.Transformer{codedProblems}
	format := huma.Format{Marshal: writeJSON, Unmarshal: huma.DefaultJSONFormat.Unmarshal}
	c.Formats = map[string]huma.Format{"application/json": format, "json": format}
	if o.APIToken != "" {
		c.Components.SecuritySchemes = map[string]*huma.SecurityScheme{"token": {Type: "http", Scheme: "bearer"}}
		c.Security = []map[string][]string{{"token": {}}}
	}
	return c
}

// writeJSON writes an answer; what knows a quicker way than encoding/json takes
// it.
func writeJSON(w io.Writer, v any) error {
	if quick, ok := v.(interface{ WriteJSON(w io.Writer) error }); ok {
		return quick.WriteJSON(w)
	}
	return huma.DefaultJSONFormat.Marshal(w, v)
}

// serveOpenAPI serves the description, encoded when it is first asked for.
func (s *server) serveOpenAPI(doc *huma.OpenAPI) http.HandlerFunc {
	encode := sync.OnceValues(func() ([]byte, error) { return json.Marshal(doc) })
	return func(w http.ResponseWriter, r *http.Request) {
		text, err := encode()
		if err != nil {
			writeProblem(w, s.problem(r.Context(), "openapi", err))
			return
		}
		w.Header().Set("Content-Type", "application/openapi+json")
		// A caller that went away gets no more.
		_, _ = w.Write(text)
	}
}

// NewServer returns a server for the handler with limits on slow and large
// requests. Event streams set their own.
func NewServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       requestTimeout,
		WriteTimeout:      2 * requestTimeout,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}

// operation describes one endpoint.
type operation struct {
	id, method, path, tag, summary string
	status                         int
	errors                         []int
	// body bounds a request's body; 0 is 1 MiB.
	body int64
}

func (o operation) huma() huma.Operation {
	return huma.Operation{
		OperationID: o.id, Method: o.method, Path: o.path, Tags: []string{o.tag}, Summary: o.summary,
		DefaultStatus: o.status, Errors: append([]int{http.StatusUnauthorized, http.StatusServiceUnavailable}, o.errors...),
		MaxBodyBytes: cmp.Or(o.body, 1<<20), BodyReadTimeout: requestTimeout,
	}
}

// body is an answer that is all body.
type body[T any] struct{ Body T }

// register adds an endpoint whose errors become problems.
func register[I, O any](s *server, api huma.API, o operation, handle func(context.Context, *I) (*O, error)) {
	huma.Register(api, o.huma(), func(ctx context.Context, in *I) (*O, error) {
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		out, err := handle(ctx, in)
		if err != nil {
			return nil, s.problem(ctx, o.id, err)
		}
		return out, nil
	})
}
