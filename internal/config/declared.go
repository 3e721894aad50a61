package config

import "slices"

// The commands that have a setting as a flag, where not all do. A name stands
// for the command and all below it.
var (
	// clients are those that can speak to a running service.
	clients = []string{"collect", "account", "run", "job", "quota", "timer", "refresh", "snapshot", "dlq", "archive", "stats", "export", "doc", "changes", "sql", "query", "top", "system", "token", "audit", "compare", "notify", "sink", "sync",
		"source add", "source list", "source show", "source remove"}
	// stores are those that may have the embedded database in their own process.
	stores = slices.Concat([]string{"up", "demo", "load", "doctor", "backup", "restore", "key", "config"}, clients)
	// sharers are those that are told of servers on their command line.
	sharers = []string{"up", "collect", "doctor", "load", "key"}
	// workers are those that set a service to work.
	workers = []string{"up", "collect", "demo"}
)

func everywhere() []Setting {
	const group = "Every command"
	return []Setting{
		{Name: "config", Group: group, Help: "YAML file with any of these settings; by default sluice.yaml of the data folder, ~/.config/sluice or /etc/sluice",
			field: func(c *Config) any { return &c.File }},
		{Name: "output", Short: "o", Group: group, Help: "text or json",
			field: func(c *Config) any { return &c.Output }},
		{Name: "log-level", Group: group, Help: "debug, info, warn or error; by default warn, and error while progress is shown",
			field: func(c *Config) any { return &c.Log.Level }},
	}
}

func service() []Setting {
	const group = "Service"
	return []Setting{
		{Name: "server", Group: group, Help: "URL of a running service to use instead of the data folder", Commands: append([]string{"health"}, clients...), Own: true,
			field: func(c *Config) any { return &c.Server }},
		{Name: "data-dir", Group: group, Help: "folder of the embedded database", Commands: stores,
			field: func(c *Config) any { return &c.Service.DataDir }},
		{Name: "sources", Group: group, Help: "files that describe more sources, or names of those that come with the program, with commas; values of their config follow a question mark (docs/declare.md)", Commands: []string{"up", "collect", "account", "export", "doc", "changes", "sql", "sink", "sync", "doctor", "backup", "top", "run", "refresh", "snapshot", "dlq", "archive", "source add", "source list", "source show", "source remove"},
			field: func(c *Config) any { return &c.Declared }},
		{Name: "roles", Group: group, Help: "what this process does, when several share the work", Commands: []string{"up"}, Own: true,
			field: func(c *Config) any { return &c.Service.Roles }},
	}
}

func servers() []Setting {
	const group = "Servers"
	return []Setting{
		{Name: "state", Group: group, Help: "postgres://USER@HOST/DATABASE or mysql://…: keep the state in PostgreSQL, MySQL or MariaDB, for several machines; also @FILE", Secrecy: SecretURL, Commands: sharers,
			field: func(c *Config) any { return &c.Servers.State }},
		{Name: "sql-reader", Group: group, Help: "URL of --state with a user who may read the views of documents and nothing else: answers SQL (docs/sql.md); also @FILE", Secrecy: SecretURL, Commands: []string{"up", "sql"},
			field: func(c *Config) any { return &c.Servers.SQLReader }},
		{Name: "redis", Group: group, Help: "redis://HOST: dispatch and quota through Redis, for several machines; also @FILE", Secrecy: SecretURL, Commands: sharers,
			field: func(c *Config) any { return &c.Servers.Redis }},
		{Name: "redis-prefix", Group: group, Help: "prefix of all keys in Redis", Commands: sharers,
			field: func(c *Config) any { return &c.Servers.RedisPrefix }},
		{Name: "mongo", Group: group, Help: "mongodb://HOST/DATABASE: keep documents in MongoDB; also @FILE", Secrecy: SecretURL, Commands: []string{"up", "collect", "doctor"},
			field: func(c *Config) any { return &c.Servers.Mongo }},
		{Name: "key-file", Group: group, Help: "key that encrypts stored credentials, the same on every machine; by default one in the data folder", Commands: append([]string{"backup"}, sharers...),
			field: func(c *Config) any { return &c.Servers.KeyFile }},
	}
}

func api() []Setting {
	const group = "API"
	return []Setting{
		{Name: "addr", Group: group, Help: "address to serve on; anything but loopback needs --api-token", Commands: []string{"up", "demo", "health"}, Own: true,
			field: func(c *Config) any { return &c.HTTP.Addr }},
		{Name: "api-token", Group: group, Help: "token of the API, as @FILE; or set SLUICE_API_TOKEN", Secrecy: Secret, Commands: append([]string{"up", "demo"}, clients...),
			field: func(c *Config) any { return &c.HTTP.Token }},
		{Name: "max-connections", Group: group, Help: "connections to the API at once, at most half of the files that the process may open", Commands: []string{"up"}, Own: true,
			field: func(c *Config) any { return &c.HTTP.Connections }},
		{Name: "metrics-owners", Group: group, Help: "quota owners that /metrics tells of by name, those with the least left; the rest is told together, and 0 names none", Commands: []string{"up"}, Own: true,
			field: func(c *Config) any { return &c.HTTP.MetricsOwners }},
	}
}

