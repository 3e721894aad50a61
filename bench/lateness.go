package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"sluice/bench/peer"
	"sluice/bench/report"
	"sluice/internal/config"
	"sluice/internal/domain"
	"sluice/internal/engine/enginetest"
	"sluice/internal/source"
	"sluice/internal/wiring"
)

const (
	lateWorkers = 50
	lateSpread  = 10 * time.Second
	// lateLead is what putting the jobs off may take before the first is due.
	lateLead = 5 * time.Second
)

// lateTarget is what the 99th percentile must not exceed.
const lateTarget = 5.0

// dueLateness compares how late work begins that is due at an instant: Sluice's
// from the instant in the store to the call, a peer's to its handler.
func dueLateness(ctx context.Context, l *lab) error {
	peers, err := l.peers(ctx)
	if err != nil {
		return err
	}
	n, spread := l.size(10_000, 1_000), lateSpread
	if l.short {
		spread = time.Second
	}
	own, err := l.sluiceLateness(ctx, n, spread, 0)
	if err != nil {
		return err
	}
	ours := summarize(own)
	l.notef("Sluice: %s", ours)
	if err := errors.Join(
		l.report.Add(report.Line{
			Name: "due_early", Value: float64(ours.early), Unit: "jobs",
			Detail: fmt.Sprintf("of %d jobs due over %s, through the whole engine", n, spread),
		}.Aim("0", ours.early == 0)),
		l.report.Add(report.Line{Name: "due_lateness_p99", Value: ours.p99, Unit: "ms", Detail: ours.String()}.
			Aim("<= 5 ms", ours.p99 <= lateTarget)),
	); err != nil {
		return err
	}
	for _, p := range peers {
		if err := l.besideLateness(ctx, p, ours, n, spread); err != nil {
			return err
		}
	}
	return nil
}

// besideLateness compares with a peer at instants that both can tell apart.
func (l *lab) besideLateness(ctx context.Context, p peer.Peer, ours lateness, n int, spread time.Duration) error {
	name := "due_lateness_p99"
	if p.Resolution() > 0 {
		name = "due_seconds_p99"
		own, err := l.sluiceLateness(ctx, n, spread, p.Resolution())
		if err != nil {
			return err
		}
		ours = summarize(own)
		l.notef("Sluice, due at whole seconds: %s", ours)
	}
	late, err := p.Lateness(ctx, n, lateWorkers, spread)
	if err != nil {
		return err
	}
	theirs := summarize(late)
	l.notef("%s: %s", p.Name(), theirs)
	line := report.Line{Name: name, Value: ours.p99, Unit: "ms", Detail: "Sluice: " + ours.String() + "; " + p.Name() + ": " + theirs.String()}
	return l.report.Add(line.Against(p.Name(), theirs.p99))
}

// lateness summarizes delays in milliseconds.
type lateness struct {
	min, p50, p99, max float64
	early              int
}

func (l lateness) String() string {
	return fmt.Sprintf("p50 %.2f ms, p99 %.2f ms, max %.2f ms, %d early, the earliest by %.2f ms",
		l.p50, l.p99, l.max, l.early, max(0, -l.min))
}

func summarize(delays []time.Duration) lateness {
	values, early := make([]float64, len(delays)), 0
	for i, d := range delays {
		values[i] = float64(d.Nanoseconds()) / 1e6
		if d < 0 {
			early++
		}
	}
	at := func(q float64) float64 { return report.Quantile(values, q) }
	return lateness{min: at(0), p50: at(0.5), p99: at(0.99), max: at(1), early: early}
}

// sluiceLateness takes jobs through the whole engine of one process.
func (l *lab) sluiceLateness(ctx context.Context, n int, spread, resolution time.Duration) ([]time.Duration, error) {
	dir, remove, err := l.folder("due")
	if err != nil {
		return nil, err
	}
	defer remove()
	o := wiring.Options{Config: config.Embedded(dir), Holder: "bench", Quota: wiring.NoQuota()}
	return engineLateness(ctx, o, peer.DueTimes(n, lateLead, spread, resolution))
}

// dueJobs are jobs that are put off once, each to its instant, and are done when
// they are called again.
type dueJobs struct {
	due  []time.Time
	put  []atomic.Bool
	late chan time.Duration
	slow atomic.Int64 // how many were not put off before they were due
}

func (d *dueJobs) call(c source.Call) (source.Result, bool) {
	number, found := strings.CutPrefix(c.Job.Resource, "item:")
	i, err := strconv.Atoi(number)
	if !found || err != nil {
		return source.Result{}, false
	}
	if d.put[i].Swap(true) {
		d.late <- time.Since(d.due[i])
		return source.Result{}, false
	}
	wait := time.Until(d.due[i])
	if wait <= 0 {
		d.slow.Add(1)
	}
	return source.Result{
		Verdict: source.Retry, RetryAfter: max(wait, time.Millisecond),
		Failure: &domain.Failure{Kind: domain.FailureServer, Message: "not due yet"},
	}, true
}

// engineLateness returns how late the second call of each job begins: the job is
// in the store with the instant at which it is due, is handed out then, claimed
// in the store, and called.
func engineLateness(ctx context.Context, o wiring.Options, due []time.Time) (_ []time.Duration, err error) {
	jobs := &dueJobs{due: due, put: make([]atomic.Bool, len(due)), late: make(chan time.Duration, len(due))}
	o.Engine.Workers, o.Engine.BackoffBase = lateWorkers, time.Millisecond
	o.Sources = []source.Source{&enginetest.Noop{Jobs: len(due), FanOut: 500, OnCall: jobs.call}}
	if _, err := noop(ctx, o, len(due)); err != nil {
		return nil, err
	}
	if n := jobs.slow.Load(); n > 0 {
		return nil, fmt.Errorf("%d of %d jobs were due before they were put off: the lead is too short", n, len(due))
	}
	close(jobs.late)
	delays := make([]time.Duration, 0, len(due))
	for late := range jobs.late {
		delays = append(delays, late)
	}
	if len(delays) != len(due) {
		return nil, fmt.Errorf("%d of %d jobs were called when they were due", len(delays), len(due))
	}
	return delays, nil
}
