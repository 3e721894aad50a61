package metrics

import "strings"

// Kind is what sort of metric one is.
type Kind string

// The kinds of metrics.
const (
	Counter   Kind = "counter"
	Gauge     Kind = "gauge"
	Histogram Kind = "histogram"
)

// Scope says whose figure a metric is.
type Scope string

// The scopes.
const (
	// Process: what this process did or is; processes are added up.
	Process Scope = "process"
	// Shared: what all processes share. Each of them tells it, so the largest is
	// taken.
	Shared Scope = "shared"
)

// Metric declares one metric. Everything that is exported is declared once, and
// docs/metrics.md is written from the declarations.
type Metric struct {
	Name   string
	Kind   Kind
	Scope  Scope
	Labels []string
	// Help is a sentence about what is counted or measured.
	Help string
	// Serves is what of the design documents it answers: the document, its section
	// and the name it has there; "" if it is asked for by none of them.
	Serves string
	// Buckets are those of a histogram.
	Buckets []float64
}

// Unit is what the metric counts in, as its name tells it.
func (m Metric) Unit() string {
	name := strings.TrimSuffix(m.Name, "_total")
	for _, unit := range []string{"seconds", "bytes"} {
		if strings.HasSuffix(name, "_"+unit) {
			return unit
		}
	}
	return "count"
}

// Declared lists all metrics, by the parts that they tell of.
func Declared() []Section {
	return []Section{
		{"The program", program()},
		{"Collections", collections()},
		{"Dispatch and the scheduler", dispatching()},
		{"Rations", rationed()},
		{"Refreshes", refreshing()},
		{"Calls a second", callsASecond()},
		{"Coalescing", coalescing()},
		{"Dead letters and snapshots", letters()},
		{"Timers", timing()},
		{"Sinks", carrying()},
		{"Notifications", notifying()},
		{"Search", searching()},
		{"Stores, Redis and HTTP", servers()},
	}
}

// Section is the metrics of one part.
type Section struct {
	Title   string
	Metrics []Metric
}

// byName finds declarations.
func byName() map[string]Metric {
	all := map[string]Metric{}
	for _, s := range Declared() {
		for _, m := range s.Metrics {
			all[m.Name] = m
		}
	}
	return all
}

// Buckets by what is waited for: calls and jobs take from milliseconds to a
// minute; stores and Redis less; waits up to hours.
var (
	callBuckets  = []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}
	storeBuckets = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1, 5}
	waitBuckets  = []float64{.01, .1, .5, 1, 5, 15, 60, 300, 1800, 3600, 14400}
	lateBuckets  = []float64{.001, .01, .05, .1, .25, .5, 1, 5, 30, 300}
	httpBuckets  = []float64{.002, .005, .01, .02, .05, .1, .5, 2, 10}
)

func program() []Metric {
	return []Metric{
		{Name: "sluice_build_info", Kind: Gauge, Scope: Process, Labels: []string{"version", "revision", "go"},
			Help: "1, with the version that runs."},
		{Name: "sluice_metrics_readable", Kind: Gauge, Scope: Process, Labels: []string{"part"},
			Help:   "1 if the part could be read for this scrape, 0 if it did not answer: state is the database, dispatch and quota are Redis where there is one, refresh is the store of snapshots; statistics, timers and notifications are what is counted of them in the database; sinks are how far the feed of changes is; search is the index of words.",
			Serves: "002 §11 failing closed"},
		{Name: "sluice_metrics_age_seconds", Kind: Gauge, Scope: Process, Labels: []string{"part"},
			Help: "How old what was read of a part is: what takes long to count is not counted for every scrape."},
	}
}

