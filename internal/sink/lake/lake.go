// Package lake keeps a copy of what was collected in Parquet files, in a folder or a
// bucket, for programs that read such files by themselves.
//
// A table is a set of files, each with the rows of a range of keys that no other
// file has. A batch replaces the files whose ranges its rows are in (leaf.go), and
// small neighbours are merged meanwhile (plan.go), so that a reader sees each row
// once, in its newest version, without knowing any of this. Which files these are, and how far the sink
// is, is in a catalogue that changes at once: the tables of a DuckLake (ducklake*.go), or a
// manifest (manifest.go). Files are written before the catalogue names them, and removed
// after it does not; what a process leaves that dies in between is removed at the next start.
package lake

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"sluice/internal/archive"
	"sluice/internal/backoff"
	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/export"
	"sluice/internal/sink"
)

// Options say where a lake lies and how it is kept.
type Options struct {
	Files archive.Files
	// Place is how readers name where the files are: the path of a folder, or
	// s3://BUCKET/PREFIX, with a slash at its end.
	Place string
	// Catalog is the SQLite file of a DuckLake; "" means a manifest among the files.
	Catalog string
	// Lock is a file by which processes of this machine keep from writing at once;
	// "" means that nothing does.
	Lock string
	// Every is how long a small batch waits after the one before it, so that a few
	// changes do not rewrite a file each; negative means not at all.
	Every time.Duration
	// Keep is how long readers of an earlier snapshot of a DuckLake have its files.
	Keep time.Duration
	// Now is the clock; time.Now.
	Now func() time.Time
}

const (
	defaultEvery = 5 * time.Second
	defaultKeep  = time.Hour
	// smallBatch is how many rows a batch has at most that waits for others.
	smallBatch = 500
)

// Lake is a sink.Target of Parquet files.
type Lake struct {
	options Options
	catalog catalog
	lock    *lock

	tables  []*table
	now     *contents
	applied time.Time
}

var _ sink.Target = (*Lake)(nil)

// table is a table of the batches, as it is written.
type table struct {
	name    string
	raw     bool
	columns []document.Column
	ids     []export.FieldID
	layout  *export.Layout
}

// lay numbers the columns as the lake has them.
func (t *table) lay(held *holding) {
	t.ids = held.ids(t.columns)
	t.layout = export.NewLayout(t.name, t.columns, t.ids)
}

// The columns that every table has beside the declared ones, in this order.
const (
	columnRaw        = "raw"
	columnGeneration = "_sluice_generation"
	columnAccount    = "_sluice_account"
	columnName       = "_sluice_name"
)

// New returns a lake that is opened when it is prepared.
func New(o Options) *Lake {
	o.Every = cmp.Or(o.Every, defaultEvery)
	o.Keep = cmp.Or(o.Keep, defaultKeep)
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Lake{options: o}
}

// open opens the lake, and makes it if there is none.
func (l *Lake) open(ctx context.Context) (err error) {
	l.now = nil
	if l.catalog != nil {
		return nil
	}
	if l.options.Lock != "" && l.lock == nil {
		if l.lock, err = takeLock(l.options.Lock); err != nil {
			return err
		}
	}
	if l.options.Catalog == "" {
		l.catalog = &manifest{files: l.options.Files}
		return nil
	}
	opened, err := openDuckLake(ctx, l.options)
	if err != nil {
		return err
	}
	l.catalog = opened
	return nil
}

// Prepare implements sink.Target.
func (l *Lake) Prepare(ctx context.Context, tables []sink.Table) error {
	l.tables = nil
	for _, t := range tables {
		columns := slices.Clone(t.Columns)
		if t.Raw {
			columns = append(columns, document.Column{Name: columnRaw, Type: document.TypeText, Nullable: true})
		}
		l.tables = append(l.tables, &table{name: t.Name, raw: t.Raw, columns: append(columns, keyColumns()...)})
	}
	if err := l.open(ctx); err != nil {
		return err
	}
	before, err := l.current(ctx)
	if err != nil {
		return err
	}
	c := &change{next: before.clone()}
	for _, t := range l.tables {
		if err := c.shape(t); err != nil {
			return err
		}
	}
	if len(c.created)+len(c.altered) > 0 {
		// What was carried before lacks it.
		c.next.Progress.Backfilled, c.next.Progress.After = false, document.Key{}
		if err := l.commit(ctx, c); err != nil {
			return err
		}
	}
	for _, t := range l.tables {
		t.lay(l.now.Tables[t.name])
	}
	return l.removeOrphans(ctx)
}

func keyColumns() []document.Column {
	return []document.Column{
		{Name: columnGeneration, Type: document.TypeInteger},
		{Name: columnAccount, Type: document.TypeInteger},
		{Name: columnName, Type: document.TypeText},
	}
}

