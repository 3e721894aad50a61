package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"sluice/bench/report"
	"sluice/internal/dispatch"
	"sluice/internal/dispatch/memory"
	"sluice/internal/domain"
)

const (
	lateWorkers = 50
	lateSpread  = 10 * time.Second
)

// lateTarget is what the 99th percentile must not exceed.
const lateTarget = 5.0

// dueLateness compares how late work begins that is due at an instant.
func dueLateness(ctx context.Context, l *lab) error {
	peers, err := l.peers(ctx)
	if err != nil {
		return err
	}
	n, spread := l.size(10_000, 1_000), lateSpread
	if l.short {
		spread = time.Second
	}
	own, err := sluiceLateness(ctx, n, spread)
	if err != nil {
		return err
	}
	ours := summarize(own)
	l.notef("Sluice: %s", ours)
	if err := errors.Join(
		l.report.Add(report.Line{
			Name: "due_early", Value: float64(ours.early), Unit: "entries",
			Detail: fmt.Sprintf("of %d entries due over %s", n, spread),
		}.Aim("0", ours.early == 0)),
		l.report.Add(report.Line{Name: "due_lateness_p99", Value: ours.p99, Unit: "ms", Detail: ours.String()}.
			Aim("<= 5 ms", ours.p99 <= lateTarget)),
	); err != nil {
		return err
	}
	for _, p := range peers {
		late, err := p.Lateness(ctx, n, lateWorkers, spread)
		if err != nil {
			return err
		}
		theirs := summarize(late)
		l.notef("%s: %s", p.Name(), theirs)
		line := report.Line{Name: "due_lateness_p99", Value: ours.p99, Unit: "ms", Detail: p.Name() + ": " + theirs.String()}
		if err := l.report.Add(line.Against(p.Name(), theirs.p99)); err != nil {
			return err
		}
	}
	return nil
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

// sluiceLateness hands out entries that are due evenly over the spread.
func sluiceLateness(ctx context.Context, n int, spread time.Duration) ([]time.Duration, error) {
	began := time.Now().Add(500 * time.Millisecond)
	due := make([]time.Time, n)
	for i := range due {
		due[i] = began.Add(time.Duration(i) * spread / time.Duration(n))
	}
	d := memory.New(memory.Options{})
	if err := pushDue(ctx, d, due); err != nil {
		return nil, err
	}
	return handOut(ctx, d, due)
}

// pushDue pushes a job for each instant.
func pushDue(ctx context.Context, d dispatch.Dispatcher, due []time.Time) error {
	entries := make([]dispatch.Entry, len(due))
	for i := range due {
		entries[i] = dispatch.Entry{
			Job: int64(i), Lane: fmt.Sprintf("owner%d/core", i%10), Priority: domain.PriorityHigh,
			Class: domain.ClassChild, NotBefore: due[i],
		}
	}
	return d.Push(ctx, entries...)
}

// handOut lets workers wait for the jobs and returns how late each came.
func handOut(ctx context.Context, d dispatch.Dispatcher, due []time.Time) ([]time.Duration, error) {
	n := len(due)
	late := make(chan time.Duration, n)
	working, stop := context.WithCancel(ctx)
	group, working := errgroup.WithContext(working)
	for range lateWorkers {
		group.Go(func() error { return lease(working, d, due, late) })
	}
	out := make([]time.Duration, 0, n)
	for len(out) < n && working.Err() == nil {
		select {
		case delay := <-late:
			out = append(out, delay)
		case <-working.Done():
		}
	}
	stop()
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return out, ctx.Err()
}

// lease is one worker; it returns nil when it is told to stop.
func lease(ctx context.Context, d dispatch.Dispatcher, due []time.Time, late chan<- time.Duration) error {
	for {
		leases, err := d.Lease(ctx, 1)
		now := time.Now()
		if ctx.Err() != nil {
			return nil //nolint:nilerr // stopped on purpose
		}
		if err != nil {
			return err
		}
		for _, l := range leases {
			late <- now.Sub(due[l.Job])
		}
		if err := d.Ack(context.WithoutCancel(ctx), leases...); err != nil {
			return err
		}
	}
}
