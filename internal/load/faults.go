package load

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"sluice/internal/domain"
	"sluice/internal/quota/rate"
	"sluice/internal/refresh"
)

// stall makes calls wait while it is on.
type stall struct {
	mu   sync.Mutex
	each time.Duration
	// over is closed when the stall ends; nil while there is none.
	over chan struct{}
	// noticed is closed when the first call meets the stall.
	noticed chan struct{}
	met     atomic.Int64
}

// begin lets every call wait so long, or until end.
func (s *stall) begin(each time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over == nil {
		s.over, s.noticed = make(chan struct{}), make(chan struct{})
	}
	s.each = each
}

// endOnceMet ends the stall after a call has met it: on a machine that is busy with
// other things a whole scenario may pass without that.
func (s *stall) endOnceMet(ctx context.Context) {
	s.mu.Lock()
	noticed := s.noticed
	s.mu.Unlock()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-noticed:
	case <-late.C:
	case <-ctx.Done():
	}
	s.end()
}

func (s *stall) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over != nil {
		close(s.over)
		s.over = nil
	}
}

func (s *stall) wait(ctx context.Context) error {
	s.mu.Lock()
	over, each := s.over, s.each
	if over != nil {
		s.met.Add(1)
		select {
		case <-s.noticed:
		default:
			close(s.noticed)
		}
	}
	s.mu.Unlock()
	if over == nil {
		return nil
	}
	timer := time.NewTimer(each)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-over:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// faults are what is wrong with what all instances share.
type faults struct {
	// down says that nobody hands out locks and calls; unless Kafka carries
	// requests, nobody does that either.
	down atomic.Bool
	// store, log and upstream are slow; taking holds what workers have taken.
	store, log, upstream, taking stall
	// released counts the locks that were given up; granted the calls that may
	// be made, and ended those that were, or never will be.
	released, granted, ended atomic.Int64
}

// heal ends all faults.
func (f *faults) heal() {
	f.down.Store(false)
	f.store.end()
	f.log.end()
	f.upstream.end()
	f.taking.end()
}

// ports are one instance's parts with the faults in between.
type ports struct {
	*faults
	kafka bool
	// dead says that this instance has no effect any more.
	dead   *atomic.Bool
	seen   *tracker
	inside refresh.Parts
}

// wrap puts the faults in front of parts.
func (p ports) wrap() refresh.Parts {
	out := p.inside
	out.Log = &faultyLog{p.inside.Log, p}
	out.Coalescer = &faultyCoalescer{p.inside.Coalescer, p}
	out.Rate = &faultyRate{p.inside.Rate, p}
	out.Snapshots = &faultySnapshots{p.inside.Snapshots, p}
	out.Upstreams = make(map[string]refresh.Upstream, len(p.inside.Upstreams))
	for name, u := range p.inside.Upstreams {
		out.Upstreams[name] = &faultyUpstream{u, p}
	}
	return out
}

func (p *ports) alive() error {
	if p.dead.Load() {
		return domain.Errorf(domain.CodeUnavailable, "this instance was killed")
	}
	return nil
}

// reach fails while Redis is down.
func (p *ports) reach() error {
	if p.down.Load() {
		return domain.Errorf(domain.CodeUnavailable, "Redis is down")
	}
	return p.alive()
}

func (p *ports) reachLog() error {
	if p.kafka {
		return p.alive()
	}
	return p.reach()
}

type faultyLog struct {
	refresh.EventLog
	ports
}

// Publish implements refresh.EventLog.
func (l *faultyLog) Publish(ctx context.Context, topic refresh.Topic, messages ...refresh.Message) error {
	if err := l.log.wait(ctx); err != nil {
		return err
	}
	if err := l.reachLog(); err != nil {
		return err
	}
	return l.EventLog.Publish(ctx, topic, messages...)
}

// Join implements refresh.EventLog.
func (l *faultyLog) Join(ctx context.Context, group string, topic refresh.Topic) (refresh.LogConsumer, error) {
	if err := l.reachLog(); err != nil {
		return nil, err
	}
	c, err := l.EventLog.Join(ctx, group, topic)
	if err != nil {
		return nil, err
	}
	return &faultyConsumer{c, l.ports}, nil
}

type faultyConsumer struct {
	refresh.LogConsumer
	ports
}

// Take implements refresh.LogConsumer.
func (c *faultyConsumer) Take(ctx context.Context, n int) ([]refresh.LogRecord, error) {
	if err := c.reachLog(); err != nil {
		return nil, err
	}
	records, err := c.LogConsumer.Take(ctx, n)
	c.seen.handed(records)
	if err == nil && len(records) > 0 {
		err = c.taking.wait(ctx)
	}
	return records, err
}

// Done implements refresh.LogConsumer. The tracker looks whether it is too early.
func (c *faultyConsumer) Done(ctx context.Context, records ...refresh.LogRecord) error {
	if err := c.alive(); err != nil {
		return err
	}
	c.seen.done(records)
	return c.LogConsumer.Done(ctx, records...)
}

type faultyCoalescer struct {
	refresh.Coalescer
	ports
}

// Acquire implements refresh.Coalescer.
func (c *faultyCoalescer) Acquire(ctx context.Context, asks ...refresh.Ask) ([]refresh.Grant, error) {
	if err := c.reach(); err != nil {
		return nil, err
	}
	return c.Coalescer.Acquire(ctx, asks...)
}

// Release implements refresh.Coalescer.
func (c *faultyCoalescer) Release(ctx context.Context, locks ...refresh.Lock) error {
	if err := c.reach(); err != nil {
		return err
	}
	err := c.Coalescer.Release(ctx, locks...)
	if err == nil {
		c.released.Add(int64(len(locks)))
	}
	return err
}

// Versions implements refresh.Coalescer.
func (c *faultyCoalescer) Versions(ctx context.Context, entities ...refresh.Entity) ([]int64, error) {
	if err := c.reach(); err != nil {
		return nil, err
	}
	return c.Coalescer.Versions(ctx, entities...)
}

type faultyRate struct {
	rate.Keeper
	ports
}

// Reserve implements rate.Keeper.
func (k *faultyRate) Reserve(ctx context.Context, upstream string, p domain.Priority, n int) (rate.Grant, error) {
	if err := k.reach(); err != nil {
		return rate.Grant{}, err
	}
	grant, err := k.Keeper.Reserve(ctx, upstream, p, n)
	k.granted.Add(int64(grant.Calls))
	return grant, err
}

// Refund implements rate.Keeper.
func (k *faultyRate) Refund(ctx context.Context, upstream string, p domain.Priority, n int) error {
	k.ended.Add(int64(n))
	if err := k.reach(); err != nil {
		return err
	}
	return k.Keeper.Refund(ctx, upstream, p, n)
}

type faultySnapshots struct {
	refresh.Snapshots
	ports
}

// Snapshot implements refresh.Snapshots.
func (s *faultySnapshots) Snapshot(ctx context.Context, e refresh.Entity) (refresh.Snapshot, bool, *refresh.Status, error) {
	if err := s.store.wait(ctx); err != nil {
		return refresh.Snapshot{}, false, nil, err
	}
	return s.Snapshots.Snapshot(ctx, e)
}

// Save implements refresh.Snapshots. What it saved, the tracker is told.
func (s *faultySnapshots) Save(ctx context.Context, rows []refresh.Refreshed) ([]refresh.Saved, error) {
	if err := s.store.wait(ctx); err != nil {
		return nil, err
	}
	if err := s.alive(); err != nil {
		return nil, err
	}
	saved, err := s.Snapshots.Save(ctx, rows)
	if err == nil {
		s.seen.saved(rows)
	}
	return saved, err
}

// SetStatus implements refresh.Snapshots.
func (s *faultySnapshots) SetStatus(ctx context.Context, statuses []refresh.VersionedStatus) error {
	if err := s.store.wait(ctx); err != nil {
		return err
	}
	return s.Snapshots.SetStatus(ctx, statuses)
}

// Read implements refresh.Snapshots.
func (s *faultySnapshots) Read(ctx context.Context, reads []refresh.Read) error {
	if err := s.store.wait(ctx); err != nil {
		return err
	}
	return s.Snapshots.Read(ctx, reads)
}

type faultyUpstream struct {
	refresh.Upstream
	ports
}

// Unwrap is the upstream behind the faults.
func (u *faultyUpstream) Unwrap() refresh.Upstream { return u.Upstream }

// Fetch implements refresh.Fetcher. A call that waits here has not been made.
func (u *faultyUpstream) Fetch(ctx context.Context, key string, sent func()) refresh.Fetched {
	if err := u.upstream.wait(ctx); err != nil {
		return refresh.Fetched{Verdict: refresh.FetchWait, Free: true, Error: err.Error()}
	}
	f := u.Upstream.Fetch(ctx, key, sent)
	if !f.Free {
		u.ended.Add(1)
	}
	return f
}
