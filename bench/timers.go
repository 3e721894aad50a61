package main

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"sluice/internal/config"
	"sluice/internal/engine/enginetest"
	"sluice/internal/source"
	"sluice/internal/timer"
	"sluice/internal/wiring"
)

// timerID names a timer. Names that follow upon each other would flatter an
// index that is sorted by them; those that people use are random.
func timerID(i int) string {
	hash := fnv.New128a()
	_ = binary.Write(hash, binary.BigEndian, int64(i))
	return hex.EncodeToString(hash.Sum(nil))
}

// timerSpec is a timer as a program might set it.
func timerSpec(i int, at time.Time) timer.Spec {
	return timer.Spec{ID: timerID(i), At: at, Payload: fmt.Appendf(nil, `{"order":%d,"attempt":1}`, i)}
}

// embeddedTimers are the options of a service that has everything to itself.
func embeddedTimers(dir string) wiring.Options {
	return wiring.Options{Config: config.Embedded(dir), Holder: "bench", Quota: wiring.NoQuota(), Sources: []source.Source{&enginetest.Noop{}}}
}

// startTimers starts a service; whoever hears is told of every completion.
func startTimers(ctx context.Context, o wiring.Options, server string, heard *firings) (*wiring.Service, error) {
	o.Timers.Server = server
	if heard != nil {
		o.Timers.Hook = heard.hook
	}
	svc, err := wiring.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := svc.Start(ctx); err != nil {
		return nil, errors.Join(err, svc.Close(context.WithoutCancel(ctx)))
	}
	return svc, nil
}

// firings gathers what the hook of one or several services is told.
type firings struct {
	// all is closed when so many timers have fired as there are.
	all chan struct{}

	mu   sync.Mutex
	left int
	seen map[string]bool
	// fired and told are how late the timers' completions are, and how late
	// the hook, which is told when they are committed, was called.
	fired, told []time.Duration
	twice       int
}

// expect returns what hears of n timers.
func expect(n int) *firings {
	return &firings{all: make(chan struct{}), left: n, seen: make(map[string]bool, n)}
}

func (f *firings) hook(_ context.Context, c timer.Completion) error {
	late := time.Since(c.Due)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.seen[c.Timer] {
		f.twice++
		return nil
	}
	f.seen[c.Timer] = true
	f.fired, f.told = append(f.fired, c.FiredAt.Sub(c.Due)), append(f.told, late)
	if f.left--; f.left == 0 {
		close(f.all)
	}
	return nil
}

// wait blocks until all have fired or the patience is over, and returns how
// many have not.
func (f *firings) wait(ctx context.Context, patience time.Duration) (missing int, err error) {
	end := time.NewTimer(patience)
	defer end.Stop()
	select {
	case <-f.all:
	case <-end.C:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.left, nil
}

// registration is how timers are set.
type registration struct {
	n, callers, batch int
	// from is where counting begins: other timers have other numbers.
	from int
	at   func(i int) time.Time
}

// run sets the timers and returns how many were set in a second.
func (r registration) run(ctx context.Context, timers *timer.Service) (perSecond float64, err error) {
	var next sync.Mutex
	taken := 0
	take := func() (first, end int) {
		next.Lock()
		defer next.Unlock()
		first = taken
		taken = min(taken+r.batch, r.n)
		return first, taken
	}
	began := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	for range r.callers {
		group.Go(func() error {
			specs := make([]timer.Spec, 0, r.batch)
			for first, end := take(); first < end; first, end = take() {
				specs = specs[:0]
				for i := first; i < end; i++ {
					specs = append(specs, timerSpec(r.from+i, r.at(i)))
				}
				if _, err := timers.Set(ctx, specs...); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err = group.Wait()
	return float64(r.n) / time.Since(began).Seconds(), err
}
