package refreshtest

import (
	"context"
	"slices"
	"testing"
	"time"

	"sluice/internal/refresh"
)

// EventLogFactory makes logs for the cases.
type EventLogFactory struct {
	// New makes an empty log that nothing else uses.
	New func(t *testing.T) *EventLogInstance
	// MaxWait is what Take is capped by in the logs that New makes; zero is
	// refresh.MaxTakeWait, and the case that waits for it is left out.
	MaxWait time.Duration
	// Notice is how long the log may take to notice that a consumer was killed.
	Notice time.Duration
}

// EventLogInstance is a log as one process sees it. What it opens is closed by
// Cleanup of the test.
type EventLogInstance struct {
	refresh.EventLog
	// Another opens the log once more, as another process would; nil if only
	// one process can have it.
	Another func(t *testing.T) refresh.EventLog
	// Kill ends a consumer as SIGKILL would end its process: without a word to
	// the log. Nil if a consumer cannot die without its log.
	Kill func(t *testing.T, c refresh.LogConsumer)
	// Reopen ends every process that has the log, without a word to it, and
	// opens it again.
	Reopen func(t *testing.T) *EventLogInstance
}

// RunEventLog runs every case that the factory allows.
func RunEventLog(t *testing.T, f EventLogFactory) {
	for _, c := range slices.Concat(orderCases, waitCases, positionCases, shareCases, volumeCases, lagCases) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			x := f.logFixture(t)
			if c.needs != nil && !c.needs(x) {
				t.Skip("this log cannot show it")
			}
			c.check(x)
		})
	}
	t.Run("Model", func(t *testing.T) {
		t.Parallel()
		checkLogModel(f.logFixture(t))
	})
}

type logCase struct {
	name  string
	needs func(*logFixture) bool
	check func(*logFixture)
}

func canKill(x *logFixture) bool { return x.Kill != nil }

// patience ends what hangs: every wait of a case ends by itself, but nobody can
// tell how long a busy machine takes.
const patience = 5 * time.Minute

// logFixture is a log and the words the cases are written in.
type logFixture struct {
	*testing.T
	*EventLogInstance
	maxWait time.Duration
	notice  time.Duration
}

func (f EventLogFactory) logFixture(t *testing.T) *logFixture {
	return &logFixture{T: t, EventLogInstance: f.New(t), maxWait: f.MaxWait, notice: f.Notice}
}

func (x *logFixture) ok(err error) {
	x.Helper()
	if err != nil {
		x.Fatalf("unexpected error: %v", err)
	}
}

// another returns the log as another process sees it, or the same one where a
// log has only one process.
func (x *logFixture) another() refresh.EventLog {
	if x.Another == nil {
		return x.EventLog
	}
	return x.Another(x.T)
}

func (x *logFixture) publish(messages ...refresh.Message) {
	x.Helper()
	x.ok(x.Publish(x.Context(), refresh.TopicHigh, messages...))
}

func (x *logFixture) join(log refresh.EventLog) refresh.LogConsumer {
	x.Helper()
	return x.joinGroup(log, refresh.HighWorkers, refresh.TopicHigh)
}

func (x *logFixture) joinGroup(log refresh.EventLog, group string, topic refresh.Topic) refresh.LogConsumer {
	x.Helper()
	c, err := log.Join(x.Context(), group, topic)
	x.ok(err)
	return c
}

// joinHere joins and leaves again at the end of the case, if not before.
func (x *logFixture) joinHere() refresh.LogConsumer {
	x.Helper()
	c := x.join(x.EventLog)
	x.Cleanup(func() { _ = c.Close(context.WithoutCancel(x.Context())) })
	return c
}

func (x *logFixture) close(c refresh.LogConsumer) {
	x.Helper()
	x.ok(c.Close(x.Context()))
}

func (x *logFixture) done(c refresh.LogConsumer, records ...refresh.LogRecord) {
	x.Helper()
	x.ok(c.Done(x.Context(), records...))
}

// take takes until it has so many records.
func (x *logFixture) take(c refresh.LogConsumer, want int) (got []refresh.LogRecord) {
	x.Helper()
	ctx, cancel := context.WithTimeout(x.Context(), patience)
	defer cancel()
	for len(got) < want {
		records, err := c.Take(ctx, want-len(got))
		if err != nil {
			x.Fatalf("took %d of %d records and then: %v", len(got), want, err)
		}
		got = append(got, records...)
	}
	return got
}

// takeNothing checks that nothing can be taken for a little while.
func (x *logFixture) takeNothing(c refresh.LogConsumer) {
	x.Helper()
	ctx, cancel := context.WithTimeout(x.Context(), 300*time.Millisecond)
	defer cancel()
	if records, err := c.Take(ctx, 100); len(records) > 0 || err != nil && ctx.Err() == nil {
		x.Fatalf("took %s with error %v, want nothing", texts(records), err)
	}
}

// taking is a call of Take that goes on beside the case.
type taking struct {
	records []refresh.LogRecord
	err     error
	took    time.Duration
}

func takeBeside(ctx context.Context, c refresh.LogConsumer, n int) <-chan taking {
	done := make(chan taking, 1)
	began := time.Now()
	go func() {
		records, err := c.Take(ctx, n)
		done <- taking{records, err, time.Since(began)}
	}()
	return done
}
