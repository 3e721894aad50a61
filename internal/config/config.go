// Package config is everything that can be set about Sluice: one Config, whose
// settings come from four places, each before the one that follows: the command
// line, the environment (SLUICE_…), a YAML file, and the defaults.
//
//   - config.go: Config, by groups, and all defaults (Default).
//   - declared.go: the declaration. Each setting stands there once, with its name,
//     its help and the commands that use it.
//   - access.go: those of tokens, the audit log, TLS, and the way to Kafka.
//   - sources.go: the settings of sources, which these declare themselves.
//   - settings.go: what is made from a declaration: flags, names of variables and
//     keys of the file; docs/settings.md is made from it too.
//   - load.go: fills a Config from command line, environment and file.
//   - secrets.go: settings that are read from files and shown nowhere.
//   - validate.go: says what is wrong with a Config, all of it at once.
//   - parts.go: what is told to the parts: the engine, webhooks, the refresh
//     pipeline.
//
// A new setting is a field, its default and its declaration here, and whatever
// uses it.
package config

import (
	"slices"
	"time"

	"sluice/internal/access"
	"sluice/internal/dispatch"
	"sluice/internal/engine"
	"sluice/internal/httpapi/wire"
	"sluice/internal/notify"
	"sluice/internal/schedule"
	"sluice/internal/source"
)

// Config is everything that can be set. The zero value is a process on the
// embedded database that does everything, by the defaults of its parts; tests
// begin with it. The program begins with Default.
type Config struct {
	// File is the YAML file that the other settings were read from.
	File string
	// Server is the URL of a running service, for commands that speak to one.
	Server string
	// Output is how commands answer: text or json.
	Output string

	Log     Log
	Service Service
	Servers Servers
	HTTP    HTTP
	Collect Collect
	Quota   Quota
	Harvest Harvest
	Timers  Timers
	Refresh Refresh
	Kafka   Kafka
	// Sinks are where documents are carried to.
	Sinks Sinks
	// Notify are those who are told what happened.
	Notify notify.Targets
	// Search says whether an index of words is kept, by which documents are found.
	Search bool
	// Traces is where traces are sent.
	Traces Traces
	// Declared are the files that describe more sources, or names of those that come with
	// the program, with commas.
	Declared string
	// Sources is what was set about sources, which declare their settings.
	Sources source.Settings

	// secretFiles are those that secrets were read from.
	secretFiles []string
}

// SecretFiles are the files that secrets were read from.
func (c *Config) SecretFiles() []string { return slices.Clone(c.secretFiles) }

// Embedded is a process that keeps everything in a folder, by the defaults of its
// parts.
func Embedded(dir string) Config { return Config{Service: Service{DataDir: dir}} }

// Log is what is logged.
type Log struct {
	// Level is debug, info, warn or error.
	Level string
	// Format is text or json.
	Format string
}

// Traces is where the traces of requests, jobs and calls are sent.
type Traces struct {
	// Endpoint is the URL of what takes OTLP over HTTP; "" is what the environment
	// says in OTEL_EXPORTER_OTLP_ENDPOINT, and nothing is traced without.
	Endpoint string
	// Sample is how many of a thousand requests and runs are traced.
	Sample int
}

// Service is where a process keeps its data and what it does.
type Service struct {
	// DataDir holds what is embedded: the database, the key and the lock.
	DataDir string
	Roles   Roles
}

// Servers names what several machines share; none of them means that everything
// is embedded.
type Servers struct {
	// State is postgres://… or mysql://…, and Redis redis://…; they go together.
	State, Redis string
	// RedisPrefix begins all keys.
	RedisPrefix string
	// SQLReader is State with a user who may read the views alone, and answers SQL.
	SQLReader string
	// Mongo is mongodb://…; "" keeps documents beside the state.
	Mongo string
	// KeyFile holds the key that seals credentials, the same on every machine.
	KeyFile string
}

// Shared says whether several processes work together.
func (s Servers) Shared() bool { return s.State != "" || s.Redis != "" }

