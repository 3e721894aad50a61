package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	driver "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"sluice/internal/domain"
)

// maxWriteGroup bounds how many requests share a transaction, so that the first
// does not wait for an endless last.
const maxWriteGroup = 256

// writeRequest is one unit of work for the writer. run is called inside a
// transaction and undoes what it did if it fails; done is called once, when
// the fate of the transaction is known.
type writeRequest interface {
	run(*driver.Conn) error
	done(error)
}

// writeLoop owns the writing connection. Whatever is queued when a transaction
// begins becomes part of it and shares its fsync.
func (db *DB) writeLoop(conn *driver.Conn) {
	defer close(db.stopped)
	left := false
	group := make([]writeRequest, 0, maxWriteGroup)
	for {
		select {
		case r := <-db.queue:
			group = db.gather(append(group[:0], r))
			db.commit(conn, group)
			left = left && !truncateLog(conn, 0)
		case tried := <-db.erase:
			left = !truncateLog(conn, eraseWait)
			close(tried)
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

func (db *DB) gather(group []writeRequest) []writeRequest {
	for len(group) < maxWriteGroup {
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
func (db *DB) commit(conn *driver.Conn, group []writeRequest) {
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

func (db *DB) transact(conn *driver.Conn, fn func() error) error {
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

func savepoint(conn *driver.Conn, fn func(*driver.Conn) error) error {
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
func (db *DB) submit(ctx context.Context, r writeRequest) error {
	if db.reader != nil {
		return errReadAlone(db.path)
	}
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
//
// The first write for a request of the API also has its entry in the audit log.
func (db *DB) Write(ctx context.Context, fn func(*driver.Conn) error) error {
	fn, done := withTrail(ctx, fn)
	err := db.write(ctx, fn)
	done(err)
	return err
}

func (db *DB) write(ctx context.Context, fn func(*driver.Conn) error) error {
	w := &singleWrite{fn: fn, result: make(chan error, 1)}
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

type singleWrite struct {
	fn func(*driver.Conn) error
	// taken is set by whoever comes first: the writer that begins, or the
	// caller that withdraws.
	taken  atomic.Bool
	result chan error
}

func (w *singleWrite) run(conn *driver.Conn) error {
	if !w.taken.CompareAndSwap(false, true) {
		return nil
	}
	return savepoint(conn, w.fn)
}

func (w *singleWrite) done(err error) { w.result <- err }

// merger turns the calls of many goroutines into few set-based ones: while the
// writer is busy, calls gather; when it comes round, apply gets all of them. It is
// no batch.Group: a batch has one place in the writer's queue and stays open until
// the writer takes it, and it shares that transaction with batches of other kinds.
type merger[T any] struct {
	db *DB
	// apply does the work of all items. Its error undoes them all; they are
	// then applied one by one so that only the culprit fails.
	apply func(*driver.Conn, []*T) error

	mu      sync.Mutex
	waiting *mergedWrite[T]
}

// newMerger returns a merger of calls to apply. An item's results are written
// into the item itself.
func newMerger[T any](db *DB, apply func(*driver.Conn, []*T) error) *merger[T] {
	return &merger[T]{db: db, apply: apply}
}

// Do applies one item, in company, and returns when it is on disk. When ctx
// ends first the outcome is unknown, and the item must not be touched again.
func (m *merger[T]) Do(ctx context.Context, item *T) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	result := make(chan error, 1)
	m.mu.Lock()
	batch := m.waiting
	first := batch == nil
	if first {
		batch = &mergedWrite[T]{merger: m}
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

// mergedWrite is the batch that gathers until the writer takes it.
type mergedWrite[T any] struct {
	merger  *merger[T]
	items   []*T
	results []chan error
	errs    []error
}

func (b *mergedWrite[T]) seal() {
	b.merger.mu.Lock()
	defer b.merger.mu.Unlock()
	if b.merger.waiting == b {
		b.merger.waiting = nil
	}
}

func (b *mergedWrite[T]) run(conn *driver.Conn) error {
	b.seal()
	b.errs = make([]error, len(b.items))
	err := savepoint(conn, func(c *driver.Conn) error { return b.merger.apply(c, b.items) })
	if err == nil || len(b.items) == 1 || conn.AutocommitEnabled() {
		return err
	}
	for i := range b.items {
		b.errs[i] = savepoint(conn, func(c *driver.Conn) error { return b.merger.apply(c, b.items[i:i+1]) })
		if b.errs[i] != nil && conn.AutocommitEnabled() {
			return b.errs[i]
		}
	}
	return nil
}

// done answers everyone. A transaction that ended before the batch's turn did not run it:
// nobody may join it any more.
func (b *mergedWrite[T]) done(err error) {
	b.seal()
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
func (b *mergedWrite[T]) abandon(err error) {
	b.seal()
	for _, result := range b.results {
		result <- err
	}
}
