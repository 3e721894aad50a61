package load

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"sluice/internal/backoff"
	"sluice/internal/domain"
	"sluice/internal/refresh"
)

const (
	// step is how often a part of a second's requests is made.
	step = 5 * time.Millisecond
	// readsAtOnce bounds the reads under way; those that find no place wait, and
	// their waiting counts.
	readsAtOnce = 500
	// warmed is how many entities readers know.
	warmed = 400
	// readRate is how many reads are made a second where readers are watched.
	readRate = 2000
)

// traffic is what is offered while a scenario lasts, by the second.
type traffic struct {
	high, low, reads int
	// unknown is which share of the reads, one in so many, is of entities that
	// nobody has asked for; 0 is none.
	unknown int
	// during, if set, does something while the traffic flows.
	during func(ctx context.Context) error
}

// flow is what became of it.
type flow struct {
	asked, refused int64
	// accepted is how long requests took to be accepted.
	accepted       []time.Duration
	readTimes      []time.Duration
	readsFailed    int64
	callsPerSecond float64
}

// times gathers how long things took.
type times struct {
	mu  sync.Mutex
	all []time.Duration
}

func (t *times) add(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = append(t.all, d)
}

// settling is how long traffic flows before its pace is measured.
const settling = time.Second

// carry offers traffic for as long as the scenario lasts.
func (w *world) carry(ctx context.Context, t traffic) (f flow, err error) {
	known, err := w.warm(ctx, warmed)
	if err != nil {
		return f, err
	}
	w.sim.ResetAudit()
	limited, cancel := context.WithTimeout(ctx, w.length)
	defer cancel()
	var work sync.WaitGroup
	var asked, refused atomic.Int64
	var accepted times
	offer := func(perSecond int, p domain.Priority) {
		w.pace(limited, perSecond, func(n int) {
			asked.Add(int64(n))
			began := time.Now()
			if !w.ask(ctx, w.fresh(n), p) {
				refused.Add(int64(n))
				return
			}
			accepted.add(time.Since(began))
		})
	}
	work.Go(func() { offer(t.high, domain.PriorityHigh) })
	work.Go(func() { offer(t.low, domain.PriorityLow) })
	work.Go(func() { f.readTimes, f.readsFailed = w.read(ctx, limited, t, known) })
	work.Go(func() { f.callsPerSecond = w.measure(limited) })
	if t.during != nil {
		work.Go(func() {
			if err = t.during(limited); err != nil {
				cancel()
			}
		})
	}
	work.Wait()
	w.heal()
	f.asked, f.refused, f.accepted = asked.Load(), refused.Load(), accepted.all
	return f, err
}

// measure returns how many calls a second the upstream got once traffic flows.
func (w *world) measure(ctx context.Context) float64 {
	backoff.Sleep(ctx, min(settling, w.length/4))
	began, before := time.Now(), w.sim.Audit().Calls
	<-ctx.Done()
	return float64(w.sim.Audit().Calls-before) / time.Since(began).Seconds()
}

// pace calls do, in goroutines of their own, with how many are due, until ctx
// ends: who is slow does not slow down the others, as it is with real callers.
// It returns when all are back.
func (w *world) pace(ctx context.Context, perSecond int, do func(n int)) {
	if perSecond == 0 {
		return
	}
	var work sync.WaitGroup
	defer work.Wait()
	every := time.NewTicker(step)
	defer every.Stop()
	began, done := time.Now(), 0
	for {
		select {
		case <-every.C:
		case <-ctx.Done():
			return
		}
		n := int(time.Since(began).Seconds()*float64(perSecond)) - done
		if n > 0 {
			done += n
			work.Go(func() { do(n) })
		}
	}
}

