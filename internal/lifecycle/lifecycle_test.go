package lifecycle_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/lifecycle"
)

func ready(context.Context) error { return nil }

// TestRunsUntilItIsStopped, whatever becomes of who started it, and once however
// often it is started or stopped.
func TestRunsUntilItIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := lifecycle.NewRunner()
		var begun, ended atomic.Int64
		work := func(ctx, _ context.Context) {
			begun.Add(1)
			<-ctx.Done()
			time.Sleep(time.Second)
			ended.Add(1)
		}
		r.Stop()
		for round := range int64(2) {
			ctx, cancel := context.WithCancel(t.Context())
			for range 2 {
				if err := r.Start(ctx, ready, work); err != nil {
					t.Fatal(err)
				}
			}
			cancel()
			time.Sleep(time.Hour)
			if begun.Load() != round+1 || ended.Load() != round {
				t.Fatalf("round %d: begun %d times, ended %d times", round, begun.Load(), ended.Load())
			}
			began := time.Now()
			r.Stop()
			r.Stop()
			if took := time.Since(began); ended.Load() != round+1 || took != time.Second {
				t.Fatalf("round %d: ended %d times, after %v", round, ended.Load(), took)
			}
		}
	})
}

func TestWhatIsNotReadyDoesNotRun(t *testing.T) {
	r, failed := lifecycle.NewRunner(), errors.New("not yet")
	var runs atomic.Int64
	work := func(ctx, _ context.Context) { runs.Add(1); <-ctx.Done() }
	if err := r.Start(t.Context(), func(context.Context) error { return failed }, work); !errors.Is(err, failed) {
		t.Fatal(err)
	}
	r.Stop()
	if err := r.Start(t.Context(), ready, work); err != nil {
		t.Fatal(err)
	}
	r.Stop()
	if n := runs.Load(); n != 1 {
		t.Errorf("it ran %d times", n)
	}
}

// TestStopWithin gives up what takes too long; a second one that is in a hurry
// makes the first return, too.
func TestStopWithin(t *testing.T) {
	for name, c := range map[string]struct {
		takes, hurry time.Duration
		after        time.Duration
		want         error
	}{
		"in time":  {takes: 5 * time.Second, after: 5 * time.Second},
		"too slow": {takes: time.Hour, after: 10 * time.Second, want: lifecycle.ErrTimeout},
		"hurried":  {takes: time.Hour, hurry: 2 * time.Second, after: 2 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := lifecycle.NewRunner()
			err := r.Start(t.Context(), ready, func(ctx, working context.Context) {
				<-ctx.Done()
				select {
				case <-working.Done():
				case <-time.After(c.takes):
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			if c.hurry > 0 {
				go func() {
					time.Sleep(c.hurry)
					ended, cancel := context.WithCancel(t.Context())
					cancel()
					if err := r.StopWithin(ended, time.Minute); !errors.Is(err, lifecycle.ErrHurried) {
						t.Errorf("%s: the second says %v", name, err)
					}
				}()
			}
			began := time.Now()
			if err := r.StopWithin(t.Context(), 10*time.Second); !errors.Is(err, c.want) || time.Since(began) != c.after {
				t.Errorf("%s: %v after %v", name, err, time.Since(began))
			}
			synctest.Wait()
		})
	}
}

// TestStopWaitsForStart: what is being made ready is stopped when it is.
func TestStopWaitsForStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := lifecycle.NewRunner()
		var ended atomic.Bool
		slow := func(context.Context) error { time.Sleep(time.Minute); return nil }
		go func() {
			_ = r.Start(t.Context(), slow, func(ctx, _ context.Context) { <-ctx.Done(); ended.Store(true) })
		}()
		synctest.Wait()
		hurried, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.Start(hurried, ready, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("another start: %v", err)
		}
		r.Stop()
		if !ended.Load() {
			t.Error("it still runs")
		}
	})
}

func TestGroupEndsWithItsContext(t *testing.T) {
	var ended atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	part := func(ctx context.Context) { <-ctx.Done(); ended.Add(1) }
	cancel()
	lifecycle.Group(ctx, part, part, part)
	if ended.Load() != 3 {
		t.Errorf("%d of 3 have ended", ended.Load())
	}
}
