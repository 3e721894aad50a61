package timer

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"sluice/internal/webhook"
)

// deliver tells everybody of completions: the log, the hook, the webhooks. It
// moves what it deals with out of taken; what becomes of webhooks is told to
// the trigger when it is known.
func (s *Service) deliver(running, ctx context.Context, timers []Timer, taken map[string]Taken, now time.Time, o *outcome) {
	mine := make([]Taken, 0, len(timers))
	for _, t := range timers {
		mine = append(mine, taken[t.ID])
		delete(taken, t.ID)
	}
	if !s.log(ctx, s.logged(timers)) {
		for _, t := range timers {
			s.inHand.release(t.ID)
		}
		o.again = append(o.again, later(mine, now.Add(retryStore))...)
		return
	}
	var told deliveries
	for i, t := range timers {
		if t.Webhook != "" {
			s.send(running, t, mine[i], o)
			continue
		}
		defer s.inHand.release(t.ID)
		if one, brokenOff := s.callHook(running, t); !brokenOff {
			told.add(t, mine[i], one)
		}
	}
	// The log first: nobody comes back to what is settled.
	if s.Hook != nil && !s.log(ctx, told.completions) {
		o.again = append(o.again, later(told.taken, s.Now().Add(retryStore))...)
		return
	}
	if !s.settle(ctx, told.settled) {
		return
	}
	for i, one := range told.settled {
		if one.To == Delivering {
			o.again = append(o.again, Again{told.taken[i], one.Next})
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
	taken   []Taken
	// completions are of those that are over.
	completions []Completion
}

func (d *deliveries) add(t Timer, mine Taken, one Settlement) {
	d.settled, d.taken = append(d.settled, one), append(d.taken, mine)
	if one.To != Delivering {
		d.completions = append(d.completions, one.of(t))
	}
}

// of is the completion of a timer that was settled.
func (one Settlement) of(t Timer) Completion {
	t.Status, t.Tries, t.Error = one.To, one.Tries, one.Error
	return t.Completion()
}

// logged is what the log is told at first: those of whom nobody else is to be
// told are completed with that.
func (s *Service) logged(timers []Timer) []Completion {
	out := make([]Completion, len(timers))
	for i, t := range timers {
		out[i] = t.Completion()
		if t.Webhook == "" && s.Hook == nil {
			out[i].Status, out[i].Success = Completed, true
		}
	}
	return out
}

// log brings the log up to date, where there is one.
func (s *Service) log(ctx context.Context, completions []Completion) bool {
	if s.Log == nil || len(completions) == 0 {
		return true
	}
	if err := s.Log.Append(ctx, completions); err != nil {
		s.Slog.Warn("completions wait for their log", "timers", len(completions), "error", err)
		return false
	}
	return true
}

// settle writes down what became of deliveries. If that fails, they are
// repeated after the grace.
func (s *Service) settle(ctx context.Context, settled []Settlement) bool {
	if len(settled) == 0 {
		return true
	}
	if err := s.Store.Settle(ctx, settled); err != nil {
		s.Slog.Warn("the store does not take that timers were delivered; they are delivered again", "timers", len(settled), "error", err)
		return false
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
		one.To = Dead
		s.counters.Dead.Add(1)
		s.Slog.Error("timer given up", "timer", t.ID, "tries", one.Tries, "error", r.Error)
		return one
	}
	one.To, one.Next = Delivering, s.Now().Add(max(webhook.Backoff(one.Tries), r.RetryAfter))
	s.counters.Retried.Add(1)
	s.Slog.Warn("timer not delivered; trying again", "timer", t.ID, "tries", one.Tries, "at", one.Next, "error", r.Error)
	return one
}

// sent writes down what became of a webhook.
func (s *Service) sent(ctx context.Context, t Timer, mine Taken, one Settlement) {
	// The log first: nobody comes back to what is settled. If the log does not
	// take it, the webhook is called once more when it does again.
	if one.To != Delivering && !s.log(ctx, []Completion{one.of(t)}) {
		s.tellTrigger(ctx, outcome{again: []Again{{mine, s.Now().Add(retryStore)}}})
		return
	}
	if !s.settle(ctx, []Settlement{one}) {
		return
	}
	s.watchers.Notify()
	if one.To != Delivering {
		s.tellTrigger(ctx, outcome{done: []Taken{mine}})
		return
	}
	if s.Log != nil {
		// The row tells, since somebody else may have delivered it meanwhile.
		if row, err := s.Store.Timer(ctx, t.ID); err == nil {
			s.log(ctx, []Completion{row.Completion()})
		}
	}
	s.tellTrigger(ctx, outcome{again: []Again{{mine, one.Next}}})
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
		"type": "timer.completed", "id": c.Timer, "due": c.Due, "fired": c.Fired,
		"lateness_ms": float64(c.Lateness.Microseconds()) / 1000, "late": c.Late, "server": c.Server, "payload": c.Payload,
	})
	return body
}
