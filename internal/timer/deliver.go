package timer

import (
	"context"
	"encoding/json"
	"time"

	"sluice/internal/webhook"
)

// deliver tells everybody of completions: the log, the hook, the webhooks. It
// moves what it deals with out of taken; what becomes of webhooks is told to
// the trigger when it is known.
func (s *Service) deliver(running, ctx context.Context, timers []Timer, taken map[string]Taken, now time.Time, o *outcome) {
	if s.Log != nil {
		if err := s.Log.Append(ctx, logged(timers)); err != nil {
			s.Slog.Warn("completions wait for their log", "timers", len(timers), "error", err)
			for _, t := range timers {
				o.again = append(o.again, Again{taken[t.ID], now.Add(retryStore)})
				delete(taken, t.ID)
			}
			return
		}
	}
	var settled []Settlement
	var finished []Taken
	for _, t := range timers {
		mine := taken[t.ID]
		delete(taken, t.ID)
		if t.Webhook != "" {
			s.send(running, t, mine, o)
			continue
		}
		one := s.hook(ctx, t)
		settled = append(settled, one)
		if one.To == Delivering {
			o.again = append(o.again, Again{mine, one.Next})
		} else {
			finished = append(finished, mine)
		}
	}
	if s.settle(ctx, settled) {
		o.done = append(o.done, finished...)
	}
}

// logged is what the log is told at first: who has no webhook is completed with
// that.
func logged(timers []Timer) []Completion {
	out := make([]Completion, len(timers))
	for i, t := range timers {
		out[i] = t.Completion()
		if t.Webhook == "" {
			out[i].Status, out[i].Success = Completed, true
		}
	}
	return out
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

// hook calls the hook of the program that embeds the service.
func (s *Service) hook(ctx context.Context, t Timer) Settlement {
	if s.Hook == nil {
		return Settlement{ID: t.ID, To: Completed, Tries: t.Tries}
	}
	if err := s.Hook(ctx, t.Completion()); err != nil {
		return s.failed(t, webhook.Result{Error: err.Error()})
	}
	return Settlement{ID: t.ID, To: Completed, Tries: t.Tries + 1}
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

// crowded is how soon a webhook is tried again that found no free sender.
const crowded = 500 * time.Millisecond

// send calls a webhook in the background, if there is a place for it.
func (s *Service) send(running context.Context, t Timer, mine Taken, o *outcome) {
	release, ok := s.place(t.Webhook)
	if !ok {
		o.again = append(o.again, Again{mine, s.Now().Add(crowded)})
		return
	}
	s.work.Go(func() {
		defer release()
		one := s.attempt(running, t)
		if running.Err() != nil && one.To == Delivering {
			// Another server, or the next start, goes on.
			return
		}
		ctx := context.WithoutCancel(running)
		if !s.settle(ctx, []Settlement{one}) {
			return
		}
		s.logSettled(ctx, t, one)
		s.watchers.Notify()
		if one.To == Delivering {
			s.tellTrigger(ctx, outcome{again: []Again{{mine, one.Next}}})
			return
		}
		s.tellTrigger(ctx, outcome{done: []Taken{mine}})
	})
}

func (s *Service) place(url string) (release func(), ok bool) {
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

// attempt makes one attempt to tell the hook and the webhook.
func (s *Service) attempt(ctx context.Context, t Timer) Settlement {
	if one := s.hook(ctx, t); one.To != Completed {
		return one
	}
	r := s.Sender.Send(ctx, webhook.Message{ID: t.ID, URL: t.Webhook, Body: notice(t)})
	if !r.OK {
		return s.failed(t, r)
	}
	s.counters.Delivered.Add(1)
	return Settlement{ID: t.ID, To: Completed, Tries: t.Tries + 1}
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

// logSettled brings the log up to date. A log that does not take it shows the
// timer as being delivered; the store knows better.
func (s *Service) logSettled(ctx context.Context, t Timer, one Settlement) {
	if s.Log == nil {
		return
	}
	t.Status, t.Tries, t.Error = one.To, one.Tries, one.Error
	if err := s.Log.Append(ctx, []Completion{t.Completion()}); err != nil {
		s.Slog.Warn("the completion log is behind", "timer", t.ID, "error", err)
	}
}
