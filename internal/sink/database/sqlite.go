package database

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/sink"
)

// sqliteFile is a file of SQLite. A file beside it, which ends in .lock, keeps other
// processes from writing.
type sqliteFile struct {
	path, prefix string
	lock         *os.File
	conn         *sqlite.Conn
}

// busyTime is how long somebody else may keep the file locked, such as a person with
// a transaction of his own.
const busyTime = 30 * time.Second

// SQLite opens sqlite:FILE?prefix=….
func SQLite(u *url.URL) (sink.Target, error) {
	query := u.Query()
	f := &sqliteFile{path: u.Path}
	if u.Opaque != "" {
		path, err := url.PathUnescape(u.Opaque)
		if err != nil {
			return nil, domain.Errorf(domain.CodeInvalid, "the file in sqlite:FILE cannot be read: write a %% in its name as %%25")
		}
		f.path = path
	}
	var err error
	if f.prefix, err = option(query, "prefix"); err != nil {
		return nil, err
	}
	if err := whole(query); err != nil {
		return nil, err
	}
	if f.path == "" || u.Host != "" {
		return nil, domain.Errorf(domain.CodeInvalid, "the URL of the sink names no file; it is like sqlite:collected.db or sqlite:/srv/collected.db")
	}
	return &target{server: f, prefix: f.prefix}, nil
}

var sqliteTypes = types{
	values: map[document.Type]columnType{
		document.TypeText:    {"TEXT", []string{"text"}},
		document.TypeInteger: {"INTEGER", []string{"integer"}},
		document.TypeBoolean: {"BOOLEAN", []string{"boolean"}},
		document.TypeInstant: {"DATETIME", []string{"datetime"}},
		document.TypeList:    {"JSON", []string{"json"}},
	},
	name:       columnType{"TEXT", []string{"text"}},
	raw:        columnType{"JSON", []string{"json"}},
	generation: columnType{"INTEGER", []string{"integer"}},
}

func (f *sqliteFile) types() *types { return &sqliteTypes }
func (f *sqliteFile) quote(name string) string {
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}
func (f *sqliteFile) bind(int) string                            { return "?" }
func (f *sqliteFile) called(table string) string                 { return f.quote(table) }
func (f *sqliteFile) staged(_ context.Context, _ []*table) error { return nil }

func (f *sqliteFile) connect(ctx context.Context) error {
	if f.conn != nil {
		return nil
	}
	if err := f.take(); err != nil {
		return err
	}
	if err := f.private(); err != nil {
		return f.described(ctx, err)
	}
	conn, err := sqlite.OpenConn(f.path, sqlite.OpenReadWrite, sqlite.OpenCreate, sqlite.OpenWAL)
	if err != nil {
		return f.described(ctx, err)
	}
	f.conn = conn
	conn.SetBusyTimeout(busyTime)
	// What is purged is overwritten, and not merely forgotten.
	if err := sqlitex.ExecuteTransient(conn, "PRAGMA secure_delete = ON", nil); err != nil {
		return f.described(ctx, err)
	}
	return f.described(ctx, sqlitex.ExecuteTransient(conn, "PRAGMA synchronous = NORMAL", nil))
}

