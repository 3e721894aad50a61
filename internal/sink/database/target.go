// Package database carries rows to databases: PostgreSQL, MySQL and MariaDB, SQLite.
// Each kind has a table with the columns that its source declares, the payload, and
// columns of the sink's own, whose names begin with _sluice_. How far the sink is
// stands in the table _sluice_sink and is changed in the transaction of the rows.
//
//   - target.go: what is the same in all databases.
//   - plan.go: tables and columns, and how they are compared with what is there.
//   - postgres.go, mysql.go, sqlite.go: the databases.
//   - json.go: payloads that a database cannot take as they are.
package database

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/sink"
)

// server is one kind of database.
type server interface {
	// connect connects unless it is connected, and keeps other processes from writing.
	connect(ctx context.Context) error
	// columns are those of a table; none if there is no such table.
	columns(ctx context.Context, table string) ([]found, error)
	// staged is called when the tables are there.
	staged(ctx context.Context, tables []*table) error
	transact(ctx context.Context, do func(tx tx) error) error
	// lost forgets the connection, and what it holds.
	lost()
	types() *types
	quote(name string) string
	// called is a table's name in statements.
	called(table string) string
	// bind is the n-th value of a statement, from 1.
	bind(n int) string
}

// tx is a transaction.
type tx interface {
	exec(ctx context.Context, sql string, args ...any) error
	// row reads the one row that there may be.
	row(ctx context.Context, sql string, args []any, into ...any) (there bool, err error)
	upsert(ctx context.Context, t *table, rows []*sink.Row, p *sink.Progress) error
	remove(ctx context.Context, t *table, keys []document.Key) error
}

// target is a database that rows are carried to.
type target struct {
	server
	prefix string
	tables []*table
}

// progressColumns are those of the progress, after the prefix.
var progressColumns = []string{"feed", "position", "backfilled", "after_account", "after_kind", "after_name", "generation"}

// Prepare implements sink.Target.
func (t *target) Prepare(ctx context.Context, tables []sink.Table) error {
	err := t.prepare(ctx, tables)
	if err != nil {
		t.lost()
	}
	return err
}

