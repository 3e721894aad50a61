package documenttest

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"sluice/internal/document"
	"sluice/internal/domain"
)

// Memory is a store of documents with a feed in the memory of the process: the
// promises of the ports in as few words as possible. Tests of whoever follows a feed
// use it, and the suites compare stores with it. It counts commits as its clock.
type Memory struct {
	kinds document.Kinds

	mu      sync.Mutex
	docs    map[document.Key]*held
	homes   map[[2]int64]*presence
	changes []document.Change
	newest  int64
	trimmed int64
	commits int
	changed chan struct{}
}

// held is a document as it came, and what was claimed of it.
type held struct {
	doc  document.Document
	mark document.Mark
}

type presence struct {
	seen time.Time
	mark document.Mark
}

var (
	_ document.Store  = (*Memory)(nil)
	_ document.Filler = (*Memory)(nil)
	_ document.Feed   = (*Memory)(nil)
	_ document.Finder = (*Memory)(nil)
)

// NewMemory returns an empty store of the declared kinds.
func NewMemory(kinds document.Kinds) *Memory {
	return &Memory{kinds: kinds, docs: map[document.Key]*held{}, homes: map[[2]int64]*presence{}, changed: make(chan struct{}, 1)}
}

// Changed gets a token after changes were committed.
func (m *Memory) Changed() <-chan struct{} { return m.changed }

// shown is a document as readers see it.
func (m *Memory) shown(h *held) document.Document {
	d := h.doc
	home := m.homes[[2]int64{d.Account, d.Repository}]
	if home == nil || !home.mark.Holds(home.seen) {
		home = &presence{}
	}
	m.kinds.SetGone(&d, h.mark, home.mark)
	return d
}

// commit makes a change and logs which documents are others afterwards.
func (m *Memory) commit(change func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := map[document.Key]document.Document{}
	for key, h := range m.docs {
		before[key] = m.shown(h)
	}
	titles := m.titles()
	change()
	now := m.titles()
	m.commits++
	for _, key := range slices.SortedFunc(maps.Keys(m.docs), compareKeys) {
		d := m.shown(m.docs[key])
		old, there := before[key]
		home := [2]int64{d.Account, d.Repository}
		renamed := m.showsTitle(key.Kind) && titles[home] != now[home]
		if there && !renamed && same(old, d) {
			continue
		}
		what := document.Updated
		switch {
		case !there:
			what = document.Created
		case d.Deleted && (!old.Deleted || old.GoneWhy != d.GoneWhy):
			what = document.Deleted
		}
		m.log(document.Change{Key: key, What: what, Version: d.Version})
	}
}

func (m *Memory) log(c document.Change) {
	m.newest++
	c.Position, c.At = m.newest, instant(m.commits)
	m.changes = append(m.changes, c)
	select {
	case m.changed <- struct{}{}:
	default:
	}
}

// same says whether a row shows the same of two copies.
func same(a, b document.Document) bool {
	a.SeenAt, b.SeenAt, a.Version, b.Version = time.Time{}, time.Time{}, time.Time{}, time.Time{}
	if len(a.Raw) == 0 && len(b.Raw) == 0 {
		a.Raw, b.Raw = nil, nil
	}
	if len(a.Own) == 0 && len(b.Own) == 0 {
		a.Own, b.Own = nil, nil
	}
	return reflect.DeepEqual(a, b)
}

func (m *Memory) titles() map[[2]int64]string {
	titles := map[[2]int64]string{}
	for key, h := range m.docs {
		if d := m.kinds.Of(key.Kind); d != nil && d.Container {
			titles[[2]int64{key.Account, h.doc.Repository}] = h.doc.Title
		}
	}
	return titles
}

func (m *Memory) showsTitle(kind document.Kind) bool {
	d := m.kinds.Of(kind)
	return d != nil && slices.ContainsFunc(d.Columns, func(c document.Column) bool { return c.From == document.FromContainerTitle })
}

func compareKeys(a, b document.Key) int {
	return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
}

// Upsert implements document.Writer.
func (m *Memory) Upsert(ctx context.Context, docs []document.Document) error {
	if err := errors.Join(ctx.Err(), m.kinds.CheckDocuments(docs)); err != nil {
		return err
	}
	m.commit(func() {
		for _, d := range docs {
			h := m.docs[d.Key]
			if h == nil {
				h = &held{doc: d}
				m.docs[d.Key] = h
			}
			seen := h.doc.SeenAt
			if !d.Version.Before(h.doc.Version) {
				h.doc = d
			}
			h.doc.SeenAt = later(seen, d.SeenAt)
		}
		for _, s := range m.kinds.Sightings(docs) {
			home := m.home(s.Account, s.Repository)
			home.seen = later(home.seen, s.At)
		}
	})
	return nil
}