// current is what the catalogue has.
func (l *Lake) current(ctx context.Context) (*contents, error) {
	if l.now != nil {
		return l.now, nil
	}
	if l.catalog == nil {
		return nil, domain.Errorf(domain.CodeInternal, "the lake is not prepared")
	}
	now, err := l.catalog.load(ctx)
	if err != nil {
		return nil, err
	}
	l.now = now
	return now, nil
}

func (l *Lake) commit(ctx context.Context, c *change) error {
	if err := l.catalog.commit(ctx, c); err != nil {
		l.now = nil // whether it holds is to be read
		return err
	}
	l.now = c.next
	return nil
}

// removeOrphans removes files of the lake's own names that its catalogue does not
// name, which is all that a process leaves behind that died.
func (l *Lake) removeOrphans(ctx context.Context) error {
	named, err := l.catalog.named(ctx)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(l.now.Tables)) {
		for object, err := range l.options.Files.List(ctx, name+"/"+filePrefix) {
			if err != nil {
				return err
			}
			if named[object.Key] || !strings.HasSuffix(object.Key, fileSuffix) {
				continue
			}
			if err := l.options.Files.Remove(ctx, object.Key); err != nil {
				return err
			}
		}
	}
	return nil
}

// Progress implements sink.Target.
func (l *Lake) Progress(ctx context.Context) (sink.Progress, error) {
	now, err := l.current(ctx)
	if err != nil {
		return sink.Progress{}, err
	}
	return now.Progress, nil
}

// Apply implements sink.Target.
func (l *Lake) Apply(ctx context.Context, b *sink.Batch) error {
	if err := l.pace(ctx, b); err != nil {
		return err
	}
	before, err := l.current(ctx)
	if err != nil {
		return err
	}
	c := &change{next: before.clone()}
	c.next.Progress = b.Progress
	edits, err := l.edits(b)
	if err != nil {
		return err
	}
	sweep := sweeping{purged: b.Purged}
	if b.Sweep {
		sweep.before = b.Generation
	}
	for name, held := range c.next.Tables {
		at := slices.IndexFunc(l.tables, func(t *table) bool { return t.name == name })
		// A table that is not declared any more only loses rows.
		t, todo := held.table(name), []edit(nil)
		if at >= 0 {
			t, todo = l.tables[at], edits[at]
		}
		if err := l.rewrite(ctx, c, t, held, todo, sweep); err != nil {
			return err
		}
	}
	if err := l.commit(ctx, c); err != nil {
		return err
	}
	l.applied = l.options.Now()
	keep := l.options.Keep
	if len(b.Purged) > 0 {
		keep = 0 // nothing of these accounts is to stay
	}
	return l.expire(ctx, c, keep)
}

// pace has a few changes wait for others.
func (l *Lake) pace(ctx context.Context, b *sink.Batch) error {
	if !b.Backfilled || len(b.Rows) > smallBatch || len(b.Purged) > 0 || l.options.Every < 0 || l.applied.IsZero() {
		return nil
	}
	if wait := l.options.Every - l.options.Now().Sub(l.applied); wait > 0 && !backoff.Sleep(ctx, wait) {
		return ctx.Err()
	}
	return nil
}

// expire removes the files that nobody reads any more.
func (l *Lake) expire(ctx context.Context, c *change, keep time.Duration) error {
	keys, err := l.catalog.expire(ctx, c, l.options.Now().Add(-keep))
	if err != nil {
		return err
	}
	for _, key := range keys {
		if err := l.options.Files.Remove(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

// edits are what is to be done to the tables, in the order of keys.
func (l *Lake) edits(b *sink.Batch) ([][]edit, error) {
	all := make([][]edit, len(l.tables))
	for i := range b.Rows {
		r := &b.Rows[i]
		if r.Table < 0 || r.Table >= len(l.tables) {
			return nil, domain.Errorf(domain.CodeInternal, "a row is of table %d, and %d are prepared", r.Table, len(l.tables))
		}
		e := edit{key: rowKey{r.Key.Account, r.Key.Name}, gone: r.Removed}
		if !e.gone {
			e.values = slices.Clone(r.Values)
			if l.tables[r.Table].raw {
				e.values = append(e.values, document.Value{Text: strings.ToValidUTF8(string(r.Raw), "\uFFFD"), Null: len(r.Raw) == 0})
			}
			e.values = append(e.values, document.Value{Integer: b.Generation}, document.Value{Integer: r.Key.Account}, document.Value{Text: r.Key.Name})
		}
		all[r.Table] = append(all[r.Table], e)
	}
	for _, edits := range all {
		slices.SortFunc(edits, func(a, b edit) int { return a.key.compare(b.key) })
	}
	return all, nil
}

// Close implements sink.Target.
func (l *Lake) Close() error {
	defer l.lock.release()
	if l.catalog == nil {
		return nil
	}
	return l.catalog.close()
}
