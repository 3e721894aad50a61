package timers_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
	"sluice/internal/testkit/sluice"
	"sluice/internal/timer"
	"sluice/internal/wiring"
)

var (
	timerCount   = flag.Int("timers", 400, "how many timers the proof of several servers sets")
	timerSeconds = flag.Int("timer-seconds", 8, "over how many seconds they are set and due")
)

const (
	// timerCallers set timers at once; each waits for its answer.
	timerCallers = 24
	// timerPatience is how long a caller waits before he asks another server.
	timerPatience = 3 * time.Second
	// timerEnd is how long everything may take when the faults are over.
	timerEnd = 5 * time.Minute
	// timerLook is how long one look at what is left may take: a server that was
	// restarted may have taken a question and never answer it.
	timerLook = 20 * time.Second
	// timerWebhooks is how many timers have a webhook, at the most, and
	// standInTimers how many there may be if something stands in for MongoDB:
	// that searches all of the log for each record that is changed.
	timerWebhooks, standInTimers = 100, 800
)

// TestTimersManyServers sets timers through five servers while everything that
// can go wrong does. In the end each has fired once, none early; and the rows,
// the log of completions and whoever got a webhook agree about when.
func TestTimersManyServers(t *testing.T) {
	cases := []timerCase{
		{trigger: "due-set", timers: *timerCount},
		// Key expiry is late with many timers, and Redis is to look for them
		// as often as it can.
		{trigger: "keyspace", timers: max(1, *timerCount/4), redis: []string{"--hz", "100"}},
	}
	for i := range cases {
		cases[i].mongo = cases[i].timers <= standInTimers || realMongo()
	}
	if !cases[0].mongo {
		cases = append(cases, timerCase{trigger: "due-set", timers: standInTimers, mongo: true})
	}
	for _, c := range cases {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			random := sluice.Seeded(t)
			s := newTimerServers(t, random, c)
			svc := s.Look()
			span := time.Duration(*timerSeconds) * time.Second
			plan := planTimers(random, c.timers, span, s.receiver.url)
			under, cancel := context.WithTimeout(t.Context(), span+timerEnd)
			defer cancel()
			setting := make(chan error, 1)
			go func() { setting <- s.setAll(under, plan) }()
			s.disturb(span)
			if err := <-setting; err != nil {
				t.Fatalf("%v\n%s", err, s.LastWords())
			}
			s.awaitEnd(under, svc, len(plan))
			s.checkTimers(plan)
		})
	}
}

// timerCase is one way to run the proof.
type timerCase struct {
	trigger string
	timers  int
	redis   []string
	// mongo keeps the log of completions there; otherwise the rows are it.
	mongo bool
}

func (c timerCase) String() string {
	if c.mongo {
		return c.trigger + " and a log"
	}
	return c.trigger
}

// realMongo tells whether the server of MongoDB's protocol is MongoDB.
func realMongo() bool {
	if _, given := os.LookupEnv("SLUICE_TEST_MONGO"); given {
		return true
	}
	_, err := exec.LookPath("mongod")
	return err == nil
}

// plannedTimer is a timer and when it is set.
type plannedTimer struct {
	wire.TimerRequest
	at, set time.Time
}

// planTimers spreads timers over a span: half of what is left of it is the most
// that one waits. Every fourth, or fewer, has a webhook.
func planTimers(random *rand.Rand, n int, span time.Duration, webhook string) []plannedTimer {
	began := time.Now().Add(time.Second)
	plan := make([]plannedTimer, n)
	for i := range plan {
		set := span * time.Duration(i) / time.Duration(n)
		ahead := time.Duration(random.Int64N(int64(span-set)/2 + 1))
		p := plannedTimer{set: began.Add(set), at: began.Add(set + ahead).Truncate(time.Microsecond)}
		p.ID, p.At = fmt.Sprintf("proof-%05d", i), p.at.Format(time.RFC3339Nano)
		p.Payload = fmt.Appendf(nil, `{"n":%d}`, i)
		if i%max(4, n/timerWebhooks) == 0 {
			p.Webhook = webhook
		}
		plan[i] = p
	}
	return plan
}

// setAll has the timers set, each when its time comes.
func (s *timerServers) setAll(ctx context.Context, plan []plannedTimer) error {
	var (
		work     = make(chan int, len(plan))
		failures = make(chan error, timerCallers)
		repeated atomic.Int64
		all      sync.WaitGroup
	)
	for i := range plan {
		work <- i
	}
	close(work)
	for range timerCallers {
		all.Go(func() {
			for i := range work {
				tries, err := s.setOne(ctx, plan[i], i)
				if err != nil {
					failures <- fmt.Errorf("set %s, try %d: %w", plan[i].ID, tries, err)
					return
				}
				repeated.Add(int64(tries - 1))
			}
		})
	}
	all.Wait()
	s.T.Logf("%d timers were set; %d requests had to be repeated", len(plan), repeated.Load())
	select {
	case err := <-failures:
		return err
	default:
		return nil
	}
}

