package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"
	driver "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"sluice/internal/backend/sqlite"
	"sluice/internal/refresh"
)

// rawFree are the limits of the machine in each round.
type rawFree struct {
	inserts, updates, packs, packCPU []float64
}

// rawBatch is how many rows a transaction of plain SQL has: as many as the
// worker saves together.
const rawBatch = 100

// rawPragmas are those that the embedded database is written with.
var rawPragmas = []string{
	"PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", "PRAGMA foreign_keys=ON",
	"PRAGMA cache_size=-32768", "PRAGMA wal_autocheckpoint=4000", "PRAGMA temp_store=MEMORY",
}

// openRaw opens a database file for plain SQL.
func openRaw(path string) (*driver.Conn, error) {
	conn, err := driver.OpenConn(path, driver.OpenReadWrite|driver.OpenCreate)
	if err != nil {
		return nil, err
	}
	for _, pragma := range rawPragmas {
		if err := sqlitex.ExecuteTransient(conn, pragma, nil); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", pragma, err), conn.Close())
		}
	}
	return conn, nil
}

// transactions does something with rows, batch by batch, each in a transaction
// of its own.
func transactions(ctx context.Context, conn *driver.Conn, rows, batch int, do func(from, n int) error) error {
	for from := 0; from < rows; from += batch {
		if err := ctx.Err(); err != nil {
			return err
		}
		end, err := sqlitex.ImmediateTransaction(conn)
		if err != nil {
			return err
		}
		err = do(from, min(batch, rows-from))
		end(&err)
		if err != nil {
			return err
		}
	}
	return nil
}

// rawFree measures one round.
func (l *lab) rawFree(ctx context.Context, r *rawFree, values []refresh.Fetched, keys []string) error {
	packer, err := refresh.NewPacker()
	if err != nil {
		return err
	}
	packed := make([][]byte, len(values))
	for i := range values {
		packed[i] = packer.Pack(values[i].Body)
	}
	alone, err := packAlone(ctx, packer, values, len(keys))
	if err != nil {
		return err
	}
	r.packs, r.packCPU = append(r.packs, alone.perSecond()), append(r.packCPU, perCall(alone))
	inserted, updated, err := l.rawRows(ctx, values, packed, keys)
	r.inserts, r.updates = append(r.inserts, inserted), append(r.updates, updated)
	return err
}

// packAlone compresses and hashes values on all processors.
func packAlone(ctx context.Context, packer *refresh.Packer, values []refresh.Fetched, n int) (effort, error) {
	return timed(func() (int, error) {
		var group errgroup.Group
		workers := runtime.GOMAXPROCS(0)
		for w := range workers {
			group.Go(func() error {
				for i := w; i < n; i += workers {
					body := values[i%len(values)].Body
					if hash := sha256.Sum256(body); len(packer.Pack(body)) == 0 || hash != values[i%len(values)].Hash {
						return errors.New("a value was compressed to nothing, or is not what it was")
					}
				}
				return ctx.Err()
			})
		}
		return n, group.Wait()
	})
}

var (
	rawValues = sqlite.NewInsert("INSERT INTO snapshot_value (source, key, version, hash, stored_at, listed, body)", "", 7)
	rawStates = sqlite.NewInsert("INSERT INTO snapshot (source, key, seen_version, version, hash, checked_at, updated_at, tier, due_at, bytes)", "", 10)
	rawTouch  = sqlite.NewInsert("UPDATE snapshot SET seen_version = c.column3, checked_at = c.column4, due_at = c.column5 FROM (",
		") AS c WHERE snapshot.source = c.column1 AND snapshot.key = c.column2", 5)
)

// rawRows writes the rows that refreshes lead to, of values that are new and
// then of the same values, into a file of its own with the same tables.
func (l *lab) rawRows(ctx context.Context, values []refresh.Fetched, packed [][]byte, keys []string) (inserted, updated float64, err error) {
	dir, remove, err := l.folder("raw")
	if err != nil {
		return 0, 0, err
	}
	defer remove()
	// Sluice makes the tables and leaves the file.
	db, err := sqlite.Open(ctx, sqlite.Options{Dir: dir, Holder: "bench"})
	if err != nil {
		return 0, 0, err
	}
	path := db.Path()
	if err := db.Close(); err != nil {
		return 0, 0, err
	}
	conn, err := openRaw(path)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	now := time.Now().UnixMicro()
	began := time.Now()
	err = transactions(ctx, conn, len(keys), rawBatch, func(from, n int) error {
		return rawInsert(conn, values, packed, keys[from:from+n], now)
	})
	if err != nil {
		return 0, 0, err
	}
	inserted = float64(len(keys)) / time.Since(began).Seconds()
	began = time.Now()
	err = transactions(ctx, conn, len(keys), rawBatch, func(from, n int) error {
		return rawTouch.Run(conn, n, func(stmt *driver.Stmt, base, i int) {
			stmt.BindText(base, gameSource)
			stmt.BindText(base+1, keys[from+i])
			stmt.BindInt64(base+2, 2)
			stmt.BindInt64(base+3, now+1)
			stmt.BindInt64(base+4, now+2)
		}, nil)
	})
	return inserted, float64(len(keys)) / time.Since(began).Seconds(), err
}

// rawInsert writes values and what is known of them.
func rawInsert(conn *driver.Conn, values []refresh.Fetched, packed [][]byte, keys []string, now int64) error {
	err := rawValues.Run(conn, len(keys), func(stmt *driver.Stmt, base, i int) {
		stmt.BindText(base, gameSource)
		stmt.BindText(base+1, keys[i])
		stmt.BindInt64(base+2, 1)
		stmt.BindBytes(base+3, values[i%len(values)].Hash[:])
		stmt.BindInt64(base+4, now)
		stmt.BindInt64(base+5, 1)
		stmt.BindBytes(base+6, packed[i%len(values)])
	}, nil)
	if err != nil {
		return err
	}
	return rawStates.Run(conn, len(keys), func(stmt *driver.Stmt, base, i int) {
		stmt.BindText(base, gameSource)
		stmt.BindText(base+1, keys[i])
		stmt.BindInt64(base+2, 1)
		stmt.BindInt64(base+3, 1)
		stmt.BindBytes(base+4, values[i%len(values)].Hash[:])
		for column, value := range [...]int64{now, now, 1, now, int64(len(packed[i%len(values)]))} {
			stmt.BindInt64(base+5+column, value)
		}
	}, nil)
}
