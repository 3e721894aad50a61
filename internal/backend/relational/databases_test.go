package relational_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"sluice/internal/testkit"
)

// shelf keeps the databases of tests that are over for those that come: to empty
// one takes milliseconds, to make one with all of its tables takes many of them.
type shelf struct {
	mu   sync.Mutex
	free []string
	// first are statements that put in what tables hold from the beginning.
	first []string
}

// fresh returns the URL of a database that has its tables and holds nothing.
func (on server) fresh(tb testing.TB) string {
	tb.Helper()
	url := on.shelf.take()
	if url != "" {
		if err := on.shelf.empty(url); err != nil {
			// Somebody who is gone holds on to it still.
			tb.Logf("%s is not used again: %v", url, err)
			url = ""
		}
	}
	if url == "" {
		url = on.shelf.create(tb, on)
	}
	tb.Cleanup(func() { on.shelf.put(url) })
	return url
}

// take takes what was put here first: who used it is gone the longest.
func (s *shelf) take() (url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.free) > 0 {
		url, s.free = s.free[0], s.free[1:]
	}
	return url
}

func (s *shelf) put(url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, url)
}

// create makes a database with its tables.
func (s *shelf) create(tb testing.TB, on server) string {
	tb.Helper()
	url := on.bare(tb)
	db, err := on.open(tb.Context(), url, 1)
	if err != nil {
		tb.Fatalf("open: %v", err)
	}
	if err := db.Close(); err != nil {
		tb.Fatalf("close: %v", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first == nil {
		err := with(url, func(ctx context.Context, db *sql.DB) (err error) {
			s.first, err = contents(ctx, db, url)
			return err
		})
		if err != nil {
			tb.Fatalf("read what a new database holds: %v", err)
		}
	}
	return url
}

// empty takes everything out of a database that was not there when it was made.
func (s *shelf) empty(url string) error {
	s.mu.Lock()
	first := s.first
	s.mu.Unlock()
	return with(url, func(ctx context.Context, db *sql.DB) error {
		statements, err := deletions(ctx, db, url)
		if err != nil {
			return err
		}
		// A test may have left locks to a session that is about to end.
		wait := "SET SESSION lock_wait_timeout = 1, innodb_lock_wait_timeout = 1"
		if testkit.IsPostgres(url) {
			wait = "SET lock_timeout = '1s'"
		}
		return execute(ctx, db, slices.Concat([]string{wait}, statements, first))
	})
}

// with connects to a database, once.
func with(url string, do func(context.Context, *sql.DB) error) error {
	db, err := testkit.ConnectSQL(url)
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	defer func() { _ = db.Close() }()
	return do(context.Background(), db)
}

func execute(ctx context.Context, db *sql.DB, statements []string) error {
	for _, s := range statements {
		if _, err := db.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

// deletions are the statements that empty the tables, and make numbers begin
// with one again.
func deletions(ctx context.Context, db *sql.DB, url string) (statements []string, err error) {
	if testkit.IsPostgres(url) {
		err := list(ctx, db, "SELECT relname, relkind = 'S' FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'S')", func(name string, counts bool) {
			if counts {
				statements = append(statements, "SELECT setval('"+name+"', 1, false)")
			} else {
				statements = append(statements, "DELETE FROM "+name)
			}
		})
		return []string{strings.Join(statements, "; ")}, err
	}
	err = list(ctx, db, "SELECT table_name, COALESCE(auto_increment, 1) > 1 FROM information_schema.tables WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE'", func(name string, counted bool) {
		if counted {
			statements = append(statements, "TRUNCATE TABLE "+name)
		} else {
			statements = append(statements, "DELETE FROM "+name)
		}
	})
	return statements, err
}

// history is the table of the migrations that were made, which stays.
const history = "goose_db_version"

func list(ctx context.Context, db *sql.DB, query string, each func(name string, yes bool)) error {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name string
		var yes bool
		if err := rows.Scan(&name, &yes); err != nil {
			return err
		}
		if !strings.HasPrefix(name, history) {
			each(name, yes)
		}
	}
	return rows.Err()
}

// contents are the statements that put in all that a database holds.
func contents(ctx context.Context, db *sql.DB, url string) (statements []string, err error) {
	query := "SELECT table_name, 1 FROM information_schema.tables WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE'"
	if testkit.IsPostgres(url) {
		query = "SELECT relname, true FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'"
	}
	var tables []string
	if err := list(ctx, db, query, func(name string, _ bool) { tables = append(tables, name) }); err != nil {
		return nil, err
	}
	for _, table := range tables {
		inserts, err := insertsOf(ctx, db, table)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", table, err)
		}
		statements = append(statements, inserts...)
	}
	if len(statements) == 0 {
		return nil, fmt.Errorf("%d tables hold nothing", len(tables))
	}
	return statements, nil
}

// insertsOf are the statements that put in the rows of a table.
func insertsOf(ctx context.Context, db *sql.DB, table string) (statements []string, err error) {
	rows, err := db.QueryContext(ctx, "SELECT * FROM "+table)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		values, into := make([]string, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		for i, v := range values {
			// Numbers too: both servers take them so.
			values[i] = "'" + strings.ReplaceAll(v, "'", "''") + "'"
		}
		statements = append(statements, "INSERT INTO "+table+" ("+strings.Join(columns, ",")+") VALUES ("+strings.Join(values, ",")+")")
	}
	return statements, rows.Err()
}