// HTTP is how the API is served.
type HTTP struct {
	Addr string
	// Token is what callers of the API show; "" asks for none.
	Token string
	// Connections is how many callers the API has at once.
	Connections int
	// MetricsOwners is how many quota owners /metrics tells of by name.
	MetricsOwners int
	// TLSCert and TLSKey are the files of the server's certificate; "" serves
	// without TLS.
	TLSCert, TLSKey string
	// TrustedProxies are whose word is taken for where a request comes from.
	TrustedProxies string
	// PathPrefix is where a proxy serves all paths; "" is at the root.
	PathPrefix string
	// CAFile holds the authorities that commands trust beside the system's.
	CAFile string
	// KeepAudit is how long the audit log is kept; negative is for ever.
	KeepAudit time.Duration
}

// Collect is how collections work.
type Collect struct {
	// Workers is how many upstream calls are under way at once.
	Workers int
	// Lease is how long a silent worker keeps its job.
	Lease time.Duration
	// KeepJobs is how long the jobs of ended runs are kept; negative is for ever.
	KeepJobs time.Duration
	// KeepChanges is how long the feed of changes keeps them; 0 is for ever.
	KeepChanges time.Duration
}

// Quota is what is assumed of the quota windows of an upstream.
type Quota struct {
	// Floor is what quota owners keep for themselves.
	Floor int
	// Limit is what a window allows, and Window how long it lasts, until the
	// upstream says.
	Limit  int
	Window time.Duration
	// PointsPerMinute is the secondary limit per endpoint and minute; 0 is the
	// upstream's own.
	PointsPerMinute int
	// PoolTokens lets owners lend calls for public data to each other.
	PoolTokens bool
}

// Harvest says whether and when accounts are collected again by themselves.
type Harvest struct {
	On     bool
	Policy wire.Policy
}

// Schedule is the policy that was given.
func (h Harvest) Schedule() (schedule.Policy, error) { return h.Policy.Parse() }

// Timers is how timers are triggered and delivered.
type Timers struct {
	// Trigger is TriggerDueSet or TriggerKeyspace.
	Trigger string
	// WebhookSecret signs webhooks; AllowPrivate lets them go to addresses that
	// are not on the open internet.
	WebhookSecret string
	AllowPrivate  bool
}

// What can trigger timers.
const (
	TriggerDueSet   = "due-set"
	TriggerKeyspace = "keyspace"
)

// Refresh is how snapshots are kept fresh.
type Refresh struct {
	// FreshFor is how long a snapshot counts as fresh.
	FreshFor time.Duration
	// Prefetch is how many refreshes a second are made before anybody asks;
	// negative is what the hour of day suggests, 0 none.
	Prefetch int
	// Kafka names brokers to carry the requests; "" is Redis, or the embedded
	// database.
	Kafka string
	// Archive is a folder or a bucket for values that are older than 30 days; ""
	// keeps them in the store.
	Archive string
}

// The roles of a process.
const (
	RoleAPI       = "api"
	RoleWorker    = "worker"
	RoleScheduler = "scheduler"
	RoleRefresh   = "refresh"
)

// AllRoles are what a process does that is alone, or was not told.
func AllRoles() Roles { return Roles{RoleAPI, RoleWorker, RoleScheduler, RoleRefresh} }

// Roles is what a process does; none means everything.
type Roles []string

// Has says whether a process does something.
func (r Roles) Has(role string) bool { return len(r) == 0 || slices.Contains(r, role) }

// Default is what holds where nothing was set.
func Default() Config {
	return Config{
		Output:  "text",
		Log:     Log{Level: "warn", Format: "text"},
		Service: Service{DataDir: "sluice-data", Roles: AllRoles()},
		Servers: Servers{RedisPrefix: "sluice"},
		HTTP:    HTTP{Addr: "127.0.0.1:8090", Connections: 1024, MetricsOwners: 20, KeepAudit: access.DefaultKeepAudit},
		Collect: Collect{Workers: engine.DefaultWorkers, Lease: dispatch.DefaultLease, KeepJobs: engine.DefaultRetention, KeepChanges: engine.DefaultChangesKept},
		Quota:   Quota{Floor: 100, Limit: 5000, Window: time.Hour},
		Harvest: Harvest{On: true},
		Search:  true,
		Timers:  Timers{Trigger: TriggerDueSet},
		Refresh: Refresh{FreshFor: time.Hour, Prefetch: -1},
		Traces:  Traces{Sample: 1000},
		Sources: sourceDefaults(),
	}
}