func (t *target) prepare(ctx context.Context, tables []sink.Table) error {
	if err := t.connect(ctx); err != nil {
		return err
	}
	t.tables = nil
	for _, table := range tables {
		t.tables = append(t.tables, newTable(table, t.prefix, t.types()))
	}
	if err := t.makeProgress(ctx); err != nil {
		return err
	}
	var statements []string
	for _, table := range t.tables {
		more, err := t.makeTable(ctx, table)
		if err != nil {
			return err
		}
		statements = append(statements, more...)
	}
	if len(statements) > 0 {
		// What was carried before lacks what is made now. Where the two cannot be in one
		// transaction it is carried once more for nothing, at worst.
		err := t.transact(ctx, func(tx tx) error {
			forget := "UPDATE " + t.called(progressTable) + " SET backfilled = " + t.bind(1) + ", after_account = " + t.bind(2) + ", after_kind = " + t.bind(3) +
				", after_name = " + t.bind(4) + " WHERE prefix = " + t.bind(5)
			if err := tx.exec(ctx, forget, 0, 0, "", "", t.prefix); err != nil {
				return err
			}
			for _, s := range statements {
				if err := tx.exec(ctx, s); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return t.staged(ctx, t.tables)
}

// makeProgress makes the table of progress.
func (t *target) makeProgress(ctx context.Context) error {
	there, err := t.columns(ctx, progressTable)
	if err != nil {
		return err
	}
	for _, name := range progressColumns {
		if len(there) > 0 && !slices.ContainsFunc(there, func(f found) bool { return f.name == name }) {
			return domain.Errorf(domain.CodeConflict, "the table %s has no column %s: it was changed by hand. Drop it; `sluice sync --anew URL` then copies everything", progressTable, name)
		}
	}
	if len(there) > 0 {
		return nil
	}
	in := t.types()
	number := in.values[document.TypeInteger].sql + " NOT NULL"
	text := in.name.sql + " NOT NULL"
	return t.transact(ctx, func(tx tx) error {
		return tx.exec(ctx, "CREATE TABLE IF NOT EXISTS "+t.called(progressTable)+" (prefix "+text+", feed "+text+", position "+number+", backfilled "+number+
			", after_account "+number+", after_kind "+text+", after_name "+in.values[document.TypeText].sql+" NOT NULL, generation "+number+", PRIMARY KEY (prefix))")
	})
}

// makeTable are the statements that make what is missing of a table.
func (t *target) makeTable(ctx context.Context, table *table) (statements []string, err error) {
	there, err := t.columns(ctx, table.name)
	if err != nil {
		return nil, err
	}
	if len(there) == 0 {
		return []string{table.create(t.quote, t.called(table.name))}, nil
	}
	missing, err := table.missing(there)
	for _, c := range missing {
		statements = append(statements, "ALTER TABLE "+t.called(table.name)+" ADD COLUMN "+t.quote(c.name)+" "+c.sql)
	}
	return statements, err
}

// Progress implements sink.Target.
func (t *target) Progress(ctx context.Context) (p sink.Progress, err error) {
	if t.tables == nil {
		return p, domain.Errorf(domain.CodeInternal, "the target is not prepared")
	}
	backfilled, kind := int64(0), ""
	err = t.transact(ctx, func(tx tx) error {
		_, err := tx.row(ctx, "SELECT "+strings.Join(progressColumns, ", ")+" FROM "+t.called(progressTable)+" WHERE prefix = "+t.bind(1), []any{t.prefix},
			&p.Feed, &p.Position, &backfilled, &p.After.Account, &kind, &p.After.Name, &p.Generation)
		return err
	})
	p.Backfilled, p.After.Kind = backfilled != 0, document.Kind(kind)
	return p, err
}

// Apply implements sink.Target.
func (t *target) Apply(ctx context.Context, b *sink.Batch) error {
	if t.tables == nil {
		return domain.Errorf(domain.CodeInternal, "the target is not prepared")
	}
	return t.transact(ctx, func(tx tx) error {
		if err := t.purge(ctx, tx, b.Purged); err != nil {
			return err
		}
		if err := t.store(ctx, tx, b); err != nil {
			return err
		}
		if b.Sweep {
			for _, table := range t.tables {
				if err := tx.exec(ctx, "DELETE FROM "+t.called(table.name)+" WHERE "+columnGeneration+" < "+t.bind(1), b.Generation); err != nil {
					return err
				}
			}
		}
		return t.note(ctx, tx, &b.Progress)
	})
}

func (t *target) purge(ctx context.Context, tx tx, accounts []int64) error {
	for _, account := range accounts {
		for _, table := range t.tables {
			if err := tx.exec(ctx, "DELETE FROM "+t.called(table.name)+" WHERE "+columnAccount+" = "+t.bind(1), account); err != nil {
				return err
			}
		}
	}
	return nil
}

// store stores the rows, a table at a time.
func (t *target) store(ctx context.Context, tx tx, b *sink.Batch) error {
	rows := make([][]*sink.Row, len(t.tables))
	gone := make([][]document.Key, len(t.tables))
	for i := range b.Rows {
		r := &b.Rows[i]
		if r.Removed {
			gone[r.Table] = append(gone[r.Table], r.Key)
		} else {
			rows[r.Table] = append(rows[r.Table], r)
		}
	}
	for i, table := range t.tables {
		if len(rows[i]) > 0 {
			if err := tx.upsert(ctx, table, rows[i], &b.Progress); err != nil {
				return err
			}
		}
		if len(gone[i]) > 0 {
			if err := tx.remove(ctx, table, gone[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// note stores how far the sink is.
func (t *target) note(ctx context.Context, tx tx, p *sink.Progress) error {
	set := make([]string, len(progressColumns))
	for i, name := range progressColumns {
		set[i] = name + " = " + t.bind(i+1)
	}
	backfilled := 0
	if p.Backfilled {
		backfilled = 1
	}
	values := []any{p.Feed, p.Position, backfilled, p.After.Account, string(p.After.Kind), p.After.Name, p.Generation, t.prefix}
	there, err := tx.row(ctx, "SELECT position FROM "+t.called(progressTable)+" WHERE prefix = "+t.bind(1), []any{t.prefix}, new(int64))
	if err != nil {
		return err
	}
	if there {
		return tx.exec(ctx, "UPDATE "+t.called(progressTable)+" SET "+strings.Join(set, ", ")+" WHERE prefix = "+t.bind(len(values)), values...)
	}
	binds := make([]string, len(values))
	for i := range values {
		binds[i] = t.bind(i + 1)
	}
	return tx.exec(ctx, "INSERT INTO "+t.called(progressTable)+" ("+strings.Join(progressColumns, ", ")+", prefix) VALUES ("+strings.Join(binds, ", ")+")", values...)
}

// Close implements sink.Target.
func (t *target) Close() error {
	t.lost()
	return nil
}

// names are what may stand before the names of tables, or be a schema.
var names = regexp.MustCompile(`^[A-Za-z0-9_]{0,30}$`)

// option takes an option that is a part of a name.
func option(query url.Values, name string) (string, error) {
	defer query.Del(name)
	value := query.Get(name)
	if !names.MatchString(value) {
		return "", domain.Errorf(domain.CodeInvalid, "the option %s of a sink's URL has at most 30 letters, digits and underscores", name)
	}
	return value, nil
}

// whole refuses options that nobody knows.
func whole(query url.Values, known ...string) error {
	for name := range query {
		if !slices.Contains(known, name) {
			return domain.Errorf(domain.CodeInvalid, "the URL of the sink has an unknown option %q; there are %s", name, strings.Join(append(known, "prefix", "raw", "deleted"), ", "))
		}
	}
	return nil
}

// holder is what others are told of this process.
func holder() string {
	host, err := os.Hostname()
	if err != nil {
		host = "?"
	}
	return fmt.Sprintf("sluice process %d on %s", os.Getpid(), host)
}

// taken says that another process writes.
func taken(place, by string) error {
	if by == "" {
		by = "another process"
	}
	return domain.Errorf(domain.CodeUnavailable, "%s writes to %s; one process at a time does: stop it, or give this sink another prefix", by, place)
}

// unavailable is an error of a database that may go by itself.
func unavailable(place string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return domain.Errorf(domain.CodeUnavailable, "the sink's target %s: %w", place, err)
}

// refused is an error of a database that a person has to look at.
func refused(place string, err error) error {
	return domain.Errorf(domain.CodeConflict, "the sink's target %s does not take it; was a table changed by hand? Change it back, or drop it, and the sink makes it anew: %w", place, err)
}
