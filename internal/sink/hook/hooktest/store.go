// Package hooktest is the suite of stores of webhook sinks, and one in memory.
package hooktest

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/sink/hook"
)

// Memory is a store in the memory of the process.
type Memory struct {
	mu       sync.Mutex
	standing map[string][]byte
	letters  map[string]hook.Stored
}

var _ hook.Store = (*Memory)(nil)

// NewMemory returns an empty store.
func NewMemory() *Memory {
	return &Memory{standing: map[string][]byte{}, letters: map[string]hook.Stored{}}
}

// Standing implements hook.Store.
func (m *Memory) Standing(_ context.Context, sink string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.standing[sink], nil
}

// Stand implements hook.Store.
func (m *Memory) Stand(_ context.Context, sink string, standing []byte, letter *hook.Stored) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.standing[sink] = standing
	if letter != nil {
		m.letters[letter.ID] = *letter
	}
	return nil
}

// Letters implements hook.Store.
func (m *Memory) Letters(_ context.Context, sink string, limit int) (found []hook.Stored, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range m.letters {
		if l.Sink == sink {
			found = append(found, l)
		}
	}
	slices.SortFunc(found, func(a, b hook.Stored) int { return cmp.Or(a.At.Compare(b.At), strings.Compare(a.ID, b.ID)) })
	return found[:min(limit, len(found))], nil
}

// CountLetters implements hook.Store.
func (m *Memory) CountLetters(_ context.Context, sink string) (n int64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range m.letters {
		if l.Sink == sink {
			n++
		}
	}
	return n, nil
}

// Letter implements hook.Store.
func (m *Memory) Letter(_ context.Context, id string) (hook.Stored, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l, found := m.letters[id]
	if !found {
		return l, domain.Errorf(domain.CodeNotFound, "there is no letter %s", id)
	}
	return l, nil
}

// Rewrite implements hook.Store.
func (m *Memory) Rewrite(_ context.Context, id string, body []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l, found := m.letters[id]; found {
		l.Body = body
		m.letters[id] = l
	}
	return nil
}

// Discard implements hook.Store.
func (m *Memory) Discard(_ context.Context, id string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, found := m.letters[id]
	delete(m.letters, id)
	return found, nil
}

// Run runs the suite on an empty store.
func Run(t *testing.T, open func(t *testing.T) hook.Store) {
	t.Run("Standing", func(t *testing.T) { standing(t, open(t)) })
	t.Run("Letters", func(t *testing.T) { letters(t, open(t)) })
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func standing(t *testing.T, s hook.Store) {
	ctx := t.Context()
	if got, err := s.Standing(ctx, "a"); err != nil || got != nil {
		t.Fatalf("of a new sink there is %q, %v", got, err)
	}
	for _, text := range []string{"one", "two", "two", strings.Repeat("long \x00 ", 20_000)} {
		must(t, s.Stand(ctx, "a", []byte(text), nil))
		must(t, s.Stand(ctx, "A", []byte("of another"), nil))
		if got, err := s.Standing(ctx, "a"); err != nil || string(got) != text {
			t.Fatalf("stored %q, got %q, %v", text, got, err)
		}
	}
}

func letters(t *testing.T, s hook.Store) {
	ctx := t.Context()
	at := time.UnixMicro(1_800_000_000_123_456)
	letter := func(id, sink string, minutes int) hook.Stored {
		return hook.Stored{ID: id, Sink: sink, At: at.Add(time.Duration(minutes) * time.Minute), Status: 422, Reason: "no: \"é\" 🦀", Body: []byte("body of " + id + "\x00")}
	}
	all := []hook.Stored{letter("z", "a", 1), letter("y", "a", 2), letter("x", "a", 3), letter("w", "b", 0)}
	for i := range all {
		must(t, s.Stand(ctx, all[i].Sink, []byte("p"), &all[i]))
	}
	compare := func(sink string, limit int, want ...hook.Stored) {
		t.Helper()
		got, err := s.Letters(ctx, sink, limit)
		must(t, err)
		same := slices.EqualFunc(got, want, func(a, b hook.Stored) bool {
			return a.ID == b.ID && a.Sink == b.Sink && a.At.Equal(b.At) && a.Status == b.Status && a.Reason == b.Reason && bytes.Equal(a.Body, b.Body)
		})
		if !same {
			t.Fatalf("letters of %s: %+v, want %+v", sink, got, want)
		}
	}
	compare("a", 10, all[:3]...)
	for sink, want := range map[string]int64{"a": 3, "b": 1, "c": 0} {
		if n, err := s.CountLetters(ctx, sink); err != nil || n != want {
			t.Errorf("%d letters of %s, %v; want %d", n, sink, err, want)
		}
	}
	compare("a", 2, all[:2]...)
	compare("b", 10, all[3])
	compare("c", 10)
	again := all[1]
	again.Reason, again.Status = "another", 0
	must(t, s.Stand(ctx, "a", []byte("q"), &again))
	must(t, s.Rewrite(ctx, "z", []byte("less")))
	must(t, s.Rewrite(ctx, "none", []byte("less")))
	all[0].Body = []byte("less")
	compare("a", 10, all[0], again, all[2])
	if got, err := s.Letter(ctx, "w"); err != nil || got.Sink != "b" || !bytes.Equal(got.Body, all[3].Body) {
		t.Errorf("the letter w is %+v, %v", got, err)
	}
	for _, there := range []bool{true, false} {
		if got, err := s.Discard(ctx, "w"); err != nil || got != there {
			t.Errorf("discarded %v, %v; want %v", got, err, there)
		}
	}
	if _, err := s.Letter(ctx, "w"); domain.CodeOf(err) != domain.CodeNotFound {
		t.Errorf("a letter that is not there: %v", err)
	}
}
