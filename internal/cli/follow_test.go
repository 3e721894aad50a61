package cli

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/domain"
	"sluice/internal/engine"
)

func followed(t *testing.T, s size, runs ...engine.Progress) (*following, *terminal) {
	m := &terminal{t: t}
	f := &following{
		board: newBoard(&screen{out: m}, style{}, s, time.Now),
		last:  map[int64]engine.Progress{}, open: map[int64]bool{},
	}
	f.read = func(_ context.Context, id int64) (engine.Progress, error) { return f.last[id], nil }
	for _, p := range runs {
		f.take(p)
	}
	return f, m
}

// TestLastEventIsDrawn sends events in a burst and then none: what the last
// one told must be seen nevertheless.
func TestLastEventIsDrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, m := followed(t, size{200, 24}, running(1, 0, 4))
		f.board.draw()
		events, done := make(chan event[engine.Progress]), make(chan error, 1)
		go func() { done <- f.watch(t.Context(), events) }()
		for n := range int64(3) {
			events <- event[engine.Progress]{told: running(1, n+1, 4)}
		}
		events <- event[engine.Progress]{told: waiting(running(1, 3, 4), "primary", time.Now().Add(time.Hour))}
		time.Sleep(2 * drawPause) // of the bubble's clock
		synctest.Wait()
		if !strings.Contains(m.rows[0], "3/4 pages  waits for graphql quota") {
			t.Errorf("the terminal shows %q", m.rows)
		}
		// What belongs to others is nobody's business here.
		events <- event[engine.Progress]{told: running(99, 1, 1)}
		events <- event[engine.Progress]{told: ended(running(1, 4, 4), domain.RunCompleted, "")}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if len(m.rows) != 2 || !strings.Contains(m.rows[0], "ended in") || len(f.last) != 1 {
			t.Errorf("the terminal shows %q", m.rows)
		}
	})
}

func TestTimeToGoMovesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := running(1, 1, 4)
		p.ETA = time.Now().Add(30 * time.Second)
		f, m := followed(t, size{200, 24}, p)
		f.board.draw()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- f.watch(ctx, nil) }()
		time.Sleep(10*time.Second + drawAgain/2)
		synctest.Wait()
		if !strings.Contains(m.rows[0], "about 20s to go") {
			t.Errorf("the terminal shows %q", m.rows)
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

// TestMissedEndIsReadAgain lets a run end before the stream begins: the stream
// never tells of it.
func TestMissedEndIsReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, m := followed(t, size{200, 24}, running(1, 0, 4), running(2, 0, 4))
		reads := 0
		f.read = func(_ context.Context, id int64) (engine.Progress, error) {
			if reads++; reads > 4 {
				return ended(running(id, 4, 4), domain.RunCompleted, ""), nil
			}
			return f.last[id], nil
		}
		began := time.Now()
		if err := f.watch(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 7*readAgain || reads != 6 {
			t.Errorf("it took %s and %d reads", took, reads)
		}
		if !strings.Contains(m.rows[2], "2 of 2 accounts done") {
			t.Errorf("the terminal shows %q", m.rows)
		}
		f.open[1] = true
		broken := errors.New("the service is gone")
		f.read = func(context.Context, int64) (engine.Progress, error) { return engine.Progress{}, broken }
		if err := f.watch(t.Context(), nil); !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
	})
}

func TestFollowingEnds(t *testing.T) {
	broken := errors.New("broken off")
	for name, tc := range map[string]struct {
		event event[engine.Progress]
		want  error
	}{
		"when a run waits for a person": {event[engine.Progress]{told: waiting(running(1, 0, 4), "renew the token", time.Time{})}, nil},
		"when a run failed":             {event[engine.Progress]{told: ended(running(1, 0, 4), domain.RunFailed, "no such user")}, nil},
		"when the stream breaks off":    {event[engine.Progress]{err: broken}, broken},
	} {
		t.Run(name, func(t *testing.T) {
			f, _ := followed(t, size{}, running(1, 0, 4))
			events := make(chan event[engine.Progress], 1)
			events <- tc.event
			if err := f.watch(t.Context(), events); !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
}
