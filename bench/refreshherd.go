package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"sluice/bench/report"
	"sluice/internal/client"
	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
	"sluice/internal/refresh"
)

const (
	// herdSize is how many ask for one key at once, and how many keys several
	// processes ask for at once.
	herdSize = 1_000
	// herdProcesses ask for the same keys.
	herdProcesses = 10
	// herdLatency keeps the one call under way while the others ask.
	herdLatency = "3s"
)

// refreshHerd measures what becomes of many requests for the same at once.
func refreshHerd(ctx context.Context, l *lab) error {
	return errors.Join(l.herdOfRequests(ctx), l.herdOfProcesses(ctx))
}

// herdOfRequests lets many ask one process for one key.
func (l *lab) herdOfRequests(ctx context.Context) (err error) {
	f, err := l.refreshFleet(ctx, false, herdSize, "--latency", herdLatency, "--jitter", "0")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	if err := errors.Join(f.enlist(ctx, "api", 1), f.enlist(ctx, "refresh", 1)); err != nil {
		return err
	}
	api, err := f.client(0)
	if err != nil {
		return err
	}
	keys := f.game.keys(0, 1)
	ask := make([]func(context.Context) (int, error), herdSize)
	for i := range ask {
		ask[i] = func(ctx context.Context) (int, error) { return published(ctx, api, keys) }
	}
	sum, took, err := atOnce(ctx, ask)
	if err != nil {
		return err
	}
	calls, err := f.settled(ctx, api, keys, 1)
	if err != nil {
		return err
	}
	l.notef("%d requests for one key in %.0f ms: %d published, %d calls", herdSize, took.Seconds()*1000, sum, calls)
	one := report.Line{
		Name: "refresh_herd_calls", Value: float64(calls), Unit: "calls",
		Detail: fmt.Sprintf("%d simultaneous requests for one key over HTTP, answered within %.0f ms; %d published", herdSize, took.Seconds()*1000, sum),
	}
	return l.report.Add(one.Aim("1", calls == 1 && sum == 1))
}

// herdOfProcesses lets several processes be asked for the same keys.
func (l *lab) herdOfProcesses(ctx context.Context) (err error) {
	f, err := l.refreshFleet(ctx, false, herdSize)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	if err := f.enlist(ctx, "api", herdProcesses); err != nil {
		return err
	}
	keys := f.game.keys(0, herdSize)
	ask := make([]func(context.Context) (int, error), herdProcesses)
	var last *client.Client
	for i := range ask {
		api, err := f.client(i)
		if err != nil {
			return err
		}
		last = api
		ask[i] = func(ctx context.Context) (int, error) { return published(ctx, api, keys) }
		// The first request of a process also opens its connections.
		if _, err := api.RefreshOverview(ctx); err != nil {
			return err
		}
	}
	sum, took, err := atOnce(ctx, ask)
	if err != nil {
		return err
	}
	bare, err := l.bareLocks(ctx)
	if err != nil {
		return err
	}
	if err := f.enlist(ctx, "refresh", 1); err != nil {
		return err
	}
	calls, err := f.settled(ctx, last, keys, herdSize)
	if err != nil {
		return err
	}
	l.notef("%d processes and %d keys in %.0f ms (bare locks %.0f ms): %d published, %d calls",
		herdProcesses, herdSize, took.Seconds()*1000, bare.Seconds()*1000, sum, calls)
	detail := fmt.Sprintf("%d processes were asked for the same %d keys at once", herdProcesses, herdSize)
	want := fmt.Sprint(herdSize)
	return errors.Join(
		l.report.Add(report.Line{Name: "refresh_herd_published", Value: float64(sum), Unit: "requests", Detail: detail}.Aim(want, sum == herdSize)),
		l.report.Add(report.Line{Name: "refresh_herd_keys_calls", Value: float64(calls), Unit: "calls", Detail: detail + "; then one more process worked"}.
			Aim(want, calls == herdSize)),
		l.report.Add(report.Line{Name: "refresh_herd_time", Value: took.Seconds() * 1000, Unit: "ms", Detail: detail + "; until the last had its answer, over HTTP"}.
			Against("SET NX of the same keys in Redis, pipelined", bare.Seconds()*1000)),
	)
}

// published asks for keys and counts those that were published because of it.
func published(ctx context.Context, api *client.Client, keys []string) (n int, err error) {
	answer, err := api.Refresh(ctx, wire.RefreshRequest{Source: gameSource, Keys: keys, Priority: domain.PriorityHigh.String()})
	for _, one := range answer.Results {
		if one.Result == refresh.Published.String() {
			n++
		}
	}
	return n, err
}

// atOnce does everything at once, and returns the sum and how long it took
// until the last was done.
func atOnce(ctx context.Context, all []func(context.Context) (int, error)) (sum int, took time.Duration, err error) {
	results := make([]int, len(all))
	begin := make(chan struct{})
	group, working := errgroup.WithContext(ctx)
	for i, one := range all {
		group.Go(func() (err error) {
			<-begin
			results[i], err = one(working)
			return err
		})
	}
	began := time.Now()
	close(begin)
	err = group.Wait()
	for _, n := range results {
		sum += n
	}
	return sum, time.Since(began), err
}

// settled waits until so many calls were made and nothing is left to be done,
// and returns how many there were.
func (f *refreshFleet) settled(ctx context.Context, api *client.Client, keys []string, calls int64) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		audit, err := f.game.audit(ctx)
		if err != nil {
			return 0, err
		}
		if audit.Calls >= calls {
			break
		}
		if err := pause(ctx, slice); err != nil {
			return 0, fmt.Errorf("%d of %d calls were made: %w", audit.Calls, calls, err)
		}
	}
	// The last is fresh when its call is back, and so are then those before it.
	for _, key := range keys {
		for _, err := range api.WatchSnapshot(ctx, refresh.Entity{Source: gameSource, Key: key}) {
			if err != nil {
				return 0, err
			}
		}
	}
	audit, err := f.game.audit(ctx)
	return audit.Calls, err
}

// bareLocks is how long as many clients take for a lock on each key, without
// versions, priorities or anything else.
func (l *lab) bareLocks(ctx context.Context) (time.Duration, error) {
	addr, err := l.servers.Redis(ctx)
	if err != nil {
		return 0, err
	}
	lock := make([]func(context.Context) (int, error), herdProcesses)
	for i := range lock {
		client := redis.NewClient(&redis.Options{Addr: addr})
		defer func() { _ = client.Close() }() // it only read and wrote locks
		if err := client.Ping(ctx).Err(); err != nil {
			return 0, err
		}
		lock[i] = func(ctx context.Context) (int, error) {
			pipe := client.Pipeline()
			for k := range herdSize {
				pipe.SetNX(ctx, fmt.Sprintf("bench:lock:%d", k), 1, 30*time.Second)
			}
			got, err := pipe.Exec(ctx)
			n := 0
			for _, one := range got {
				if set, ok := one.(*redis.BoolCmd); ok && set.Val() {
					n++
				}
			}
			return n, err
		}
	}
	sum, took, err := atOnce(ctx, lock)
	if err == nil && sum != herdSize {
		err = fmt.Errorf("%d bare locks were given for %d keys", sum, herdSize)
	}
	return took, err
}
