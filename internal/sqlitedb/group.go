package sqlitedb

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"sluice/internal/domain"
)

// maxGroup bounds how many requests share a transaction, so that the first
// does not wait for an endless last.
const maxGroup = 256

// request is one unit of work for the writer. run is called inside a
// transaction and undoes what it did if it fails; done is called once, when
// the fate of the transaction is known.
type request interface {
	run(*sqlite.Conn) error
	done(error)
}

// writeLoop owns the writing connection. Whatever is queued when a transaction
// begins becomes part of it and shares its fsync.
func (db *DB) writeLoop(conn *sqlite.Conn) {
	defer close(db.stopped)
	// The file is complete at every commit; an error on closing loses nothing.
	defer func() { _ = conn.Close() }()
	group := make([]request, 0, maxGroup)
	for {
		select {
		case r := <-db.queue:
			group = db.gather(append(group[:0], r))
			db.commit(conn, group)
		case <-db.quit:
			for {
				group = db.gather(group[:0])
				if len(group) == 0 {
					return
				}
				db.commit(conn, group)
			}
		}
	}
}

func (db *DB) gather(group []request) []request {
	for len(group) < maxGroup {
		select {
		case r := <-db.queue:
			group = append(group, r)
		default:
			return group
		}
	}
	return group
}

// commit runs a group in one transaction. A request that fails is undone alone
// and told so; the others go on.
func (db *DB) commit(conn *sqlite.Conn, group []request) {
	db.transactions.Add(1)
	results := make([]error, len(group))
	err := db.transact(conn, func() error {
		for i, r := range group {
			results[i] = r.run(conn)
			// A full disk or an I/O error makes SQLite give up the whole
			// transaction; then nobody's work was done.
			if results[i] != nil && conn.AutocommitEnabled() {
				return results[i]
			}
		}
		return nil
	})
	for i, r := range group {
		if err != nil {
			results[i] = err
		}
		r.done(describe(results[i], db.path))
	}
}

func (db *DB) transact(conn *sqlite.Conn, fn func() error) error {
	if err := sqlitex.Execute(conn, "BEGIN IMMEDIATE", nil); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	err := fn()
	if err == nil {
		err = sqlitex.Execute(conn, "COMMIT", nil)
	}
	if err != nil && !conn.AutocommitEnabled() {
		err = errors.Join(err, sqlitex.Execute(conn, "ROLLBACK", nil))
	}
	return err
}

func savepoint(conn *sqlite.Conn, fn func(*sqlite.Conn) error) error {
	if err := sqlitex.Execute(conn, "SAVEPOINT request", nil); err != nil {
		return err
	}
	if err := fn(conn); err != nil {
		if conn.AutocommitEnabled() {
			return err
		}
		undo := sqlitex.Execute(conn, "ROLLBACK TO request", nil)
		return errors.Join(err, undo, sqlitex.Execute(conn, "RELEASE request", nil))
	}
	return sqlitex.Execute(conn, "RELEASE request", nil)
}

// submit queues a request for the writer.
func (db *DB) submit(ctx context.Context, r request) error {
	if err := errors.Join(db.closed(), ctx.Err()); err != nil {
		return err
	}
	select {
	case db.queue <- r:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-db.stopped:
		return db.closed()
	}
}

// closed returns an error once Close was called.
func (db *DB) closed() error {
	select {
	case <-db.quit:
		return domain.Errorf(domain.CodeUnavailable, "the database is closed")
	default:
		return nil
	}
}

// await waits for the result of a queued request. The writer answers whatever
// it took; what it left behind when it stopped was not done.
func (db *DB) await(result <-chan error) error {
	select {
	case err := <-result:
		return err
	case <-db.stopped:
		select {
		case err := <-result:
			return err
		default:
			return db.closed()
		}
	}
}

