package kafka_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/backend/kafka"
	"sluice/internal/domain"
	"sluice/internal/refresh"
	"sluice/internal/testkit"
)

// TestFaults have one broker in turn: two at once would be slow to start.
func TestFaults(t *testing.T) {
	t.Parallel()
	server := testkit.StartKafka(t)
	t.Run("BrokerEndsUnderLoad", func(t *testing.T) { brokerEndsUnderLoad(t, server) })
	t.Run("Unavailable", func(t *testing.T) { unavailable(t, server) })
}

// brokerEndsUnderLoad ends a broker in both ways while records are published,
// each until that worked, and taken by two consumers.
func brokerEndsUnderLoad(t *testing.T, server *testkit.KafkaServer) {
	o := options(server.Brokers(), testkit.Prefix(t))
	log, there := open(t, o), open(t, o)
	kafka.SetLimit(log, time.Second)
	kafka.SetLimit(there, time.Second)
	load := &load{T: t, journal: newJournal(), news: make(chan struct{}, 1)}
	for _, log := range []*kafka.EventLog{log, there} {
		load.takers.Go(func() { load.take(join(t, log)) })
	}
	load.publishers.Go(func() { load.publish(log, 0) })
	load.publishers.Go(func() { load.publish(there, 1) })
	t.Cleanup(load.stop)
	load.more(200)
	server.Restart()
	load.more(200)
	server.Kill()
	load.more(0)
	server.Start()
	load.more(200)
	load.ended.Store(true)
	load.publishers.Wait()
	load.all()
	caughtUp(t, log)
	t.Logf("%d messages, %d of them twice; %d times publishing was to be tried again",
		len(load.journal.seen), load.journal.twice, load.tried.Load())
}

// load publishes and takes while the test does other things.
type load struct {
	*testing.T
	ended, quit        atomic.Bool
	publishers, takers sync.WaitGroup
	published, tried   atomic.Int64
	news               chan struct{}

	mu      sync.Mutex
	journal *journal
}

// publish publishes every second number, in order, each until that worked.
func (l *load) publish(log *kafka.EventLog, first int) {
	for n := first; !l.ended.Load(); n += 2 {
		for {
			// The keys of the two publishers differ.
			err := log.Publish(l.Context(), refresh.TopicHigh, messages(n, 1, 40)...)
			if err == nil {
				break
			}
			if l.Context().Err() != nil {
				return
			}
			if domain.CodeOf(err) != domain.CodeUnavailable {
				l.Errorf("publish: %v", err)
				return
			}
			l.tried.Add(1)
		}
		l.published.Add(1)
	}
}

func (l *load) take(c refresh.LogConsumer) {
	for !l.quit.Load() && l.Context().Err() == nil {
		records, err := c.Take(l.Context(), 20)
		if err != nil && l.Context().Err() == nil && domain.CodeOf(err) != domain.CodeUnavailable {
			l.Errorf("take: %v", err)
		}
		l.mu.Lock()
		for _, r := range records {
			l.journal.note(l.T, sightingOf(l.T, r))
		}
		l.mu.Unlock()
		if err := c.Done(l.Context(), records...); err != nil {
			l.Errorf("done: %v", err)
		}
		select {
		case l.news <- struct{}{}:
		default:
		}
	}
}

// stop ends everything, in whatever state the test is.
func (l *load) stop() {
	l.ended.Store(true)
	l.quit.Store(true)
	l.publishers.Wait()
	l.takers.Wait()
}

// more waits until so many more messages have been taken.
func (l *load) more(n int) {
	l.Helper()
	l.mu.Lock()
	want := len(l.journal.seen) + n
	l.mu.Unlock()
	l.until(func() bool { return len(l.journal.seen) >= want })
}

// all waits until everything that was published has been taken.
func (l *load) all() {
	l.Helper()
	l.until(func() bool { return len(l.journal.seen) >= int(l.published.Load()) })
}

func (l *load) until(reached func() bool) {
	l.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		l.mu.Lock()
		ok, seen := reached(), len(l.journal.seen)
		l.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-l.news:
		case <-limit.C:
			l.Fatalf("%d messages were published and %d of them taken", l.published.Load(), seen)
		}
	}
}

