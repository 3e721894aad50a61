package peer

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/hibiken/asynq"
	"golang.org/x/sync/errgroup"
)

// Asynq is asynq on a Redis server.
type Asynq struct {
	addr string
	uses atomic.Int64
}

var _ Peer = (*Asynq)(nil)

// NewAsynq returns asynq on the Redis server at addr.
func NewAsynq(addr string) *Asynq { return &Asynq{addr: addr} }

// Name implements Peer.
func (a *Asynq) Name() string { return "asynq on Redis" }

const taskType = "bench"

// producers enqueue at once: asynq makes one round trip for each task.
const producers = 16

// Process implements Peer.
func (a *Asynq) Process(ctx context.Context, n, workers int) (Rates, error) {
	queue := a.queue()
	began := time.Now()
	err := a.enqueue(ctx, n, func(int) (*asynq.Task, []asynq.Option) {
		return asynq.NewTask(taskType, nil), []asynq.Option{asynq.Queue(queue)}
	})
	if err != nil {
		return Rates{}, err
	}
	rates := Rates{Enqueue: perSecond(n, began)}
	done, left := make(chan struct{}), atomic.Int64{}
	left.Store(int64(n))
	server := a.server(queue, workers)
	began = time.Now()
	err = server.Start(asynq.HandlerFunc(func(context.Context, *asynq.Task) error {
		if left.Add(-1) == 0 {
			close(done)
		}
		return nil
	}))
	if err != nil {
		return Rates{}, fmt.Errorf("asynq: %w", err)
	}
	defer server.Shutdown()
	select {
	case <-done:
	case <-ctx.Done():
		return Rates{}, ctx.Err()
	}
	rates.Process = perSecond(n, began)
	return rates, nil
}

// checkInterval is how often asynq looks for tasks that have become due, and for
// work when there was none. Its defaults of 5 s and 1 s would decide its
// lateness alone; below a millisecond it only keeps Redis busy.
const checkInterval = time.Millisecond

// Resolution implements Peer: asynq drops what is finer than a second, and so
// begins a task up to a second early.
func (a *Asynq) Resolution() time.Duration { return time.Second }

// Lateness implements Peer, with the shortest intervals that make sense.
func (a *Asynq) Lateness(ctx context.Context, n, workers int, spread time.Duration) ([]time.Duration, error) {
	queue, due := a.queue(), DueTimes(n, lead, spread, a.Resolution())
	late := make(chan time.Duration, n)
	config := a.config(queue, workers)
	config.TaskCheckInterval, config.DelayedTaskCheckInterval = checkInterval, checkInterval
	server := asynq.NewServer(asynq.RedisClientOpt{Addr: a.addr}, config)
	err := server.Start(asynq.HandlerFunc(func(_ context.Context, t *asynq.Task) error {
		at, err := strconv.ParseInt(string(t.Payload()), 10, 64)
		if err != nil {
			return err
		}
		late <- time.Since(time.Unix(0, at))
		return nil
	}))
	if err != nil {
		return nil, fmt.Errorf("asynq: %w", err)
	}
	defer server.Shutdown()
	err = a.enqueue(ctx, n, func(i int) (*asynq.Task, []asynq.Option) {
		task := asynq.NewTask(taskType, strconv.AppendInt(nil, due[i].UnixNano(), 10))
		return task, []asynq.Option{asynq.Queue(queue), asynq.ProcessAt(due[i])}
	})
	if err != nil {
		return nil, err
	}
	if time.Now().After(due[0]) {
		return nil, errors.New("asynq: enqueuing took longer than the lead")
	}
	return take(ctx, n, late)
}

// Idle implements Peer.
func (a *Asynq) Idle(ctx context.Context, workers int, ready func()) error {
	server := a.server(a.queue(), workers)
	if err := server.Start(asynq.HandlerFunc(func(context.Context, *asynq.Task) error { return nil })); err != nil {
		return fmt.Errorf("asynq: %w", err)
	}
	ready()
	<-ctx.Done()
	server.Shutdown()
	return nil
}

// Enqueue enqueues a task to a queue of its own, and returns the queue.
func (a *Asynq) Enqueue(ctx context.Context) (queue string, err error) {
	queue = a.queue()
	err = a.enqueue(ctx, 1, func(int) (*asynq.Task, []asynq.Option) {
		return asynq.NewTask(taskType, nil), []asynq.Option{asynq.Queue(queue)}
	})
	return queue, err
}

// Work serves a queue until ctx ends: begun is told of each task, and holds it
// for as long as it likes.
func (a *Asynq) Work(ctx context.Context, queue string, ready func(), begun func(context.Context)) error {
	server := a.server(queue, 1)
	err := server.Start(asynq.HandlerFunc(func(ctx context.Context, _ *asynq.Task) error {
		begun(ctx)
		return nil
	}))
	if err != nil {
		return fmt.Errorf("asynq: %w", err)
	}
	ready()
	<-ctx.Done()
	server.Shutdown()
	return nil
}

// queue names a queue that no earlier use has touched.
func (a *Asynq) queue() string { return fmt.Sprintf("bench-%d", a.uses.Add(1)) }

func (a *Asynq) config(queue string, workers int) asynq.Config {
	return asynq.Config{Concurrency: workers, Queues: map[string]int{queue: 1}, LogLevel: asynq.FatalLevel}
}

func (a *Asynq) server(queue string, workers int) *asynq.Server {
	return asynq.NewServer(asynq.RedisClientOpt{Addr: a.addr}, a.config(queue, workers))
}

func (a *Asynq) enqueue(ctx context.Context, n int, task func(i int) (*asynq.Task, []asynq.Option)) (err error) {
	client := asynq.NewClient(asynq.RedisClientOpt{Addr: a.addr})
	defer func() { err = errors.Join(err, client.Close()) }()
	group, ctx := errgroup.WithContext(ctx)
	for p := range producers {
		group.Go(func() error {
			for i := p; i < n; i += producers {
				t, options := task(i)
				if _, err := client.EnqueueContext(ctx, t, options...); err != nil {
					return fmt.Errorf("asynq: enqueue: %w", err)
				}
			}
			return nil
		})
	}
	return group.Wait()
}
