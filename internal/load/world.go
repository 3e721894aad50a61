package load

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"sluice/internal/domain"
	"sluice/internal/refresh"
	maplesim "sluice/internal/simulator/maplestory"
)

// hard is what the upstream allows in any second, rate what of it is used and
// burst how much at once; lowRate is LOW's share of it, and reserve what of the
// burst LOW leaves to HIGH.
const (
	hard    = 500
	rated   = 450
	burst   = 25
	lowRate = 350
	reserve = 15
)

// characters is how many the simulated upstream knows: more than any scenario
// asks for, so that every request can be about somebody new.
const characters = 5_000_000

// patience is how long what was asked for may take to be stored at the end.
const patience = 90 * time.Second

// world is what one scenario has to itself.
type world struct {
	Options
	faults
	length    time.Duration
	sim       *maplesim.Server
	seen      *tracker
	instances []*instance
	nodes     int
	// api is where the first instance serves reads.
	api string

	// before is what the workers had done when the scenario began.
	before counters
	next   atomic.Int64
	turn   atomic.Int64
	client *http.Client
	// closers end what was opened, last first.
	closers []func(ctx context.Context) error
}

// instance stands for one process.
type instance struct {
	// Its parts are those with the faults in between.
	*refresh.Pipeline
	dead atomic.Bool
}

func newWorld(ctx context.Context, o Options, s Scenario) (w *world, err error) {
	seconds := s.seconds
	if o.Seconds > 0 {
		seconds = o.Seconds
	}
	length := time.Duration(seconds) * time.Second
	// The longer it lasts, the longer the backlog is in the end.
	w = &world{Options: o, length: length, seen: newTracker(patience + length)}
	w.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: readsAtOnce}, Timeout: time.Minute}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close(context.WithoutCancel(ctx)))
		}
	}()
	run := strings.ToLower(rand.Text()[:12])
	w.sim = maplesim.New(maplesim.Options{
		Seed: seedOf(run), Characters: characters, BodySize: o.BodySize,
		Latency: maplesim.Latency{Fixed: 50 * time.Millisecond, Jitter: 50 * time.Millisecond},
	})
	url, err := w.serve(ctx, w.sim)
	if err != nil {
		return w, err
	}
	var backend *Backend
	for i := range s.instances {
		if backend == nil || o.Shared {
			if backend, err = o.Open(ctx, Instance{Run: run, Number: i, URL: url, Key: maplesim.DefaultKey}); err != nil {
				return w, err
			}
			w.closers = append(w.closers, backend.Close)
			w.nodes = backend.Nodes
		}
		if err := w.add(backend); err != nil {
			return w, err
		}
	}
	w.api, err = w.serve(ctx, backend.API(w.instances[0].Pipeline))
	return w, err
}

// seedOf makes a world of its own of every run.
func seedOf(run string) (seed uint64) {
	for _, c := range run {
		seed = seed*31 + uint64(c)
	}
	return seed
}

func (w *world) add(b *Backend) (err error) {
	one := &instance{}
	parts := ports{faults: &w.faults, kafka: w.Kafka, dead: &one.dead, seen: w.seen, inside: b.Parts}.wrap()
	one.Pipeline, err = refresh.NewPipeline(parts, refresh.Settings{Works: true})
	if err != nil {
		return err
	}
	w.instances = append(w.instances, one)
	return nil
}

// serve lets a handler be called through the loopback.
func (w *world) serve(ctx context.Context, h http.Handler) (url string, err error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", domain.Errorf(domain.CodeUnavailable, "listen: %w", err)
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(l) // it ends when it is closed
	}()
	w.closers = append(w.closers, func(context.Context) error {
		err := server.Close()
		<-ended
		return err
	})
	return "http://" + l.Addr().String(), nil
}

