package notify

import (
	"context"
	"errors"
	"sync"
	"time"
)

// testTime bounds a test message: whoever asked for it waits.
const testTime = 20 * time.Second

// sending is whom messages are being sent to. Each target has a goroutine of its
// own while there is something for it, and is waited for by nobody: a receiver that
// hangs holds up its own messages alone.
type sending struct {
	workers sync.WaitGroup
	// ended is told when one of them has ended: there may be more for its target.
	ended chan struct{}

	guard sync.Mutex
	busy  map[string]bool
	// failed is what the store answered them.
	failed error
}

// failure takes what went wrong since somebody asked.
func (s *sending) failure() error {
	s.guard.Lock()
	defer s.guard.Unlock()
	err := s.failed
	s.failed = nil
	return err
}

// occupy keeps of messages those for targets that are free, which are busy from then
// on.
func (s *sending) occupy(due []Message) map[string][]Message {
	s.guard.Lock()
	defer s.guard.Unlock()
	free := map[string][]Message{}
	for _, m := range due {
		if !s.busy[m.Target] {
			free[m.Target] = append(free[m.Target], m)
		}
	}
	if s.busy == nil {
		s.busy = map[string]bool{}
	}
	for target := range free {
		s.busy[target] = true
	}
	return free
}

// release makes a target free again.
func (s *sending) release(target string, err error) {
	s.guard.Lock()
	delete(s.busy, target)
	s.failed = errors.Join(s.failed, err)
	s.guard.Unlock()
	select {
	case s.ended <- struct{}{}:
	default:
	}
}

// dispatch begins to send what is due to targets that are free, and returns when
// the next of the other messages is due, and to how many targets it began to send.
func (s *Service) dispatch(ctx context.Context) (next time.Time, begun int, err error) {
	// What waits for targets that hang must not hide what is for others.
	for limit := sendAtOnce; ; limit *= 2 {
		var due []Message
		if due, next, err = s.store.Due(ctx, s.now(), limit); err != nil {
			return next, begun, err
		}
		for target, messages := range s.occupy(due) {
			begun++
			s.workers.Go(func() { s.release(target, s.sendAll(ctx, messages)) })
		}
		if len(due) < limit {
			return next, begun, nil
		}
	}
}

// sendAll sends messages to one target, one after the other.
func (s *Service) sendAll(ctx context.Context, messages []Message) error {
	for _, m := range messages {
		if err := s.send(ctx, m); err != nil || ctx.Err() != nil {
			return err
		}
	}
	return nil
}

// stir is why a pause ended.
type stir int

const (
	passed stir = iota
	woken
	sent
)

// pause waits for a while, or until it is woken, or a target is free again.
func pause(ctx context.Context, wait time.Duration, wake, ended <-chan struct{}) stir {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-wake:
		return woken
	case <-ended:
		return sent
	}
	return passed
}
