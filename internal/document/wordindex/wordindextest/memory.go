package wordindextest

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"sluice/internal/document"
	"sluice/internal/document/wordindex"
)

// Memory is an index in the memory of the process: the promises of the port in as
// few words as possible, for tests of whoever uses one.
type Memory struct {
	mu       sync.Mutex
	progress []byte
	entries  map[document.Key]wordindex.Entry
}

var _ wordindex.Index = (*Memory)(nil)

// NewMemory returns an empty index.
func NewMemory() *Memory { return &Memory{entries: map[document.Key]wordindex.Entry{}} }

// Progress implements wordindex.Index.
func (m *Memory) Progress(context.Context) (wordindex.Progress, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return wordindex.ReadProgress(m.progress)
}

// Apply implements wordindex.Index.
func (m *Memory) Apply(ctx context.Context, b wordindex.Batch) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return wordindex.Apply(ctx, memoryRows{m}, b)
}

// Drop implements wordindex.Index.
func (m *Memory) Drop(_ context.Context, account int64, most int) (more bool, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key := range m.entries {
		if account != 0 && key.Account != account {
			continue
		}
		if most--; most < 0 {
			return true, nil
		}
		delete(m.entries, key)
	}
	return false, nil
}

// Search implements wordindex.Index.
func (m *Memory) Search(_ context.Context, s wordindex.Lookup) (hits []wordindex.Hit, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.entries {
		any := len(s.AnyOf) == 0 || slices.ContainsFunc(s.AnyOf, func(word string) bool { return slices.Contains(e.Words, word) })
		if any && s.Satisfies(e.Words) && (s.Before == 0 || e.ID < s.Before) {
			hits = append(hits, wordindex.Hit{ID: e.ID, Key: e.Key})
		}
	}
	slices.SortFunc(hits, func(a, b wordindex.Hit) int { return cmp.Compare(b.ID, a.ID) })
	return hits[:min(len(hits), s.Limit)], nil
}

// memoryRows implements wordindex.Rows.
type memoryRows struct{ *Memory }

func (r memoryRows) Progress(context.Context) ([]byte, error) { return r.progress, nil }

func (r memoryRows) SaveProgress(_ context.Context, progress []byte) error {
	r.progress = progress
	return nil
}

func (r memoryRows) Entries(_ context.Context, keys []document.Key) (entries []wordindex.Entry, _ error) {
	for _, key := range keys {
		if e, ok := r.entries[key]; ok {
			entries = append(entries, e)
		}
	}
	return entries, nil
}

func (r memoryRows) Taken(_ context.Context, ids []int64) (taken []int64, _ error) {
	for _, e := range r.entries {
		if slices.Contains(ids, e.ID) {
			taken = append(taken, e.ID)
		}
	}
	return taken, nil
}

func (r memoryRows) Change(_ context.Context, changes []wordindex.Change) error {
	for _, c := range changes {
		if c.New == nil {
			delete(r.entries, c.Old.Key)
		} else {
			r.entries[c.New.Key] = *c.New
		}
	}
	return nil
}
