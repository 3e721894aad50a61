package kafka_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"sluice/internal/backend/kafka"
	"sluice/internal/refresh"
	"sluice/internal/testkit"
)

// BenchmarkTakeover measures, with the settings that are the default, from the
// death of one of three consumers to all that was published since having been
// taken by the others; and from ten joining to each having taken something.
func BenchmarkTakeover(b *testing.B) {
	var takeover, share time.Duration
	for range b.N {
		t, s := takeOverOnce(b)
		takeover, share = takeover+t, share+s
	}
	b.ReportMetric(takeover.Seconds()/float64(b.N), "s/takeover")
	b.ReportMetric(share.Seconds()/float64(b.N), "s/share")
}

func takeOverOnce(b *testing.B) (takeover, share time.Duration) {
	b.Helper()
	log, err := kafka.NewEventLog(b.Context(), kafka.Options{
		Brokers: testkit.KafkaBrokers(testkit.Kafka(b)), Prefix: testkit.Prefix(b) + ".", Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}
	f := &flock{B: b, log: log, workers: map[refresh.LogConsumer]bool{}, seen: map[string]bool{}, news: make(chan struct{}, 1)}
	defer func() { _ = log.Close(context.WithoutCancel(b.Context())) }()
	first := f.join(3)
	f.everybodyTakes()
	kafka.Kill(first[0])
	delete(f.workers, first[0])
	began := time.Now()
	f.publish()
	f.until("all are taken", func() bool { return len(f.seen) == f.published })
	takeover = time.Since(began)
	began = time.Now()
	f.join(10)
	f.everybodyTakes()
	return takeover, time.Since(began)
}

// flock is consumers of one group that take and do what comes.
type flock struct {
	*testing.B
	log       *kafka.EventLog
	published int
	news      chan struct{}

	mu sync.Mutex
	// workers says who has taken something since everybodyTakes began.
	workers map[refresh.LogConsumer]bool
	seen    map[string]bool
}

// join adds consumers, all at once.
func (f *flock) join(n int) []refresh.LogConsumer {
	f.Helper()
	joined := make([]refresh.LogConsumer, n)
	var joining sync.WaitGroup
	for i := range joined {
		joining.Go(func() {
			c, err := f.log.Join(f.Context(), refresh.HighWorkers, refresh.TopicHigh)
			if err != nil {
				f.Errorf("join: %v", err)
				return
			}
			joined[i] = c
		})
	}
	joining.Wait()
	if f.Failed() {
		f.FailNow()
	}
	for _, c := range joined {
		f.mu.Lock()
		f.workers[c] = false
		f.mu.Unlock()
		go f.work(c)
	}
	return joined
}

// work ends when the consumer is closed.
func (f *flock) work(c refresh.LogConsumer) {
	for {
		records, err := c.Take(f.Context(), 50)
		if err != nil || c.Done(f.Context(), records...) != nil {
			return
		}
		f.mu.Lock()
		for _, r := range records {
			f.seen[string(r.Value)] = true
			if _, known := f.workers[c]; known {
				f.workers[c] = true
			}
		}
		f.mu.Unlock()
		select {
		case f.news <- struct{}{}:
		default:
		}
	}
}

func (f *flock) publish() {
	f.Helper()
	const n = 400
	if err := f.log.Publish(f.Context(), refresh.TopicHigh, messages(f.published, n, n)...); err != nil {
		f.Fatal(err)
	}
	f.published += n
}

// everybodyTakes publishes until every consumer has taken something.
func (f *flock) everybodyTakes() {
	f.Helper()
	f.mu.Lock()
	for c := range f.workers {
		f.workers[c] = false
	}
	f.mu.Unlock()
	f.until("everybody takes", func() bool {
		for _, took := range f.workers {
			if !took {
				return false
			}
		}
		return true
	}, f.publish)
}

// until waits for something, doing something else meanwhile.
func (f *flock) until(what string, ok func() bool, meanwhile ...func()) {
	f.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		f.mu.Lock()
		done := ok()
		f.mu.Unlock()
		if done {
			return
		}
		select {
		case <-f.news:
		case <-again.C:
			for _, do := range meanwhile {
				do()
			}
		case <-limit.C:
			f.Fatalf("not within %v: %s", patience, what)
		}
	}
}