// start sets all instances to work.
func (w *world) start(ctx context.Context) error {
	for _, i := range w.instances {
		if err := i.Start(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) close(ctx context.Context) (err error) {
	w.heal()
	if w.Kafka && len(w.instances) > 0 {
		w.drain(ctx)
	}
	for _, i := range w.instances {
		err = errors.Join(err, i.Stop(ctx))
	}
	w.client.CloseIdleConnections()
	for i := len(w.closers) - 1; i >= 0; i-- {
		err = errors.Join(err, w.closers[i](ctx))
	}
	w.closers = nil
	return err
}

// drain waits until nothing is left in topics that the next scenario uses as
// well: what was taken and is not done would be handed out there, and asks for
// what only this one's upstream knows.
func (w *world) drain(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	log := w.instances[0].Log
	every := time.NewTicker(200 * time.Millisecond)
	defer every.Stop()
	for range every.C {
		high, err := log.Lag(limited, refresh.HighWorkers, refresh.TopicHigh)
		low, lowErr := log.Lag(limited, refresh.LowWorkers, refresh.TopicLow)
		if limited.Err() != nil || (err == nil && lowErr == nil && high.Records+low.Records+w.seen.underWay() == 0) {
			return
		}
	}
}

// fresh returns so many entities that nobody has asked for.
func (w *world) fresh(n int) []refresh.Entity {
	to := int(w.next.Add(int64(n)))
	out := make([]refresh.Entity, n)
	for i := range out {
		out[i] = w.entity(to - n + i)
	}
	return out
}

func (w *world) entity(i int) refresh.Entity {
	return refresh.Entity{Source: Source, Key: "item-equipment:" + w.sim.Ocid(i)}
}

// any returns an instance that lives, each in turn.
func (w *world) any() *instance {
	for range w.instances {
		one := w.instances[int(w.turn.Add(1))%len(w.instances)]
		if !one.dead.Load() {
			return one
		}
	}
	return w.instances[0]
}

// ask has entities refreshed by some instance. It reports whether that was
// accepted.
func (w *world) ask(ctx context.Context, entities []refresh.Entity, p domain.Priority) bool {
	return w.tryAsk(ctx, entities, p) == nil
}

func (w *world) tryAsk(ctx context.Context, entities []refresh.Entity, p domain.Priority) error {
	w.seen.expect(entities, p)
	_, err := w.any().Request(ctx, request(entities, p))
	if err != nil {
		w.seen.forget(entities)
	}
	return err
}

// askBatch is how many are asked for at once.
const askBatch = 100

// backlog asks for many at once.
func (w *world) backlog(ctx context.Context, n int, p domain.Priority) (refused int) {
	for n > 0 {
		part := min(n, askBatch)
		if !w.ask(ctx, w.fresh(part), p) {
			refused += part
		}
		n -= part
	}
	return refused
}

// ready sets all instances to work and waits until they have shared the work
// out: while they do, one may be handed what another has begun. What happened
// until then does not count.
func (w *world) ready(ctx context.Context) error {
	if err := w.start(ctx); err != nil {
		return err
	}
	if _, err := w.warm(ctx, warmed); err != nil {
		return err
	}
	// Locks are given up last.
	until(ctx, func() bool { return w.released.Load() >= warmed })
	w.released.Store(0)
	w.seen.settledDown()
	w.sim.ResetAudit()
	w.before = w.counters()
	return nil
}

// warm has entities stored, for readers to read. While servers are being started
// requests may be refused: they are asked for until they are accepted.
func (w *world) warm(ctx context.Context, n int) ([]refresh.Entity, error) {
	entities := w.fresh(n)
	var refused error
	until(ctx, func() bool {
		refused = w.tryAsk(ctx, entities, domain.PriorityHigh)
		return refused == nil
	})
	if refused != nil {
		return nil, refused
	}
	if left := w.seen.await(ctx, everybody); left > 0 {
		return nil, domain.Errorf(domain.CodeUnavailable, "%d of %d entities were not stored", left, n)
	}
	w.seen.highTimes()
	for _, e := range entities {
		if _, err := w.instances[0].Get(ctx, e); err != nil {
			return nil, err
		}
	}
	return entities, nil
}

// counters sums up what the workers of all instances have done since the
// scenario began.
func (w *world) counters() (c counters) {
	c.stored, c.touched, c.obsolete = -w.before.stored, -w.before.touched, -w.before.obsolete
	c.received, c.kept, c.dead, c.late = -w.before.received, -w.before.kept, -w.before.dead, -w.before.late
	for _, i := range w.instances {
		of := i.Worker().Counters()
		c.stored += of.Stored.Load()
		c.touched += of.Touched.Load()
		c.obsolete += of.Obsolete.Load()
		c.received += of.Received.Load()
		c.kept += of.Kept.Load()
		c.dead += of.Dead.Load()
		c.late += of.Late.Load()
	}
	return c
}

type counters struct{ stored, touched, obsolete, received, kept, dead, late int64 }
