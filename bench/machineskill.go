package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"strings"
	"time"

	"sluice/bench/peer"
	"sluice/bench/report"
	"sluice/internal/config"
	"sluice/internal/dispatch"
	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/engine/enginetest"
	"sluice/internal/source"
	"sluice/internal/wiring"
)

const (
	// killWorkers is how many jobs a process holds when it is killed.
	killWorkers = 8
	// killGrace is what the jobs may take beyond the lease.
	killGrace = time.Second
)

// machinesKill measures how long the jobs of a process that was killed wait
// until another one runs them. The process has every role: it schedules too.
func machinesKill(ctx context.Context, l *lab) error {
	lease := dispatch.DefaultLease
	if l.short {
		lease = 2 * time.Second
	}
	var slowest []float64
	for round := range l.rounds() {
		// The first is killed when its leases are new; the others at any
		// instant between two renewals.
		after := time.Duration(0)
		if round > 0 {
			after = rand.N(lease / 3)
		}
		took, err := l.killOne(ctx, lease, after)
		if err != nil {
			return err
		}
		slowest = append(slowest, took.Seconds())
		l.notef("round %d: killed %.1f s after its jobs began; the last of them ran elsewhere after %.2f s", round+1, after.Seconds(), took.Seconds())
	}
	worst, limit := report.Quantile(slowest, 1), (lease + killGrace).Seconds()
	line := report.Line{
		Name: "machines_kill", Value: worst, Unit: "s",
		Detail: fmt.Sprintf("SIGKILL of a process with every role and %d jobs until the last of them runs in another; lease %s, the slowest of %d rounds", killWorkers, lease, len(slowest)),
	}
	line, err := l.besideAsynqKill(ctx, line)
	if err != nil {
		return err
	}
	return l.report.Add(line.Aim(fmt.Sprintf("<= %g s", limit), worst <= limit))
}

// machine is a process of a fleet, as its child reads it.
type machine struct {
	Servers config.Servers
	Lease   time.Duration
	// Stall makes its calls never end.
	Stall bool
}

// killSource has as many jobs as the process has workers.
func killSource(onCall func(source.Call)) source.Source {
	return &enginetest.Noop{Jobs: killWorkers, FanOut: killWorkers, OnCall: func(c source.Call) (source.Result, bool) {
		if onCall != nil && c.Job.Type != "SPREAD" {
			onCall(c)
		}
		return source.Result{}, false
	}}
}

// runMachine is the child: it prints a line for every job that it begins.
func runMachine(ctx context.Context, argument string, out io.Writer) (err error) {
	var m machine
	if err := json.Unmarshal([]byte(argument), &m); err != nil {
		return err
	}
	f := fleet{Servers: m.Servers}
	o := f.options(killWorkers, killSource(func(c source.Call) {
		fmt.Fprintf(out, "began %d\n", c.Job.ID)
		if m.Stall {
			<-ctx.Done()
		}
	}))
	o.Engine.Lease = m.Lease
	svc, err := wiring.Open(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, svc.Close(context.WithoutCancel(ctx))) }()
	if err := svc.Start(ctx); err != nil {
		return err
	}
	fmt.Fprintln(out, readyLine)
	<-ctx.Done()
	return nil
}

// killOne lets one process hold all jobs, kills it, and returns when the last
// of the jobs has begun in another.
func (l *lab) killOne(ctx context.Context, lease, after time.Duration) (took time.Duration, err error) {
	if _, err := l.emptyRedis(ctx); err != nil {
		return 0, err
	}
	f, err := l.fleet(ctx)
	if err != nil {
		return 0, err
	}
	defer f.drop()
	ctx, cancel := context.WithTimeout(ctx, 4*lease+time.Minute)
	defer cancel()
	front, run, err := f.request(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, front.Close(context.WithoutCancel(ctx))) }()
	first, err := startMachine(ctx, machine{f.Servers, lease, true})
	if err != nil {
		return 0, err
	}
	defer first.end()
	if err := first.await(ctx, killWorkers); err != nil {
		return 0, fmt.Errorf("the first process began too little: %w", err)
	}
	second, err := startMachine(ctx, machine{f.Servers, lease, false})
	if err != nil {
		return 0, err
	}
	defer second.end()
	if err := pause(ctx, after); err != nil {
		return 0, err
	}
	if err := first.cmd.Process.Kill(); err != nil {
		return 0, err
	}
	killed := time.Now()
	if err := second.await(ctx, killWorkers); err != nil {
		return 0, fmt.Errorf("the second process began too little: %w", err)
	}
	took = time.Since(killed)
	if err := completed(ctx, front, run); err != nil {
		return 0, fmt.Errorf("after the kill: %w", err)
	}
	return took, nil
}

