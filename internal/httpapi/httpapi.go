// Package httpapi serves Sluice over HTTP: accounts, runs, jobs and quota
// under /api/v1, described by OpenAPI 3.1 at /api/openapi.json, and the probes
// /livez, /readyz and /metrics. Errors are RFC 9457 problems with a code.
//
// It decides nothing: it checks input, calls the engine or reads the state,
// and shows the outcome. Secrets go in and never come out.
//
//   - httpapi.go: what the API needs (Deps), and how it is put together (New).
//   - A file for each group of routes, with a type that has what the group needs:
//     accounts.go, schedules.go, runs.go, jobs.go, quota.go, stats.go, export.go,
//     documents.go, changes.go, sql.go, saved.go, catalogue.go, search.go, timers.go and completions.go, snapshots.go, deadletters.go, archive*.go,
//     hooks.go, events.go, probes.go, fleet.go, debug.go.
//   - bodies.go: bodies as they must be; unread.go: those that nobody reads.
//   - problem.go and problemkinds.go: errors as problems; stream.go: server-sent
//     events; once.go: requests with a key; requests.go: the log of requests;
//     allow.go: methods; unconfigured.go: what is not configured.
//   - openapi.go, abouts.go, enums.go, examples.go: the description; pages*.go and
//     index.go: the same for people, and what is at /.
//   - roles.go: the role that each route needs; guard.go: who is let in; revoked.go:
//     the end of answers whose token was revoked; auditor.go: who changed what;
//     proxies.go: whose word is taken for where a request comes from; access.go:
//     tokens and the audit log.
//   - server.go, listen.go, connections.go, lifecycle.go: serving.
package httpapi

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"sluice/internal/access"
	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/query"
	"sluice/internal/quota"
	"sluice/internal/record"
	"sluice/internal/source"
	"sluice/internal/state"
	"sluice/internal/traces"
)

// Orchestrator carries out what a request asks for; *engine.Engine is one.
type Orchestrator interface {
	AccountKeeper
	RunKeeper
	QuotaKeeper
	Scheduler
	BulkKeeper
	Purger
}

// AccountKeeper adds, pauses and resumes accounts.
type AccountKeeper interface {
	Signup(ctx context.Context, s engine.Signup) (domain.Account, domain.Run, error)
	PutAccount(ctx context.Context, s engine.Signup) (domain.Account, error)
	Inspect(ctx context.Context, s engine.Signup) (source.Allowance, error)
	PauseAccount(ctx context.Context, id int64, reason string) error
	ResumeAccount(ctx context.Context, id int64) error
	ReserveForOwner(ctx context.Context, id int64, floor int, hours domain.Hours) (domain.Account, error)
	Binding(ctx context.Context, id int64) (to string, set map[string]string, err error)
}

// RunKeeper starts and cancels runs, and retries their jobs.
type RunKeeper interface {
	StartRun(ctx context.Context, account int64, by domain.Trigger, p domain.Priority) (domain.Run, error)
	Deliver(ctx context.Context, from string, e source.Event) ([]domain.Run, error)
	CancelRun(ctx context.Context, id int64, reason string) (domain.Run, error)
	RetryJob(ctx context.Context, id int64) (domain.Job, error)
}

// QuotaKeeper resumes owners that are parked, and estimates what a collection
// would take.
type QuotaKeeper interface {
	ResetQuota(ctx context.Context, owner string) error
	DryRun(ctx context.Context, s engine.Signup) (engine.DryRun, error)
}

// Observer says how things stand; *engine.Engine is one.
type Observer interface {
	Progress(ctx context.Context, run domain.Run) (engine.Progress, error)
	Watch() (changed <-chan struct{}, end func())
	Waits() map[string]engine.Wait
}

// Reader reads the state; every state.Store is one.
type Reader interface {
	AccountReader
	RunReader
	ListReader
	Check(ctx context.Context) error
}

// AccountReader reads accounts.
type AccountReader interface {
	Account(ctx context.Context, id int64) (domain.Account, error)
	AccountByLogin(ctx context.Context, source, login string) (domain.Account, error)
	Accounts(ctx context.Context) ([]domain.Account, error)
	AccountStatistics(ctx context.Context, account int64) ([]byte, bool, error)
	Cursors(ctx context.Context, account int64) (map[string]time.Time, error)
}

