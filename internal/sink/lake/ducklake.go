package lake

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	driver "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"sluice/internal/document"
	"sluice/internal/domain"
)

//go:embed ducklake.sql
var schema string

// duckVersion is the version of DuckLake's tables.
const duckVersion = "1.0"

// duckLake is a catalogue that DuckDB attaches: the tables of a DuckLake in a SQLite
// file. Every commit is a snapshot. Progress, and which keys are in a file, are in
// tables of the sink's own beside them, in the same transaction.
type duckLake struct {
	options Options
	conn    *driver.Conn
	// snapshot is the newest that was read or made.
	snapshot int64
	// found says that an earlier process made the lake.
	found bool
}

func openDuckLake(ctx context.Context, o Options) (*duckLake, error) {
	if err := os.MkdirAll(filepath.Dir(o.Catalog), 0o750); err != nil {
		return nil, domain.Errorf(domain.CodeUnavailable, "make the folder of the lake's catalogue: %w", err)
	}
	// Nobody else may read it, unless it is there and they may.
	file, err := os.OpenFile(o.Catalog, os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		return nil, domain.Errorf(domain.CodeUnavailable, "make the lake's catalogue: %w", err)
	}
	conn, err := driver.OpenConn(o.Catalog, driver.OpenReadWrite|driver.OpenCreate)
	if err != nil {
		return nil, domain.Errorf(domain.CodeUnavailable, "open the lake's catalogue: %w", err)
	}
	d := &duckLake{options: o, conn: conn}
	conn.SetBusyTimeout(time.Minute)
	// Without a log of its own, the catalogue is one file whenever nobody writes.
	err = d.run(ctx, "PRAGMA journal_mode = DELETE", nil, nil)
	if err == nil {
		err = d.run(ctx, "PRAGMA synchronous = FULL", nil, nil)
	}
	if err == nil {
		err = d.transact(ctx, d.create)
	}
	if err != nil {
		_ = conn.Close() // what matters is why it cannot be used
		return nil, err
	}
	return d, nil
}

// create makes the tables that are not there.
func (d *duckLake) create(ctx context.Context) error {
	var tables, own int64
	err := d.run(ctx, "SELECT count(*), count(CASE WHEN name = '_sluice_sink' THEN 1 END) FROM sqlite_schema WHERE type = 'table'", nil, func(s *driver.Stmt) {
		tables, own = s.ColumnInt64(0), s.ColumnInt64(1)
	})
	switch {
	case err != nil:
		return err
	case own > 0:
		d.found = true
		return d.checkVersion(ctx)
	case tables > 0:
		return domain.Errorf(domain.CodeConflict, "the catalogue %s is a database of something else; name another file by catalog=PATH", d.options.Catalog)
	}
	if err := sqlitex.ExecuteScript(d.conn, schema, nil); err != nil {
		return d.failed(err)
	}
	for key, value := range map[string]string{"version": duckVersion, "created_by": "sluice", "data_path": d.options.Place, "encrypted": "false"} {
		if err := d.run(ctx, `INSERT INTO ducklake_metadata("key", "value") VALUES (?, ?)`, []any{key, value}, nil); err != nil {
			return err
		}
	}
	if err := d.run(ctx, "INSERT INTO ducklake_snapshot VALUES (0, ?, 0, 1, 0)", []any{stamp(d.options.Now())}, nil); err != nil {
		return err
	}
	if err := d.run(ctx, `INSERT INTO ducklake_snapshot_changes(snapshot_id, changes_made) VALUES (0, 'created_schema:"main"')`, nil, nil); err != nil {
		return err
	}
	return d.run(ctx, "INSERT INTO ducklake_schema VALUES (0, ?, 0, NULL, 'main', '', 1)", []any{newUUID()}, nil)
}

// checkVersion refuses tables that another version of DuckDB has changed.
func (d *duckLake) checkVersion(ctx context.Context) error {
	version := ""
	err := d.run(ctx, `SELECT "value" FROM ducklake_metadata WHERE "key" = 'version'`, nil, func(s *driver.Stmt) { version = s.ColumnText(0) })
	if err == nil && version != duckVersion {
		err = domain.Errorf(domain.CodeConflict, "the catalogue %s is of DuckLake %s, and this program writes %s: it was migrated by another program; begin a lake anew in another folder",
			d.options.Catalog, version, duckVersion)
	}
	return err
}

// newUUID is a random identifier in the form that DuckLake has.
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // which never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// run runs a statement.
func (d *duckLake) run(ctx context.Context, sql string, args []any, row func(*driver.Stmt)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	o := &sqlitex.ExecOptions{Args: args}
	if row != nil {
		o.ResultFunc = func(s *driver.Stmt) error {
			row(s)
			return nil
		}
	}
	return d.failed(sqlitex.Execute(d.conn, sql, o))
}

func (d *duckLake) failed(err error) error {
	if err == nil {
		return nil
	}
	return domain.Errorf(domain.CodeUnavailable, "the lake's catalogue: %w", err)
}

// transact runs what takes effect at once.
func (d *duckLake) transact(ctx context.Context, do func(context.Context) error) (err error) {
	end, err := sqlitex.ImmediateTransaction(d.conn)
	if err != nil {
		return d.failed(err)
	}
	defer func() {
		end(&err)
		if err != nil && domain.CodeOf(err) == domain.CodeInternal {
			err = d.failed(err)
		}
	}()
	return do(ctx)
}