// read reads over HTTP until ctx ends.
func (w *world) read(ctx, until context.Context, t traffic, known []refresh.Entity) (took []time.Duration, failed int64) {
	var all times
	var failures atomic.Int64
	places := make(chan struct{}, readsAtOnce)
	var work sync.WaitGroup
	w.pace(until, t.reads, func(n int) {
		due := time.Now()
		for range n {
			e := known[rand.IntN(len(known))]
			if t.unknown > 0 && rand.IntN(t.unknown) == 0 {
				e = w.fresh(1)[0]
			}
			places <- struct{}{}
			work.Go(func() {
				if !w.get(ctx, e) {
					failures.Add(1)
				}
				<-places
				all.add(time.Since(due))
			})
		}
	})
	work.Wait()
	return all.all, failures.Load()
}

// get reads one entity over HTTP and reports whether that went well.
func (w *world) get(ctx context.Context, e refresh.Entity) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.api+"/api/v1/snapshots/"+e.Source+"/"+e.Key, nil)
	if err != nil {
		return false
	}
	answer, err := w.client.Do(request)
	if err != nil {
		return false
	}
	defer func() { _ = answer.Body.Close() }()
	_, err = io.Copy(io.Discard, answer.Body)
	return err == nil && answer.StatusCode == http.StatusOK
}

// The limits of issue 6.
const (
	readP95  = 5
	readP99  = 20
	highP95  = 1000
	usedRate = 445
)

// judgeReads says how long readers waited.
func (f *flow) judgeReads(r *Result) {
	r.note("reads", float64(len(f.readTimes)))
	r.exactly("reads_failed", f.readsFailed, 0)
	r.below("read_p95_ms", percentile(f.readTimes, 95), readP95)
	r.below("read_p99_ms", percentile(f.readTimes, 99), readP99)
}

// judgeHigh says how long HIGH took from request to stored snapshot.
func (w *world) judgeHigh(r *Result) {
	took := w.seen.highTimes()
	r.note("high_stored", float64(len(took)))
	r.below("high_p95_ms", percentile(took, 95), highP95)
}

// judgeUpstream says whether the upstream was content.
func (w *world) judgeUpstream(r *Result) {
	audit := w.sim.Audit()
	r.note("calls", float64(audit.Calls))
	r.note("calls_late", float64(w.counters().late))
	r.atMost("largest_second", float64(audit.LargestSecond), hard)
	r.exactly("calls_refused", audit.Violations, 0)
}

// judgeLost waits until everything that was accepted is stored.
func (w *world) judgeLost(ctx context.Context, r *Result) {
	r.exactly("lost", w.seen.await(ctx, everybody), 0)
	dead := w.counters().dead
	if dead > 0 {
		dead = w.ownLetters(ctx, r, dead)
	}
	r.exactly("dead_letters", dead, 0)
}

// ownLetters counts the refreshes that were given up and that this scenario asked
// for, and says why. What was under way when another one ended is handed out
// here, and this upstream does not know it.
func (w *world) ownLetters(ctx context.Context, r *Result, all int64) (dead int64) {
	own := make(map[refresh.Entity]bool, w.next.Load())
	for i := range int(w.next.Load()) {
		own[w.entity(i)] = true
	}
	letters, err := w.instances[0].DeadLetterList(ctx, refresh.DeadLetterQuery{Source: Source, Limit: 1000})
	if err != nil {
		r.Why = err.Error()
		return all
	}
	for i := range letters {
		if own[letters[i].Entity] {
			dead++
			r.Why = fmt.Sprintf("%s was given up after %d tries: %s %s", letters[i].Entity, letters[i].Tries, letters[i].Why, letters[i].Error)
		}
	}
	return dead
}

// enough is the share of what is received that need not be kept, and fullSize
// the size of answers for which that was promised.
const (
	enough   = 94
	fullSize = 300_000
)

// judgeStorage says how much less is kept than was received.
func (w *world) judgeStorage(r *Result) {
	c := w.counters()
	if c.received == 0 {
		return
	}
	saved := 100 * (1 - float64(c.kept)/float64(c.received))
	if w.BodySize == 0 || w.BodySize >= fullSize {
		r.atLeast("storage_saved_percent", saved, enough)
		return
	}
	r.note("storage_saved_percent", saved)
}
