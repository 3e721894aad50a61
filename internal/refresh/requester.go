package refresh

import (
	"context"
	"crypto/rand"
	"errors"
	"sync/atomic"
	"time"

	"sluice/internal/domain"
	"sluice/internal/ration/keeper"
)

// Publisher appends to the log; every EventLog is one.
type Publisher interface {
	Publish(ctx context.Context, topic Topic, messages ...Message) error
}

// Requester turns requests into events: coalesced, accepted, then published.
type Requester struct {
	Coalescer Coalescer
	Requests  Requests
	Marks     Marks
	Log       Publisher
	// Lasting is set if what the log has acknowledged is as safe as what the store
	// has: then accepted requests are not kept twice.
	Lasting bool
	// Published, if set, is told how many requests were added to the log.
	Published func(p domain.Priority, n int)
	Now       func() time.Time

	accepts *accepts

	// marked is up to where versions may have been given out, as the store knows. It is
	// one caller's turn to ask it or to tell it.
	marking keeper.Turn
	marked  atomic.Int64
}

// markAhead is by how many microseconds the store knows of versions before they
// are given out, so that it is told seldom.
const markAhead = int64(10 * time.Minute / time.Microsecond)

// Request is a request to have entities refreshed.
type Request struct {
	Entities      []Entity
	Priority      domain.Priority
	Reason        Reason
	CorrelationID string
}

// topicOf is where events of a priority go.
func topicOf(p domain.Priority) Topic {
	if p == domain.PriorityHigh {
		return TopicHigh
	}
	return TopicLow
}

// Request has entities refreshed and returns, in their order, what became of
// each. What a user has asked for is in the store, or in a log that is as safe,
// when it returns, and stays there until it is done. When it fails nothing is
// promised: locks are given back.
func (r *Requester) Request(ctx context.Context, q Request) ([]Grant, error) {
	if err := r.seed(ctx); err != nil {
		return nil, refused(err)
	}
	asks := make([]Ask, len(q.Entities))
	for i, e := range q.Entities {
		asks[i] = Ask{Entity: e, Priority: q.Priority}
	}
	grants, err := r.Coalescer.Acquire(ctx, asks...)
	if err != nil {
		return nil, refused(err)
	}
	fresh, joined := r.events(q, grants)
	locks := make([]Lock, len(fresh))
	for i := range fresh {
		locks[i] = fresh[i].Lock()
	}
	if err := r.mark(ctx, fresh, joined); err != nil {
		return nil, errors.Join(refused(err), r.giveBack(ctx, locks))
	}
	kept := !r.Lasting && q.Reason.promised()
	if kept {
		if err := r.accepts.accept(ctx, fresh, r.returning(joined)); err != nil {
			return nil, errors.Join(refused(err), r.giveBack(ctx, locks))
		}
	}
	if err := publishEvents(ctx, r.Log, fresh); err != nil {
		err = errors.Join(refused(err), r.giveBack(ctx, locks))
		if kept {
			err = errors.Join(err, r.comeBack(ctx, fresh))
		}
		return nil, err
	}
	if r.Published != nil && len(fresh) > 0 {
		r.Published(q.Priority, len(fresh))
	}
	return grants, nil
}

// events makes events of grants: those that are to be published, and those that
// somebody else has begun, and publishes.
func (r *Requester) events(q Request, grants []Grant) (fresh, joined []Event) {
	now := r.Now().UTC()
	for _, g := range grants {
		event := Event{
			SchemaVersion: SchemaVersion, EventID: rand.Text(), Entity: g.Entity, Priority: g.Priority, Reason: q.Reason,
			RequestedAt: now, CorrelationID: q.CorrelationID, Version: g.Version,
		}
		if g.Result == AlreadyProcessing {
			joined = append(joined, event)
		} else {
			fresh = append(fresh, event)
		}
	}
	return fresh, joined
}

// seed makes versions go on above those that were given out before, whatever the
// clock says by now.
func (r *Requester) seed(ctx context.Context) error {
	if r.marked.Load() > 0 {
		return nil
	}
	if err := r.marking.Take(ctx); err != nil {
		return err
	}
	defer r.marking.End()
	if r.marked.Load() > 0 {
		return nil
	}
	mark, err := r.Marks.VersionMark(ctx)
	if err != nil {
		return err
	}
	r.Coalescer.Raise(mark)
	r.marked.Store(max(mark, 1))
	return nil
}

// mark lets the store know of versions before they are used.
func (r *Requester) mark(ctx context.Context, groups ...[]Event) error {
	newest := int64(0)
	for _, events := range groups {
		for i := range events {
			newest = max(newest, events[i].Version)
		}
	}
	if newest <= r.marked.Load() {
		return nil
	}
	if err := r.marking.Take(ctx); err != nil {
		return err
	}
	defer r.marking.End()
	if newest <= r.marked.Load() {
		return nil
	}
	if err := r.Marks.RaiseVersionMark(ctx, newest+markAhead); err != nil {
		return err
	}
	r.marked.Store(newest + markAhead)
	return nil
}

// publishEvents appends events to the logs of their priorities.
func publishEvents(ctx context.Context, log Publisher, events []Event) error {
	byTopic := map[Topic][]Message{}
	for i := range events {
		text, err := events[i].Encode()
		if err != nil {
			return err
		}
		topic := topicOf(events[i].Priority)
		byTopic[topic] = append(byTopic[topic], Message{Key: events[i].String(), Value: text})
	}
	for topic, messages := range byTopic {
		if err := log.Publish(ctx, topic, messages...); err != nil {
			return err
		}
	}
	return nil
}

// republishDelay is after how long what was accepted and could not be published
// is published again: an earlier request of the same entity may have been
// promised. It is also after how long somebody else's request is that was joined:
// whoever began it may have ended, or not have heard that it did.
const republishDelay = 30 * time.Second

func (r *Requester) comeBack(ctx context.Context, events []Event) error {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	return r.Requests.Park(limited, r.returning(events))
}

// returning are requests that come back unless they are done by then.
func (r *Requester) returning(events []Event) []Pending {
	requests := make([]Pending, len(events))
	for i, e := range events {
		requests[i] = Pending{Event: e, NotBefore: r.Now().Add(republishDelay)}
	}
	return requests
}

// refused tells people why a request was.
func refused(err error) error {
	if domain.CodeOf(err) != domain.CodeUnavailable {
		return err
	}
	return domain.Errorf(domain.CodeUnavailable, "refreshes cannot be requested now; what is stored can still be read: %w", err)
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
