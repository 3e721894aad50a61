package refresh_test

import (
	"context"
	"crypto/sha256"
	"sync"
	"sync/atomic"
	"time"

	"sluice/internal/domain"
	"sluice/internal/quota/rate"
	"sluice/internal/refresh"
	"sluice/internal/refresh/eventlog"
)

// faults lets operations fail, hang or be counted, by name.
type faults struct {
	mu     sync.Mutex
	by     map[string]func(context.Context) error
	done   map[string]int
	paused atomic.Int64
}

func newFaults() *faults {
	return &faults{by: map[string]func(context.Context) error{}, done: map[string]int{}}
}

var errDown = domain.Errorf(domain.CodeUnavailable, "it is down")

func down(context.Context) error { return errDown }

// hang answers after a time that no caller wants to wait for.
func hang(d time.Duration) func(context.Context) error {
	return func(context.Context) error {
		<-time.After(d)
		return nil
	}
}

// breaks lets operations fail from now on; nil ends that.
func (f *faults) breaks(fault func(context.Context) error, operations ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range operations {
		f.by[name] = fault
	}
}

func (f *faults) times(operation string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.done[operation]
}

func (f *faults) at(ctx context.Context, operation string) error {
	f.mu.Lock()
	f.done[operation]++
	fault := f.by[operation]
	f.mu.Unlock()
	if fault == nil {
		return nil
	}
	return fault(ctx)
}

type shakyLog struct {
	eventlog.Log
	*faults
}

func (l *shakyLog) Publish(ctx context.Context, topic eventlog.Topic, messages ...eventlog.Message) error {
	if err := l.at(ctx, "publish"); err != nil {
		return err
	}
	return l.Log.Publish(ctx, topic, messages...)
}

func (l *shakyLog) Join(ctx context.Context, group string, topic eventlog.Topic) (eventlog.Consumer, error) {
	if err := l.at(ctx, "join"); err != nil {
		return nil, err
	}
	c, err := l.Log.Join(ctx, group, topic)
	return &shakyConsumer{c, l.faults}, err
}

type shakyConsumer struct {
	eventlog.Consumer
	*faults
}

func (c *shakyConsumer) Pause()  { c.paused.Add(1); c.Consumer.Pause() }
func (c *shakyConsumer) Resume() { c.paused.Add(-1); c.Consumer.Resume() }

func (c *shakyConsumer) Take(ctx context.Context, n int) ([]eventlog.Record, error) {
	if err := c.at(ctx, "take"); err != nil {
		return nil, err
	}
	return c.Consumer.Take(ctx, n)
}

type shakyCoalescer struct {
	refresh.Coalescer
	*faults
}

func (c *shakyCoalescer) Acquire(ctx context.Context, asks ...refresh.Ask) ([]refresh.Grant, error) {
	if err := c.at(ctx, "acquire"); err != nil {
		return nil, err
	}
	return c.Coalescer.Acquire(ctx, asks...)
}

func (c *shakyCoalescer) Release(ctx context.Context, locks ...refresh.Lock) error {
	if err := c.at(ctx, "release"); err != nil {
		return err
	}
	return c.Coalescer.Release(ctx, locks...)
}

func (c *shakyCoalescer) Versions(ctx context.Context, entities ...refresh.Entity) ([]int64, error) {
	if err := c.at(ctx, "versions"); err != nil {
		return nil, err
	}
	return c.Coalescer.Versions(ctx, entities...)
}

type shakyStore struct {
	refresh.Snapshots
	*faults
}

func (s *shakyStore) Snapshot(ctx context.Context, e refresh.Entity) (refresh.Snapshot, bool, *refresh.Status, error) {
	if err := s.at(ctx, "snapshot"); err != nil {
		return refresh.Snapshot{}, false, nil, err
	}
	return s.Snapshots.Snapshot(ctx, e)
}

func (s *shakyStore) Save(ctx context.Context, refreshed []refresh.Refreshed) ([]refresh.Saved, error) {
	if err := s.at(ctx, "save"); err != nil {
		return nil, err
	}
	return s.Snapshots.Save(ctx, refreshed)
}

func (s *shakyStore) SetStatus(ctx context.Context, statuses []refresh.VersionedStatus) error {
	if err := s.at(ctx, "status"); err != nil {
		return err
	}
	return s.Snapshots.SetStatus(ctx, statuses)
}

func (s *shakyStore) Bury(ctx context.Context, letters []refresh.DeadLetter) error {
	if err := s.at(ctx, "bury"); err != nil {
		return err
	}
	return s.Snapshots.Bury(ctx, letters)
}

func (s *shakyStore) Unbury(ctx context.Context, ids []string) ([]refresh.DeadLetter, error) {
	if err := s.at(ctx, "unbury"); err != nil {
		return nil, err
	}
	return s.Snapshots.Unbury(ctx, ids)
}

type shakyRate struct {
	rate.Keeper
	*faults
}

func (r *shakyRate) Reserve(ctx context.Context, upstream string, p domain.Priority, n int) (rate.Grant, error) {
	if err := r.at(ctx, "reserve"); err != nil {
		return rate.Grant{}, err
	}
	return r.Keeper.Reserve(ctx, upstream, p, n)
}

// script is an upstream whose answers a test decides.
type script struct {
	mu      sync.Mutex
	calls   map[string]int
	answers func(ctx context.Context, key string, n int) refresh.Fetched
}

// scripted answers with what a function says of a key's n-th call, from one.
func scripted(answers func(ctx context.Context, key string, n int) refresh.Fetched) *script {
	return &script{calls: map[string]int{}, answers: answers}
}

func (s *script) CheckKey(key string) (string, error) { return key, nil }

func (s *script) Fetch(ctx context.Context, key string, sent func()) refresh.Fetched {
	sent()
	s.mu.Lock()
	s.calls[key]++
	n := s.calls[key]
	s.mu.Unlock()
	return s.answers(ctx, key, n)
}

func (s *script) called(key string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[key]
}

func (s *script) all() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, calls := range s.calls {
		n += calls
	}
	return n
}

// is answers with a value.
func is(body string) refresh.Fetched {
	return refresh.Fetched{
		Verdict: refresh.FetchDone, Body: []byte(body), Hash: sha256.Sum256([]byte(body)), Received: len(body), HTTPStatus: 200,
	}
}

func always(body string) *script {
	return scripted(func(context.Context, string, int) refresh.Fetched { return is(body) })
}