// load implements catalog. Files that others added, removed or changed in the sink's
// tables are a conflict.
func (d *duckLake) load(ctx context.Context) (*contents, error) {
	c := &contents{Tables: map[string]*holding{}}
	err := d.transact(ctx, func(ctx context.Context) error {
		var progress string
		if err := d.run(ctx, "SELECT progress FROM _sluice_sink WHERE id = 1", nil, func(s *driver.Stmt) { progress = s.ColumnText(0) }); err != nil {
			return err
		}
		if progress != "" {
			if err := json.Unmarshal([]byte(progress), &c.Progress); err != nil {
				return domain.Errorf(domain.CodeCorrupt, "the progress in the lake's catalogue cannot be read: %w", err)
			}
		}
		if err := d.run(ctx, "SELECT max(snapshot_id) FROM ducklake_snapshot", nil, func(s *driver.Stmt) { d.snapshot = s.ColumnInt64(0) }); err != nil {
			return err
		}
		if err := d.loadTables(ctx, c); err != nil {
			return err
		}
		for name, held := range c.Tables {
			if err := d.loadFiles(ctx, name, held); err != nil {
				return err
			}
		}
		return nil
	})
	return c, err
}

// duckTypes are what types of columns are called.
var duckTypes = map[document.Type]string{
	document.TypeText: "varchar", document.TypeInteger: "int64", document.TypeBoolean: "boolean",
	document.TypeInstant: "timestamptz", document.TypeList: "list",
}

func (d *duckLake) loadTables(ctx context.Context, c *contents) (err error) {
	elements := map[[2]int64]int{}
	var odd error
	err = d.run(ctx, `SELECT t.table_id, t.table_name, c.column_id, c.column_name, c.column_type, c.parent_column
FROM ducklake_table t JOIN ducklake_column c ON c.table_id = t.table_id
WHERE t.schema_id = 0 AND t.end_snapshot IS NULL AND c.end_snapshot IS NULL
AND t.table_id IN (SELECT table_id FROM _sluice_table)
ORDER BY c.column_id`, nil, func(s *driver.Stmt) {
		id, name := s.ColumnInt64(0), s.ColumnText(1)
		if !s.ColumnIsNull(5) {
			elements[[2]int64{id, s.ColumnInt64(5)}] = s.ColumnInt(2)
			return
		}
		held := c.Tables[name]
		if held == nil {
			held = &holding{id: id}
			c.Tables[name] = held
		}
		one := column{Name: s.ColumnText(3), ID: s.ColumnInt(2)}
		for of, called := range duckTypes {
			if called == s.ColumnText(4) {
				one.Type = of
			}
		}
		if one.Type == "" {
			odd = domain.Errorf(domain.CodeConflict, "the column %s of table %s in the lake was changed to type %s; change it back, or begin the lake anew", one.Name, name, s.ColumnText(4))
		}
		held.Columns = append(held.Columns, one)
	})
	for _, held := range c.Tables {
		for i := range held.Columns {
			held.Columns[i].Element = elements[[2]int64{held.id, int64(held.Columns[i].ID)}]
		}
	}
	if err == nil {
		err = odd
	}
	return err
}

func (d *duckLake) loadFiles(ctx context.Context, name string, held *holding) (err error) {
	odd, broken := false, error(nil)
	err = d.run(ctx, `SELECT f.data_file_id, f.path, f.footer_size, s.about,
 EXISTS (SELECT 1 FROM ducklake_delete_file x WHERE x.table_id = f.table_id AND x.data_file_id = f.data_file_id AND x.end_snapshot IS NULL)
FROM ducklake_data_file f LEFT JOIN _sluice_file s ON s.data_file_id = f.data_file_id
WHERE f.table_id = ? AND f.end_snapshot IS NULL`, []any{held.id}, func(s *driver.Stmt) {
		f := &file{}
		if s.ColumnIsNull(3) || s.ColumnBool(4) {
			odd = true
			return
		}
		if err := json.Unmarshal([]byte(s.ColumnText(3)), f); err != nil {
			broken = err
		}
		f.id, f.footer = s.ColumnInt64(0), s.ColumnInt64(2)
		held.Files = append(held.Files, f)
	})
	kept := 0
	if err == nil {
		err = d.run(ctx, `SELECT count(*) FROM _sluice_file s WHERE s.table_id = ?
AND NOT EXISTS (SELECT 1 FROM ducklake_data_file f WHERE f.data_file_id = s.data_file_id)`, []any{held.id}, func(s *driver.Stmt) { kept = s.ColumnInt(0) })
	}
	switch {
	case err != nil:
		return err
	case broken != nil:
		return domain.Errorf(domain.CodeCorrupt, "what the lake's catalogue says of the files of %s cannot be read: %w", name, broken)
	case odd || kept > 0:
		return domain.Errorf(domain.CodeConflict, "the table %s of the lake was changed by another program; write to tables of other names, and begin the lake anew in another folder", name)
	}
	slices.SortFunc(held.Files, func(a, b *file) int { return a.First.compare(b.First) })
	return nil
}

// named implements catalog.
func (d *duckLake) named(ctx context.Context) (map[string]bool, error) {
	named := map[string]bool{}
	err := d.run(ctx, "SELECT t.path || f.path FROM ducklake_data_file f JOIN ducklake_table t ON t.table_id = f.table_id", nil,
		func(s *driver.Stmt) { named[s.ColumnText(0)] = true })
	return named, err
}

func (d *duckLake) close() error { return d.failed(d.conn.Close()) }