// unavailable: calls end by themselves when there is no broker, or one that
// does not answer, and work again when there is.
func unavailable(t *testing.T, server *testkit.KafkaServer) {
	o := options(server.Brokers(), testkit.Prefix(t))
	log := open(t, o)
	if err := log.Publish(t.Context(), refresh.TopicHigh, messages(0, 10, 10)...); err != nil {
		t.Fatal(err)
	}
	c := join(t, log)
	records := take(t, c, 10)
	hasty := o
	hasty.Limit = 500 * time.Millisecond
	impatient := open(t, o)
	kafka.SetLimit(impatient, hasty.Limit)
	for name, broken := range map[string]struct{ fault, repair func() }{
		"killed": {server.Kill, server.Start},
		"paused": {server.Pause, server.Continue},
	} {
		broken.fault()
		for call, f := range map[string]func(context.Context) error{
			"publish": func(ctx context.Context) error {
				return impatient.Publish(ctx, refresh.TopicHigh, messages(10, 1, 10)...)
			},
			"check": impatient.Check,
			"join": func(ctx context.Context) error {
				_, err := impatient.Join(ctx, refresh.HighWorkers, refresh.TopicHigh)
				return err
			},
			"lag": func(ctx context.Context) error {
				_, err := impatient.Lag(ctx, refresh.HighWorkers, refresh.TopicHigh)
				return err
			},
			"open": func(ctx context.Context) error {
				_, err := kafka.NewEventLog(ctx, hasty)
				return err
			},
		} {
			began := time.Now()
			err := f(t.Context())
			if domain.CodeOf(err) != domain.CodeUnavailable {
				t.Errorf("%s, %s: %v", name, call, err)
			}
			if took := time.Since(began); took > time.Minute {
				t.Errorf("%s, %s takes %v", name, call, took)
			}
		}
		broken.repair()
		answers(t, log, name)
		if err := log.Publish(t.Context(), refresh.TopicHigh, messages(20, 1, 10)...); err != nil {
			t.Errorf("%s and repaired: %v", name, err)
		}
	}
	// The consumer has gone through all of it, or begins anew: either way what
	// was never done is there.
	_ = c.Done(t.Context(), records...)
	take(t, c, 2)
}

// answers waits until Kafka can be used again: a broker that was silent has to
// report to its controller first.
func answers(t *testing.T, log *kafka.EventLog, fault string) {
	t.Helper()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for deadline := time.Now().Add(patience); ; <-again.C {
		err := log.Check(t.Context())
		if err == nil {
			return
		}
		if domain.CodeOf(err) != domain.CodeUnavailable || time.Now().After(deadline) {
			t.Fatalf("%s and repaired: %v", fault, err)
		}
	}
}

// TestPartitionIsGivenUpWhenItsRecordsAreDone: who is to give partitions up has
// the time to do what was taken, and then nobody does it again.
func TestPartitionIsGivenUpWhenItsRecordsAreDone(t *testing.T) {
	t.Parallel()
	o := options(fake(t), testkit.Prefix(t))
	o.RevokeWait = patience
	o.SessionTimeout = time.Minute // nobody dies here
	log := open(t, o)
	if err := log.Publish(t.Context(), refresh.TopicHigh, messages(0, 200, 100)...); err != nil {
		t.Fatal(err)
	}
	first := join(t, log)
	records := take(t, first, 200)
	second := join(t, open(t, o))
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
	defer cancel()
	taken := make(chan []refresh.LogRecord, 1)
	go func() {
		got, _ := second.Take(ctx, 100) // an error is nothing taken
		taken <- got
	}()
	// One of each partition is not done: whichever is given up must wait.
	var held, others []refresh.LogRecord
	begun := map[int32]bool{}
	for _, r := range records {
		if begun[r.Partition] {
			others = append(others, r)
		} else {
			held = append(held, r)
		}
		begun[r.Partition] = true
	}
	if err := first.Done(t.Context(), others...); err != nil {
		t.Fatal(err)
	}
	if got := <-taken; len(got) > 0 {
		t.Fatalf("%d records were taken twice", len(got))
	}
	if err := first.Done(t.Context(), held...); err != nil {
		t.Fatal(err)
	}
	caughtUp(t, log)
	// The second has its share now.
	if err := log.Publish(t.Context(), refresh.TopicHigh, messages(200, 200, 100)...); err != nil {
		t.Fatal(err)
	}
	for _, r := range take(t, second, 20) {
		if n := sightingOf(t, r).number; n < 200 {
			t.Errorf("message %d comes again", n)
		}
	}
}