func collections() []Metric {
	return []Metric{
		{Name: "sluice_accounts", Kind: Gauge, Scope: Shared, Labels: []string{"state"}, Help: "Accounts: active, paused until a person renews their credential or resumes them, or deleted."},
		{Name: "sluice_runs_active", Kind: Gauge, Scope: Shared, Labels: []string{"status"}, Help: "Runs that have not ended.", Serves: "000 §9.1 collection_runs_active"},
		{Name: "sluice_jobs_pending", Kind: Gauge, Scope: Shared, Help: "Jobs of active runs that have not ended.", Serves: "000 §9.1 page_jobs_pending"},
		{Name: "sluice_runs_total", Kind: Counter, Scope: Process, Labels: []string{"event"}, Help: "Runs started and ended by this process."},
		{Name: "sluice_jobs_total", Kind: Counter, Scope: Process, Labels: []string{"outcome"}, Help: "Attempts at jobs, by what became of the job.", Serves: "000 §9.1 page_jobs_failed_rate"},
		{Name: "sluice_calls_total", Kind: Counter, Scope: Process, Help: "Upstream calls begun."},
		{Name: "sluice_documents_total", Kind: Counter, Scope: Process, Help: "Documents received, ones already stored included."},
		{Name: "sluice_feed_position", Kind: Gauge, Scope: Shared, Help: "The newest position of the feed of changes: how many changes of documents there were, ever."},
		{Name: "sluice_feed_oldest_position", Kind: Gauge, Scope: Shared, Help: "The oldest position of the feed of changes that is kept. Whoever follows it and is behind begins anew."},
		{Name: "sluice_upstream_call_duration_seconds", Kind: Histogram, Scope: Process, Labels: []string{"source", "outcome"}, Buckets: callBuckets,
			Help: "How long calls to an upstream take, of collections and of refreshes, by what the answer means."},
		{Name: "sluice_job_duration_seconds", Kind: Histogram, Scope: Process, Labels: []string{"source", "outcome"}, Buckets: callBuckets,
			Help: "How long a worker has a job, from the call to the committed outcome.", Serves: "000 §9.1 job_processing_time_p99"},
		{Name: "sluice_job_wait_seconds", Kind: Histogram, Scope: Process, Labels: []string{"source", "priority"}, Buckets: waitBuckets,
			Help: "How long a job could have been called before it was: since it came to be, or since the instant it waited for."},
		{Name: "sluice_due_lateness_seconds", Kind: Histogram, Scope: Process, Labels: []string{"source"}, Buckets: lateBuckets,
			Help: "How late a job was called that waited for an instant: a retry, or a ration's window."},
		{Name: "sluice_jobs_reclaimed_total", Kind: Counter, Scope: Process, Help: "Jobs that this process was handed because their worker fell silent.",
			Serves: "000 §9.1 xautoclaim_recovered, §9.4 FrequentXautoclaim"},
		{Name: "sluice_commit_duration_seconds", Kind: Histogram, Scope: Process, Buckets: storeBuckets,
			Help: "How long the store takes to commit the outcome of a job: documents, next jobs, cursor and counters in one transaction."},
		{Name: "sluice_statistics_retrying", Kind: Gauge, Scope: Process, Help: "Runs whose statistics failed in this process and wait to be computed again.",
			Serves: "000 §9.1 stats_retry_queue_size, §9.4 StatsRetryQueueGrowing"},
		{Name: "sluice_statistics_given_up_total", Kind: Counter, Scope: Process, Help: "Runs that failed because their statistics could not be computed."},
	}
}

