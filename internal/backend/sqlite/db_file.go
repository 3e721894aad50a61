package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
	_ "modernc.org/sqlite" // the database/sql driver that goose migrates through
	driver "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"sluice/internal/domain"
)

//go:embed schema/*.sql
var schema embed.FS

// quickCheckBytes is up to which size a file is checked whole at every start;
// larger ones are left to Verify, as reading them would take seconds.
const quickCheckBytes = 64 << 20

// checkFile refuses a file that is damaged before anything is written to it.
func checkFile(ctx context.Context, path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || (err == nil && info.Size() == 0) {
		return nil
	}
	if err != nil {
		return describe(fmt.Errorf("look at %s: %w", path, err), path)
	}
	if info.Size() > quickCheckBytes {
		return nil
	}
	return Verify(ctx, path)
}

// Verify reads the whole file and reports damage as an error of code corrupt.
// A large file takes seconds, so that it ends with its context.
func Verify(ctx context.Context, path string) error {
	conn, err := driver.OpenConn(path, driver.OpenReadWrite)
	if err != nil {
		return describe(fmt.Errorf("open %s: %w", path, err), path)
	}
	conn.SetInterrupt(ctx.Done())
	var verdict string
	err = sqlitex.ExecuteTransient(conn, "PRAGMA quick_check(1)", &sqlitex.ExecOptions{
		ResultFunc: func(stmt *driver.Stmt) error { verdict = stmt.ColumnText(0); return nil },
	})
	conn.SetInterrupt(nil)
	err = joinClose(err, conn)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return describe(fmt.Errorf("check %s: %w", path, err), path)
	}
	if verdict != "ok" {
		return damagedFile(path, errors.New(verdict))
	}
	return nil
}

// migrate brings the tables up to date. A file that is up to date is only asked
// about its version.
func migrate(ctx context.Context, path string) (err error) {
	bring := create
	if info, err := os.Stat(path); err == nil && info.Size() > 0 {
		have, want, err := schemaVersion(path)
		if err == nil && have > want {
			err = newerSchema(path, have, want)
		}
		if err != nil || have == want {
			return err
		}
		bring = upgrade
	} else if newFile.write(path) {
		return nil
	} else {
		defer func() {
			if err == nil {
				newFile.learn(path)
			}
		}()
	}
	// The path is part of a URI here: a folder may be called "50%" or "why?".
	uri := url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: "_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"}
	db, err := sql.Open("sqlite", uri.String())
	if err != nil {
		return err
	}
	return errors.Join(bring(ctx, db), db.Close())
}

// upgrade makes the migrations that were not made yet.
func upgrade(ctx context.Context, db *sql.DB) error {
	dir, err := fs.Sub(schema, "schema")
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, dir)
	if err != nil {
		return err
	}
	_, err = provider.Up(ctx)
	return err
}

// create makes all migrations of a new file in one transaction: it has all of
// its tables, or none, and waits for the disk once.
func create(ctx context.Context, db *sql.DB) (err error) {
	made, err := database.NewStore(database.DialectSQLite3, goose.DefaultTablename)
	if err != nil {
		return err
	}
	names, err := migrations()
	if err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, tx.Rollback())
		}
	}()
	if err := errors.Join(made.CreateVersionTable(ctx, tx), made.Insert(ctx, tx, database.InsertRequest{})); err != nil {
		return err
	}
	for _, name := range names {
		text, err := schema.ReadFile(name)
		if err != nil {
			return err
		}
		up, _, _ := strings.Cut(string(text), "-- +goose Down")
		if _, err := tx.ExecContext(ctx, up); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		version, err := goose.NumericComponent(name)
		if err != nil {
			return err
		}
		if err := made.Insert(ctx, tx, database.InsertRequest{Version: version}); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// newerSchema refuses tables of a program that knew more: writing to them as this one
// understands them could destroy what it does not understand.
func newerSchema(path string, have, want int64) error {
	return domain.Errorf(domain.CodeConflict,
		"%s has schema %d, but this program knows %d at most: use the version of the program that migrated it, or a newer one", path, have, want)
}

// upToDate refuses a file that is missing or older than the program.
func upToDate(path string) error {
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		return noData(path)
	}
	have, _, err := schemaVersion(path)
	if err != nil {
		return err
	}
	return current(path, have)
}

// noData tells whoever looks for data where there is none.
func noData(path string) error {
	return domain.Errorf(domain.CodeNotFound, "there is no data in %s yet: `sluice collect LOGIN` collects some, `sluice up` starts a service", path)
}

