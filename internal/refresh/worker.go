package refresh

import (
	"cmp"
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"sluice/internal/batch"
	"sluice/internal/breaker"
	"sluice/internal/domain"
	"sluice/internal/quota/rate"
	"sluice/internal/refresh/eventlog"
)

// WorkerOptions are what a Worker works with. All but the numbers are needed.
type WorkerOptions struct {
	Log       eventlog.Log
	Coalescer Coalescer
	Snapshots Snapshots
	Rate      rate.Keeper
	// Fetchers are the upstreams by source.
	Fetchers map[string]Fetcher
	// Store and Upstream keep the worker away from what fails.
	Store, Upstream *breaker.Breaker
	// Stored, if set, is told what was saved, so that caches forget it.
	Stored func(ctx context.Context, changes []Change)
	// Lags, if set, is told how fast the worker is, and keeps LOW back while
	// HIGH lags.
	Lags *Lags
	// HighInFlight and LowInFlight bound the events under way; default 256
	// each.
	HighInFlight, LowInFlight int
	// Tries is how often an upstream that fails is asked; default 3.
	Tries int
	// Backoff is the delay after the first failure; it doubles. Default 500 ms.
	Backoff time.Duration
	Now     func() time.Time
	Slog    *slog.Logger
}

// WorkerCounters count since the worker was made.
type WorkerCounters struct {
	Taken, Obsolete, Calls, Stored, Touched, Retried, Dead, Waited, Late atomic.Int64
	Received, Kept                                                       atomic.Int64
}

// Worker carries out refreshes: obsolete? reserve, call, save, done, release.
type Worker struct {
	WorkerOptions
	saves    *batch.Group[save]
	counters WorkerCounters
	late     lateness
}

const (
	highBatch = 20
	lowBatch  = 100
	// savePatience lets results that come together be saved together.
	savePatience = 2 * time.Millisecond
	// saveTrips lets values be compressed while others are being written.
	saveTrips = 3
)

// NewWorker returns a worker that does not run yet.
func NewWorker(o WorkerOptions) (*Worker, error) {
	if o.Log == nil || o.Coalescer == nil || o.Snapshots == nil || o.Rate == nil || o.Store == nil || o.Upstream == nil || len(o.Fetchers) == 0 {
		return nil, domain.Errorf(domain.CodeInvalid, "a refresh worker needs a log, a coalescer, snapshots, a rate, breakers and an upstream")
	}
	o.HighInFlight, o.LowInFlight = cmp.Or(o.HighInFlight, 256), cmp.Or(o.LowInFlight, 256)
	o.Tries, o.Backoff = cmp.Or(o.Tries, 3), cmp.Or(o.Backoff, 500*time.Millisecond)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Slog == nil {
		o.Slog = slog.New(slog.DiscardHandler)
	}
	w := &Worker{WorkerOptions: o}
	w.saves = batch.New(lowBatch, w.applySaves).Patient(savePatience).Trips(saveTrips)
	return w, nil
}

// Counters returns the worker's counters.
func (w *Worker) Counters() *WorkerCounters { return &w.counters }

// Run works until ctx ends; what is under way then is given up, and taken again
// by somebody else.
func (w *Worker) Run(ctx context.Context) {
	var lanes sync.WaitGroup
	lanes.Go(func() {
		w.lane(ctx, eventlog.High, eventlog.HighWorkers, domain.PriorityHigh, highBatch, w.HighInFlight)
	})
	lanes.Go(func() { w.lane(ctx, eventlog.Low, eventlog.LowWorkers, domain.PriorityLow, lowBatch, w.LowInFlight) })
	lanes.Wait()
}