// RunReader reads runs and their jobs.
type RunReader interface {
	Run(ctx context.Context, id int64) (domain.Run, error)
	Runs(ctx context.Context, q state.RunQuery) ([]domain.Run, error)
	Ledger(ctx context.Context, run int64) ([]state.LedgerLine, error)
	Summary(ctx context.Context, run int64) ([]state.LedgerLine, error)
	Job(ctx context.Context, id int64) (domain.Job, error)
	Jobs(ctx context.Context, q state.JobQuery) ([]domain.Job, error)
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
	// Feed, Finder and Lister are of the store of the documents; nil where it has
	// none of it.
	Feed   document.Feed
	Finder document.Finder
	Lister document.Lister
	// Queries answers SQL; nil where the store of the documents speaks none.
	Queries query.Store
	// Records keeps the queries that people save; nil keeps them in this process.
	Records record.Store
	// Search may be nil: then no index of words is kept, and its route says so.
	Search Searcher
	Timers Timers
	// Refreshes may be nil: then there are no snapshots, and their routes say so.
	Refreshes Refreshes
	// Notifications may be nil: then nobody is told of anything.
	Notifications Notifications
	// Sinks may be nil: then documents are carried nowhere.
	Sinks Sinks
	// Archive may be nil; it needs Refreshes.
	Archive Archive
	// Fleet knows the other processes and what all work with; nil is nobody.
	Fleet Fleet
	// Redis tells about the Redis in use; nil if there is none.
	Redis func(ctx context.Context) (any, error)
	// Metrics serves /metrics; nil leaves the path out.
	Metrics http.Handler
	// Measure, if set, measures requests by the pattern that is in them when they
	// were answered: none where it was not known who asked. Refused is told why
	// callers are refused.
	Measure func(next http.Handler) http.Handler
	Refused func(why access.Refusal)
	// Checks prove that what the service needs works; none means Reader's.
	Checks []Check
	// Keys has requests with an Idempotency-Key carried out once; nil refuses them.
	Keys Keys
	// Lifecycle says whether the service is ready; nil means always.
	Lifecycle *Lifecycle
	// Sources are what is collected, and where accounts are looked up whose source is
	// not named.
	Sources []source.Description
	// Catalogue lists sources and changes which there are; nil leaves that out.
	Catalogue Catalogue
	// HookSecrets are what the upstreams of sources sign their webhooks with, by
	// the name of the source; without one they are refused.
	HookSecrets map[string]string
	// Tokens are those of the API beside APIToken; nil means none.
	Tokens Tokens
	// Audit keeps who changed what; nil means that nobody asks.
	Audit AuditLog
	// Tracer traces requests; nil traces nothing.
	Tracer *traces.Tracer
	// Log gets one line for each request; nil means none.
	Log *slog.Logger
}

// Options configures the API.
type Options struct {
	// APIToken, when set, is the token of an admin. Where it, or any other token,
	// is set, every request to /api/v1 and /metrics needs one. Without any, only
	// requests that name a loopback host are served.
	APIToken string
	// Exposed says that other machines can reach the service: then every request
	// needs a token, whether or not there is one.
	Exposed bool
	// TrustedProxies are whose word is taken for where a request comes from.
	TrustedProxies []netip.Prefix
	// Version is shown in the OpenAPI document.
	Version string
	// ProbesOnly serves nothing but the probes, the metrics and the description;
	// all else says where to ask.
	ProbesOnly bool
}

// server is all routes together. Each group of them has a type of its own, with
// what it needs and nothing else.
type server struct {
	*common
	mux *http.ServeMux
	// keyed are the patterns that take an Idempotency-Key, and streamed those that
	// cannot.
	keyed, streamed map[string]bool
	// shadowed are patterns that answer as if there were no route.
	shadowed map[string]bool
}

// New returns the handler of every path.
func New(d Deps, o Options) http.Handler {
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	if len(d.Checks) == 0 {
		d.Checks = []Check{{"state", d.Reader.Check}}
	}
	if d.Refreshes == nil {
		d.Refreshes = noRefreshes{}
	}
	if d.Tokens == nil {
		d.Tokens = access.NewTokens(access.TokensOptions{Guarded: o.APIToken != ""})
	}
	if d.Refused == nil {
		d.Refused = func(access.Refusal) {}
	}
	if d.Lifecycle == nil {
		d.Lifecycle = NewLifecycle()
		d.Lifecycle.Ready()
	}
	if d.Records == nil {
		d.Records = record.NewMemory()
	}
	s := &server{
		common: &common{Log: d.Log, Lifecycle: d.Lifecycle, Sources: d.Sources, kinds: source.Kinds(d.Sources)},
		mux:    http.NewServeMux(), shadowed: map[string]bool{},
	}
	api := humago.New(s.mux, config(o))
	api.UseMiddleware(refuseEmpty(api), ownCursors(api), s.strictBodies(api))
	s.registerGroups(api, d)
	(&probeRoutes{common: s.common, Checks: d.Checks}).registerProbes(api)
	s.describe(api.OpenAPI())
	s.registerDocuments(api.OpenAPI())
	s.registerPages(api.OpenAPI())
	if d.Metrics != nil {
		s.mux.Handle("GET /metrics", d.Metrics)
	}
	s.mux.HandleFunc("/", s.noSuchRoute)
	s.closeShadows(api.OpenAPI())

	h := s.once(d.Keys, s.mux)
	if o.ProbesOnly {
		h = s.withoutAPI(h)
	}
	h = &guard{
		server: s, log: d.Log, tokens: d.Tokens, setting: access.DigestOf(o.APIToken), guarded: o.APIToken != "", exposed: o.Exposed,
		attempts: access.NewAttempts(time.Now), origins: http.NewCrossOriginProtection(), refused: d.Refused,
		audit: &auditor{log: d.Audit, actions: s.describeRoles(api.OpenAPI())}, next: h,
	}
	if d.Measure != nil {
		h = d.Measure(h)
	}
	return behindProxies(o.TrustedProxies, observe(d.Log, d.Tracer, h))
}