// current refuses tables of another version than the program's.
func current(path string, have int64) error {
	want, err := newestMigration()
	switch {
	case err != nil:
		return err
	case have > want:
		return newerSchema(path, have, want)
	case have < want:
		return domain.Errorf(domain.CodeConflict,
			"%s has schema %d, but this program needs %d: start the service (`sluice up`), which upgrades it, or use the version of the program that it belongs to", path, have, want)
	}
	return nil
}

// CheckVersion reads which schema a file has, changing nothing, and refuses one
// that is newer than the program.
func CheckVersion(path string) error {
	have, want, err := schemaVersion(path)
	if err == nil && have > want {
		err = newerSchema(path, have, want)
	}
	return err
}

// schemaVersion returns the version that the tables have, 0 if there are none,
// and the one that this program wants.
func schemaVersion(path string) (have, want int64, err error) {
	if want, err = newestMigration(); err != nil {
		return 0, 0, err
	}
	have, err = readNumber(path, goose.DefaultTablename, "SELECT MAX(version_id) FROM "+goose.DefaultTablename+" WHERE is_applied")
	return have, want, err
}

// Accounts counts the accounts in a file, changing nothing.
func Accounts(path string) (int64, error) {
	return readNumber(path, "account", "SELECT COUNT(*) FROM account WHERE state <> 'purged'")
}

// readNumber reads a number from a table; 0 if there is no such table.
func readNumber(path, table, query string) (n int64, err error) {
	conn, err := driver.OpenConn(path, driver.OpenReadWrite)
	if err != nil {
		return 0, describe(fmt.Errorf("open %s: %w", path, err), path)
	}
	found := false
	err = sqlitex.ExecuteTransient(conn, "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?", &sqlitex.ExecOptions{
		Args: []any{table}, ResultFunc: func(*driver.Stmt) error { found = true; return nil },
	})
	if err == nil && found {
		err = sqlitex.ExecuteTransient(conn, query, &sqlitex.ExecOptions{
			ResultFunc: func(stmt *driver.Stmt) error { n = stmt.ColumnInt64(0); return nil },
		})
	}
	if err = joinClose(err, conn); err != nil {
		return 0, describe(fmt.Errorf("read %s: %w", path, err), path)
	}
	return n, nil
}

// migrations are the files that make the tables, in the order of their numbers.
func migrations() ([]string, error) {
	names, err := fs.Glob(schema, "schema/*.sql")
	if err != nil || len(names) == 0 {
		return nil, domain.Errorf(domain.CodeInternal, "there are no migrations: %v", err)
	}
	return names, nil
}

func newestMigration() (int64, error) {
	names, err := migrations()
	if err != nil {
		return 0, err
	}
	return goose.NumericComponent(names[len(names)-1])
}

// describe gives an error of SQLite a code and, where a person can do
// something, says what.
func describe(err error, path string) error {
	var coded *domain.Error
	if err == nil || errors.As(err, &coded) {
		return err
	}
	switch resultCode(err) {
	case driver.ResultCorrupt, driver.ResultNotADB:
		return damagedFile(path, err)
	case driver.ResultFull:
		return domain.Errorf(domain.CodeUnavailable, "the disk of %s is full; free some space, work goes on by itself: %w", path, err)
	case driver.ResultReadOnly, driver.ResultCantOpen, driver.ResultPerm:
		return domain.Errorf(domain.CodeUnavailable, "%s cannot be written; make the folder and the file writable: %w", path, err)
	case driver.ResultIOErr, driver.ResultBusy, driver.ResultLocked, driver.ResultNoMem, driver.ResultInterrupt:
		return domain.Errorf(domain.CodeUnavailable, "%s does not answer: %w", path, err)
	}
	return err
}

// resultCode finds SQLite's result code in an error of either driver: the one
// used here, or the one goose goes through.
func resultCode(err error) driver.ResultCode {
	var coder interface{ Code() int }
	if errors.As(err, &coder) {
		return driver.ResultCode(coder.Code()).ToPrimary()
	}
	return driver.ErrCode(err).ToPrimary()
}

func damagedFile(path string, cause error) error {
	return domain.Errorf(domain.CodeCorrupt,
		"%s is damaged; it was left untouched: restore it from a backup, or move it (with its -wal and -shm files) aside to collect anew: %w", path, cause)
}

func joinClose(err error, conn *driver.Conn) error { return errors.Join(err, conn.Close()) }
