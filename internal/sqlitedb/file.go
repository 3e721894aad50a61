package sqlitedb

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"

	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite" // the database/sql driver that goose migrates through
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"sluice/internal/domain"
)

//go:embed migrations/*.sql
var migrations embed.FS

// quickCheckBytes is up to which size a file is checked whole at every start;
// larger ones are left to Verify, as reading them would take seconds.
const quickCheckBytes = 64 << 20

// checkFile refuses a file that is damaged before anything is written to it.
func checkFile(path string) error {
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
	return Verify(path)
}

// Verify reads the whole file and reports damage as an error of code corrupt.
func Verify(path string) error {
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		return describe(fmt.Errorf("open %s: %w", path, err), path)
	}
	var verdict string
	err = sqlitex.ExecuteTransient(conn, "PRAGMA quick_check(1)", &sqlitex.ExecOptions{
		ResultFunc: func(stmt *sqlite.Stmt) error { verdict = stmt.ColumnText(0); return nil },
	})
	err = joinClose(err, conn)
	if err != nil {
		return describe(fmt.Errorf("check %s: %w", path, err), path)
	}
	if verdict != "ok" {
		return damaged(path, errors.New(verdict))
	}
	return nil
}

func migrate(ctx context.Context, path string) error {
	// The path is part of a URI here: a folder may be called "50%" or "why?".
	uri := url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: "_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"}
	db, err := sql.Open("sqlite", uri.String())
	if err != nil {
		return err
	}
	dir, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return errors.Join(err, db.Close())
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, dir)
	if err != nil {
		return errors.Join(err, db.Close())
	}
	_, err = provider.Up(ctx)
	return errors.Join(err, db.Close())
}

// describe gives an error of SQLite a code and, where a person can do
// something, says what.
func describe(err error, path string) error {
	var coded *domain.Error
	if err == nil || errors.As(err, &coded) {
		return err
	}
	switch resultCode(err) {
	case sqlite.ResultCorrupt, sqlite.ResultNotADB:
		return damaged(path, err)
	case sqlite.ResultFull:
		return domain.Errorf(domain.CodeUnavailable, "the disk of %s is full; free some space, work goes on by itself: %w", path, err)
	case sqlite.ResultReadOnly, sqlite.ResultCantOpen, sqlite.ResultPerm:
		return domain.Errorf(domain.CodeUnavailable, "%s cannot be written; make the folder and the file writable: %w", path, err)
	case sqlite.ResultIOErr, sqlite.ResultBusy, sqlite.ResultLocked, sqlite.ResultNoMem, sqlite.ResultInterrupt:
		return domain.Errorf(domain.CodeUnavailable, "%s does not answer: %w", path, err)
	}
	return err
}

// resultCode finds SQLite's result code in an error of either driver: the one
// used here, or the one goose goes through.
func resultCode(err error) sqlite.ResultCode {
	var coder interface{ Code() int }
	if errors.As(err, &coder) {
		return sqlite.ResultCode(coder.Code()).ToPrimary()
	}
	return sqlite.ErrCode(err).ToPrimary()
}

func damaged(path string, cause error) error {
	return domain.Errorf(domain.CodeCorrupt,
		"%s is damaged; it was left untouched: restore it from a backup, or move it (with its -wal and -shm files) aside to collect anew: %w", path, cause)
}

func joinClose(err error, conn *sqlite.Conn) error { return errors.Join(err, conn.Close()) }
