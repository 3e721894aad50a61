package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/pressly/goose/v3"
	driver "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"sluice/internal/backoff"
	"sluice/internal/backup"
	"sluice/internal/domain"
)

// OpenToRead opens the database of a data folder for reading alone: beside the
// process that holds the folder, if there is one, and beside any number of others
// who read. It takes no lock of the folder, makes nothing and changes no byte, also
// where a service was killed: what that has left in the write-ahead log is read
// from there. Tables that are not up to date are refused. The caller closes it.
func OpenToRead(ctx context.Context, dir string) (*DB, error) {
	if err := backup.NotBeingRestored(dir); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, FileName)
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		return nil, noData(path)
	}
	db := &DB{path: path, reader: &reader{path: path}, quit: make(chan struct{}), stopped: make(chan struct{})}
	close(db.stopped) // nobody writes
	var have int64
	err := db.Read(ctx, func(c *driver.Conn) error {
		made := false
		err := Exec(c, "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?", func(*driver.Stmt) { made = true }, goose.DefaultTablename)
		if err != nil || !made {
			return err
		}
		return Exec(c, "SELECT max(version_id) FROM "+goose.DefaultTablename+" WHERE is_applied", func(r *driver.Stmt) { have = r.ColumnInt64(0) })
	})
	if err == nil {
		err = current(path, have)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// errReadAlone refuses what a database that was opened for reading cannot do.
func errReadAlone(path string) error {
	return domain.Errorf(domain.CodeUnavailable, "%s is only read here, and something has to be written to it first: start a service on it once (`sluice up`)", path)
}

const (
	// readTries is how often a snapshot is begun anew while a service starts or
	// stops on the same folder, and readPause how long each waits.
	readTries = 100
	readPause = 20 * time.Millisecond
	// sharedAfter is after how many of them the index of the write-ahead log is
	// opened as a service opens it.
	sharedAfter = 10
)

// reader reads a database that others may write. Connections are kept for the next
// reader.
type reader struct {
	path string

	mu     sync.Mutex
	idle   []*reading
	closed bool
}

// reading is a connection of a reader.
type reading struct {
	conn *driver.Conn
	// still is what the file was when it was opened as one that nobody writes;
	// nil if it was opened beside writers.
	still *stamp
}

// stamp tells whether a file was written.
type stamp struct {
	size    int64
	written time.Time
}

func stampOf(path string) (stamp, error) {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}, err
	}
	return stamp{info.Size(), info.ModTime()}, nil
}

// read runs fn on one consistent snapshot.
func (r *reader) read(ctx context.Context, fn func(*driver.Conn) error) error {
	one, err := r.begin(ctx)
	if err != nil {
		return err
	}
	err = fn(one.conn)
	one.end()
	if one.stale(r.path) {
		// Without an index there is nothing to hold a writer's pages back with.
		_ = one.close() // it has only read
		return domain.Errorf(domain.CodeUnavailable, "%s was written by a service that began while it was read; ask again", r.path)
	}
	r.keep(one)
	return err
}

// begin begins a snapshot. What is in its way while a service starts or stops
// passes; nothing was read yet, so that it is simply tried again.
func (r *reader) begin(ctx context.Context) (*reading, error) {
	for try := 0; ; try++ {
		one, err := r.take(try)
		if err == nil {
			one.conn.SetInterrupt(ctx.Done())
			if err = one.begin(); err == nil {
				return one, nil
			}
			one.conn.SetInterrupt(nil)
			err = errors.Join(err, one.close())
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if try == readTries || !passes(err) {
			return nil, unreadable(err, r.path)
		}
		if !backoff.Sleep(ctx, readPause) {
			return nil, ctx.Err()
		}
	}
}

// take returns a kept connection that still serves, or a new one.
func (r *reader) take(try int) (*reading, error) {
	for {
		r.mu.Lock()
		if r.closed {
			r.mu.Unlock()
			return nil, domain.Errorf(domain.CodeUnavailable, "the database is closed")
		}
		last := len(r.idle) - 1
		if last < 0 || try > 0 {
			r.mu.Unlock()
			return openReading(r.path, try >= sharedAfter)
		}
		one := r.idle[last]
		r.idle = r.idle[:last]
		r.mu.Unlock()
		if !one.stale(r.path) {
			return one, nil
		}
		_ = one.close() // it has only read
	}
}

func (r *reader) keep(one *reading) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || len(r.idle) == readConnections {
		_ = one.close() // it has only read
		return
	}
	r.idle = append(r.idle, one)
}