// setOne sets a timer, and repeats that at another server until one says that
// it is set.
func (s *timerServers) setOne(ctx context.Context, p plannedTimer, first int) (tries int, err error) {
	due := time.NewTimer(time.Until(p.set))
	defer due.Stop()
	select {
	case <-due.C:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for at := first; ; at++ {
		if api := s.places[at%len(s.places)].client(); api != nil {
			tries++
			under, cancel := context.WithTimeout(ctx, timerPatience)
			_, err := api.SetTimer(under, p.TimerRequest)
			cancel()
			switch domain.CodeOf(err) {
			case domain.CodeConflict, domain.CodeInvalid, domain.CodeNotFound:
				return tries, err
			}
			if err == nil {
				return tries, nil
			}
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return tries, ctx.Err()
		}
	}
}

// awaitEnd blocks until nothing is to be done with any timer, and the log of
// completions has all of them.
func (s *timerServers) awaitEnd(ctx context.Context, svc *wiring.Service, n int) {
	s.T.Helper()
	began := time.Now()
	changed, end := svc.Timers.Watch()
	defer end()
	look := time.NewTicker(time.Second)
	defer look.Stop()
	await := func(what string, news <-chan struct{}, left func(context.Context) (any, error)) {
		s.T.Helper()
		for {
			short, cancel := context.WithTimeout(ctx, timerLook)
			open, err := left(short)
			cancel()
			if err == nil && open == nil {
				return
			}
			select {
			case <-news:
			case <-look.C:
			case <-ctx.Done():
				s.T.Fatalf("%s: %+v, %v\n%s", what, open, err, s.LastWords())
			}
		}
	}
	await("these timers are not over", changed, func(ctx context.Context) (any, error) {
		open, err := svc.Timers.Timers(ctx, timer.Query{Statuses: []timer.Status{timer.Waiting, timer.Delivering}, Limit: 5})
		if len(open) == 0 {
			return nil, err
		}
		return open, err
	})
	s.T.Logf("all had fired %s after the last fault", time.Since(began).Round(time.Millisecond))
	await(fmt.Sprintf("the log does not have all %d timers", n), nil, func(ctx context.Context) (any, error) {
		stats, err := svc.Timers.Stats(ctx, time.Time{})
		if stats.Succeeded == int64(n) {
			return nil, err
		}
		return stats, err
	})
	s.T.Logf("all were logged %s after the last fault", time.Since(began).Round(time.Millisecond))
}

// checkTimers compares what is known of the timers in all places.
func (s *timerServers) checkTimers(plan []plannedTimer) {
	t := s.T
	t.Helper()
	rows := s.rows()
	if len(rows) != len(plan) {
		t.Errorf("there are %d rows of %d timers", len(rows), len(plan))
	}
	var late []time.Duration
	for _, p := range plan {
		row, ok := rows[p.ID]
		switch {
		case !ok:
			t.Errorf("%s is missing", p.ID)
			continue
		case row.status != timer.Completed:
			t.Errorf("%s is %s", p.ID, row.status)
		case !row.at.Equal(p.at):
			t.Errorf("%s is for %s, want %s", p.ID, row.at, p.at)
		}
		if row.fired.Before(row.at) {
			t.Errorf("%s was early: it is for %s and fired at %s", p.ID, row.at, row.fired)
		}
		late = append(late, row.lateness())
	}
	s.sayLateness(late)
	if s.Mongo != nil {
		s.checkLog(rows)
	}
	s.checkAPI(rows)
	s.checkReceiver(plan, rows)
	s.checkFiredOnce(rows)
	servers := map[string]int{}
	for _, row := range rows {
		servers[row.server]++
	}
	if len(servers) < 2 {
		t.Errorf("one server fired all of them: %v", servers)
	}
	t.Logf("fired by %d servers: %v", len(servers), slices.Sorted(maps.Values(servers)))
}

// sayLateness reports what the faults cost.
func (s *timerServers) sayLateness(late []time.Duration) {
	s.T.Helper()
	if len(late) == 0 {
		return
	}
	slices.Sort(late)
	over, _ := slices.BinarySearch(late, timer.LateAfter+1)
	at := func(share float64) time.Duration {
		return late[int(share*float64(len(late)-1))].Round(10 * time.Microsecond)
	}
	s.T.Logf("%d timers: %d late by more than %s; p50 %s, p90 %s, p99 %s, worst %s",
		len(late), len(late)-over, timer.LateAfter, at(0.5), at(0.9), at(0.99), at(1))
}