func collect() []Setting {
	const group = "Collections"
	return []Setting{
		{Name: "workers", Group: group, Help: "upstream calls under way at once", Commands: workers,
			field: func(c *Config) any { return &c.Collect.Workers }},
		{Name: "lease", Group: group, Help: "how long a worker may be silent before its job is given to another", Commands: workers,
			field: func(c *Config) any { return &c.Collect.Lease }},
		{Name: "keep-jobs", Group: group, Help: "how long the jobs of ended runs are kept, except each account's newest; negative means forever", Commands: workers,
			field: func(c *Config) any { return &c.Collect.KeepJobs }},
		{Name: "changes-keep", Group: group, Help: "how long changes of documents are kept for those who follow them (docs/changes.md); 0 means forever", Commands: workers,
			field: func(c *Config) any { return &c.Collect.KeepChanges }},
		{Name: "search", Group: group, Help: "keep an index of the words of documents, by which they are found (docs/search.md)", Commands: workers, Own: true,
			field: func(c *Config) any { return &c.Search }},
	}
}

func quotas() []Setting {
	const group = "Quota"
	return []Setting{
		{Name: "floor", Group: group, Help: "calls of each quota window that are kept for its owner", Commands: workers,
			field: func(c *Config) any { return &c.Quota.Floor }},
		{Name: "assume-limit", Group: group, Help: "calls that a quota window allows, until the upstream says", Commands: workers,
			field: func(c *Config) any { return &c.Quota.Limit }},
		{Name: "assume-window", Group: group, Help: "how long a quota window lasts, until the upstream says", Commands: workers,
			field: func(c *Config) any { return &c.Quota.Window }},
		{Name: "points-per-minute", Group: group, Help: "secondary limit per endpoint and minute; 0 means the upstream's own", Commands: workers,
			field: func(c *Config) any { return &c.Quota.PointsPerMinute }},
		{Name: "pool-tokens", Group: group, Help: "let owners lend each other calls for public data", Commands: workers,
			field: func(c *Config) any { return &c.Quota.PoolTokens }},
	}
}

func harvest() []Setting {
	const group = "Schedule"
	both := []string{"up", "account schedule"}
	return []Setting{
		{Name: "harvest", Group: group, Help: "collect accounts again on their schedules", Commands: []string{"up"}, Own: true,
			field: func(c *Config) any { return &c.Harvest.On }},
		{Name: "every", Group: group, Help: "time from the start of one run to the next, such as 6h; by default a run starts when the quota resets", Commands: both, Own: true,
			field: func(c *Config) any { return &c.Harvest.Policy.Every }},
		{Name: "cron", Group: group, Help: "cron expression of the times to collect at: minute, hour, day, month, weekday, such as '0 3 * * *'", Commands: both, Own: true,
			field: func(c *Config) any { return &c.Harvest.Policy.Cron }},
		{Name: "zone", Group: group, Help: "time zone of --cron and --quiet, such as Asia/Seoul; by default the machine's", Commands: both, Own: true,
			field: func(c *Config) any { return &c.Harvest.Policy.Zone }},
		{Name: "quiet", Group: group, Help: "hours in which no run begins, such as 22:00-06:00", Commands: both, Own: true,
			field: func(c *Config) any { return &c.Harvest.Policy.Quiet }},
		{Name: "spread", Group: group, Help: "spread the starts of accounts over at most this time; 10m unless given", Commands: both, Own: true,
			field: func(c *Config) any { return &c.Harvest.Policy.Spread }},
		{Name: "after-success", Group: group, Help: "start the next run this long after the quota resets; 5m unless given", Commands: both, Own: true,
			field: func(c *Config) any { return &c.Harvest.Policy.AfterSuccess }},
		{Name: "after-failure", Group: group, Help: "retry failed jobs this long after the run ended; 30m unless given", Commands: both, Own: true,
			field: func(c *Config) any { return &c.Harvest.Policy.AfterFailure }},
		{Name: "after-quota", Group: group, Help: "resume a run that waits for quota this long after the quota resets; 0s unless given", Commands: both, Own: true,
			field: func(c *Config) any { return &c.Harvest.Policy.AfterQuota }},
	}
}

func timers() []Setting {
	const group = "Timers"
	return []Setting{
		{Name: "timer-trigger", Group: group, Help: "what fires timers when Redis is used: due-set, or keyspace for key expiry", Commands: []string{"up"},
			field: func(c *Config) any { return &c.Timers.Trigger }},
		{Name: "webhook-secret", Group: group, Help: "secret that signs the webhooks of timers, as @FILE; or set SLUICE_WEBHOOK_SECRET", Secrecy: Secret, Commands: []string{"up"},
			field: func(c *Config) any { return &c.Timers.WebhookSecret }},
		{Name: "webhook-allow-private", Group: group, Help: "let webhooks go to private and loopback addresses", Commands: []string{"up"},
			field: func(c *Config) any { return &c.Timers.AllowPrivate }},
	}
}

func refreshes() []Setting {
	const group = "Refresh"
	return []Setting{
		{Name: "fresh-for", Group: group, Help: "how long a snapshot counts as fresh", Commands: []string{"up"},
			field: func(c *Config) any { return &c.Refresh.FreshFor }},
		{Name: "prefetch", Group: group, Help: "refreshes a second before anybody asks; 0 means none, -1 what suits the hour of day", Commands: []string{"up", "demo"},
			field: func(c *Config) any { return &c.Refresh.Prefetch }},
		{Name: "kafka", Group: group, Help: "HOST:PORT,…: carry refresh requests through Kafka instead of Redis or the embedded database", Commands: []string{"up", "load", "doctor"},
			field: func(c *Config) any { return &c.Refresh.Kafka }},
		{Name: "archive", Group: group, Help: "folder or bucket (s3://NAME, gs://NAME) for values of snapshots that are older than 30 days; by default they stay in the store", Commands: []string{"up", "archive", "doctor"},
			field: func(c *Config) any { return &c.Refresh.Archive }},
	}
}
