package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"sluice/bench/peer"
	"sluice/bench/redisinfo"
	"sluice/bench/report"
	"sluice/internal/config"
	"sluice/internal/engine/enginetest"
	"sluice/internal/timer"
	"sluice/internal/wiring"
)

const (
	timerRate = 1_000
	// timerAhead is how long before its instant each timer is set.
	timerAhead = time.Second
	// timerCallers bounds the calls under way; each sets one timer.
	timerCallers = 64
	// What the 99th percentiles must not exceed, in ms.
	timerLateTarget, timerMachinesLateTarget = 5.0, 10.0
)

// timerLateness measures how late timers fire while others are set: embedded,
// on MariaDB and Redis, and there by key expiry.
func timerLateness(ctx context.Context, l *lab) error {
	load := timerLoad{span: time.Duration(l.size(20, 2)) * time.Second, patience: time.Duration(l.size(10, 3)) * time.Second}
	dir, remove, err := l.folder("timers")
	if err != nil {
		return err
	}
	defer remove()
	alone, err := load.run(ctx, embeddedTimers(dir))
	if err != nil {
		return err
	}
	l.notef("embedded: %s", alone)
	machines, err := l.timerMachines(ctx, load, false)
	if err != nil {
		return err
	}
	l.notef("MariaDB and Redis: %s", machines)
	expiry, err := l.timerMachines(ctx, load, true)
	if err != nil {
		return err
	}
	l.notef("MariaDB and Redis, key expiry: %s", expiry)
	asynq, err := l.asynq(ctx)
	if err != nil {
		return err
	}
	spread := load.span / 4
	late, err := asynq.Lateness(ctx, int(spread.Seconds()*timerRate), lateWorkers, spread)
	if err != nil {
		return err
	}
	theirs := summarize(late)
	l.notef("%s: %s", asynq.Name(), theirs)
	return errors.Join(
		l.reportTimers("timer", alone, "<= 5 ms", timerLateTarget, secondsOf(asynq), theirs),
		l.reportTimers("timer_machines", machines, "<= 10 ms", timerMachinesLateTarget, secondsOf(asynq), theirs),
		l.reportExpiry(machines, expiry),
	)
}

// secondsOf names a peer that knows whole seconds only: as many of its tasks come
// due at once as of the timers in a second.
func secondsOf(p peer.Peer) string { return p.Name() + ", due at whole seconds" }

func (l *lab) reportTimers(name string, f lateTimers, target string, limit float64, peer string, theirs lateness) error {
	fired := report.Line{Name: name + "_lateness_p99", Value: f.fired.p99, Unit: "ms", Detail: "by the completion, in its row: " + f.fired.String()}
	told := report.Line{Name: name + "_told_p99", Value: f.told.p99, Unit: "ms", Detail: "until the hook is told, after the commit: " + f.told.String() + "; peer: " + theirs.String()}
	early := report.Line{Name: name + "_early", Value: float64(f.fired.early + f.told.early), Unit: "timers", Detail: f.what()}
	lost := report.Line{Name: name + "_lost", Value: float64(f.lost), Unit: "timers", Detail: fmt.Sprintf("%s; %d were told twice", f.what(), f.twice)}
	return errors.Join(
		l.report.Add(fired.Aim(target, f.fired.p99 <= limit)),
		l.report.Add(told.Against(peer, theirs.p99).Aim(target, f.told.p99 <= limit)),
		l.report.Add(early.Aim("0", early.Value == 0)),
		l.report.Add(lost.Aim("0", f.lost == 0)),
	)
}

