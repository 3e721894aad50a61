package refresh

import (
	"context"

	"sluice/internal/batch"
	"sluice/internal/domain"
)

const (
	// acceptBatch is how many requests are accepted together, acceptTrips how many
	// such groups are under way at once.
	acceptBatch = 64
	acceptTrips = 4
)

// acceptance is a request on its way to where accepted ones are kept.
type acceptance struct {
	events []Event
	// joined are those of others, in case that they are never published.
	joined []Pending
	// err is what is wrong with this one alone.
	err error
}

// accepts keeps the requests of concurrent callers in few transactions: a crowd
// that asks for one entity would otherwise wait for its row one after the other.
type accepts struct {
	requests Requests
	group    *batch.Group[acceptance]
}

func newAccepts(requests Requests) *accepts {
	a := &accepts{requests: requests}
	a.group = batch.New(acceptBatch, a.apply).Trips(acceptTrips)
	return a
}

// accept returns when events are kept, and what was joined is.
func (a *accepts) accept(ctx context.Context, events []Event, joined []Pending) error {
	item := &acceptance{events: events, joined: joined}
	if err := a.group.Do(ctx, item); err != nil {
		return err
	}
	return item.err
}

func (a *accepts) apply(ctx context.Context, items []*acceptance) error {
	err := a.keep(ctx, items)
	if err == nil || len(items) == 1 || domain.CodeOf(err) == domain.CodeUnavailable {
		return err
	}
	// One of them is at fault, and must not take the others along.
	for _, item := range items {
		item.err = a.keep(ctx, []*acceptance{item})
	}
	return nil
}

func (a *accepts) keep(ctx context.Context, items []*acceptance) error {
	events, joined := distinct(items)
	if len(events) > 0 {
		if err := a.requests.Accept(ctx, events); err != nil {
			return err
		}
	}
	if len(joined) > 0 {
		return a.requests.Follow(ctx, joined)
	}
	return nil
}

// distinct returns the events of many requests in their order, one of each
// version of an entity: the others ask for nothing else. What was joined is there
// only if it was not begun here.
func distinct(items []*acceptance) (events []Event, joined []Pending) {
	met := map[Lock]bool{}
	for _, item := range items {
		for _, e := range item.events {
			if lock := e.Lock(); !met[lock] {
				met[lock] = true
				events = append(events, e)
			}
		}
	}
	for _, item := range items {
		for _, p := range item.joined {
			if lock := p.Lock(); !met[lock] {
				met[lock] = true
				joined = append(joined, p)
			}
		}
	}
	return events, joined
}
