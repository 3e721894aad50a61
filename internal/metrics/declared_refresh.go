package metrics

func refreshing() []Metric {
	return []Metric{
		{Name: "sluice_refresh_lag", Kind: Gauge, Scope: Shared, Labels: []string{"priority"}, Help: "Refresh requests that nobody has taken.", Serves: "002 §12 kafka_consumer_lag"},
		{Name: "sluice_refresh_lag_age_seconds", Kind: Gauge, Scope: Shared, Labels: []string{"priority"}, Help: "How long the oldest of them waits; missing while nothing waits or the log cannot tell.", Serves: "002 §12 Low lag > 30min"},
		{Name: "sluice_refresh_waiting", Kind: Gauge, Scope: Shared, Help: "Refresh requests that wait for an instant at which the upstream may be asked again."},
		{Name: "sluice_refresh_calls_total", Kind: Counter, Scope: Process, Help: "Upstream calls of refreshes."},
		{Name: "sluice_refresh_events_total", Kind: Counter, Scope: Process, Labels: []string{"outcome"}, Help: "Refresh requests that this process dealt with, by what became of them.", Serves: "002 §12 obsolete_event_skipped_total"},
		{Name: "sluice_refresh_retries_total", Kind: Counter, Scope: Process, Help: "Calls that are made again."},
		{Name: "sluice_refresh_parked_total", Kind: Counter, Scope: Process, Help: "Refresh requests that the upstream has put off."},
		{Name: "sluice_refresh_late_calls_total", Kind: Counter, Scope: Process, Help: "Calls that left so late that others were held back for them."},
		{Name: "sluice_refresh_received_bytes_total", Kind: Counter, Scope: Process, Help: "What the upstream sent."},
		{Name: "sluice_refresh_kept_bytes_total", Kind: Counter, Scope: Process, Help: "What is left of it when it is trimmed."},
		{Name: "sluice_refresh_duration_seconds", Kind: Histogram, Scope: Process, Labels: []string{"priority"}, Buckets: callBuckets,
			Help: "How long a worker has a refresh request, from taking it to being done with it.", Serves: "002 §12 update_process_duration_seconds"},
		{Name: "sluice_refresh_age_seconds", Kind: Histogram, Scope: Process, Labels: []string{"priority"}, Buckets: waitBuckets,
			Help: "How old a refresh request was when it was done with: how long whoever asked has waited."},
		{Name: "sluice_refresh_errors_total", Kind: Counter, Scope: Process, Labels: []string{"source", "reason"}, Help: "Answers of an upstream to refreshes that brought no value, by what was wrong.", Serves: "002 §12 update_process_error_total"},
		{Name: "sluice_refresh_publish_failures_total", Kind: Counter, Scope: Process, Labels: []string{"topic"}, Help: "Refresh requests that the log did not take.", Serves: "002 §12 kafka_producer_send_failed_total"},
		{Name: "sluice_breaker_open", Kind: Gauge, Scope: Process, Labels: []string{"part"}, Help: "1 while a part that fails is left alone, 0.5 while it is tried.",
			Serves: "002 §12 db_circuit_breaker_state, redis_circuit_breaker_state"},
		{Name: "sluice_snapshot_reads_total", Kind: Counter, Scope: Process, Labels: []string{"freshness"}, Help: "Reads of snapshots by freshness."},
	}
}

func callsASecond() []Metric {
	return []Metric{
		{Name: "sluice_rate_acquired_total", Kind: Counter, Scope: Process, Labels: []string{"source", "priority"}, Help: "Calls that were granted.", Serves: "002 §12 rate_limiter_acquired_total"},
		{Name: "sluice_rate_refunded_total", Kind: Counter, Scope: Process, Labels: []string{"source", "priority"}, Help: "Granted calls that were given back because they were not made."},
		{Name: "sluice_rate_rejected_total", Kind: Counter, Scope: Process, Labels: []string{"source", "priority"}, Help: "Times that calls were asked for and none was granted.", Serves: "002 §12 rate_limiter_rejected_total"},
		{Name: "sluice_rate_fullest_second_calls", Kind: Gauge, Scope: Process, Labels: []string{"source"}, Help: "Calls that were granted in the fullest of the last sixty seconds, less those given back in it.", Serves: "002 §12 rate_limiter_rps"},
		{Name: "sluice_rate_limit_calls", Kind: Gauge, Scope: Shared, Labels: []string{"source"}, Help: "Calls that the upstream allows in any second.", Serves: "002 §12 rate_limiter_rps > 500"},
		{Name: "sluice_rate_day_calls", Kind: Gauge, Scope: Shared, Labels: []string{"source"}, Help: "Calls of the upstream's day so far."},
		{Name: "sluice_rate_day_limit_calls", Kind: Gauge, Scope: Shared, Labels: []string{"source"}, Help: "Calls that the upstream allows in a day."},
	}
}

func coalescing() []Metric {
	return []Metric{
		{Name: "sluice_coalescing_total", Kind: Counter, Scope: Process, Labels: []string{"result"},
			Help:   "Requests for a refresh: published; upgraded, because one of LOW was under way; or already_processing, because one was under way that serves it.",
			Serves: "002 §12 dedup_coalesce_hit_total, dedup_upgrade_total"},
		{Name: "sluice_coalescing_conflicts_total", Kind: Counter, Scope: Process,
			Help: "Results that the store did not take because a later one of the same entity was there: two calls were under way for it.", Serves: "002 §12 dedup_lock_conflict_total"},
	}
}

func letters() []Metric {
	return []Metric{
		{Name: "sluice_dead_letters", Kind: Gauge, Scope: Shared, Labels: []string{"kind", "reason"},
			Help: "What was given up and waits for a person, by kind: refresh requests, with their reason; statistics of runs (counted up to 1,000); deliveries of timers.", Serves: "002 §10, §12 dlq_message_count"},
		{Name: "sluice_dead_letters_total", Kind: Counter, Scope: Process, Labels: []string{"reason"}, Help: "Refresh requests that this process gave up.", Serves: "002 §10, §12 dlq_message_count > 100/hour"},
		{Name: "sluice_snapshots", Kind: Gauge, Scope: Shared, Labels: []string{"source", "tier"}, Help: "Snapshots, by how fresh they are kept."},
		{Name: "sluice_snapshots_bytes", Kind: Gauge, Scope: Shared, Labels: []string{"source"}, Help: "What the snapshots take."},
		{Name: "sluice_snapshots_failing", Kind: Gauge, Scope: Shared, Labels: []string{"source", "status"}, Help: "Entities whose last refresh is being retried or has failed."},
	}
}
