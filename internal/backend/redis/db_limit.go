package redis

import (
	"context"
	"time"

	"github.com/redis/rueidis"

	"sluice/internal/backoff"
)

// answerTime is how long Redis may take to answer any command that does not
// block. It is long enough for a server that forks or loads. A server that
// hangs keeps its connections open, and who waits for it without a limit can
// neither say so nor stop.
const answerTime = 5 * time.Second

// limitedClient is a client whose commands all have a deadline, also those of callers
// that go on when they are being stopped. What blocks is sent on a connection
// of its own, and limits itself.
type limitedClient struct {
	rueidis.Client
	observe func(command string, took time.Duration, failed error)
}

// partingTime is how long a connection may take to say goodbye.
const partingTime = 2 * time.Second

// closeInTime closes something for good. A server that hangs does not answer a
// goodbye, and nobody is to wait for it: the end of the process, or of the
// connection, ends what is left.
func closeInTime(closing func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		closing()
	}()
	over := time.NewTimer(partingTime)
	defer over.Stop()
	select {
	case <-done:
	case <-over.C:
	}
}

// graceTime is how long a call whose context ended waits for what is under way,
// so that nothing is taken for it unseen.
const graceTime = time.Second

// withGrace returns a context that outlasts another by the grace.
func withGrace(ctx context.Context) (context.Context, context.CancelFunc) {
	patient, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		backoff.Sleep(patient, graceTime)
		cancel()
	})
	return patient, func() {
		stop()
		cancel()
	}
}

// Do implements rueidis.Client.
func (l limitedClient) Do(ctx context.Context, cmd rueidis.Completed) (result rueidis.RedisResult) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	ended := l.begin(cmd.Commands()[:1])
	result = l.Client.Do(ctx, cmd)
	ended(result)
	return result
}

// DoMulti implements rueidis.Client.
func (l limitedClient) DoMulti(ctx context.Context, all ...rueidis.Completed) (results []rueidis.RedisResult) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	if len(all) == 0 {
		return nil
	}
	ended := l.begin(all[0].Commands()[:1])
	results = l.Client.DoMulti(ctx, all...)
	ended(results...)
	return results
}

// DoCache implements rueidis.Client.
func (l limitedClient) DoCache(ctx context.Context, cmd rueidis.Cacheable, ttl time.Duration) rueidis.RedisResult {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	return l.Client.DoCache(ctx, cmd, ttl)
}

// DoMultiCache implements rueidis.Client.
func (l limitedClient) DoMultiCache(ctx context.Context, all ...rueidis.CacheableTTL) []rueidis.RedisResult {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	return l.Client.DoMultiCache(ctx, all...)
}

// begin notes when a command was sent. The name is taken now: a command that was
// answered is another's.
func (l limitedClient) begin(name []string) (ended func(results ...rueidis.RedisResult)) {
	if l.observe == nil {
		return func(...rueidis.RedisResult) {}
	}
	command, began := name[0], time.Now()
	return func(results ...rueidis.RedisResult) {
		took := time.Since(began)
		for i := range results {
			// What Redis answers with an error it has answered.
			if err := results[i].NonRedisError(); err != nil {
				l.observe(command, took, err)
				return
			}
		}
		l.observe(command, took, nil)
	}
}
