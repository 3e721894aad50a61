package timer

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/due"
)

// slowTrigger answers each Put when the test says, or its context ends.
type slowTrigger struct {
	due.Set
	answers chan error
	removed chan string
}

func (s *slowTrigger) Put(ctx context.Context, _ ...due.Entry) error {
	select {
	case err := <-s.answers:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *slowTrigger) Remove(_ context.Context, ids ...string) error {
	for _, id := range ids {
		s.removed <- id
	}
	return nil
}

func newSlowIntents() (*intents, *slowTrigger) {
	s := &slowTrigger{answers: make(chan error, 1), removed: make(chan string, 10)}
	return &intents{trigger: s, prefix: intentPrefix, now: time.Now}, s
}

// TestGuardsHoldNoLockWhileTheTriggerIsAsked: a change that is over ends though
// another one waits for its intent.
func TestGuardsHoldNoLockWhileTheTriggerIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, trigger := newSlowIntents()
		trigger.answers <- nil
		done, err := g.hold(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(intentTime) // the next one needs another intent
		later := make(chan error)
		go func() {
			_, err := g.hold(t.Context())
			later <- err
		}()
		synctest.Wait()
		done(true)
		if id := <-trigger.removed; id != intentPrefix+"1" {
			t.Errorf("%s was removed", id)
		}
		trigger.answers <- nil
		if err := <-later; err != nil {
			t.Error(err)
		}
	})
}

// TestGuardOfOneWhoGaveUp: who waits for the same intent puts one himself; a
// trigger that fails fails for all of them.
func TestGuardOfOneWhoGaveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, trigger := newSlowIntents()
		impatient, giveUp := context.WithCancel(t.Context())
		first, second := make(chan error, 1), make(chan error, 1)
		hold := func(ctx context.Context, outcome chan<- error) {
			_, err := g.hold(ctx)
			outcome <- err
		}
		go hold(impatient, first)
		synctest.Wait()
		go hold(t.Context(), second)
		synctest.Wait()
		giveUp()
		if err := <-first; !errors.Is(err, context.Canceled) {
			t.Errorf("who gave up got %v", err)
		}
		trigger.answers <- nil
		if err := <-second; err != nil {
			t.Errorf("who waited got %v", err)
		}
		time.Sleep(intentTime)
		broken := errors.New("no answer")
		go hold(t.Context(), first)
		synctest.Wait()
		go hold(t.Context(), second)
		synctest.Wait()
		trigger.answers <- broken
		for _, outcome := range []chan error{first, second} {
			if err := <-outcome; !errors.Is(err, broken) {
				t.Errorf("got %v", err)
			}
		}
	})
}