func dispatching() []Metric {
	return []Metric{
		{Name: "sluice_dispatch_ready", Kind: Gauge, Scope: Shared, Help: "Jobs that a worker may take now.", Serves: "000 §9.1 stream_consumer_lag"},
		{Name: "sluice_dispatch_due", Kind: Gauge, Scope: Shared, Help: "Jobs and chores that wait for an instant; each scheduled account has one.", Serves: "000 §9.1 delayed_queue_size, §9.4 DelayedQueueBacklog"},
		{Name: "sluice_dispatch_leased", Kind: Gauge, Scope: Shared, Help: "Jobs in the hands of a worker.", Serves: "000 §9.1 stream_pending_count, §9.4 StreamPendingBacklog"},
		{Name: "sluice_dispatch_lanes", Kind: Gauge, Scope: Shared, Help: "Lanes with jobs or parked."},
		{Name: "sluice_dispatch_lanes_parked", Kind: Gauge, Scope: Shared, Help: "Lanes closed until their ration allows calls again."},
		{Name: "sluice_dispatch_next_due_timestamp_seconds", Kind: Gauge, Scope: Shared, Help: "When the next wait ends."},
		{Name: "sluice_scheduler_leads", Kind: Gauge, Scope: Process, Help: "1 while this process serves what is due for all: it leads, or works alone.",
			Serves: "000 §9.4 SchedulerNotRunning scheduler_leader_active"},
		{Name: "sluice_scheduler_sleep_seconds", Kind: Histogram, Scope: Process, Buckets: waitBuckets,
			Help: "How long the scheduler, or the feeder of a process that works alone, slept between two looks.", Serves: "000 §9.1 scheduler_sleep_duration_avg"},
	}
}

func rationed() []Metric {
	return []Metric{
		{Name: "sluice_quota_owners", Kind: Gauge, Scope: Shared, Labels: []string{"bucket"}, Help: "Owners of a ration."},
		{Name: "sluice_quota_owners_parked", Kind: Gauge, Scope: Shared, Labels: []string{"bucket"}, Help: "Owners that must not call now.",
			Serves: "000 §9.1 rate_limit_tokens_blocked, §9.4 TooManyRateLimitedTokens"},
		{Name: "sluice_quota_limit", Kind: Gauge, Scope: Shared, Labels: []string{"bucket"}, Help: "Calls all owners together are granted per window."},
		{Name: "sluice_quota_available", Kind: Gauge, Scope: Shared, Labels: []string{"bucket"}, Help: "Calls all owners together may still make in their windows."},
		{Name: "sluice_quota_in_flight", Kind: Gauge, Scope: Shared, Labels: []string{"bucket"}, Help: "Calls under way."},
		{Name: "sluice_quota_owner_limit", Kind: Gauge, Scope: Shared, Labels: []string{"owner", "bucket"}, Help: "Calls that a window grants an owner."},
		{Name: "sluice_quota_owner_available", Kind: Gauge, Scope: Shared, Labels: []string{"owner", "bucket"}, Help: "Calls that an owner may still make in its window."},
		{Name: "sluice_quota_owner_reset_timestamp_seconds", Kind: Gauge, Scope: Shared, Labels: []string{"owner", "bucket"}, Help: "When an owner's window ends; of the others together, the earliest."},
		{Name: "sluice_quota_owner_parked", Kind: Gauge, Scope: Shared, Labels: []string{"owner", "bucket"}, Help: "1 while an owner must not call; of the others together, how many."},
	}
}

func timing() []Metric {
	return []Metric{
		{Name: "sluice_timers_set_total", Kind: Counter, Scope: Process, Help: "Timers set through this process."},
		{Name: "sluice_timers_fired_total", Kind: Counter, Scope: Process, Help: "Timers that this process fired.", Serves: "004 §5 completion-stats"},
		{Name: "sluice_timers_late_total", Kind: Counter, Scope: Process, Help: "Timers that this process fired more than a second late.", Serves: "004 §5 detect-missed-timers"},
		{Name: "sluice_timer_lateness_seconds", Kind: Histogram, Scope: Process, Buckets: lateBuckets, Help: "How late timers fired.", Serves: "004 §5 completion-stats"},
		{Name: "sluice_timer_deliveries_total", Kind: Counter, Scope: Process, Labels: []string{"outcome"}, Help: "Attempts to deliver completions, by what became of them.", Serves: "004 §5 timer_completion_logs {success: false}"},
	}
}