// lane joins a group and deals with what comes, again and again.
func (w *Worker) lane(ctx context.Context, topic eventlog.Topic, group string, p domain.Priority, size, inFlight int) {
	failed := time.Duration(0)
	for ctx.Err() == nil {
		consumer, err := w.Log.Join(ctx, group, topic)
		if err == nil {
			failed = 0
			l := &lane{Worker: w, consumer: consumer, priority: p, size: size, places: make(chan struct{}, inFlight)}
			err = l.run(ctx)
			l.close(ctx)
		}
		if err != nil && ctx.Err() == nil {
			w.Slog.Warn("refreshes wait for their log", "topic", topic, "error", err)
		}
		failed = min(max(2*failed, 100*time.Millisecond), 5*time.Second)
		pause(ctx, failed)
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// lane is one priority's flow through the worker.
type lane struct {
	*Worker
	consumer eventlog.Consumer
	priority domain.Priority
	size     int
	// places bounds the events under way.
	places chan struct{}
	work   sync.WaitGroup
	// dealt counts what the lane is done with.
	dealt atomic.Int64
	// holds is how many reasons there are to take nothing new.
	holdMu sync.Mutex
	holds  int
}

// closeTime is how long leaving the group may take.
const closeTime = 5 * time.Second

func (l *lane) close(ctx context.Context) {
	l.work.Wait()
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	if err := l.consumer.Close(limited); err != nil {
		l.Slog.Warn("leave the group", "priority", l.priority, "error", err)
	}
}

// run takes records and has them dealt with. It returns when the log fails.
func (l *lane) run(ctx context.Context) error {
	for ctx.Err() == nil {
		// No more is taken than there are places: the rest is others'.
		n := l.reservePlaces(ctx)
		if n == 0 {
			return nil
		}
		records, err := l.consumer.Take(ctx, n)
		l.freePlaces(n - len(records))
		if err != nil {
			return err
		}
		if len(records) == 0 {
			continue
		}
		l.counters.Taken.Add(int64(len(records)))
		l.deal(ctx, records)
		l.letHighPass(ctx)
	}
	return nil
}

const (
	// highLags is how many HIGH events may wait before LOW stands back.
	highLags  = 500
	standBack = 500 * time.Millisecond
)

// letHighPass keeps LOW back while HIGH lags. It stays a member of its group.
func (l *lane) letHighPass(ctx context.Context) {
	if l.Lags == nil {
		return
	}
	l.Lags.Dealt(l.priority, l.dealt.Load())
	if l.priority != domain.PriorityLow || l.Lags.Lag(domain.PriorityHigh).Records <= highLags { //nolint:contextcheck // the figure is everybody's
		return
	}
	l.hold()
	defer l.letGo()
	for ctx.Err() == nil && l.Lags.Lag(domain.PriorityHigh).Records > highLags { //nolint:contextcheck // the figure is everybody's
		pause(ctx, standBack)
	}
}

// reservePlaces waits for a place and takes as many as a batch needs.
func (l *lane) reservePlaces(ctx context.Context) int {
	select {
	case l.places <- struct{}{}:
	case <-ctx.Done():
		return 0
	}
	n := 1
	for n < l.size {
		select {
		case l.places <- struct{}{}:
			n++
		default:
			return n
		}
	}
	return n
}

func (l *lane) freePlaces(n int) {
	for range n {
		<-l.places
	}
}

// task is one event under way.
type task struct {
	event  Event
	record eventlog.Record
	tries  int
	began  time.Time
}

// deal sorts records: what cannot be read is buried, what is obsolete is done,
// the rest is called for.
func (l *lane) deal(ctx context.Context, records []eventlog.Record) {
	tasks := make([]*task, 0, len(records))
	for _, r := range records {
		event, err := DecodeEvent(r.Value)
		t := &task{event: event, record: r, began: l.Now()}
		if err != nil {
			l.work.Go(func() { l.bury(ctx, t, Fetched{Code: "UNREADABLE_EVENT", Error: err.Error()}) })
			continue
		}
		if _, known := l.Fetchers[event.Source]; !known {
			l.work.Go(func() {
				l.bury(ctx, t, Fetched{Code: "UNKNOWN_SOURCE", Error: "there is no source " + event.Source})
			})
			continue
		}
		tasks = append(tasks, t)
	}
	tasks = l.dropObsolete(ctx, tasks)
	if len(tasks) > 0 {
		l.call(ctx, tasks)
	}
}

// call makes the calls as the rate allows, each in a goroutine of its own.
func (l *lane) call(ctx context.Context, tasks []*task) {
	bySource := map[string][]*task{}
	for _, t := range tasks {
		bySource[t.event.Source] = append(bySource[t.event.Source], t)
	}
	for source, todo := range bySource {
		for len(todo) > 0 {
			grant := l.reserve(ctx, source, len(todo))
			if grant.Calls == 0 {
				// The engine stops; they are taken again.
				l.freePlaces(len(todo))
				return
			}
			for _, t := range todo[:grant.Calls] {
				l.work.Go(func() { l.attempt(ctx, t, grant.at) })
			}
			todo = todo[grant.Calls:]
			if len(todo) > 0 {
				// Asking sooner would be another place in the line, and this one
				// would go to waste.
				pause(ctx, grant.RetryAt.Sub(l.Now()))
			}
		}
	}
}

// reserve waits until at least one call is granted; none only if ctx ends.
func (l *lane) reserve(ctx context.Context, source string, n int) granted {
	for delay := 100 * time.Millisecond; ctx.Err() == nil; {
		asked := l.Now()
		grant, err := l.Rate.Reserve(ctx, source, l.priority, n)
		if err != nil {
			// Nobody knows how much is left: nothing is called.
			l.Slog.Warn("refreshes wait for their rate", "source", source, "error", err)
			pause(ctx, delay)
			delay = min(2*delay, 5*time.Second)
			continue
		}
		if grant.Calls > 0 {
			return granted{grant, asked}
		}
		l.counters.Waited.Add(1)
		pause(ctx, max(grant.RetryAt.Sub(l.Now()), time.Millisecond))
	}
	return granted{}
}

// granted is a grant and when it was given, or a little earlier.
type granted struct {
	rate.Grant
	at time.Time
}

// attempt makes one call that was granted and deals with its answer.
func (l *lane) attempt(ctx context.Context, t *task, grantedAt time.Time) {
	fetcher := l.Fetchers[t.event.Source]
	var f Fetched
	err := l.Upstream.Do(ctx, func() error {
		l.counters.Calls.Add(1)
		f = fetcher.Fetch(ctx, t.event.Key, func() { l.sent(ctx, t.event.Source, grantedAt) })
		if f.Verdict == FetchRetry {
			return domain.Errorf(domain.CodeUnavailable, "%s", f.Error)
		}
		return nil
	})
	if err != nil && f.Verdict == 0 {
		// The breaker is open: the call was not made.
		l.giveBack(ctx, t)
		f = Fetched{Verdict: FetchWait, Wait: max(l.Upstream.Until(), time.Second), Error: err.Error()}
	} else if f.Free {
		l.giveBack(ctx, t)
	}
	if f.Everywhere {
		if f.Verdict == FetchDead {
			// It is not about this entity: a person must look at the credential.
			f.Verdict, f.Wait = FetchWait, refusedPause
		}
		l.stayAway(ctx, t, f)
	}
	l.judge(ctx, t, f)
}

// refusedPause is how long an upstream is left alone that refuses everything.
const refusedPause = time.Minute

// stayAway lets nobody call the upstream for a while.
func (l *lane) stayAway(ctx context.Context, t *task, f Fetched) {
	l.Slog.Warn("the upstream wants to be left alone", "source", t.event.Source, "for", f.Wait, "error", f.Error)
	if err := l.Rate.Pause(ctx, t.event.Source, l.Now().Add(f.Wait)); err != nil && ctx.Err() == nil {
		l.Slog.Warn("pause", "source", t.event.Source, "error", err)
	}
}

func (l *lane) giveBack(ctx context.Context, t *task) {
	if err := l.Rate.Refund(ctx, t.event.Source, l.priority, 1); err != nil {
		l.Slog.Warn("refund", "source", t.event.Source, "error", err)
	}
}

func (l *lane) judge(ctx context.Context, t *task, f Fetched) {
	switch {
	case ctx.Err() != nil:
		l.freePlaces(1) // it is taken again
	case f.Verdict == FetchDone:
		l.counters.Received.Add(int64(f.Received))
		l.counters.Kept.Add(int64(len(f.Body)))
		l.save(ctx, t, f)
	case f.Verdict == FetchWait:
		l.again(ctx, t, f.Wait)
	case f.Verdict == FetchRetry && t.tries+1 < l.Tries:
		t.tries++
		l.counters.Retried.Add(1)
		l.setStatus(ctx, t, StatusRetrying, f.Error)
		delay := l.Backoff << (t.tries - 1)
		l.again(ctx, t, delay/2+rand.N(delay/2+1))
	default:
		t.tries++
		l.bury(ctx, t, f)
	}
}

// again calls once more after a while.
func (l *lane) again(ctx context.Context, t *task, d time.Duration) {
	pause(ctx, d)
	grant := l.reserve(ctx, t.event.Source, 1)
	if grant.Calls == 0 {
		l.freePlaces(1)
		return
	}
	l.attempt(ctx, t, grant.at)
}
