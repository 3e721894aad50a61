package metrics_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sluice/internal/access"
	"sluice/internal/dispatch"
	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/metrics"
	"sluice/internal/notify"
	"sluice/internal/quota/rate"
	"sluice/internal/refresh"
	"sluice/internal/source"
	"sluice/internal/state"
	"sluice/internal/timer"
	"sluice/internal/wiring"
)

// Wiring takes the instruments for what they are.
var _ wiring.Meter = (*metrics.Instruments)(nil)

// measured returns instruments and a scrape of them.
func measured(t testing.TB) (*metrics.Instruments, func() string) {
	t.Helper()
	i, err := metrics.NewInstruments(func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	m, err := metrics.New(metrics.Sources{Instruments: i, Now: func() time.Time { return now }}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return i, func() string {
		_, text := scrape(m)
		return text
	}
}

func TestTurns(t *testing.T) {
	i, scraped := measured(t)
	turn := engine.Turn{
		Source: "github", Priority: domain.PriorityHigh, Verdict: source.Done, To: domain.JobSucceeded,
		Job: domain.Job{CreatedAt: now.Add(-20 * time.Second)}, Began: now, Answered: now.Add(200 * time.Millisecond), Ended: now.Add(300 * time.Millisecond),
	}
	i.Turned(turn)
	turn.Job.NotBefore, turn.Verdict, turn.To, turn.Priority = now.Add(-2*time.Second), source.PauseAccount, domain.JobPaused, domain.PriorityLow
	i.Turned(turn)
	turn.Verdict, turn.To, turn.Priority, turn.Job = 99, 99, 0, domain.Job{} // what this version does not know
	i.Turned(turn)
	says(t, scraped(),
		`sluice_upstream_call_duration_seconds_sum{outcome="done",source="github"} 0.2`,
		`sluice_upstream_call_duration_seconds_count{outcome="pause_account",source="github"} 1`,
		`sluice_upstream_call_duration_seconds_count{outcome="unknown",source="github"} 1`,
		`sluice_job_duration_seconds_count{outcome="unknown",source="github"} 1`,
		`sluice_job_duration_seconds_bucket{outcome="succeeded",source="github",le="0.25"} 0`,
		`sluice_job_duration_seconds_bucket{outcome="succeeded",source="github",le="0.5"} 1`,
		`sluice_job_duration_seconds_count{outcome="paused",source="github"} 1`,
		`sluice_job_wait_seconds_sum{priority="HIGH",source="github"} 20`,
		`sluice_job_wait_seconds_sum{priority="LOW",source="github"} 2`,
		`sluice_due_lateness_seconds_sum{source="github"} 2`, `sluice_due_lateness_seconds_count{source="github"} 1`,
	)
}

// jobStore is a name that none of the store's methods has.
type jobStore = state.Jobs

// stub answers as it is told, for every port that is measured.
type stub struct {
	jobStore
	dispatch.Dispatcher
	err error
}

func (s stub) Claim(context.Context, state.Claim) error { return s.err }

func (s stub) Finish(context.Context, state.Outcome) (state.Effect, error) {
	return state.Effect{}, s.err
}

func (s stub) Lease(context.Context, int) ([]dispatch.Lease, error) {
	return []dispatch.Lease{{Deliveries: 1}, {Deliveries: 2}, {Deliveries: 3}}, s.err
}

func TestStoreAndDispatch(t *testing.T) {
	i, scraped := measured(t)
	away := domain.Errorf(domain.CodeUnavailable, "away")
	for _, err := range []error{nil, away, domain.Errorf(domain.CodeStale, "late")} {
		jobs := i.Jobs(stub{err: err})
		if got := jobs.Claim(t.Context(), state.Claim{}); domain.CodeOf(got) != domain.CodeOf(err) {
			t.Errorf("a claim: %v, want %v", got, err)
		}
		if _, got := jobs.Finish(t.Context(), state.Outcome{}); domain.CodeOf(got) != domain.CodeOf(err) {
			t.Errorf("a commit: %v, want %v", got, err)
		}
	}
	says(t, scraped(), "sluice_commit_duration_seconds_count 3", `sluice_store_duration_seconds_count{operation="claim"} 3`,
		`sluice_store_failures_total{operation="commit"} 1`, `sluice_store_failures_total{operation="claim"} 1`, "sluice_scheduler_leads 0")
	if leases, err := i.Dispatch(stub{}, false).Lease(t.Context(), 3); err != nil || len(leases) != 3 {
		t.Errorf("leased %v, %v", leases, err)
	}
	says(t, scraped(), "sluice_jobs_reclaimed_total 2", "sluice_scheduler_sleep_seconds_count 0")
	if _, err := i.Dispatch(stub{}, true).Lease(t.Context(), 3); err != nil {
		t.Error(err)
	}
	i.SchedulerSlept(3 * time.Second)
	i.RedisCommand("PING", time.Millisecond, nil)
	i.RedisCommand("EVALSHA", time.Millisecond, away)
	i.RedisCommand("EVALSHA", time.Millisecond, context.Canceled)
	says(t, scraped(), "sluice_scheduler_leads 1", "sluice_scheduler_sleep_seconds_count 2",
		`sluice_redis_command_duration_seconds_count{command="EVALSHA"} 2`, "sluice_redis_failures_total 1")
}

// pipeline answers as it is told, for the ports of refreshes.
type pipeline struct {
	refresh.Upstream
	refresh.Entities
	refresh.DeadLetters
	refresh.Coalescer
	fetched refresh.Fetched
	granted int
	err     error
}

func (p *pipeline) Fetch(context.Context, string, func()) refresh.Fetched { return p.fetched }

func (p *pipeline) Save(context.Context, []refresh.Refreshed) ([]refresh.Saved, error) {
	return []refresh.Saved{refresh.Stored, refresh.Obsolete}, p.err
}

func (p *pipeline) AddDeadLetters(context.Context, []refresh.DeadLetter) error { return p.err }

func (p *pipeline) Acquire(context.Context, ...refresh.Ask) ([]refresh.Grant, error) {
	return []refresh.Grant{{Result: refresh.Published}, {Result: refresh.Upgraded}, {Result: refresh.AlreadyProcessing}, {Result: refresh.AlreadyProcessing}}, p.err
}

// keeper and log are apart from it: their methods have the names of others'.
type keeper struct {
	rate.Keeper
	*pipeline
}

type log struct {
	refresh.EventLog
	*pipeline
}

type consumer struct{ refresh.LogConsumer }

func (p keeper) Reserve(context.Context, string, domain.Priority, int) (rate.Grant, error) {
	return rate.Grant{Calls: p.granted}, p.err
}

func (p keeper) Refund(context.Context, string, domain.Priority, int) error { return p.err }

func (p log) Publish(context.Context, refresh.Topic, ...refresh.Message) error { return p.err }

func (p log) Join(context.Context, string, refresh.Topic) (refresh.LogConsumer, error) {
	return consumer{}, nil
}

func (consumer) Take(context.Context, int) ([]refresh.LogRecord, error) {
	return []refresh.LogRecord{{Partition: 1, Offset: 2, At: now.Add(-90 * time.Second)}}, nil
}

func (consumer) Done(context.Context, ...refresh.LogRecord) error { return nil }

func TestRefreshesAreMeasured(t *testing.T) {
	i, scraped := measured(t)
	p := &pipeline{granted: 3, fetched: refresh.Fetched{Verdict: refresh.FetchDead, Code: "OPENAPI00004"}}
	ctx := t.Context()
	upstream := i.Upstream("game", p)
	upstream.Fetch(ctx, "x", func() {})
	p.fetched = refresh.Fetched{Verdict: refresh.FetchRetry, Code: "a code that was made up by an upstream"}
	upstream.Fetch(ctx, "x", func() {})
	p.fetched = refresh.Fetched{Verdict: refresh.FetchDone}
	upstream.Fetch(ctx, "x", func() {})
	must(t, second(i.Entities(p).Save(ctx, nil)))
	must(t, i.DeadLetters(p).AddDeadLetters(ctx, []refresh.DeadLetter{{Why: "OPENAPI00004"}, {Why: "OPENAPI00004"}}))
	must(t, second(i.Coalescer(p).Acquire(ctx)))
	granting := i.Rate(keeper{pipeline: p}, map[string]rate.Limits{"game": {Hard: 500}})
	must(t, second(granting.Reserve(ctx, "game", domain.PriorityHigh, 5)))
	must(t, granting.Refund(ctx, "game", domain.PriorityHigh, 1))
	p.granted = 0
	must(t, second(granting.Reserve(ctx, "game", domain.PriorityLow, 5)))
	requests := i.Log(log{pipeline: p})
	taking, err := requests.Join(ctx, refresh.HighWorkers, refresh.TopicHigh)
	must(t, err)
	records, err := taking.Take(ctx, 1)
	must(t, err)
	must(t, taking.Done(ctx, records...))
	must(t, taking.Done(ctx, records...)) // once more, of one that was not taken again
	p.err = domain.Errorf(domain.CodeUnavailable, "away")
	if requests.Publish(ctx, refresh.TopicLow, refresh.Message{}, refresh.Message{}) == nil || i.DeadLetters(p).AddDeadLetters(ctx, make([]refresh.DeadLetter, 1)) == nil {
		t.Error("a failure is kept")
	}
	says(t, scraped(),
		`sluice_upstream_call_duration_seconds_count{outcome="dead",source="game"} 1`, `sluice_upstream_call_duration_seconds_count{outcome="done",source="game"} 1`,
		`sluice_refresh_errors_total{reason="OPENAPI00004",source="game"} 1`, `sluice_refresh_errors_total{reason="other",source="game"} 1`,
		"sluice_coalescing_conflicts_total 1", `sluice_dead_letters_total{reason="OPENAPI00004"} 2`,
		`sluice_coalescing_total{result="published"} 1`, `sluice_coalescing_total{result="upgraded"} 1`, `sluice_coalescing_total{result="already_processing"} 2`,
		`sluice_rate_acquired_total{priority="HIGH",source="game"} 3`, `sluice_rate_refunded_total{priority="HIGH",source="game"} 1`,
		`sluice_rate_rejected_total{priority="LOW",source="game"} 1`, `sluice_rate_rejected_total{priority="HIGH",source="game"} 0`,
		`sluice_rate_fullest_second_calls{source="game"} 2`, `sluice_rate_limit_calls{source="game"} 500`,
		`sluice_refresh_publish_failures_total{topic="update-priority-low"} 2`, `sluice_refresh_publish_failures_total{topic="update-priority-high"} 0`,
		`sluice_refresh_duration_seconds_count{priority="HIGH"} 1`, `sluice_refresh_age_seconds_sum{priority="HIGH"} 180`,
	)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func second[T any](_ T, err error) error { return err }

type firings struct{ timer.Firings }

func (firings) Fire(context.Context, timer.Firing) ([]timer.FireResult, error) {
	fired := timer.FireResult{New: true}
	fired.At, fired.FiredAt = now, now.Add(2*time.Second)
	return []timer.FireResult{fired, {}}, nil
}

func TestTimersAreMeasured(t *testing.T) {
	i, scraped := measured(t)
	if fired, err := i.Firings(firings{}).Fire(t.Context(), timer.Firing{}); err != nil || len(fired) != 2 {
		t.Fatalf("fired %v, %v", fired, err)
	}
	says(t, scraped(), "sluice_timer_lateness_seconds_sum 2", "sluice_timer_lateness_seconds_count 1", `sluice_store_duration_seconds_count{operation="fire_timers"} 1`)
}

func TestRequestsAreMeasured(t *testing.T) {
	i, scraped := measured(t)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/runs/{id}", func(w http.ResponseWriter, r *http.Request) {
		switch r.PathValue("id") {
		case "0":
			w.WriteHeader(http.StatusNotFound)
		case "stream":
			w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		}
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Errorf("the connection cannot be reached: %v", err)
		}
		if text := scraped(); !strings.Contains(text, "\nsluice_http_requests_in_flight 1\n") {
			t.Error("the request is not under way")
		}
	})
	mux.HandleFunc("/", http.NotFound)
	for _, request := range []string{"GET /api/v1/runs/1", "GET /api/v1/runs/2", "GET /api/v1/runs/0", "GET /api/v1/runs/stream", "GET /made/up", "FETCH /made/up/too"} {
		method, path, _ := strings.Cut(request, " ")
		i.HTTP(mux).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(method, path, nil))
	}
	func() {
		defer func() { _ = recover() }()
		i.HTTP(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { r.Pattern = "GET /api/v1/panics"; panic("oh no") })).
			ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/api/v1/panics", nil))
	}()
	i.Refused(access.RefusedWrongToken)
	text := scraped()
	says(t, text, `sluice_http_request_duration_seconds_count{code="5xx",method="GET",route="/api/v1/panics"} 1`,
		`sluice_http_refusals_total{reason="wrong_token"} 1`, `sluice_http_refusals_total{reason="locked_out"} 0`,
		`sluice_http_request_duration_seconds_count{code="2xx",method="GET",route="/api/v1/runs/{id}"} 2`,
		`sluice_http_request_duration_seconds_count{code="4xx",method="GET",route="/api/v1/runs/{id}"} 1`,
		`sluice_http_request_duration_seconds_count{code="4xx",method="GET",route="other"} 1`,
		`sluice_http_request_duration_seconds_count{code="4xx",method="other",route="other"} 1`, "sluice_http_requests_in_flight 0")
	if strings.Contains(text, "made") || strings.Contains(text, "FETCH") {
		t.Error("a caller makes up labels")
	}
}

func TestNotificationsAreMeasured(t *testing.T) {
	i, scraped := measured(t)
	i.Notified(notify.TypeSlack, notify.OutcomeSent)
	i.Notified(notify.TypeGone, notify.OutcomeGivenUp)
	says(t, scraped(), `sluice_notifications_total{outcome="sent",type="slack"} 1`, `sluice_notifications_total{outcome="failed",type="email"} 0`,
		`sluice_notifications_total{outcome="given_up",type="gone"} 1`)
}