// reportExpiry shows what the alternative would cost; it has no aims.
func (l *lab) reportExpiry(set, expiry lateTimers) error {
	const beside = "the due set"
	share := func(n, of int) float64 { return 100 * float64(n) / float64(of) }
	p99 := report.Line{Name: "timer_expiry_p99", Value: expiry.told.p99, Unit: "ms", Detail: "key expiry as the trigger, Redis as it is by default: " + expiry.told.String()}
	late := report.Line{Name: "timer_expiry_late", Value: share(expiry.late, expiry.n), Unit: "% > 1 s late", Detail: expiry.what()}
	lost := report.Line{Name: "timer_expiry_lost", Value: share(expiry.lost, expiry.n), Unit: "% not fired", Detail: fmt.Sprintf("within %s after the last was due", expiry.patience)}
	return errors.Join(
		l.report.Add(p99.Against(beside, set.told.p99)),
		l.report.Add(late.Against(beside, share(set.late, set.n))),
		l.report.Add(lost.Against(beside, share(set.lost, set.n))),
	)
}

// timerLoad sets timers one by one, each a little ahead of its instant, while
// others fire.
type timerLoad struct {
	span, patience time.Duration
}

// lateTimers is what became of a load.
type lateTimers struct {
	timerLoad
	n, late, lost, twice int
	fired, told          lateness
}

func (f lateTimers) what() string {
	return fmt.Sprintf("%d timers at %d a second, each set %s ahead", f.n, timerRate, timerAhead)
}

func (f lateTimers) String() string {
	return fmt.Sprintf("fired %s; told %s; %d late, %d lost, %d twice", f.fired, f.told, f.late, f.lost, f.twice)
}

// run puts the load on the first of services that share the work.
func (t timerLoad) run(ctx context.Context, options ...wiring.Options) (f lateTimers, err error) {
	f = lateTimers{timerLoad: t, n: int(t.span.Seconds() * timerRate)}
	heard := expect(f.n)
	var first *wiring.Service
	for i, o := range options {
		svc, failed := startTimers(ctx, o, fmt.Sprintf("bench-%d", i), heard)
		if failed != nil {
			return f, failed
		}
		defer func() { err = errors.Join(err, svc.Close(context.WithoutCancel(ctx))) }()
		if first == nil {
			first = svc
		}
	}
	if err := t.set(ctx, first.Timers, f.n); err != nil {
		return f, err
	}
	if f.lost, err = heard.wait(ctx, timerAhead+t.patience); err != nil {
		return f, err
	}
	heard.mu.Lock()
	defer heard.mu.Unlock()
	f.fired, f.told, f.twice = summarize(heard.fired), summarize(heard.told), heard.twice
	for _, late := range heard.told {
		if late > timer.LateAfter {
			f.late++
		}
	}
	return f, nil
}

func (t timerLoad) set(ctx context.Context, timers *timer.Service, n int) error {
	group, setting := errgroup.WithContext(ctx)
	group.SetLimit(timerCallers)
	began := time.Now().Add(timerAhead)
	for i := range n {
		at := began.Add(time.Duration(i) * time.Second / timerRate)
		if wait := time.Until(at.Add(-timerAhead)); wait > 0 {
			if err := pause(setting, wait); err != nil {
				break // one failed, or ctx has ended
			}
		}
		group.Go(func() error {
			_, err := timers.Set(setting, timerSpec(i, at))
			return err
		})
	}
	return errors.Join(group.Wait(), ctx.Err())
}

// timerMachines puts the load on two services that share MariaDB and Redis.
func (l *lab) timerMachines(ctx context.Context, load timerLoad, expiry bool) (f lateTimers, err error) {
	addr, err := l.emptyRedis(ctx)
	if err != nil {
		return f, err
	}
	fleet, err := l.fleet(ctx)
	if err != nil {
		return f, err
	}
	defer fleet.drop()
	o := fleet.options(1, &enginetest.Noop{})
	if expiry {
		o.Config.Timers.Trigger = config.TriggerKeyspace
	}
	if f, err = load.run(ctx, o, o); err != nil || !expiry {
		return f, err
	}
	// It had Redis announce what expires; nobody else needs that.
	_, err = redisinfo.Do(ctx, addr, "CONFIG", "SET", "notify-keyspace-events", `""`)
	return f, err
}
