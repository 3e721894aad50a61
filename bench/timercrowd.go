package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hibiken/asynq"
	"golang.org/x/sync/errgroup"

	"sluice/bench/report"
	"sluice/internal/engine/enginetest"
	"sluice/internal/wiring"
)

// crowdPlan is how many timers are due at one instant, in how long, how long the
// last may take, and how many are set with one call.
type crowdPlan struct {
	n              int
	lead, patience time.Duration
	batch          int
}

func (l *lab) crowdOf(n int) crowdPlan {
	return crowdPlan{n: n, lead: l.crowdLead(), patience: 20 * time.Second, batch: 1}
}

// crowdLead is what setting may take before all of them are due.
func (l *lab) crowdLead() time.Duration { return time.Duration(l.size(6, 3)) * time.Second }

// crowds lets many timers be due at the same instant, while those of a folder
// wait for another day, then on MariaDB and Redis, then with asynq.
func (l *lab) crowds(ctx context.Context, dir string, waiting int) error {
	n := l.size(10_000, 2_000)
	alone, err := crowd(ctx, l.crowdOf(n), embeddedTimers(dir))
	if err != nil {
		return err
	}
	l.notef("%d due at once, embedded: %s", n, alone)
	million, err := l.crowdMillion(ctx, dir)
	if err != nil {
		return err
	}
	shared, err := l.crowdMachines(ctx, n)
	if err != nil {
		return err
	}
	l.notef("%d due at once, MariaDB and Redis: %s", n, shared)
	if _, err := l.emptyRedis(ctx); err != nil {
		return err
	}
	peer, err := l.asynq(ctx)
	if err != nil {
		return err
	}
	late, err := peer.Lateness(ctx, n, lateWorkers, time.Millisecond)
	if err != nil {
		return err
	}
	theirs := summarize(late)
	l.notef("%d due at once, %s: %s", n, peer.Name(), theirs)
	what := fmt.Sprintf("from the instant at which %d timers are due until the hook is told of the last", n)
	one := report.Line{Name: "timer_crowd", Value: alone.last(), Unit: "s", Detail: fmt.Sprintf("%s, while %d others wait: %s", what, waiting, alone)}
	two := report.Line{Name: "timer_machines_crowd", Value: shared.last(), Unit: "s", Detail: what + ", two processes' services: " + shared.String()}
	early := report.Line{Name: "timer_crowd_early", Value: float64(alone.told.early + alone.fired.early + shared.told.early + shared.fired.early), Unit: "timers"}
	return errors.Join(
		l.report.Add(one.Against(peer.Name(), theirs.max/1000).Aim("<= 1 s", alone.last() <= 1)),
		l.report.Add(two.Against(peer.Name(), theirs.max/1000).Aim("<= 1 s", shared.last() <= 1)),
		l.report.Add(million),
		l.report.Add(early.Aim("0", early.Value == 0)),
	)
}

// crowdFigures is what became of timers that were due at once.
type crowdFigures struct {
	rate        float64
	fired, told lateness
}

// last is when the last was told of, in seconds after the instant.
func (c crowdFigures) last() float64 { return c.told.max / 1000 }

func (c crowdFigures) String() string {
	return fmt.Sprintf("set at %.0f/s; fired p50 %.0f ms, last %.0f ms; told p50 %.0f ms, last %.0f ms", c.rate, c.fired.p50, c.fired.max, c.told.p50, c.told.max)
}

// crowd sets n timers for one instant at the first of services that share the
// work.
func crowd(ctx context.Context, p crowdPlan, options ...wiring.Options) (c crowdFigures, err error) {
	heard := expect(p.n)
	var first *wiring.Service
	for i, o := range options {
		svc, failed := startTimers(ctx, o, fmt.Sprintf("bench-%d", i), heard)
		if failed != nil {
			return c, failed
		}
		defer func() { err = errors.Join(err, svc.Close(context.WithoutCancel(ctx))) }()
		if first == nil {
			first = svc
		}
	}
	at := time.Now().Add(p.lead)
	// Others than those that wait.
	r := registration{n: p.n, from: p.n << 10, callers: 64, batch: p.batch, at: func(int) time.Time { return at }}
	if c.rate, err = r.run(ctx, first.Timers); err != nil {
		return c, err
	}
	if time.Now().After(at) {
		return c, fmt.Errorf("setting %d timers took longer than the lead", p.n)
	}
	missing, err := heard.wait(ctx, time.Until(at)+p.patience)
	if err != nil {
		return c, err
	}
	if missing > 0 {
		return c, fmt.Errorf("%d of %d timers have not fired", missing, p.n)
	}
	heard.mu.Lock()
	defer heard.mu.Unlock()
	c.fired, c.told = summarize(heard.fired), summarize(heard.told)
	return c, nil
}

// crowdMillion lets a million timers be due at one instant. Each of them is told
// of once, or it fails.
func (l *lab) crowdMillion(ctx context.Context, dir string) (report.Line, error) {
	p := crowdPlan{n: l.size(1_000_000, 20_000), lead: time.Duration(l.size(40, 4)) * time.Second, patience: 5 * time.Minute, batch: 1000}
	all, err := crowd(ctx, p, embeddedTimers(dir))
	if err != nil {
		return report.Line{}, err
	}
	l.notef("%d due at once, embedded: %s", p.n, all)
	return report.Line{
		Name: "timer_crowd_million", Value: all.last(), Unit: "s",
		Detail: fmt.Sprintf("from the instant at which %d timers are due until the hook is told of the last: %s", p.n, all),
	}, nil
}

func (l *lab) crowdMachines(ctx context.Context, n int) (crowdFigures, error) {
	if _, err := l.emptyRedis(ctx); err != nil {
		return crowdFigures{}, err
	}
	f, err := l.fleet(ctx)
	if err != nil {
		return crowdFigures{}, err
	}
	defer f.drop()
	o := f.options(1, &enginetest.Noop{})
	return crowd(ctx, l.crowdOf(n), o, o)
}

// scheduleAsynq schedules tasks with asynq and returns how many a second.
func scheduleAsynq(ctx context.Context, addr string, n, callers int, at func(i int) time.Time) (perSecond float64, err error) {
	client := asynq.NewClient(asynq.RedisClientOpt{Addr: addr, PoolSize: callers})
	defer func() { err = errors.Join(err, client.Close()) }()
	began := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	for c := range callers {
		group.Go(func() error {
			for i := c; i < n; i += callers {
				task := asynq.NewTask("bench", timerSpec(i, time.Time{}).Payload, asynq.TaskID(timerID(i)))
				if _, err := client.EnqueueContext(ctx, task, asynq.ProcessAt(at(i))); err != nil {
					return fmt.Errorf("asynq: schedule: %w", err)
				}
			}
			return nil
		})
	}
	err = group.Wait()
	return float64(n) / time.Since(began).Seconds(), err
}
