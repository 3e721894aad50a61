package record

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"
)

// Memory keeps records while the process lives, for one that has no store. It is
// safe for concurrent use.
type Memory struct {
	mu  sync.Mutex
	all map[Kind]map[string]Record
}

var _ Store = (*Memory)(nil)

// NewMemory returns an empty store.
func NewMemory() *Memory { return &Memory{all: map[Kind]map[string]Record{}} }

// Put implements Store.
func (m *Memory) Put(_ context.Context, r Record) error {
	if err := r.Check(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all[r.Kind] == nil {
		m.all[r.Kind] = map[string]Record{}
	}
	r.Value = slices.Clone(r.Value)
	m.all[r.Kind][r.Name] = r
	return nil
}

// Get implements Store.
func (m *Memory) Get(_ context.Context, kind Kind, name string) (Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []Record
	if r, there := m.all[kind][name]; there {
		found = append(found, r)
	}
	return Only(found, nil)
}

// List implements Store.
func (m *Memory) List(_ context.Context, kind Kind) (all []Record, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.all[kind] {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b Record) int { return strings.Compare(a.Name, b.Name) })
	return all[:min(len(all), MostListed)], nil
}

// Remove implements Store.
func (m *Memory) Remove(_ context.Context, kind Kind, name string) (there bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, there = m.all[kind][name]
	delete(m.all[kind], name)
	return there, nil
}

// RemoveExpired implements Store.
func (m *Memory) RemoveExpired(_ context.Context, kind Kind, before time.Time) (removed int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, r := range m.all[kind] {
		if !r.Expires.IsZero() && r.Expires.Before(before) {
			delete(m.all[kind], name)
			removed++
		}
	}
	return removed, nil
}
