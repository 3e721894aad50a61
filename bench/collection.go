package main

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"time"

	"golang.org/x/sync/errgroup"

	"sluice/bench/proc"
	"sluice/bench/report"
	"sluice/internal/config"
	"sluice/internal/domain"
	"sluice/internal/engine"
	sim "sluice/internal/simulator/github"
	"sluice/internal/source"
	"sluice/internal/source/github"
	"sluice/internal/wiring"
)

// collectionWorkers is how many calls are under way at once, in the engine and
// in the bare loop alike; it is the engine's default.
const collectionWorkers = 16

// effort is what one pass over the upstream took.
type effort struct {
	calls     int
	documents int64
	took      time.Duration
	cpu       time.Duration
}

func (e effort) perSecond() float64 { return float64(e.calls) / e.took.Seconds() }

// collection compares a complete first collection (parsed, stored durably,
// statistics computed) with a bare loop of workers that make exactly the same
// HTTP requests and discard the answers. The simulated GitHub runs in this
// process and shares the processors with both.
func collection(ctx context.Context, l *lab) error {
	world := sim.New(sim.Options{Seed: 11, Accounts: l.size(300, 10), Limits: sim.Limits{Disabled: true}})
	server := httptest.NewServer(world)
	defer server.Close()
	tape := newRecorder()
	recording, err := l.collect(ctx, world, github.Options{BaseURL: server.URL, Transport: tape})
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	l.notef("recorded %d requests of %d accounts", len(tape.requests), len(world.Logins()))
	var ours, bare []float64
	var ourCPU, bareCPU []float64
	for round := range l.rounds() {
		collected, err := l.collect(ctx, world, github.Options{BaseURL: server.URL})
		if err != nil {
			return err
		}
		replayed, err := replay(ctx, tape.requests, collectionWorkers)
		if err != nil {
			return err
		}
		if collected.calls != replayed.calls {
			return fmt.Errorf("the collection made %d calls, the loop %d", collected.calls, replayed.calls)
		}
		ours, bare = append(ours, collected.perSecond()), append(bare, replayed.perSecond())
		ourCPU = append(ourCPU, perCall(collected))
		bareCPU = append(bareCPU, perCall(replayed))
		l.notef("round %d: Sluice %.0f requests/s, bare loop %.0f", round+1, ours[round], bare[round])
	}
	ratio := report.Median(report.Ratios(ours, bare))
	rate := report.Line{
		Name: "collection", Value: report.Median(ours), Unit: "requests/s",
		Detail: fmt.Sprintf("%d requests of %d accounts with %d documents, %d workers, median of %d rounds",
			len(tape.requests), len(world.Logins()), recording.documents, collectionWorkers, len(ours)),
	}.Against("bare loop of the same requests", report.Median(bare)).WithRatio(ratio).Aim(">= 0.5x", ratio >= 0.5)
	cpu := report.Line{
		Name: "collection_cpu", Value: report.Median(ourCPU), Unit: "µs/request",
		Detail: "processor time of the whole process, the simulated GitHub included in both",
	}.Against("bare loop of the same requests", report.Median(bareCPU))
	return errors.Join(l.report.Add(rate), l.report.Add(cpu))
}

func perCall(e effort) float64 { return float64(e.cpu.Microseconds()) / float64(e.calls) }

// collect collects every account of the world by the hand-written source.
func (l *lab) collect(ctx context.Context, world *sim.Server, o github.Options) (effort, error) {
	src, err := github.New(o)
	if err != nil {
		return effort{}, err
	}
	return l.collectBy(ctx, world, src)
}

// collectBy collects every account of the world by a source into a new data
// folder. Accounts are signed up beforehand; the time is from the first run's start
// to the last run's completion.
func (l *lab) collectBy(ctx context.Context, world *sim.Server, src source.Source) (effort, error) {
	return l.collectWith(ctx, world, src, func(*config.Config) {}, nil)
}

// collectWith collects with other settings, in a folder that is prepared when it has
// its tables.
func (l *lab) collectWith(ctx context.Context, world *sim.Server, src source.Source, set func(*config.Config), prepare func(dir string) error) (e effort, err error) {
	dir, remove, err := l.folder("collection")
	if err != nil {
		return effort{}, err
	}
	defer remove()
	settings := config.Embedded(dir)
	set(&settings)
	svc, err := wiring.Open(ctx, wiring.Options{
		Config: settings, Holder: "bench", Quota: wiring.NoQuota(), Sources: []source.Source{src},
		Engine: engine.Config{Workers: collectionWorkers},
	})
	if err != nil {
		return effort{}, err
	}
	defer func() { err = errors.Join(err, svc.Close(context.WithoutCancel(ctx))) }()
	if prepare != nil {
		if err := prepare(dir); err != nil {
			return effort{}, err
		}
	}
	if err := svc.Engine.Start(ctx); err != nil {
		return effort{}, err
	}
	accounts, err := signUp(ctx, svc, world, src.Name())
	if err != nil {
		return effort{}, err
	}
	e, err = timed(func() (int, error) {
		if err := runAll(ctx, svc, accounts); err != nil {
			return 0, err
		}
		return int(svc.Engine.Counters().Calls.Load()), nil
	})
	e.documents = svc.Engine.Counters().Documents.Load()
	return e, err
}

// timed measures wall and processor time of work that says how many calls it
// made.
func timed(work func() (int, error)) (effort, error) {
	before, err := proc.Self()
	if err != nil {
		return effort{}, err
	}
	began := time.Now()
	calls, err := work()
	if err != nil {
		return effort{}, err
	}
	took := time.Since(began)
	after, err := proc.Self()
	return effort{calls: calls, took: took, cpu: after - before}, err
}

func signUp(ctx context.Context, svc *wiring.Service, world *sim.Server, source string) ([]int64, error) {
	var ids []int64
	for _, login := range world.Logins() {
		a, err := svc.Engine.PutAccount(ctx, engine.Signup{Source: source, Login: login, Token: world.Token(login)})
		if err != nil {
			return nil, err
		}
		ids = append(ids, a.ID)
	}
	return ids, nil
}

// runAll starts a run of every account and waits until all are complete.
func runAll(ctx context.Context, svc *wiring.Service, accounts []int64) error {
	runs := make([]int64, len(accounts))
	group, starting := errgroup.WithContext(ctx)
	group.SetLimit(collectionWorkers)
	for i, account := range accounts {
		group.Go(func() error {
			run, err := svc.Engine.StartRun(starting, account, domain.TriggerManual, domain.PriorityHigh)
			runs[i] = run.ID
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, id := range runs {
		run, err := svc.WaitRun(ctx, id)
		if err != nil {
			return err
		}
		if run.Status != domain.RunCompleted || run.Failed > 0 {
			return fmt.Errorf("run %d of %s is %s, %d jobs failed: %s", run.ID, run.Login, run.Status, run.Failed, run.Reason)
		}
	}
	return nil
}
