package backoff_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/backoff"
	"sluice/internal/domain"
)

var errDown = domain.Errorf(domain.CodeUnavailable, "it is down")

func ask(t *testing.T, b *backoff.Breaker, answers ...error) {
	t.Helper()
	for i, want := range answers {
		called := false
		err := b.Do(t.Context(), func() error {
			called = true
			return want
		})
		if !called || !errors.Is(err, want) {
			t.Fatalf("call %d: called %t, got %v, want %v", i, called, err, want)
		}
	}
}

// refused demands that nothing is let through.
func refused(t *testing.T, b *backoff.Breaker) {
	t.Helper()
	err := b.Do(t.Context(), func() error {
		t.Error("it was let through")
		return nil
	})
	if domain.CodeOf(err) != domain.CodeUnavailable || !strings.Contains(err.Error(), b.Name()) {
		t.Errorf("got %v", err)
	}
}

func TestHalfOfTheLastTenOpenIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var changes []string
		b := backoff.NewBreaker("store", backoff.BreakerOptions{OnChange: func(name string, s backoff.BreakerState) { changes = append(changes, fmt.Sprint(name, " ", s)) }})
		ask(t, b, slices.Repeat([]error{errDown, errDown, nil, nil, nil}, 8)...)
		if b.State() != backoff.BreakerClosed || b.Until() != 0 {
			t.Fatalf("with four of ten failed it is %s", b.State())
		}
		ask(t, b, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, errDown, errDown, errDown, errDown)
		if b.State() != backoff.BreakerClosed {
			t.Fatalf("with four of ten failed it is %s", b.State())
		}
		ask(t, b, errDown)
		if b.State() != backoff.BreakerOpen || b.Until() != 30*time.Second {
			t.Fatalf("with five of ten failed it is %s for %s", b.State(), b.Until())
		}
		refused(t, b)
		time.Sleep(30*time.Second - time.Millisecond)
		refused(t, b)
		time.Sleep(time.Millisecond)
		ask(t, b, nil, nil, nil, nil)
		if b.State() != backoff.BreakerHalfOpen {
			t.Fatalf("after four successes it is %s", b.State())
		}
		ask(t, b, nil)
		if b.State() != backoff.BreakerClosed {
			t.Fatalf("after five successes it is %s", b.State())
		}
		want := []string{"store open", "store half-open", "store closed"}
		if !slices.Equal(changes, want) {
			t.Errorf("told were %v", changes)
		}
	})
}

func TestFailureWhileItIsTriedOpensItAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := backoff.NewBreaker("store", backoff.BreakerOptions{})
		ask(t, b, errDown, errDown, errDown, errDown, errDown)
		time.Sleep(30 * time.Second)
		ask(t, b, nil, nil, errDown)
		if b.State() != backoff.BreakerOpen {
			t.Fatalf("it is %s", b.State())
		}
		refused(t, b)
	})
}

// TestFewAreLetThroughWhileItIsTried: five at once and no more.
func TestFewAreLetThroughWhileItIsTried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := backoff.NewBreaker("store", backoff.BreakerOptions{})
		ask(t, b, errDown, errDown, errDown, errDown, errDown)
		time.Sleep(30 * time.Second)
		let := make(chan struct{})
		through := make(chan error, 20)
		for range 20 {
			go func() {
				through <- b.Do(t.Context(), func() error {
					<-let
					return nil
				})
			}()
		}
		synctest.Wait()
		if n := len(through); n != 15 {
			t.Errorf("%d of 20 were refused", n)
		}
		close(let)
		synctest.Wait()
		if b.State() != backoff.BreakerClosed {
			t.Errorf("it is %s", b.State())
		}
	})
}

// TestWhatCounts: only a part that does not answer has failed.
func TestWhatCounts(t *testing.T) {
	for name, tc := range map[string]struct {
		err   error
		opens bool
	}{
		"unavailable":     {errDown, true},
		"wrapped":         {fmt.Errorf("save: %w", errDown), true},
		"too slow":        {context.DeadlineExceeded, true},
		"invalid":         {domain.Errorf(domain.CodeInvalid, "odd"), false},
		"a bug":           {errors.New("odd"), false},
		"given up":        {context.Canceled, false},
		"nothing is odd":  {nil, false},
		"not there":       {domain.Errorf(domain.CodeNotFound, "gone"), false},
		"refused for now": {domain.Errorf(domain.CodeConflict, "busy"), false},
	} {
		t.Run(name, func(t *testing.T) {
			b := backoff.NewBreaker("store", backoff.BreakerOptions{})
			ask(t, b, slices.Repeat([]error{tc.err}, 5)...)
			if opened := b.State() == backoff.BreakerOpen; opened != tc.opens {
				t.Errorf("after five times %v it is %s", tc.err, b.State())
			}
		})
	}
}

// TestCallersThatGiveUp say nothing about the part, whatever the part's error.
func TestCallersThatGiveUp(t *testing.T) {
	b := backoff.NewBreaker("store", backoff.BreakerOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 10 {
		err := b.Do(ctx, func() error { return domain.Errorf(domain.CodeUnavailable, "stopped: %w", ctx.Err()) })
		if err == nil {
			t.Fatal("the error is lost")
		}
	}
	if b.State() != backoff.BreakerClosed {
		t.Errorf("it is %s", b.State())
	}
}

func TestSlownessIsFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := backoff.NewBreaker("store", backoff.BreakerOptions{Slow: 2 * time.Second})
		take := func(d time.Duration) error {
			return b.Do(t.Context(), func() error {
				time.Sleep(d) // the bubble's clock
				return nil
			})
		}
		for range 20 {
			if err := take(1900 * time.Millisecond); err != nil || b.State() != backoff.BreakerClosed {
				t.Fatalf("calls in time: %v, %s", err, b.State())
			}
		}
		// One call that hangs is enough: it fails at 2, 4, 6, 8 and 10 s.
		began := time.Now()
		changed := make(chan struct{})
		go func() {
			defer close(changed)
			_ = take(time.Minute)
		}()
		for b.State() == backoff.BreakerClosed {
			time.Sleep(time.Second)
			synctest.Wait()
		}
		if took := time.Since(began); took != 10*time.Second {
			t.Errorf("left alone after %s, want 10s", took)
		}
		<-changed
		if err := take(0); err != nil {
			t.Errorf("after a minute it is not tried again: %v", err)
		}
	})
}
