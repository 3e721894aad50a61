package timer

import (
	"context"
	"sync"
	"time"

	"sluice/internal/due"
)

const (
	// firstCrowded is how soon a webhook is tried again that found neither a
	// free sender nor room to wait for one; it grows with the time since the
	// timer fired, so that many who wait cost little.
	firstCrowded  = 500 * time.Millisecond
	maxCrowded    = 5 * time.Second
	crowdedGrowth = 8
	// maxQueue bounds the webhooks that wait for a sender.
	maxQueue = 1000
	// queueShare is the part of the grace that they may wait: attempts are to
	// end before somebody else thinks that they never will.
	queueShare = 5
)

// webhookQueue holds webhooks that wait until a sender is free.
type webhookQueue struct {
	mu      sync.Mutex
	waiting []waiting
}

// waiting is one webhook of a timer that this process has taken.
type waiting struct {
	Timer
	taken due.Taken
	until time.Time
}

// add reports whether there was room.
func (q *webhookQueue) add(one waiting) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) >= maxQueue {
		return false
	}
	q.waiting = append(q.waiting, one)
	return true
}

// next takes the first out that there is a place for. Those who waited too long
// are dropped: the trigger hands them out again.
func (q *webhookQueue) next(now time.Time, place func(url string) (release func(), ok bool), dropped func(id string)) (one waiting, release func(), ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	kept := q.waiting[:0]
	for _, w := range q.waiting {
		if now.After(w.until) {
			dropped(w.ID)
			continue
		}
		if !ok {
			if release, ok = place(w.Webhook); ok {
				one = w
				continue
			}
		}
		kept = append(kept, w)
	}
	clear(q.waiting[len(kept):])
	q.waiting = kept
	return one, release, ok
}

// sendOrQueue calls a webhook in the background: at once, or when there is a place. It
// reports false if the time for that is over.
func (s *Service) sendOrQueue(running context.Context, t Timer, mine due.Taken, o *outcome) bool {
	release, ok := s.acquirePlace(t.Webhook)
	if ok {
		s.work.Go(func() { s.sendUntilEmpty(running, waiting{Timer: t, taken: mine}, release) })
		return true
	}
	if s.overdue(t) {
		return false
	}
	now := s.Now()
	if s.queue.add(waiting{t, mine, now.Add(s.Grace / queueShare)}) {
		// A place may have become free before it stood in the queue.
		if release, ok := s.acquirePlace(t.Webhook); ok {
			release()
			s.sendNext(running)
		}
		return true
	}
	s.inHand.release(t.ID)
	pause := min(max(now.Sub(t.FiredAt)/crowdedGrowth, firstCrowded), maxCrowded)
	o.again = append(o.again, due.Again{Taken: mine, At: now.Add(pause)})
	return true
}

// sendNext begins with a webhook that waits, if there is a place for one.
func (s *Service) sendNext(running context.Context) {
	if one, release, ok := s.queue.next(s.Now(), s.acquirePlace, s.inHand.release); ok {
		s.work.Go(func() { s.sendUntilEmpty(running, one, release) })
	}
}

// sendUntilEmpty calls a webhook, and those that wait for a place after it.
func (s *Service) sendUntilEmpty(running context.Context, one waiting, release func()) {
	for ok := true; ok; {
		settled, brokenOff := s.attempt(running, one.Timer)
		release()
		if !brokenOff { // otherwise another server, or the next start, goes on
			s.settleWebhook(context.WithoutCancel(running), one.taken, settled)
		}
		s.inHand.release(one.ID)
		if running.Err() != nil {
			return
		}
		one, release, ok = s.queue.next(s.Now(), s.acquirePlace, s.inHand.release)
	}
}

// clearQueue drops all who wait, when the service has stopped.
func (s *Service) clearQueue() {
	nowhere := func(string) (func(), bool) { return nil, false }
	s.queue.next(s.Now().Add(s.Grace), nowhere, s.inHand.release)
}

// acquirePlace asks for a free sender and for one of the places that a receiver has.
func (s *Service) acquirePlace(url string) (release func(), ok bool) {
	if s.Sender == nil {
		return nil, false // another server has one
	}
	select {
	case s.senders <- struct{}{}:
	default:
		return nil, false
	}
	receiver, ok := s.Sender.TryAcquire(url)
	if !ok {
		<-s.senders
		return nil, false
	}
	return func() { receiver(); <-s.senders }, true
}