// registerGroups adds every group of routes but the probes.
func (s *server) registerGroups(api huma.API, d Deps) {
	c, find := s.common, accountFinder{d.Reader, s.sourceNames()}
	quotas := &quotaRoutes{c, find, d.Reader, d.Quota, d.Observer, d.Orchestrator}
	schedules := &scheduleRoutes{c, find, d.Reader, d.Orchestrator}
	(&accountRoutes{c, find, d.Reader, d.Reader, d.Orchestrator, d.Orchestrator}).registerAccounts(api)
	(&accountDetailRoutes{c, find, schedules, quotas, d.Reader, d.Reader, d.Observer, d.Documents, d.Orchestrator, d.Orchestrator}).registerAccountDetails(api)
	(&runRoutes{c, find, d.Reader, d.Reader, d.Observer, d.Orchestrator}).registerRuns(api)
	(&jobRoutes{c, find, d.Reader, d.Reader, d.Orchestrator}).registerJobs(api)
	(&bulkRoutes{c, find, d.Orchestrator}).registerBulk(api)
	quotas.registerQuota(api)
	(&eventRoutes{c, d.Reader, d.Observer}).registerEvents(api)
	(&statsRoutes{c, find, d.Statistics}).registerStats(api)
	lists := &documentRoutes{c, find, d.Reader, d.Documents, d.Lister, d.Finder}
	(&exportRoutes{c, find, d.Reader, d.Documents, d.Feed, d.Finder, d.Statistics, lists}).registerExport(api)
	lists.registerDocuments(api)
	(&changeRoutes{c, find, d.Reader, d.Observer, d.Feed}).registerChanges(api)
	(&sqlRoutes{c, d.Queries}).registerSQL(api)
	(&sourceRoutes{c, d.Catalogue}).registerSources(api)
	(&savedRoutes{c, query.NewSaved(d.Records, time.Now)}).registerSaved(api)
	(&searchRoutes{c, find, d.Search}).registerSearch(api)
	(&timerRoutes{c, d.Timers}).registerTimers(api)
	(&debugRoutes{c, d.Redis}).registerDebug(api)
	(&fleetRoutes{c, d.Fleet}).registerFleet(api)
	schedules.registerSchedules(api)
	(&hookRoutes{c, d.Orchestrator, d.HookSecrets, make(chan struct{}, largeHooks)}).registerHooks(api)
	(&archiveRoutes{c, d.Archive, d.Refreshes}).registerArchive(api)
	(&accessRoutes{c, d.Tokens, d.Audit}).registerAccess(api)
	(&notificationRoutes{c, d.Notifications}).registerNotifications(api)
	(&sinkRoutes{c, d.Sinks}).registerSinks(api)
	(&snapshotRoutes{c, d.Refreshes}).registerSnapshots(api)
	letters := &deadLetterRoutes{c, nil, d.Reader, d.Reader, d.Orchestrator}
	if _, none := d.Refreshes.(noRefreshes); !none {
		letters.Refreshes = d.Refreshes
	}
	letters.registerDeadLetters(api)
}

// common is what every group of routes has: how errors are told, and when what
// takes long is to end.
type common struct {
	Log       *slog.Logger
	Lifecycle *Lifecycle
	Sources   []source.Description
	// kinds are those of the documents of all sources.
	kinds document.Kinds
}

// untilStopping ends with ctx or when the service stops.
func (s *common) untilStopping(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-s.Lifecycle.stopping:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// host is a group of routes, for what all of them do in the same way.
type host interface {
	problem(ctx context.Context, operation string, err error) *problemError
	untilStopping(ctx context.Context) (context.Context, context.CancelFunc)
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
		DefaultStatus: o.status, Errors: append([]int{http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests, http.StatusServiceUnavailable}, o.errors...),
		MaxBodyBytes: cmp.Or(o.body, 1<<20), BodyReadTimeout: requestTimeout,
	}
}

// body is an answer that is all body.
type body[T any] struct{ Body T }

// register adds an endpoint whose errors become problems.
func register[I, O any](s host, api huma.API, o operation, handle func(context.Context, *I) (*O, error)) {
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
