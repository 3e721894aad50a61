package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	driver "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"sluice/internal/backup"
	"sluice/internal/domain"
)

// FileName is the name of the database in its data folder.
const FileName = "sluice.db"

// Options configures a DB.
type Options struct {
	// Dir is the data folder; it is created when missing.
	Dir string
	// Holder describes this process to another that wants the same folder,
	// such as "sluice up on 127.0.0.1:8090".
	Holder string
	// MaxPages bounds the file, for tests of a full disk; 0 is no bound.
	MaxPages int
	// Look refuses a database whose tables are not up to date, and makes none.
	Look bool
}

// DB is an open database.
type DB struct {
	path  string
	lock  *folderLock
	reads *sqlitex.Pool
	// reader is set instead of all others where the file is only read.
	reader *reader

	queue   chan writeRequest
	quit    chan struct{}
	stopped chan struct{}
	close   sync.Once
	// writer is the writing connection, which writeLoop has until it has stopped.
	writer *driver.Conn
	// kept are the connections that have read.
	keeping sync.Mutex
	kept    []*driver.Conn
	// erase asks writeLoop to take what was removed out of the write-ahead log.
	erase chan chan struct{}

	transactions, readCount atomic.Int64
}

const readConnections = 4

// Open locks the data folder, checks and migrates the database, and starts
// the writer. The caller closes it.
func Open(ctx context.Context, o Options) (*DB, error) {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, domain.Errorf(domain.CodeUnavailable, "create data folder %s: %w", o.Dir, err)
	}
	lock, err := lockFolder(o.Dir, o.Holder)
	if err != nil {
		return nil, err
	}
	db := &DB{
		path: filepath.Join(o.Dir, FileName), lock: lock,
		queue: make(chan writeRequest, 1024), quit: make(chan struct{}), stopped: make(chan struct{}), erase: make(chan chan struct{}),
	}
	writer, err := db.prepare(ctx, o)
	if err != nil {
		lock.release()
		return nil, err
	}
	db.writer = writer
	keepStatements(writer)
	go db.writeLoop(writer)
	return db, nil
}

func (db *DB) prepare(ctx context.Context, o Options) (*driver.Conn, error) {
	if err := backup.NotBeingRestored(o.Dir); err != nil {
		return nil, err
	}
	if err := checkFile(ctx, db.path); err != nil {
		return nil, err
	}
	if o.Look {
		if err := upToDate(db.path); err != nil {
			return nil, err
		}
	}
	if err := keepPrivate(o.Dir); err != nil {
		return nil, domain.Errorf(domain.CodeUnavailable, "keep %s from being read by others: %w", db.path, err)
	}
	if err := migrate(ctx, db.path); err != nil {
		return nil, describe(fmt.Errorf("migrate %s: %w", db.path, err), db.path)
	}
	writer, err := openWriter(db.path, o.MaxPages)
	if err != nil {
		return nil, describe(fmt.Errorf("open %s: %w", db.path, err), db.path)
	}
	// What a process has left that was killed, or ended while somebody read.
	truncateLog(writer, 0)
	db.reads, err = sqlitex.NewPool(db.path, sqlitex.PoolOptions{
		Flags: driver.OpenReadOnly, PoolSize: readConnections, PrepareConn: db.keep,
	})
	if err != nil {
		return nil, describe(fmt.Errorf("open %s for reading: %w", db.path, joinClose(err, writer)), db.path)
	}
	return writer, nil
}

func openWriter(path string, maxPages int) (*driver.Conn, error) {
	conn, err := driver.OpenConn(path, driver.OpenReadWrite)
	if err != nil {
		return nil, err
	}
	pragmas := []string{
		"PRAGMA journal_mode=WAL",
		"PRAGMA synchronous=FULL",
		"PRAGMA foreign_keys=ON",
		"PRAGMA cache_size=-32768",
		"PRAGMA wal_autocheckpoint=4000",
		"PRAGMA temp_store=MEMORY",
		// What is removed is overwritten: a purge must not leave it in free pages.
		"PRAGMA secure_delete=ON",
	}
	if maxPages > 0 {
		pragmas = append(pragmas, fmt.Sprintf("PRAGMA max_page_count=%d", maxPages))
	}
	for _, p := range pragmas {
		if err := sqlitex.ExecuteTransient(conn, p, nil); err != nil {
			return nil, joinClose(fmt.Errorf("%s: %w", p, err), conn)
		}
	}
	return conn, nil
}

// keep is told of each connection that is about to read for the first time.
func (db *DB) keep(conn *driver.Conn) error {
	keepStatements(conn)
	db.keeping.Lock()
	defer db.keeping.Unlock()
	db.kept = append(db.kept, conn)
	return nil
}

// Path is where the database file is.
func (db *DB) Path() string { return db.path }

// Transactions and Reads count what was done since Open: an idle process does
// nothing.
func (db *DB) Transactions() int64 { return db.transactions.Load() }

// Reads counts read transactions since Open.
func (db *DB) Reads() int64 { return db.readCount.Load() }

// Read runs fn on a read-only connection that sees one consistent snapshot.
func (db *DB) Read(ctx context.Context, fn func(*driver.Conn) error) error {
	if db.reader != nil {
		return db.readAlone(ctx, fn)
	}
	conn, err := db.reads.Take(ctx)
	if err != nil {
		return describe(errors.Join(db.closed(), fmt.Errorf("read: %w", err)), db.path)
	}
	defer db.reads.Put(conn)
	db.readCount.Add(1)
	if err = readSnapshot(conn, fn); err != nil && ctx.Err() != nil {
		err = errors.Join(ctx.Err(), err) // SQLite says "interrupted", not by whom
	}
	return describe(err, db.path)
}

// readAlone is Read where nobody writes in this process.
func (db *DB) readAlone(ctx context.Context, fn func(*driver.Conn) error) error {
	db.readCount.Add(1)
	err := db.reader.read(ctx, fn)
	if err != nil && ctx.Err() != nil {
		err = errors.Join(ctx.Err(), err)
	}
	return describe(err, db.path)
}

func readSnapshot(conn *driver.Conn, fn func(*driver.Conn) error) error {
	if err := sqlitex.ExecuteTransient(conn, "BEGIN", nil); err != nil {
		return fmt.Errorf("begin read: %w", err)
	}
	err := fn(conn)
	// An interrupted connection would refuse this as well, and keep its old
	// snapshot for the next reader. Nothing was written, so whether the snapshot ends by commit or rollback
	// makes no difference and its error tells nothing.
	conn.SetInterrupt(nil)
	_ = sqlitex.ExecuteTransient(conn, "ROLLBACK", nil)
	return err
}

// Close commits what is queued, closes the file and frees the folder. It may
// be called twice.
func (db *DB) Close() error {
	var err error
	db.close.Do(func() {
		close(db.quit)
		<-db.stopped
		if db.reader != nil {
			err = db.reader.close()
			return
		}
		// The connection that is closed last takes the write-ahead log into the
		// file, which one that only reads could not. The file is complete at every
		// commit: an error of that loses nothing.
		err = db.reads.Close()
		_ = db.writer.Close()
		for _, conn := range append(db.kept, db.writer) {
			forgetStatements(conn)
		}
		leaveLog(db.path)
		db.lock.release()
	})
	return err
}