// private makes the file so that nobody else may read it, unless it is there.
func (f *sqliteFile) private() error {
	file, err := os.OpenFile(f.path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return file.Close()
}

// take locks the file for this process. The kernel frees it when the process dies.
func (f *sqliteFile) take() error {
	lock, err := os.OpenFile(f.path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return unavailable(f.path, err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer func() { _ = lock.Close() }()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return unavailable(f.path, err)
		}
		// It may be written just now, and then nobody can be named.
		by, _ := io.ReadAll(io.LimitReader(lock, 200))
		return taken(f.path, strings.TrimSpace(string(by)))
	}
	f.lock = lock
	if err := lock.Truncate(0); err != nil {
		return unavailable(f.path, err)
	}
	if _, err := lock.WriteAt([]byte(holder()+"\n"), 0); err != nil {
		return unavailable(f.path, err)
	}
	return nil
}

func (f *sqliteFile) columns(ctx context.Context, table string) (there []found, err error) {
	err = sqlitex.Execute(f.conn, "SELECT name, type, \"notnull\" AND dflt_value IS NULL, pk > 0 FROM pragma_table_info(?)", &sqlitex.ExecOptions{
		Args: []any{table},
		ResultFunc: func(s *sqlite.Stmt) error {
			there = append(there, found{s.ColumnText(0), s.ColumnText(1), s.ColumnInt(2) != 0, s.ColumnInt(3) != 0})
			return nil
		},
	})
	return there, f.described(ctx, err)
}

func (f *sqliteFile) transact(ctx context.Context, do func(tx) error) (err error) {
	if f.conn == nil {
		return unavailable(f.path, errors.New("the file is closed"))
	}
	f.conn.SetInterrupt(ctx.Done())
	defer f.conn.SetInterrupt(nil)
	end, err := sqlitex.ImmediateTransaction(f.conn)
	if err != nil {
		return f.described(ctx, err)
	}
	err = do(&sqliteTx{f})
	end(&err)
	return f.described(ctx, err)
}

func (f *sqliteFile) lost(context.Context) {
	if f.conn != nil {
		// What is committed is in the file; the rest is nobody's.
		_ = f.conn.Close()
	}
	if f.lock != nil {
		_ = f.lock.Close()
	}
	f.conn, f.lock = nil, nil
}

// described is an error in our words.
func (f *sqliteFile) described(ctx context.Context, err error) error {
	var said *domain.Error
	if err == nil || errors.As(err, &said) {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultError, sqlite.ResultConstraint, sqlite.ResultMismatch, sqlite.ResultSchema, sqlite.ResultNotADB, sqlite.ResultCorrupt:
		return refused(f.path, err)
	}
	return unavailable(f.path, err)
}

type sqliteTx struct{ *sqliteFile }

func (x *sqliteTx) exec(_ context.Context, sql string, args ...any) error {
	return sqlitex.Execute(x.conn, sql, &sqlitex.ExecOptions{Args: args})
}

func (x *sqliteTx) row(_ context.Context, sql string, args []any, into ...any) (there bool, err error) {
	err = sqlitex.Execute(x.conn, sql, &sqlitex.ExecOptions{Args: args, ResultFunc: func(s *sqlite.Stmt) error {
		there = true
		for i := range into {
			switch v := into[i].(type) {
			case *int64:
				*v = s.ColumnInt64(i)
			case *string:
				*v = s.ColumnText(i)
			default:
				return fmt.Errorf("column %d is read into %T", i, v)
			}
		}
		return nil
	}})
	return there, err
}

func (x *sqliteTx) upsert(ctx context.Context, t *table, rows []*sink.Row, p *sink.Progress) error {
	names, set := make([]string, len(t.columns)), []string{}
	for i, c := range t.columns {
		names[i] = x.quote(c.name)
		if i >= 2 {
			set = append(set, names[i]+" = excluded."+names[i])
		}
	}
	sql := "INSERT INTO " + x.called(t.name) + " (" + strings.Join(names, ", ") + ") VALUES (" + strings.TrimSuffix(strings.Repeat("?,", len(names)), ",") +
		") ON CONFLICT (" + columnAccount + ", " + columnName + ") DO UPDATE SET " + strings.Join(set, ", ")
	var args []any
	for _, r := range rows {
		args = plainRow(args[:0], t, r, p.Generation, sqliteInstant)
		if err := x.exec(ctx, sql, args...); err != nil {
			return err
		}
	}
	return nil
}

// sqliteInstant is an instant as a text that sorts, and that SQLite's own functions
// read.
func sqliteInstant(at time.Time) any { return at.UTC().Format("2006-01-02T15:04:05.000000Z") }

func (x *sqliteTx) remove(ctx context.Context, t *table, keys []document.Key) error {
	for _, k := range keys {
		if err := x.exec(ctx, "DELETE FROM "+x.called(t.name)+" WHERE "+columnAccount+" = ? AND "+columnName+" = ?", k.Account, shortName(k.Name)); err != nil {
			return err
		}
	}
	return nil
}