// request asks for a run, as a process does that leaves all work to others.
func (f *fleet) request(ctx context.Context) (*wiring.Service, int64, error) {
	o := f.options(1, killSource(nil))
	o.Config.Service.Roles = config.Roles{config.RoleAPI}
	svc, err := wiring.Open(ctx, o)
	if err != nil {
		return nil, 0, err
	}
	run := domain.Run{}
	if err = svc.Start(ctx); err == nil {
		_, run, err = svc.Engine.Signup(ctx, engine.Signup{Source: "noop", Login: "bench", Token: "t"})
	}
	if err != nil {
		return nil, 0, errors.Join(err, svc.Close(context.WithoutCancel(ctx)))
	}
	return svc, run.ID, nil
}

// completed checks that nothing was lost.
func completed(ctx context.Context, svc *wiring.Service, run int64) error {
	done, err := svc.WaitRun(ctx, run)
	if err == nil && (done.Status != domain.RunCompleted || done.Succeeded != killWorkers+1) {
		err = fmt.Errorf("after the kill the run is %s with %d jobs", done.Status, done.Succeeded)
	}
	return err
}

// worker is a child that says which jobs it begins.
type worker struct {
	cmd   *exec.Cmd
	began chan string
}

func startMachine(ctx context.Context, m machine) (*worker, error) {
	argument, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	return startWorker(ctx, "machine", string(argument))
}

// startWorker starts a child and waits until it is ready.
func startWorker(ctx context.Context, task string, arguments ...string) (*worker, error) {
	cmd, err := childProcess(ctx, append([]string{task}, arguments...)...)
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	w := &worker{cmd, make(chan string, 1000)}
	ready := make(chan struct{})
	go func() {
		defer close(w.began)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if job, found := strings.CutPrefix(lines.Text(), "began "); found {
				w.began <- job
			} else if lines.Text() == readyLine {
				close(ready)
			}
		}
	}()
	select {
	case <-ready:
		return w, nil
	case <-ctx.Done():
		w.end()
		return nil, fmt.Errorf("%s did not start: %w", task, ctx.Err())
	}
}

// await waits until so many different jobs were begun.
func (w *worker) await(ctx context.Context, n int) error {
	jobs := map[string]bool{}
	for len(jobs) < n {
		select {
		case job, ok := <-w.began:
			if !ok {
				return errors.New("a process ended before its time")
			}
			jobs[job] = true
		case <-ctx.Done():
			return fmt.Errorf("%d of %d jobs were begun: %w", len(jobs), n, ctx.Err())
		}
	}
	return nil
}

// end kills the child, which is gone already or of no use any more.
func (w *worker) end() {
	_ = w.cmd.Process.Kill()
	_ = w.cmd.Wait()
}

// besideAsynqKill adds what asynq takes. That is minutes, and neither its lease
// nor how often it looks for lost tasks can be set, so short mode leaves it out.
func (l *lab) besideAsynqKill(ctx context.Context, line report.Line) (report.Line, error) {
	if l.short {
		line.Detail += "; asynq is not measured in short mode"
		return line, nil
	}
	asynq, err := l.asynq(ctx)
	if err != nil {
		return line, err
	}
	addr, err := l.emptyRedis(ctx)
	if err != nil {
		return line, err
	}
	took, err := killAsynq(ctx, asynq, addr)
	return line.Against(asynq.Name(), took.Seconds()), err
}

func killAsynq(ctx context.Context, asynq *peer.Asynq, addr string) (time.Duration, error) {
	const patience = 5 * time.Minute
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	queue, err := asynq.Enqueue(ctx)
	if err != nil {
		return 0, err
	}
	first, err := startWorker(ctx, "work-asynq", addr, queue, "stall")
	if err != nil {
		return 0, err
	}
	defer first.end()
	if err := first.await(ctx, 1); err != nil {
		return 0, err
	}
	second, err := startWorker(ctx, "work-asynq", addr, queue, "go")
	if err != nil {
		return 0, err
	}
	defer second.end()
	if err := first.cmd.Process.Kill(); err != nil {
		return 0, err
	}
	killed := time.Now()
	err = second.await(ctx, 1)
	return time.Since(killed), err
}

// workAsynq is the child of killAsynq.
func workAsynq(ctx context.Context, addr, queue string, stall bool, out io.Writer) error {
	return peer.NewAsynq(addr).Work(ctx, queue,
		func() { fmt.Fprintln(out, readyLine) },
		func(task context.Context) {
			fmt.Fprintln(out, "began 1")
			if stall {
				<-task.Done()
			}
		})
}
