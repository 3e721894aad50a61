package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"sluice/bench/proc"
	"sluice/bench/report"
)

// timerSetTarget is how many timers must be set in a second, at least.
const timerSetTarget = 20_000

// timerMillion measures what many timers cost that wait for another day, and
// how fast those fire that are due at once.
func timerMillion(ctx context.Context, l *lab) error {
	n := l.size(1_000_000, 20_000)
	dir, remove, err := l.folder("timers")
	if err != nil {
		return err
	}
	defer remove()
	batches, err := setFar(ctx, dir, registration{n: n, callers: 64, batch: 100})
	if err != nil {
		return err
	}
	size, err := folderSize(dir)
	if err != nil {
		return err
	}
	l.notef("%d timers in batches: %.0f/s, %d MB on disk", n, batches, size>>20)
	singles, theirs, err := l.setSingly(ctx, n/5)
	if err != nil {
		return err
	}
	held, err := l.heldTimers(ctx, dir, n)
	if err != nil {
		return err
	}
	set := report.Line{Name: "timer_set", Value: singles, Unit: "timers/s", Detail: fmt.Sprintf("%d timers one by one by 256 callers, each durable when its call returns", n/5)}
	batched := report.Line{Name: "timer_set_batches", Value: batches, Unit: "timers/s", Detail: fmt.Sprintf("%d timers in calls of 100 by 64 callers", n)}
	disk := report.Line{Name: "timer_disk", Value: float64(size) / float64(n), Unit: "bytes/timer", Detail: fmt.Sprintf("%d MB for %d timers", size>>20, n)}
	asynq := "asynq on Redis, not durable"
	return errors.Join(
		l.report.Add(set.Against(asynq, theirs).Aim(">= 20,000", singles >= timerSetTarget)),
		l.report.Add(batched.Against(asynq, theirs).Aim(">= 20,000", batches >= timerSetTarget)),
		l.report.Add(disk), l.reportHeld(held, n), l.crowds(ctx, dir, n),
	)
}

// far is an instant that does not come while anything is measured.
func far(i int) time.Time {
	return time.Now().Add(48*time.Hour + time.Duration(i)*time.Millisecond)
}

// setFar sets timers in a folder and returns how many a second.
func setFar(ctx context.Context, dir string, r registration) (rate float64, err error) {
	svc, err := startTimers(ctx, embeddedTimers(dir), "bench", nil)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, svc.Close(context.WithoutCancel(ctx))) }()
	r.at = far
	return r.run(ctx, svc.Timers)
}

// setSingly sets timers one by one, and schedules tasks with asynq.
func (l *lab) setSingly(ctx context.Context, n int) (ours, theirs float64, err error) {
	const callers = 256
	dir, remove, err := l.folder("timers-singly")
	if err != nil {
		return 0, 0, err
	}
	defer remove()
	if ours, err = setFar(ctx, dir, registration{n: n, callers: callers, batch: 1}); err != nil {
		return 0, 0, err
	}
	l.notef("%d timers one by one: %.0f/s", n, ours)
	addr, err := l.emptyRedis(ctx)
	if err != nil {
		return 0, 0, err
	}
	theirs, err = scheduleAsynq(ctx, addr, n/4, callers, far)
	l.notef("%d tasks scheduled with asynq: %.0f/s", n/4, theirs)
	return ours, theirs, err
}

// timerFigures are what a child measured that only keeps timers.
type timerFigures struct {
	StartSeconds, ResidentMB, HeapMB float64
	// Of the time in which it had nothing to do.
	IdleSeconds, IdleCPU float64
	IdleSQL              int64
}

// holdTimers is the child: it starts on a folder and idles.
func holdTimers(ctx context.Context, dir string, span time.Duration) (f timerFigures, err error) {
	began := time.Now()
	svc, err := startTimers(ctx, embeddedTimers(dir), "bench", nil)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, svc.Close(context.WithoutCancel(ctx))) }()
	f.StartSeconds = time.Since(began).Seconds()
	// What the start left behind is no timer's.
	runtime.GC()
	if err := pause(ctx, time.Second); err != nil {
		return f, err
	}
	resident, err := proc.Resident(os.Getpid())
	if err != nil {
		return f, err
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	f.ResidentMB, f.HeapMB = float64(resident)/1e6, float64(m.HeapAlloc)/1e6
	asked := func() int64 { return svc.SQL.Reads() + svc.SQL.Transactions() }
	before, err := proc.Self()
	if err != nil {
		return f, err
	}
	sql, began := asked(), time.Now()
	if err := pause(ctx, span); err != nil {
		return f, err
	}
	f.IdleSeconds, f.IdleSQL = time.Since(began).Seconds(), asked()-sql
	after, err := proc.Self()
	f.IdleCPU = (after - before).Seconds()
	return f, err
}

// held are the figures of a process with all timers and of one with none.
type held struct{ all, none timerFigures }

func (l *lab) heldTimers(ctx context.Context, dir string, n int) (h held, err error) {
	empty, remove, err := l.folder("timers-none")
	if err != nil {
		return h, err
	}
	defer remove()
	span := time.Duration(l.size(30, 2)) * time.Second
	for _, side := range []struct {
		dir  string
		span time.Duration
		into *timerFigures
	}{{empty, 0, &h.none}, {dir, span, &h.all}} {
		cmd, err := childProcess(ctx, "timers", side.dir, side.span.String())
		if err != nil {
			return h, err
		}
		out, err := cmd.Output()
		if err != nil {
			return h, fmt.Errorf("start on %s: %w", side.dir, err)
		}
		if err := json.Unmarshal(out, side.into); err != nil {
			return h, err
		}
	}
	l.notef("%d timers: started in %.2f s, %.0f MB resident, heap %.0f MB; none: %.2f s, %.0f MB, %.0f MB",
		n, h.all.StartSeconds, h.all.ResidentMB, h.all.HeapMB, h.none.StartSeconds, h.none.ResidentMB, h.none.HeapMB)
	return h, nil
}

func (l *lab) reportHeld(h held, n int) error {
	each := func(all, none float64) float64 { return (all - none) * 1e6 / float64(n) }
	const beside = "the same with none"
	memory := report.Line{
		Name: "timer_memory", Value: each(h.all.ResidentMB, h.none.ResidentMB), Unit: "bytes/timer",
		Detail: fmt.Sprintf("resident %.0f MB with %d timers, %.0f MB with none, each in a process of its own; live heap %.0f bytes/timer",
			h.all.ResidentMB, n, h.none.ResidentMB, each(h.all.HeapMB, h.none.HeapMB)),
	}
	start := report.Line{Name: "timer_restart", Value: h.all.StartSeconds, Unit: "s", Detail: fmt.Sprintf("opening the folder and filling the trigger with %d timers", n)}
	limit := h.all.IdleSeconds / 1000
	cpu := report.Line{
		Name: "timer_idle_cpu", Value: h.all.IdleCPU, Unit: "s",
		Detail: fmt.Sprintf("processor time over %.0f s with %d timers that are due another day", h.all.IdleSeconds, n),
	}
	sql := report.Line{Name: "timer_idle_sql", Value: float64(h.all.IdleSQL), Unit: "transactions", Detail: fmt.Sprintf("reads and writes over the same %.0f s", h.all.IdleSeconds)}
	return errors.Join(
		l.report.Add(memory),
		l.report.Add(start.Against(beside, h.none.StartSeconds)),
		l.report.Add(cpu.Aim(fmt.Sprintf("<= %.3g s, 0.1 %%", limit), h.all.IdleCPU <= limit)),
		l.report.Add(sql.Aim("0", h.all.IdleSQL == 0)),
	)
}
