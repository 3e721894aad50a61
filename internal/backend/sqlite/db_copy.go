package sqlite

import (
	"context"
	"fmt"
	"os"

	driver "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"sluice/internal/backup"
)

// Copies implements backup.Database for the embedded database.
type Copies struct{}

// Copy implements backup.Database. A reader beside the service sees one instant,
// and hinders nobody: what is written meanwhile waits in the write-ahead log.
func (Copies) Copy(ctx context.Context, from, to string) error {
	// Whoever creates the copy first decides who may read it.
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return fmt.Errorf("copy %s: %w", from, err)
	}
	conn, err := driver.OpenConn(from, driver.OpenReadWrite)
	if err != nil {
		return describe(fmt.Errorf("open %s: %w", from, err), from)
	}
	conn.SetInterrupt(ctx.Done())
	err = sqlitex.ExecuteTransient(conn, "VACUUM INTO ?", &sqlitex.ExecOptions{Args: []any{to}})
	conn.SetInterrupt(nil)
	if err = joinClose(err, conn); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return copyFailure(fmt.Errorf("copy %s: %w", from, err), from)
	}
	return nil
}

// copyFailure says why a copy failed. It is the copy's disk that can be full: of the
// database nothing is written.
func copyFailure(err error, path string) error {
	if resultCode(err) == driver.ResultFull {
		return fmt.Errorf("%w: %w", backup.ErrNoRoom, err)
	}
	return describe(err, path)
}

// counted are the tables that a backup tells the sizes of.
var counted = []string{"account", "run", "job", "document", "timer", "snapshot", "dead_letter"}

// Examine implements backup.Database.
func (Copies) Examine(ctx context.Context, path string) (held backup.Contents, err error) {
	if err := Verify(ctx, path); err != nil {
		return held, err
	}
	if held.Schema, held.Known, err = schemaVersion(path); err != nil || held.Schema > held.Known {
		return held, err
	}
	held.Counts = map[string]int64{}
	for _, table := range counted {
		n, err := readNumber(path, table, "SELECT COUNT(*) FROM "+table)
		if err != nil {
			return held, err
		}
		held.Counts[table] = n
	}
	held.Keys, err = SealingKeys(path)
	return held, err
}

// SealingKeys lists the ids of the keys that credentials of a file are sealed with,
// changing nothing. Purged accounts have none.
func SealingKeys(path string) (keys []string, err error) {
	accounts, err := Accounts(path)
	if err != nil || accounts == 0 {
		return nil, err
	}
	conn, err := driver.OpenConn(path, driver.OpenReadWrite)
	if err != nil {
		return nil, describe(fmt.Errorf("open %s: %w", path, err), path)
	}
	err = sqlitex.ExecuteTransient(conn, "SELECT DISTINCT key_id FROM account WHERE key_id <> '' ORDER BY key_id", &sqlitex.ExecOptions{
		ResultFunc: func(stmt *driver.Stmt) error { keys = append(keys, stmt.ColumnText(0)); return nil },
	})
	if err = joinClose(err, conn); err != nil {
		return nil, describe(fmt.Errorf("read %s: %w", path, err), path)
	}
	return keys, nil
}

// Lock implements backup.Database.
func (Copies) Lock(dir, holder string) (release func(), err error) {
	lock, err := lockFolder(dir, holder)
	if err != nil {
		return nil, err
	}
	return lock.release, nil
}
