package notify

import (
	"context"
	"strings"
	"sync"
	"time"

	"sluice/internal/domain"
)

const (
	// overlap is how far back a look goes before the mark: clocks of machines
	// differ, and what is committed may be older than what is.
	overlap = 5 * time.Minute
	// lookBack is how far back what was not told is told: less far than events are
	// known to have been recorded.
	lookBack = keepFor - 24*time.Hour
	// gatherAtOnce is how many events of a kind are read at once.
	gatherAtOnce = 200
	// maxHanded bounds what is handed in while the store does not answer.
	maxHanded = 1000
)

// gatherer is what was said to have happened since somebody looked.
type gatherer struct {
	wake chan struct{}

	mu sync.Mutex
	// look says that tables are to be read, since at least an instant.
	look  bool
	since time.Time
	// handed are events that stand in no table, by key. dropped counts those for
	// which there was no room.
	handed  map[string]Event
	dropped int64
	// forgotten is when what is old was removed last.
	forgotten time.Time
}

// Changed says that a table has something to tell since an instant. It does not
// wait.
func (s *Service) Changed(since time.Time) {
	if s == nil || !s.Active() {
		return
	}
	s.hint(since)
}

// Happened hands in an event that stands in no table. It does not wait. What is
// too much is counted, and told as one event.
func (s *Service) Happened(e Event) {
	if s == nil || !s.Active() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.handed == nil {
		s.handed = map[string]Event{}
	}
	if _, known := s.handed[e.Key]; !known && len(s.handed) >= maxHanded {
		s.dropped++
		return
	}
	s.handed[e.Key] = e
	s.poke()
}

// FloorReached hands in that only what its owner keeps is left of a ration.
func (s *Service) FloorReached(a domain.Account, why string, until time.Time) {
	said := map[string]string{"primary": "the quota is used up", "floor": "what is left of the quota is kept for its owner"}[why]
	if said == "" {
		said = "the floor keeps the whole quota for its owner; lower it (--floor, account set --keep)"
	}
	s.Happened(ReachedFloor(a.Owner, a.Source, a.Login, said, until, s.now()))
}

// BreakerOpened hands in that a part is left alone.
func (s *Service) BreakerOpened(part string) { s.Happened(OpenedBreaker(part, s.now())) }

func (g *gatherer) hint(since time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.look || !since.IsZero() && (g.since.IsZero() || since.Before(g.since)) {
		g.since = since
	}
	g.look = true
	g.poke()
}

func (g *gatherer) poke() {
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

// take takes what was said.
func (g *gatherer) take() (look bool, since time.Time, handed []Event, dropped int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	look, since, dropped = g.look, g.since, g.dropped
	for _, e := range g.handed {
		handed = append(handed, e)
	}
	g.look, g.since, g.handed, g.dropped = false, time.Time{}, nil, 0
	return look, since, handed, dropped
}

// giveBack keeps what could not be recorded.
func (s *Service) giveBack(look bool, since time.Time, handed []Event, dropped int64) {
	if look {
		s.hint(since)
	}
	for _, e := range handed {
		s.Happened(e)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropped += dropped
}

// gather records what happened since it was looked for last.
func (s *Service) gather(ctx context.Context) (err error) {
	look, since, handed, dropped := s.take()
	defer func() {
		if err != nil {
			s.giveBack(look, since, handed, dropped)
		}
	}()
	if dropped > 0 {
		s.log.Warn("too much happened to tell all of it", "events", dropped)
	}
	if len(handed) > 0 {
		if _, err := s.store.Record(ctx, s.recording(handed, time.Time{})); err != nil {
			return err
		}
	}
	if !look {
		return nil
	}
	if err := s.readTables(ctx, since); err != nil {
		return err
	}
	return s.forget(ctx)
}

// readTables records what tables tell. The first time, what was before stays
// untold.
func (s *Service) readTables(ctx context.Context, since time.Time) error {
	now := s.now()
	mark, err := s.store.Mark(ctx)
	if err != nil {
		return err
	}
	first := mark.IsZero()
	if first {
		mark, since = now, time.Time{}
	}
	from := mark.Add(-overlap)
	if !since.IsZero() && since.Before(from) {
		from = since
	}
	if oldest := now.Add(-lookBack); from.Before(oldest) {
		from = oldest
	}
	for limit := gatherAtOnce; ; {
		events, err := s.store.Happened(ctx, from, limit)
		if err != nil {
			return err
		}
		if err := s.recordRead(ctx, events, first); err != nil {
			return err
		}
		reached, more := furthest(events, limit)
		if !more {
			break
		}
		if !reached.After(from) {
			limit *= 2
		}
		from = reached
	}
	_, err = s.store.Record(ctx, s.recording(nil, now))
	return err
}

// recordRead records what was read from tables. The first time, what was before
// this process is only noted as known: later looks go back further than this one.
func (s *Service) recordRead(ctx context.Context, events []Event, first bool) error {
	var old, news []Event
	for _, e := range events {
		if first && e.At.Before(s.begun) {
			old = append(old, e)
		} else {
			news = append(news, e)
		}
	}
	if len(old) > 0 {
		untold := s.recording(old, time.Time{})
		untold.Targets = nil
		if _, err := s.store.Record(ctx, untold); err != nil {
			return err
		}
	}
	if len(news) == 0 {
		return nil
	}
	_, err := s.store.Record(ctx, s.recording(news, time.Time{}))
	return err
}

// furthest is up to when everything was read, and whether there may be more.
func furthest(events []Event, limit int) (reached time.Time, more bool) {
	counts, last := map[string]int{}, map[string]time.Time{}
	for _, e := range events {
		counts[e.table()]++
		last[e.table()] = e.At
	}
	for k, n := range counts {
		if n >= limit && (!more || last[k].Before(reached)) {
			reached, more = last[k], true
		}
	}
	return reached, more
}

// table names the table that an event was read from: its key begins with it.
func (e *Event) table() string {
	name, _, _ := strings.Cut(e.Key, ":")
	return name
}

func (s *Service) recording(events []Event, mark time.Time) Recording {
	r := Recording{Events: events, Now: s.now(), Mark: mark, NewID: s.newID}
	for _, t := range s.targets {
		r.Targets = append(r.Targets, Wanted{Target: t.Name, Every: t.Every, Wants: t.Wants})
	}
	return r
}

// forget removes what is old, once a day.
func (s *Service) forget(ctx context.Context) error {
	now := s.now()
	if now.Sub(s.forgotten) < 24*time.Hour {
		return nil
	}
	for {
		removed, err := s.store.Forget(ctx, now.Add(-keepFor), 1000)
		if err != nil {
			return err
		}
		if removed == 0 {
			s.forgotten = now
			return nil
		}
	}
}
