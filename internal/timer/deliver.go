package timer

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"sluice/internal/due"
	"sluice/internal/webhook"
)

// deliver tells everybody of completions: the hook, the webhooks. It
// moves what it deals with out of taken; what becomes of webhooks is told to
// the trigger when it is known.
func (s *Service) deliver(running, ctx context.Context, timers []Timer, taken map[string]due.Taken, o *outcome) {
	mine := make([]due.Taken, 0, len(timers))
	for _, t := range timers {
		mine = append(mine, taken[t.ID])
		delete(taken, t.ID)
	}
	var told deliveries
	for i, t := range timers {
		if t.Webhook != "" {
			if !s.sendOrQueue(running, t, mine[i], o) {
				told.add(mine[i], s.gaveUp(t))
				s.inHand.release(t.ID)
			}
			continue
		}
		defer s.inHand.release(t.ID)
		if one, brokenOff := s.callHook(running, t); !brokenOff {
			told.add(mine[i], one)
		}
	}
	if !s.settle(ctx, told.settled) {
		return
	}
	for i, one := range told.settled {
		if one.To == Delivering {
			o.again = append(o.again, due.Again{Taken: told.taken[i], At: one.Next})
		} else {
			o.done = append(o.done, told.taken[i])
		}
	}
}

// inHand has the ids of the timers that this process delivers, so that it does
// not deliver one twice at a time: the trigger may hand it out again.
type inHand struct {
	mu  sync.Mutex
	ids map[string]struct{}
}

func (h *inHand) take(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, taken := h.ids[id]; taken {
		return false
	}
	h.ids[id] = struct{}{}
	return true
}

func (h *inHand) release(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.ids, id)
}

// deliveries are what became of those timers that have no webhook.
type deliveries struct {
	settled []Settlement
	taken   []due.Taken
}

func (d *deliveries) add(mine due.Taken, one Settlement) {
	d.settled, d.taken = append(d.settled, one), append(d.taken, mine)
}

// settle writes down what became of deliveries. If that fails, they are
// repeated after the grace.
func (s *Service) settle(ctx context.Context, settled []Settlement) bool {
	if len(settled) == 0 {
		return true
	}
	for i := range settled {
		settled[i].Log = s.Log != nil
	}
	if err := s.firings.Settle(ctx, settled); err != nil {
		s.Slog.Warn("the store does not take that timers were delivered; they are delivered again", "timers", len(settled), "error", err)
		return false
	}
	for i := range settled {
		if settled[i].To == Dead && s.Buried != nil {
			s.Buried(settled[i].At)
		}
	}
	return true
}

// callHook calls the hook of the program that embeds the service, if it has
// one.
func (s *Service) callHook(running context.Context, t Timer) (one Settlement, brokenOff bool) {
	if s.Hook == nil {
		return Settlement{ID: t.ID, To: Completed, Tries: t.Tries}, false
	}
	if err := s.Hook(running, t.Completion()); err != nil {
		if running.Err() != nil {
			return one, true
		}
		return s.failed(t, webhook.Result{Error: err.Error()}), false
	}
	return Settlement{ID: t.ID, To: Completed, Tries: t.Tries + 1}, false
}

// failed decides about a delivery that did not succeed.
func (s *Service) failed(t Timer, r webhook.Result) Settlement {
	one := Settlement{ID: t.ID, Tries: t.Tries + 1, Error: r.Error}
	if r.Permanent || one.Tries >= webhook.MaxTries {
		one.To, one.At = Dead, s.Now()
		s.counters.Dead.Add(1)
		s.Slog.Error("the delivery of a timer was given up", "timer", t.ID, "tries", one.Tries, "error", r.Error)
		return one
	}
	one.To, one.Next = Delivering, s.Now().Add(max(webhook.Backoff(one.Tries), r.RetryAfter))
	s.counters.Retried.Add(1)
	s.Slog.Warn("a timer was not delivered; trying again", "timer", t.ID, "tries", one.Tries, "at", one.Next, "error", r.Error)
	return one
}

// overdue tells whether a webhook that finds no place has waited for one long
// enough: however many wait for a receiver that is dead, each of them ends in
// hours. One that a person had delivered again is tried at least once.
func (s *Service) overdue(t Timer) bool {
	again := t.Tries == 0 && t.Error != ""
	return !again && s.Now().Sub(t.FiredAt) > webhook.GiveUpAfter
}

// gaveUp ends the delivery of a webhook for which there was no place in time.
func (s *Service) gaveUp(t Timer) Settlement {
	why := fmt.Sprintf("given up %s after it fired: too many others wait for its receiver", s.Now().Sub(t.FiredAt).Round(time.Minute))
	if t.Error != "" {
		why += "; its last try failed: " + t.Error
	}
	s.counters.Dead.Add(1)
	s.Slog.Error("the delivery of a timer was given up", "timer", t.ID, "tries", t.Tries, "error", why)
	return Settlement{ID: t.ID, To: Dead, Tries: t.Tries, Error: why, At: s.Now()}
}

// settleWebhook stores what became of a webhook.
func (s *Service) settleWebhook(ctx context.Context, mine due.Taken, one Settlement) {
	if !s.settle(ctx, []Settlement{one}) {
		return
	}
	s.watchers.Notify()
	if !s.logSoon(ctx) {
		return
	}
	if one.To != Delivering {
		s.reportToTrigger(ctx, outcome{done: []due.Taken{mine}})
		return
	}
	s.reportToTrigger(ctx, outcome{again: []due.Again{{Taken: mine, At: one.Next}}})
}

// attempt makes one attempt to tell the hook and the webhook. One that is
// broken off because the service stops does not count.
func (s *Service) attempt(running context.Context, t Timer) (one Settlement, brokenOff bool) {
	if one, brokenOff := s.callHook(running, t); brokenOff || one.To != Completed {
		return one, brokenOff
	}
	r := s.Sender.Send(running, webhook.Message{ID: t.ID, URL: t.Webhook, Body: notice(t)})
	switch {
	case r.OK:
		s.counters.Delivered.Add(1)
		return Settlement{ID: t.ID, To: Completed, Tries: t.Tries + 1}, false
	case running.Err() != nil:
		return one, true
	}
	return s.failed(t, r), false
}

// notice is the body of a webhook.
func notice(t Timer) []byte {
	c := t.Completion()
	// Its parts are all JSON already or plain values: this cannot fail.
	body, _ := json.Marshal(map[string]any{
		"type": "timer.completed", "id": c.Timer, "due": c.Due, "fired": c.FiredAt,
		"lateness_ms": float64(c.Lateness.Microseconds()) / 1000, "late": c.Late, "server": c.Server, "payload": c.Payload,
	})
	return body
}
