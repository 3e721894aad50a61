package metrics

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/internal/dispatch"
	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/source"
	"sluice/internal/state"
)

// verdictNames are what answers mean, as outcomes of calls.
var verdictNames = [...]string{
	0: "unknown", source.Done: "done", source.Retry: "retry", source.Wait: "wait", source.Fail: "fail",
	source.FailRun: "fail_run", source.PauseAccount: "pause_account",
}

// jobOutcomes are what became of jobs.
var jobOutcomes = [...]string{
	0: "unknown", domain.JobReady: "retried", domain.JobRunning: "unknown", domain.JobPaused: "paused",
	domain.JobSucceeded: "succeeded", domain.JobFailed: "failed", domain.JobCanceled: "canceled",
}

// turnObserver has what is measured of one source's jobs.
type turnObserver struct {
	calls [len(verdictNames)]prometheus.Observer
	jobs  [len(jobOutcomes)]prometheus.Observer
	waits [domain.PriorityHigh + 1]prometheus.Observer
	late  prometheus.Observer
}

// turnObservers are those of the sources that were met.
type turnObservers struct {
	mu sync.RWMutex
	by map[string]*turnObserver
}

// Turned implements engine.Observer.
func (i *Instruments) Turned(t engine.Turn) {
	o := i.turnsOf(t.Source)
	if t.Job.Bucket != domain.LocalBucket {
		at(o.calls[:], int(t.Verdict)).Observe(t.Answered.Sub(t.Began).Seconds())
	}
	at(o.jobs[:], int(t.To)).Observe(t.Ended.Sub(t.Began).Seconds())
	ready := t.Job.CreatedAt
	if due := t.Job.NotBefore; !due.IsZero() {
		ready = due
		o.late.Observe(max(t.Began.Sub(due), 0).Seconds())
	}
	if !ready.IsZero() {
		at(o.waits[:], int(t.Priority)).Observe(max(t.Began.Sub(ready), 0).Seconds())
	}
}

// at returns one of several observers; the first is for what is not known.
func at(all []prometheus.Observer, n int) prometheus.Observer {
	if n >= len(all) {
		n = 0
	}
	return all[n]
}

// turnsOf returns what a source's jobs are measured with. There are as many as
// there are sources.
func (i *Instruments) turnsOf(name string) *turnObserver {
	i.turns.mu.RLock()
	o := i.turns.by[name]
	i.turns.mu.RUnlock()
	if o != nil {
		return o
	}
	o = &turnObserver{late: i.late.WithLabelValues(name)}
	for n, outcome := range verdictNames {
		o.calls[n] = i.call.WithLabelValues(name, outcome)
	}
	for n, outcome := range jobOutcomes {
		if outcome == "" {
			outcome = jobOutcomes[0]
		}
		o.jobs[n] = i.job.WithLabelValues(name, outcome)
	}
	for p := range o.waits {
		// What has no priority is LOW.
		o.waits[p] = i.wait.WithLabelValues(name, max(domain.Priority(p), domain.PriorityLow).String())
	}
	i.turns.mu.Lock()
	defer i.turns.mu.Unlock()
	i.turns.by[name] = o
	return o
}

// Jobs measures the store of jobs.
func (i *Instruments) Jobs(jobs state.Jobs) state.Jobs {
	commit := timed{i.commit, i.storeFailures.WithLabelValues("commit")}
	return measuredJobs{jobs, i.operation("claim"), i.operation("load_jobs"), commit}
}

// jobStore is a store of jobs, under a name that none of its methods has.
type jobStore = state.Jobs

type measuredJobs struct {
	jobStore
	claim, load, commit timed
}

// Claim implements state.Jobs.
func (m measuredJobs) Claim(ctx context.Context, c state.Claim) error {
	began := time.Now()
	err := m.jobStore.Claim(ctx, c)
	m.claim.ended(began, err)
	return err
}

// Finish implements state.Jobs.
func (m measuredJobs) Finish(ctx context.Context, o state.Outcome) (state.Effect, error) {
	began := time.Now()
	effect, err := m.jobStore.Finish(ctx, o)
	m.commit.ended(began, err)
	return effect, err
}

// Load implements state.Jobs.
func (m measuredJobs) Load(ctx context.Context, ids []int64) ([]domain.Job, error) {
	began := time.Now()
	jobs, err := m.jobStore.Load(ctx, ids)
	m.load.ended(began, err)
	return jobs, err
}

// Documents measures a document store of its own.
func (i *Instruments) Documents(documents document.Writer) document.Writer {
	return measuredDocuments{documents, i.operation("write_documents"), i.operation("mark_deleted")}
}

type measuredDocuments struct {
	document.Writer
	upsert, mark timed
}

// Upsert implements document.Writer.
func (m measuredDocuments) Upsert(ctx context.Context, documents []document.Document) error {
	began := time.Now()
	err := m.Writer.Upsert(ctx, documents)
	m.upsert.ended(began, err)
	return err
}

// MarkDeleted implements document.Writer.
func (m measuredDocuments) MarkDeleted(ctx context.Context, absences []document.Absence) error {
	began := time.Now()
	err := m.Writer.MarkDeleted(ctx, absences)
	m.mark.ended(began, err)
	return err
}

// Dispatch measures a dispatcher. One that a process has to itself is its own
// scheduler: waiting for a lease is how that sleeps.
func (i *Instruments) Dispatch(d dispatch.Dispatcher, alone bool) dispatch.Dispatcher {
	m := measuredDispatch{Dispatcher: d, reclaimed: i.reclaimed}
	if alone {
		i.SchedulerLeads(true)
		m.sleep = i.sleep
	}
	return m
}

type measuredDispatch struct {
	dispatch.Dispatcher
	reclaimed prometheus.Counter
	sleep     prometheus.Observer
}

// Lease implements dispatch.Dispatcher.
func (m measuredDispatch) Lease(ctx context.Context, n int) ([]dispatch.Lease, error) {
	began := time.Now()
	leases, err := m.Dispatcher.Lease(ctx, n)
	if m.sleep != nil {
		m.sleep.Observe(time.Since(began).Seconds())
	}
	for i := range leases {
		// One that was handed back is not counted: its worker fell silent.
		if leases[i].Deliveries > 1 {
			m.reclaimed.Inc()
		}
	}
	return leases, err
}

// SchedulerLeads notes whether this process serves what is due for all.
func (i *Instruments) SchedulerLeads(leads bool) {
	value := 0.0
	if leads {
		value = 1
	}
	i.leads.Set(value)
}

// SchedulerSlept notes how long the scheduler slept.
func (i *Instruments) SchedulerSlept(d time.Duration) { i.sleep.Observe(d.Seconds()) }

// RedisCommand notes how long Redis took to answer a command, or several that
// begin with it. One whose caller went away was not Redis' to answer.
func (i *Instruments) RedisCommand(command string, took time.Duration, failed error) {
	i.redis.WithLabelValues(command).Observe(took.Seconds())
	if failed != nil && !errors.Is(failed, context.Canceled) {
		i.redisFailures.Inc()
	}
}
