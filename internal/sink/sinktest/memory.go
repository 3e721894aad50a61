package sinktest

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/sink"
)

// Memory is a place in the memory of the process: the promises of the port in as few
// words as possible.
type Memory struct {
	mu       sync.Mutex
	tables   []sink.Table
	rows     map[document.Key]stored
	progress sink.Progress
	writer   *memoryTarget
}

type stored struct {
	values     map[string]document.Value
	raw        []byte
	generation int64
}

// Place is the place, for the suite.
func (m *Memory) Place() Place {
	return Place{
		Open: func(testing.TB) sink.Target { return &memoryTarget{Memory: m} },
		Rows: func(_ testing.TB, table sink.Table) []sink.Row { return m.Rows(table) },
	}
}

// Rows are those of a table.
func (m *Memory) Rows(table sink.Table) (rows []sink.Row) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, s := range m.rows {
		if key.Kind == table.Kind {
			row := sink.Row{Key: key, Raw: s.raw}
			for _, c := range table.Columns {
				v, there := s.values[c.Name]
				v.Null = v.Null || !there
				row.Values = append(row.Values, v)
			}
			rows = append(rows, row)
		}
	}
	return rows
}

type memoryTarget struct{ *Memory }

// Prepare implements sink.Target.
func (t *memoryTarget) Prepare(_ context.Context, tables []sink.Table) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.writer != nil && t.writer != t {
		return domain.Errorf(domain.CodeUnavailable, "another target writes here")
	}
	t.writer = t
	had := 0
	for _, table := range t.tables {
		had += len(table.Columns)
	}
	has := 0
	for _, table := range tables {
		has += len(table.Columns)
	}
	if has != had {
		t.progress.Backfilled, t.progress.After = false, document.Key{}
	}
	t.tables = slices.Clone(tables)
	return nil
}

// Progress implements sink.Target.
func (t *memoryTarget) Progress(context.Context) (sink.Progress, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.progress, nil
}

// Apply implements sink.Target.
func (t *memoryTarget) Apply(_ context.Context, b *sink.Batch) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rows == nil {
		t.rows = map[document.Key]stored{}
	}
	maps.DeleteFunc(t.rows, func(key document.Key, _ stored) bool { return slices.Contains(b.Purged, key.Account) })
	for _, r := range b.Rows {
		if r.Removed {
			delete(t.rows, r.Key)
			continue
		}
		s := stored{values: map[string]document.Value{}, raw: r.Raw, generation: b.Generation}
		for i, c := range t.tables[r.Table].Columns {
			s.values[c.Name] = r.Values[i]
		}
		t.rows[r.Key] = s
	}
	if b.Sweep {
		maps.DeleteFunc(t.rows, func(_ document.Key, s stored) bool { return s.generation < b.Generation })
	}
	t.progress = b.Progress
	return nil
}

// Close implements sink.Target.
func (t *memoryTarget) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.writer == t {
		t.writer = nil
	}
	return nil
}

// Fault is what goes wrong with a batch.
type Fault int

// What can go wrong: nothing; it is not stored; it is stored, and nobody hears of it.
const (
	None Fault = iota
	Before
	After
)

// faultText is what the error of a fault says.
const faultText = "a fault of the test"

// Faulty is a target some of whose batches fail.
type Faulty struct {
	sink.Target
	// Fail decides for each batch.
	Fail func() Fault
}

// Apply implements sink.Target.
func (f *Faulty) Apply(ctx context.Context, b *sink.Batch) error {
	fault := f.Fail()
	if fault != Before {
		if err := f.Target.Apply(ctx, b); err != nil {
			return err
		}
	}
	if fault != None {
		return domain.Errorf(domain.CodeUnavailable, faultText)
	}
	return nil
}
