package peer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivermigrate"
)

// River is River on one of its databases.
type River[TTx any] struct {
	name string
	// open returns a driver on an empty database and what closes it.
	open func(context.Context) (riverdriver.Driver[TTx], func() error, error)
}

// Name implements Peer.
func (r *River[TTx]) Name() string { return r.name }

// insertBatch is how many jobs River inserts at once; it is faster for it.
const insertBatch = 1000

type noopArgs struct{}

// Kind implements river.JobArgs.
func (noopArgs) Kind() string { return "noop" }

// Process implements Peer. Jobs count when River says that their completion is
// stored.
func (r *River[TTx]) Process(ctx context.Context, n, workers int) (rates Rates, err error) {
	registry := river.NewWorkers()
	river.AddWorker(registry, river.WorkFunc(func(context.Context, *river.Job[noopArgs]) error { return nil }))
	client, end, err := r.client(ctx, tuned(r.config(registry, workers)))
	if err != nil {
		return Rates{}, err
	}
	defer func() { err = errors.Join(err, end()) }()
	began := time.Now()
	if err := r.insert(ctx, client, n, func(int) river.InsertManyParams { return river.InsertManyParams{Args: noopArgs{}} }); err != nil {
		return Rates{}, err
	}
	rates.Enqueue = perSecond(n, began)
	completed, cancel := client.SubscribeConfig(&river.SubscribeConfig{ChanSize: n, Kinds: []river.EventKind{river.EventKindJobCompleted}})
	defer cancel()
	began = time.Now()
	if err := client.Start(ctx); err != nil {
		return Rates{}, fmt.Errorf("%s: %w", r.name, err)
	}
	_, err = take(ctx, n, completed)
	rates.Process = perSecond(n, began)
	return rates, errors.Join(err, client.Stop(ctx))
}

type dueArgs struct {
	Due int64 `json:"due"`
}

// Kind implements river.JobArgs.
func (dueArgs) Kind() string { return "due" }

// Resolution implements Peer.
func (r *River[TTx]) Resolution() time.Duration { return 0 }

// Lateness implements Peer: the better of two short intervals between fetches,
// because the shortest that River allows keeps its database busy. How often its
// scheduler looks for jobs that become due, every 5 s, cannot be set; it makes
// those of the next 5 s available ahead, and the fetches take them when they are
// due.
func (r *River[TTx]) Lateness(ctx context.Context, n, workers int, spread time.Duration) ([]time.Duration, error) {
	var best []time.Duration
	for _, poll := range []time.Duration{river.FetchPollIntervalMin, 5 * time.Millisecond} {
		delays, err := r.lateness(ctx, n, workers, spread, poll)
		if err != nil {
			return nil, err
		}
		slices.Sort(delays)
		if at := len(delays) * 99 / 100; best == nil || delays[at] < best[at] {
			best = delays
		}
	}
	return best, nil
}

func (r *River[TTx]) lateness(ctx context.Context, n, workers int, spread, poll time.Duration) (_ []time.Duration, err error) {
	late := make(chan time.Duration, n)
	registry := river.NewWorkers()
	river.AddWorker(registry, river.WorkFunc(func(_ context.Context, job *river.Job[dueArgs]) error {
		late <- time.Since(time.Unix(0, job.Args.Due))
		return nil
	}))
	config := tuned(r.config(registry, workers))
	config.FetchPollInterval = poll
	client, end, err := r.client(ctx, config)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, end()) }()
	if err := client.Start(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w", r.name, err)
	}
	due := DueTimes(n, lead, spread, r.Resolution())
	err = r.insert(ctx, client, n, func(i int) river.InsertManyParams {
		return river.InsertManyParams{Args: dueArgs{due[i].UnixNano()}, InsertOpts: &river.InsertOpts{ScheduledAt: due[i]}}
	})
	if err == nil && time.Now().After(due[0]) {
		err = fmt.Errorf("%s: inserting took longer than the lead", r.name)
	}
	if err != nil {
		return nil, errors.Join(err, client.Stop(ctx))
	}
	all, err := take(ctx, n, late)
	return all, errors.Join(err, client.Stop(ctx))
}

// Idle implements Peer, with River's default intervals.
func (r *River[TTx]) Idle(ctx context.Context, workers int, ready func()) (err error) {
	registry := river.NewWorkers()
	river.AddWorker(registry, river.WorkFunc(func(context.Context, *river.Job[noopArgs]) error { return nil }))
	client, end, err := r.client(ctx, r.config(registry, workers))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	steady := context.WithoutCancel(ctx)
	if err := client.Start(steady); err != nil {
		return fmt.Errorf("%s: %w", r.name, err)
	}
	ready()
	<-ctx.Done()
	return client.Stop(steady)
}

func (r *River[TTx]) config(workers *river.Workers, n int) *river.Config {
	return &river.Config{
		Logger: slog.New(slog.DiscardHandler), Workers: workers,
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: n}},
	}
}

// tuned sets the shortest intervals that make sense, as River's defaults bound
// its throughput to 500 jobs/s for 50 workers.
func tuned(c *river.Config) *river.Config {
	c.FetchCooldown, c.FetchPollInterval = time.Millisecond, 5*time.Millisecond
	return c
}

// client migrates an empty database and returns a client on it.
func (r *River[TTx]) client(ctx context.Context, config *river.Config) (*river.Client[TTx], func() error, error) {
	driver, end, err := r.open(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", r.name, err)
	}
	client, err := r.prepare(ctx, driver, config)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s: %w", r.name, err), end())
	}
	return client, end, nil
}

func (r *River[TTx]) prepare(ctx context.Context, driver riverdriver.Driver[TTx], config *river.Config) (*river.Client[TTx], error) {
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: config.Logger})
	if err != nil {
		return nil, err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, err
	}
	return river.NewClient(driver, config)
}

func (r *River[TTx]) insert(ctx context.Context, c *river.Client[TTx], n int, job func(i int) river.InsertManyParams) error {
	batch := make([]river.InsertManyParams, 0, insertBatch)
	for i := range n {
		batch = append(batch, job(i))
		if len(batch) < insertBatch && i < n-1 {
			continue
		}
		if _, err := c.InsertManyFast(ctx, batch); err != nil {
			return fmt.Errorf("%s: insert: %w", r.name, err)
		}
		batch = batch[:0]
	}
	return nil
}