func notifying() []Metric {
	return []Metric{
		{Name: "sluice_notifications", Kind: Gauge, Scope: Shared, Labels: []string{"type", "state"},
			Help: "Messages that are not with those they are for, by the type of target (gone: it is not set any more): waiting to be sent, or dead, given up and kept for a week. Missing where nobody is to be told."},
		{Name: "sluice_notifications_total", Kind: Counter, Scope: Process, Labels: []string{"type", "outcome"},
			Help: "Attempts to send messages, by type of target: sent, failed and to be tried again, or given up.", Serves: "002 §10 Slack/PagerDuty"},
	}
}

func carrying() []Metric {
	return []Metric{
		{Name: "sluice_sink_behind", Kind: Gauge, Scope: Process, Labels: []string{"sink"},
			Help: "Changes of documents that are not in the target of a sink yet, as the process that carries sees it. Missing in other processes, and during a backfill."},
		{Name: "sluice_sink_behind_seconds", Kind: Gauge, Scope: Process, Labels: []string{"sink"},
			Help: "How long ago the first of these changes was committed."},
		{Name: "sluice_sink_failing", Kind: Gauge, Scope: Process, Labels: []string{"sink"},
			Help: "1 while what a sink does fails and is tried again, else 0."},
		{Name: "sluice_sink_letters", Kind: Gauge, Scope: Process, Labels: []string{"sink"},
			Help: "Batches that the receiver of a webhook refused and that were set aside; 0 for targets that refuse none."},
		{Name: "sluice_sink_rows_total", Kind: Counter, Scope: Process, Labels: []string{"sink"}, Help: "Rows that this process has carried to a sink."},
	}
}

func searching() []Metric {
	return []Metric{
		{Name: "sluice_search_behind", Kind: Gauge, Scope: Shared, Help: "Changes of documents that the index of words has not read yet. Missing where no index is kept."},
		{Name: "sluice_search_building", Kind: Gauge, Scope: Shared, Help: "1 while the index of words does not have all documents yet. Missing where no index is kept."},
	}
}

func servers() []Metric {
	return []Metric{
		{Name: "sluice_store_duration_seconds", Kind: Histogram, Scope: Process, Labels: []string{"operation"}, Buckets: storeBuckets,
			Help: "How long the store takes, by what it is asked for. Commits have a metric of their own.", Serves: "002 §12 db_upsert_duration_seconds"},
		{Name: "sluice_store_failures_total", Kind: Counter, Scope: Process, Labels: []string{"operation"}, Help: "How often the store was not available, by what it was asked for; commits included."},
		{Name: "sluice_redis_command_duration_seconds", Kind: Histogram, Scope: Process, Labels: []string{"command"}, Buckets: storeBuckets,
			Help: "How long Redis takes to answer, by command; of several that are sent together, the first. What blocks on purpose is left out.", Serves: "002 §12 redis_command_duration_seconds"},
		{Name: "sluice_redis_failures_total", Kind: Counter, Scope: Process, Help: "Commands that Redis did not answer."},
		{Name: "sluice_sql_transactions_total", Kind: Counter, Scope: Process, Help: "Transactions of the database."},
		{Name: "sluice_sql_reads_total", Kind: Counter, Scope: Process, Help: "Reads of the database."},
		{Name: "sluice_http_request_duration_seconds", Kind: Histogram, Scope: Process, Labels: []string{"method", "route", "code"}, Buckets: httpBuckets,
			Help: "How long requests to the API take, by route and class of status, refusals included. What no route is for, and whatever was asked for by somebody who was not let in, has the route other. Streams are left out."},
		{Name: "sluice_http_refusals_total", Kind: Counter, Scope: Process, Labels: []string{"reason"},
			Help: "Requests that were refused for who asked: no token, a wrong one, too many wrong ones from one address (locked_out), from elsewhere (origin), or a role that may not."},
		{Name: "sluice_http_requests_in_flight", Kind: Gauge, Scope: Process, Help: "Requests to the API under way, streams included."},
	}
}
