package refresh

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"sluice/internal/domain"
	"sluice/internal/refresh/eventlog"
)

// Publisher appends to the log; every eventlog.Log is one.
type Publisher interface {
	Publish(ctx context.Context, topic eventlog.Topic, messages ...eventlog.Message) error
}

// Requester turns wishes into events: coalesced, then published.
type Requester struct {
	Coalescer Coalescer
	Log       Publisher
	Now       func() time.Time
}

// Request is a wish to have entities refreshed.
type Request struct {
	Entities      []Entity
	Priority      domain.Priority
	Reason        Reason
	CorrelationID string
}

// topicOf is where events of a priority go.
func topicOf(p domain.Priority) eventlog.Topic {
	if p == domain.PriorityHigh {
		return eventlog.High
	}
	return eventlog.Low
}

// Request has entities refreshed and returns, in their order, what became of
// each. When it fails, nothing of it is under way because of it: locks are
// given back.
func (r *Requester) Request(ctx context.Context, q Request) ([]Grant, error) {
	asks := make([]Ask, len(q.Entities))
	for i, e := range q.Entities {
		asks[i] = Ask{Entity: e, Priority: q.Priority}
	}
	grants, err := r.Coalescer.Acquire(ctx, asks...)
	if err != nil {
		return nil, refused(err)
	}
	now := r.Now().UTC()
	messages := make([]eventlog.Message, 0, len(grants))
	locks := make([]Lock, 0, len(grants))
	for _, g := range grants {
		if g.Result == AlreadyProcessing {
			continue
		}
		event := Event{
			SchemaVersion: SchemaVersion, EventID: rand.Text(), Entity: g.Entity, Priority: q.Priority, Reason: q.Reason,
			RequestedAt: now, CorrelationID: q.CorrelationID, Version: g.Version,
		}
		text, err := event.Encode()
		if err != nil {
			return nil, errors.Join(err, r.giveBack(ctx, locks))
		}
		messages = append(messages, eventlog.Message{Key: g.String(), Value: text})
		locks = append(locks, g.Lock)
	}
	if len(messages) == 0 {
		return grants, nil
	}
	if err := r.Log.Publish(ctx, topicOf(q.Priority), messages...); err != nil {
		return nil, errors.Join(refused(err), r.giveBack(ctx, locks))
	}
	return grants, nil
}

// refused tells people why a request was.
func refused(err error) error {
	if domain.CodeOf(err) != domain.CodeUnavailable {
		return err
	}
	return domain.Errorf(domain.CodeUnavailable, "no refreshes can be asked for now, and what is stored can be read: %w", err)
}

// giveBack releases locks whose events were not published. If that fails as
// well, they end by themselves.
func (r *Requester) giveBack(ctx context.Context, locks []Lock) error {
	if len(locks) == 0 {
		return nil
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	return r.Coalescer.Release(limited, locks...)
}