// Fill implements document.Filler.
func (m *Memory) Fill(ctx context.Context, docs []document.Document) error {
	if err := errors.Join(ctx.Err(), m.kinds.CheckDocuments(docs)); err != nil {
		return err
	}
	m.commit(func() {
		for _, d := range docs {
			h := m.docs[d.Key]
			if h == nil || !h.doc.Version.Equal(d.Version) {
				continue
			}
			h.doc.Own = maps.Clone(h.doc.Own)
			for name, v := range d.Own {
				if _, there := h.doc.Own[name]; !there {
					h.doc.Set(name, v)
				}
			}
		}
	})
	return nil
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func (m *Memory) home(account, repository int64) *presence {
	id := [2]int64{account, repository}
	if m.homes[id] == nil {
		m.homes[id] = &presence{}
	}
	return m.homes[id]
}

// MarkDeleted implements document.Writer.
func (m *Memory) MarkDeleted(_ context.Context, absences []document.Absence) error {
	if err := m.kinds.CheckAbsences(absences); err != nil {
		return err
	}
	m.commit(func() {
		for _, a := range absences {
			if a.Kind == "" {
				home := m.home(a.Account, a.Repository)
				home.mark = home.mark.Claim(home.seen, a.Why, a.Since)
				continue
			}
			if len(a.With) > 0 {
				m.follow(&a)
				continue
			}
			for key, h := range m.docs {
				if h.within(key, &a) && h.doc.SeenAt.Before(a.NotSeenSince) && (len(a.Numbers) == 0 || slices.Contains(a.Numbers, h.doc.Number)) {
					h.mark = h.mark.Claim(h.doc.SeenAt, a.Why, a.Since)
				}
			}
		}
	})
	return nil
}

// within tells whether a document is of the kind and in the repository of an absence.
func (h *held) within(key document.Key, a *document.Absence) bool {
	return key.Account == a.Account && key.Kind == a.Kind && h.doc.Repository == a.Repository
}

// follow lets documents go and come back with those that they belong to.
func (m *Memory) follow(a *document.Absence) {
	gone := map[int64]bool{}
	for key, h := range m.docs {
		if key.Account == a.Account && slices.Contains(a.With, key.Kind) && h.doc.Repository == a.Repository && h.mark.Holds(h.doc.SeenAt) {
			gone[a.NumberOf(key.Name, h.doc.Number)] = true
		}
	}
	for key, h := range m.docs {
		switch {
		case !h.within(key, a):
		case gone[h.doc.Number]:
			h.mark = h.mark.Claim(h.doc.SeenAt, a.Why, a.Since)
		case h.mark.Holds(h.doc.SeenAt) && h.mark.Last.Before(a.Since):
			h.doc.SeenAt = later(h.doc.SeenAt, a.Since)
		}
	}
}

// Purge implements document.Writer: all at once, whatever most is.
func (m *Memory) Purge(_ context.Context, account int64, _ int) (removed int64, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key := range m.docs {
		if key.Account == account {
			delete(m.docs, key)
			removed++
		}
	}
	for id := range m.homes {
		if id[0] == account {
			delete(m.homes, id)
			removed++
		}
	}
	if removed > 0 {
		m.commits++
		m.changes = slices.DeleteFunc(m.changes, func(c document.Change) bool { return c.Account == account })
		m.log(document.Change{Key: document.Key{Account: account}, What: document.Purged})
	}
	return removed, nil
}

// Get implements document.Reader.
func (m *Memory) Get(ctx context.Context, key document.Key) (document.Document, bool, error) {
	found, err := m.Find(ctx, []document.Key{key}, true)
	if err != nil || len(found) == 0 {
		return document.Document{}, false, err
	}
	return found[0], true, nil
}

// Find implements document.Finder.
func (m *Memory) Find(ctx context.Context, keys []document.Key, withRaw bool) (found []document.Document, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, key := range keys {
		if h := m.docs[key]; h != nil {
			d := m.shown(h)
			if !withRaw {
				d.Raw = nil
			}
			found = append(found, d)
		}
	}
	return found, nil
}

// Scan implements document.Reader.
func (m *Memory) Scan(ctx context.Context, q document.Query, fn func(*document.Document) error) error {
	m.mu.Lock()
	keys := slices.SortedFunc(maps.Keys(m.docs), compareKeys)
	m.mu.Unlock()
	for _, key := range keys {
		if q.Account != 0 && key.Account != q.Account || q.Kind != "" && key.Kind != q.Kind || q.After != (document.Key{}) && compareKeys(key, q.After) <= 0 {
			continue
		}
		found, err := m.Find(ctx, []document.Key{key}, q.WithRaw)
		if err != nil {
			return err
		}
		for i := range found {
			d := &found[i]
			if q.Repository != 0 && d.Repository != q.Repository || !q.Since.IsZero() && d.CreatedAt.Before(q.Since) || !q.Until.IsZero() && !d.CreatedAt.Before(q.Until) {
				continue
			}
			if q.WithoutOwn {
				d.Own = nil
			}
			if err := fn(d); err != nil {
				return err
			}
		}
	}
	return nil
}

// Count implements document.Reader.
func (m *Memory) Count(_ context.Context, account int64) (map[document.Kind]int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	counts := map[document.Kind]int64{}
	for key := range m.docs {
		if key.Account == account {
			counts[key.Kind]++
		}
	}
	return counts, nil
}

// Changes implements document.Feed.
func (m *Memory) Changes(_ context.Context, after int64, limit int) (changes []document.Change, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case after > m.newest:
		return nil, domain.Errorf(domain.CodeInvalid, "there is no position %d: the newest is %d", after, m.newest)
	case after < m.trimmed:
		return nil, domain.Errorf(domain.CodeGone, "changes after position %d are kept no longer: the oldest is %d", after, m.trimmed+1)
	}
	for _, c := range m.changes {
		if c.Position > after && len(changes) < limit {
			changes = append(changes, c)
		}
	}
	return changes, nil
}

// Bounds implements document.Feed.
func (m *Memory) Bounds(context.Context) (document.Bounds, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return document.Bounds{Feed: "memory", Oldest: m.trimmed + 1, Newest: m.newest}, nil
}

// TrimChanges implements document.Feed.
func (m *Memory) TrimChanges(_ context.Context, before time.Time, most int) (removed int64, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.changes) > 0 && removed < int64(most) && m.changes[0].At.Before(before) {
		m.trimmed = m.changes[0].Position
		m.changes = m.changes[1:]
		removed++
	}
	return removed, nil
}
