// Package eventlogtest is what every event log must pass. Run checks each
// promise of the port in a case of its own, and then all of them together in a
// random order of events.
package eventlogtest

import (
	"context"
	"slices"
	"testing"
	"time"

	"sluice/internal/refresh/eventlog"
)

// Factory makes logs for the cases.
type Factory struct {
	// New makes an empty log that nothing else uses.
	New func(t *testing.T) *Instance
	// MaxWait is what Take is capped by in the logs that New makes; zero is
	// eventlog.MaxWait, and the case that waits for it is left out.
	MaxWait time.Duration
	// Settle is how long the log may take to share partitions out anew after a
	// consumer came or left; ten seconds if zero.
	Settle time.Duration
	// Notice is how long the log may take to notice that a consumer was killed.
	Notice time.Duration
}

// Instance is a log as one process sees it. What it opens is closed by
// Cleanup of the test.
type Instance struct {
	eventlog.Log
	// Another opens the log once more, as another process would; nil if only
	// one process can have it.
	Another func(t *testing.T) eventlog.Log
	// Kill ends a consumer as SIGKILL would end its process: without a word to
	// the log. Nil if a consumer cannot die without its log.
	Kill func(t *testing.T, c eventlog.Consumer)
	// Reopen ends every process that has the log, without a word to it, and
	// opens it again.
	Reopen func(t *testing.T) *Instance
}

// Run runs every case that the factory allows.
func Run(t *testing.T, f Factory) {
	for _, c := range slices.Concat(orderCases, waitCases, positionCases, shareCases, volumeCases, lagCases) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			x := f.fixture(t)
			if c.needs != nil && !c.needs(x) {
				t.Skip("this log cannot show it")
			}
			c.check(x)
		})
	}
	t.Run("Model", func(t *testing.T) {
		t.Parallel()
		checkModel(f.fixture(t))
	})
}

type testCase struct {
	name  string
	needs func(*fixture) bool
	check func(*fixture)
}

func canKill(x *fixture) bool { return x.Kill != nil }

// patience bounds every wait of a case that should end by itself.
const patience = 60 * time.Second

// fixture is a log and the words the cases are written in.
type fixture struct {
	*testing.T
	*Instance
	maxWait time.Duration
	settle  time.Duration
	notice  time.Duration
}

func (f Factory) fixture(t *testing.T) *fixture {
	x := &fixture{T: t, Instance: f.New(t), maxWait: f.MaxWait, settle: f.Settle, notice: f.Notice}
	if x.settle == 0 {
		x.settle = 10 * time.Second
	}
	return x
}

func (x *fixture) ok(err error) {
	x.Helper()
	if err != nil {
		x.Fatalf("unexpected error: %v", err)
	}
}

// another returns the log as another process sees it, or the same one where a
// log has only one process.
func (x *fixture) another() eventlog.Log {
	if x.Another == nil {
		return x.Log
	}
	return x.Another(x.T)
}

func (x *fixture) publish(messages ...eventlog.Message) {
	x.Helper()
	x.ok(x.Publish(x.Context(), eventlog.High, messages...))
}

func (x *fixture) join(log eventlog.Log) eventlog.Consumer {
	x.Helper()
	return x.joinGroup(log, eventlog.HighWorkers, eventlog.High)
}

func (x *fixture) joinGroup(log eventlog.Log, group string, topic eventlog.Topic) eventlog.Consumer {
	x.Helper()
	c, err := log.Join(x.Context(), group, topic)
	x.ok(err)
	return c
}

// joinHere joins and leaves again at the end of the case, if not before.
func (x *fixture) joinHere() eventlog.Consumer {
	x.Helper()
	c := x.join(x.Log)
	x.Cleanup(func() { _ = c.Close(context.WithoutCancel(x.Context())) })
	return c
}

func (x *fixture) close(c eventlog.Consumer) {
	x.Helper()
	x.ok(c.Close(x.Context()))
}

func (x *fixture) done(c eventlog.Consumer, records ...eventlog.Record) {
	x.Helper()
	x.ok(c.Done(x.Context(), records...))
}

// take takes until it has so many records.
func (x *fixture) take(c eventlog.Consumer, want int) (got []eventlog.Record) {
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
func (x *fixture) takeNothing(c eventlog.Consumer) {
	x.Helper()
	ctx, cancel := context.WithTimeout(x.Context(), 300*time.Millisecond)
	defer cancel()
	if records, err := c.Take(ctx, 100); len(records) > 0 || err != nil && ctx.Err() == nil {
		x.Fatalf("took %s with error %v, want nothing", texts(records), err)
	}
}

// taking is a call of Take that goes on beside the case.
type taking struct {
	records []eventlog.Record
	err     error
	took    time.Duration
}

func takeBeside(ctx context.Context, c eventlog.Consumer, n int) <-chan taking {
	done := make(chan taking, 1)
	began := time.Now()
	go func() {
		records, err := c.Take(ctx, n)
		done <- taking{records, err, time.Since(began)}
	}()
	return done
}
