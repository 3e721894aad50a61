package timer

import (
	"context"
	"sync"
	"time"
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

// queue holds webhooks that wait until a sender is free.
type queue struct {
	mu      sync.Mutex
	waiting []waiting
}

// waiting is one webhook of a timer that this process has taken.
type waiting struct {
	Timer
	taken Taken
	until time.Time
}

// add reports whether there was room.
func (q *queue) add(one waiting) bool {
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
func (q *queue) next(now time.Time, place func(url string) (release func(), ok bool), dropped func(id string)) (one waiting, release func(), ok bool) {
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

// send calls a webhook in the background: at once, or when there is a place.
func (s *Service) send(running context.Context, t Timer, mine Taken, o *outcome) {
	release, ok := s.place(t.Webhook)
	if ok {
		s.work.Go(func() { s.sendAll(running, waiting{Timer: t, taken: mine}, release) })
		return
	}
	now := s.Now()
	if s.queue.add(waiting{t, mine, now.Add(s.Grace / queueShare)}) {
		// A place may have become free before it stood in the queue.
		if release, ok := s.place(t.Webhook); ok {
			release()
			s.sendNext(running)
		}
		return
	}
	s.inHand.release(t.ID)
	pause := min(max(now.Sub(t.FiredAt)/crowdedGrowth, firstCrowded), maxCrowded)
	o.again = append(o.again, Again{mine, now.Add(pause)})
}

// sendNext begins with a webhook that waits, if there is a place for one.
func (s *Service) sendNext(running context.Context) {
	if one, release, ok := s.queue.next(s.Now(), s.place, s.inHand.release); ok {
		s.work.Go(func() { s.sendAll(running, one, release) })
	}
}

// sendAll calls a webhook, and those that wait for a place after it.
func (s *Service) sendAll(running context.Context, one waiting, release func()) {
	for ok := true; ok; {
		settled, brokenOff := s.attempt(running, one.Timer)
		release()
		if !brokenOff { // otherwise another server, or the next start, goes on
			s.sent(context.WithoutCancel(running), one.Timer, one.taken, settled)
		}
		s.inHand.release(one.ID)
		if running.Err() != nil {
			return
		}
		one, release, ok = s.queue.next(s.Now(), s.place, s.inHand.release)
	}
}

// clearQueue drops all who wait, when the service has stopped.
func (s *Service) clearQueue() {
	nowhere := func(string) (func(), bool) { return nil, false }
	s.queue.next(s.Now().Add(s.Grace), nowhere, s.inHand.release)
}

// place asks for a free sender and for one of the places that a receiver has.
func (s *Service) place(url string) (release func(), ok bool) {
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