// Write runs fn in a transaction that it may share with other writers; if fn
// fails, what it did is undone. When ctx ends before fn has begun, fn is not
// run at all; once it has begun, Write waits for the outcome, so that fn never
// runs on behind its caller's back.
func (db *DB) Write(ctx context.Context, fn func(*sqlite.Conn) error) error {
	w := &single{fn: fn, result: make(chan error, 1)}
	if err := db.submit(ctx, w); err != nil {
		return err
	}
	select {
	case err := <-w.result:
		return err
	case <-ctx.Done():
		if w.taken.CompareAndSwap(false, true) {
			return ctx.Err()
		}
	case <-db.stopped:
	}
	return db.await(w.result)
}

type single struct {
	fn func(*sqlite.Conn) error
	// taken is set by whoever comes first: the writer that begins, or the
	// caller that withdraws.
	taken  atomic.Bool
	result chan error
}

func (w *single) run(conn *sqlite.Conn) error {
	if !w.taken.CompareAndSwap(false, true) {
		return nil
	}
	return savepoint(conn, w.fn)
}

func (w *single) done(err error) { w.result <- err }

// Merger turns the calls of many goroutines into few set-based ones: while the
// writer is busy, calls gather; when it comes round, apply gets all of them.
type Merger[T any] struct {
	db *DB
	// apply does the work of all items. Its error undoes them all; they are
	// then applied one by one so that only the culprit fails.
	apply func(*sqlite.Conn, []*T) error

	mu      sync.Mutex
	waiting *merged[T]
}

// NewMerger returns a merger of calls to apply. An item's results are written
// into the item itself.
func NewMerger[T any](db *DB, apply func(*sqlite.Conn, []*T) error) *Merger[T] {
	return &Merger[T]{db: db, apply: apply}
}

// Do applies one item, in company, and returns when it is on disk. When ctx
// ends first the outcome is unknown, and the item must not be touched again.
func (m *Merger[T]) Do(ctx context.Context, item *T) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	result := make(chan error, 1)
	m.mu.Lock()
	batch := m.waiting
	first := batch == nil
	if first {
		batch = &merged[T]{merger: m}
		m.waiting = batch
	}
	batch.items = append(batch.items, item)
	batch.results = append(batch.results, result)
	m.mu.Unlock()
	if first {
		if err := m.db.submit(ctx, batch); err != nil {
			// The others' contexts may be alive, so this one's end is no cause
			// of their error: they are told to try again.
			batch.abandon(domain.Errorf(domain.CodeUnavailable, "the write was not begun: %v", err))
			return err
		}
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-result:
		return err
	case <-m.db.stopped:
		return m.db.await(result)
	}
}

// merged is the batch that gathers until the writer takes it.
type merged[T any] struct {
	merger  *Merger[T]
	items   []*T
	results []chan error
	errs    []error
}

func (b *merged[T]) seal() {
	b.merger.mu.Lock()
	defer b.merger.mu.Unlock()
	if b.merger.waiting == b {
		b.merger.waiting = nil
	}
}

func (b *merged[T]) run(conn *sqlite.Conn) error {
	b.seal()
	b.errs = make([]error, len(b.items))
	err := savepoint(conn, func(c *sqlite.Conn) error { return b.merger.apply(c, b.items) })
	if err == nil || len(b.items) == 1 || conn.AutocommitEnabled() {
		return err
	}
	for i := range b.items {
		b.errs[i] = savepoint(conn, func(c *sqlite.Conn) error { return b.merger.apply(c, b.items[i:i+1]) })
		if b.errs[i] != nil && conn.AutocommitEnabled() {
			return b.errs[i]
		}
	}
	return nil
}

func (b *merged[T]) done(err error) {
	for i, result := range b.results {
		switch {
		case err != nil:
			result <- err
		case b.errs[i] != nil:
			result <- describe(b.errs[i], b.merger.db.path)
		default:
			result <- nil
		}
	}
}

// abandon answers everyone in a batch that could not be queued.
func (b *merged[T]) abandon(err error) {
	b.seal()
	for _, result := range b.results {
		result <- err
	}
}