func (r *reader) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	var failed error
	for _, one := range r.idle {
		failed = errors.Join(failed, one.close())
	}
	r.idle = nil
	return failed
}

// errNoIndex is a write-ahead log whose index is missing: it was deleted or not
// copied along, or it is being removed at this moment.
var errNoIndex = errors.New("the write-ahead log has no index (sluice.db-shm)")

// openReading opens a file without making anything. Where the write-ahead log and
// its index are there, SQLite's own protocol keeps readers and writers apart, and
// the index is not written to, unless shared says so; a service that stops leaves
// both. Where they are not, nobody writes: the file is opened as one that stays as
// it is.
func openReading(path string, shared bool) (*reading, error) {
	before, err := stampOf(path)
	if err != nil {
		return nil, err
	}
	uri := url.URL{Scheme: "file", OmitHost: true, Path: path}
	log, index := sizeOf(path+"-wal"), sizeOf(path+"-shm")
	one := &reading{}
	switch {
	case log >= 0 && index >= 0 && shared:
		uri.RawQuery = "mode=ro"
	case log >= 0 && index >= 0:
		uri.RawQuery = "mode=ro&readonly_shm=1"
	case log > 0:
		return nil, errNoIndex
	default:
		uri.RawQuery, one.still = "mode=ro&immutable=1", &before
	}
	if one.conn, err = driver.OpenConn(uri.String(), driver.OpenReadOnly, driver.OpenURI); err != nil {
		return nil, err
	}
	keepStatements(one.conn)
	return one, nil
}

func (one *reading) close() error {
	forgetStatements(one.conn)
	return one.conn.Close()
}

// sizeOf is a file's, -1 if there is none.
func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return -1
	}
	return info.Size()
}

// begin begins a snapshot: with its first read, not before.
func (one *reading) begin() error {
	if err := sqlitex.ExecuteTransient(one.conn, "BEGIN", nil); err != nil {
		return err
	}
	return sqlitex.Execute(one.conn, "SELECT 1 FROM sqlite_schema LIMIT 1", nil)
}

// end ends it; see readSnapshot.
func (one *reading) end() {
	one.conn.SetInterrupt(nil)
	_ = sqlitex.ExecuteTransient(one.conn, "ROLLBACK", nil)
}

// stale tells a connection that believes that nobody writes, though somebody may.
func (one *reading) stale(path string) bool {
	if one.still == nil {
		return false
	}
	now, err := stampOf(path)
	return err != nil || now != *one.still || sizeOf(path+"-wal") > 0
}

// passes tells what a service that starts or stops leads to for a moment.
func passes(err error) bool {
	if errors.Is(err, errNoIndex) || errors.Is(err, fs.ErrNotExist) {
		return true
	}
	switch resultCode(err) {
	case driver.ResultBusy, driver.ResultCantOpen, driver.ResultReadOnly, driver.ResultProtocol, driver.ResultIOErr:
		return true
	}
	return false
}

// unreadable says why a file cannot be read, and what to do.
func unreadable(err error, path string) error {
	switch {
	case errors.Is(err, errNoIndex):
		return domain.Errorf(domain.CodeUnavailable,
			"%s cannot be read without changing the folder: %w; start a service on it once (`sluice up`), which puts that right, or copy all files that begin with %s", path, err, FileName)
	case errors.Is(err, fs.ErrNotExist):
		return noData(path)
	}
	switch resultCode(err) {
	case driver.ResultReadOnly, driver.ResultCantOpen, driver.ResultPerm, driver.ResultProtocol:
		return domain.Errorf(domain.CodeUnavailable, "%s cannot be read; whoever reads needs the right to read all files that begin with %s: %w", path, FileName, err)
	}
	return describe(fmt.Errorf("read %s: %w", path, err), path)
}

// leaveLog leaves an empty write-ahead log and index behind, so that whoever reads
// the folder later makes neither, and is safe from a service that starts meanwhile.
// Without them it is read all the same.
func leaveLog(path string) {
	for _, name := range []string{path + "-wal", path + "-shm"} {
		if f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600); err == nil {
			_ = f.Close()
		}
	}
}
