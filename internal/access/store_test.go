package access_test

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"sluice/internal/access"
	"sluice/internal/access/accesstest"
	"sluice/internal/domain"
)

// shelf keeps everything in memory, for several processes of a test.
type shelf struct {
	mu      sync.Mutex
	tokens  map[string]access.StoredToken
	entries map[string]access.Entry
	// err is what every call answers; asked counts reads of tokens.
	err     error
	asked   int
	touched int
}

func newShelf() *shelf {
	return &shelf{tokens: map[string]access.StoredToken{}, entries: map[string]access.Entry{}}
}

func (s *shelf) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *shelf) AddToken(_ context.Context, t access.StoredToken, guarded bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := cmp.Or(s.err, access.MayAdd(s.list(), t.Token, guarded))
	if err == nil {
		s.tokens[t.Name] = t
	}
	return err
}

func (s *shelf) list() []access.StoredToken {
	var all []access.StoredToken
	for _, t := range s.tokens {
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b access.StoredToken) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

func (s *shelf) Tokens(context.Context) ([]access.StoredToken, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	return s.list(), s.err
}

func (s *shelf) RemoveToken(_ context.Context, name string, now time.Time, guarded bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := cmp.Or(s.err, access.MayRemove(s.list(), name, now, guarded))
	if err == nil {
		delete(s.tokens, name)
	}
	return err
}

func (s *shelf) TouchToken(_ context.Context, name string, at time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t, there := s.tokens[name]; there && t.LastUsed.Before(at) {
		t.LastUsed = at
		s.tokens[name] = t
		s.touched++
	}
	return s.err
}

func (s *shelf) Record(_ context.Context, entries ...access.Entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range entries {
		if there, is := s.entries[e.ID]; s.err == nil && (!is || there.Status == 0) {
			s.entries[e.ID] = e
		}
	}
	return s.err
}

func (s *shelf) Entries(_ context.Context, q access.Query) (found []access.Entry, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.entries {
		if e.ID >= q.From && (q.Before == "" || e.ID < q.Before) && (q.Actor == "" || e.Actor == q.Actor) && (q.Action == "" || e.Action == q.Action) {
			found = append(found, e)
		}
	}
	slices.SortFunc(found, func(a, b access.Entry) int { return cmp.Compare(b.ID, a.ID) })
	return found[:min(len(found), q.Limit)], s.err
}

func (s *shelf) RemoveEntries(_ context.Context, before string, most int) (removed int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []string
	for id := range s.entries {
		if id < before {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	ids = ids[:min(len(ids), most)]
	for _, id := range ids {
		delete(s.entries, id)
	}
	return len(ids), s.err
}

// TestShelf lets the suite judge what the other tests stand on.
func TestShelf(t *testing.T) {
	accesstest.Run(t, func(*testing.T) (accesstest.Store, accesstest.Store) {
		s := newShelf()
		return s, s
	})
}

var errDown = domain.Errorf(domain.CodeUnavailable, "the store is down")

// clock is set by hand.
type clock struct{ now time.Time }

func newClock() *clock { return &clock{time.Date(2026, 11, 16, 12, 30, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time { return c.now }

func (c *clock) pass(d time.Duration) { c.now = c.now.Add(d) }

// refused demands an error of a code.
func refused(t *testing.T, err error, code domain.Code) {
	t.Helper()
	if domain.CodeOf(err) != code {
		t.Errorf("got %v, want an error of code %s", err, code)
	}
}

func must[T any](t *testing.T) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}
