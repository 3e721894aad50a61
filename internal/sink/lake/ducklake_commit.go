package lake

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/document"
	"sluice/internal/domain"
)

// snapshot is one that is being made.
type snapshot struct {
	id, version, nextCatalog, nextFile int64
	changes                            []string
}

// commit implements catalog.
func (d *duckLake) commit(ctx context.Context, c *change) error {
	var s snapshot
	err := d.transact(ctx, func(ctx context.Context) error {
		err := d.run(ctx, "SELECT snapshot_id, schema_version, next_catalog_id, next_file_id FROM ducklake_snapshot ORDER BY snapshot_id DESC LIMIT 1", nil, func(r *driver.Stmt) {
			s = snapshot{id: r.ColumnInt64(0), version: r.ColumnInt64(1), nextCatalog: r.ColumnInt64(2), nextFile: r.ColumnInt64(3)}
		})
		if err != nil {
			return err
		}
		if s.id != d.snapshot {
			// What another program did is looked at before anything is added to it.
			return domain.Errorf(domain.CodeUnavailable, "another program has changed the lake meanwhile; its catalogue is read again")
		}
		s.id++
		if err := d.commitAll(ctx, c, &s); err != nil {
			return err
		}
		progress, err := json.Marshal(c.next.Progress)
		if err != nil {
			return domain.Errorf(domain.CodeInternal, "write the progress of the lake: %w", err)
		}
		return d.run(ctx, "INSERT INTO _sluice_sink(id, progress) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET progress = excluded.progress", []any{string(progress)}, nil)
	})
	if err == nil && len(s.changes) > 0 {
		d.snapshot = s.id
	}
	return err
}

// commitAll writes what changes into DuckLake's tables. Progress alone is not a snapshot.
func (d *duckLake) commitAll(ctx context.Context, c *change, s *snapshot) error {
	if len(c.created)+len(c.altered) > 0 {
		s.version++
	}
	for _, name := range c.created {
		if err := d.createTable(ctx, name, c.next.Tables[name], s); err != nil {
			return err
		}
	}
	for _, name := range c.altered {
		held := c.next.Tables[name]
		if err := d.addColumns(ctx, held, s); err != nil {
			return err
		}
		s.changes = append(s.changes, fmt.Sprintf("altered_table:%d", held.id))
	}
	for _, name := range slices.Sorted(maps.Keys(c.next.Tables)) {
		if len(c.added[name])+len(c.dropped[name]) == 0 {
			continue
		}
		if err := d.replaceFiles(ctx, c, name, s); err != nil {
			return err
		}
	}
	if len(s.changes) == 0 {
		return nil
	}
	err := d.run(ctx, "INSERT INTO ducklake_snapshot VALUES (?, ?, ?, ?, ?)", []any{s.id, stamp(d.options.Now()), s.version, s.nextCatalog, s.nextFile}, nil)
	if err != nil {
		return err
	}
	return d.run(ctx, "INSERT INTO ducklake_snapshot_changes(snapshot_id, changes_made, author) VALUES (?, ?, 'sluice')", []any{s.id, strings.Join(s.changes, ",")}, nil)
}

func (d *duckLake) createTable(ctx context.Context, name string, held *holding, s *snapshot) error {
	held.id = s.nextCatalog
	s.nextCatalog++
	s.changes = append(s.changes, `created_table:"main"."`+strings.ReplaceAll(name, `"`, `""`)+`"`)
	err := d.run(ctx, "INSERT INTO ducklake_table VALUES (?, ?, ?, NULL, 0, ?, ?, 1)", []any{held.id, newUUID(), s.id, name, name + "/"}, nil)
	if err != nil {
		return err
	}
	if err := d.run(ctx, "INSERT INTO ducklake_table_stats VALUES (?, 0, 0, 0)", []any{held.id}, nil); err != nil {
		return err
	}
	if err := d.run(ctx, "INSERT INTO _sluice_table VALUES (?)", []any{held.id}, nil); err != nil {
		return err
	}
	return d.addColumns(ctx, held, s)
}

// addColumns adds those that the catalogue does not have.
func (d *duckLake) addColumns(ctx context.Context, held *holding, s *snapshot) error {
	has := map[int]bool{}
	if err := d.run(ctx, "SELECT column_id FROM ducklake_column WHERE table_id = ?", []any{held.id}, func(r *driver.Stmt) { has[r.ColumnInt(0)] = true }); err != nil {
		return err
	}
	const insert = `INSERT INTO ducklake_column(column_id, begin_snapshot, table_id, column_order, column_name, column_type, default_value, nulls_allowed, parent_column, default_value_type, default_value_dialect)
VALUES (?, ?, ?, ?, ?, ?, 'NULL', 1, ?, ?, 'duckdb')`
	for _, c := range held.Columns {
		if has[c.ID] {
			continue
		}
		literal := "literal"
		if c.Type == document.TypeList {
			literal = ""
			if err := d.run(ctx, insert, []any{c.Element, s.id, held.id, c.Element, "element", "varchar", c.ID, "literal"}, nil); err != nil {
				return err
			}
		}
		if err := d.run(ctx, insert, []any{c.ID, s.id, held.id, c.ID, c.Name, duckTypes[c.Type], nil, literal}, nil); err != nil {
			return err
		}
	}
	return d.run(ctx, "INSERT INTO ducklake_schema_versions VALUES (?, ?, ?)", []any{s.id, s.version, held.id}, nil)
}

// replaceFiles ends files and adds others.
func (d *duckLake) replaceFiles(ctx context.Context, c *change, name string, s *snapshot) error {
	held := c.next.Tables[name]
	for _, f := range c.dropped[name] {
		if err := d.run(ctx, "UPDATE ducklake_data_file SET end_snapshot = ? WHERE data_file_id = ?", []any{s.id, f.id}, nil); err != nil {
			return err
		}
	}
	if len(c.dropped[name]) > 0 {
		s.changes = append(s.changes, fmt.Sprintf("deleted_from_table:%d", held.id))
	}
	rowID := int64(0)
	if err := d.run(ctx, "SELECT next_row_id FROM ducklake_table_stats WHERE table_id = ?", []any{held.id}, func(r *driver.Stmt) { rowID = r.ColumnInt64(0) }); err != nil {
		return err
	}
	for _, f := range c.added[name] {
		f.id = s.nextFile
		s.nextFile++
		if err := d.addFile(ctx, held, f, s.id, rowID); err != nil {
			return err
		}
		rowID += f.Rows
	}
	if len(c.added[name]) > 0 {
		s.changes = append(s.changes, fmt.Sprintf("inserted_into_table:%d", held.id))
	}
	rows, size := int64(0), int64(0)
	for _, f := range held.Files {
		rows, size = rows+f.Rows, size+f.Bytes
	}
	return d.run(ctx, "UPDATE ducklake_table_stats SET record_count = ?, next_row_id = ?, file_size_bytes = ? WHERE table_id = ?", []any{rows, rowID, size, held.id}, nil)
}

func (d *duckLake) addFile(ctx context.Context, held *holding, f *file, snapshot, rowID int64) error {
	about, err := json.Marshal(f)
	if err != nil {
		return domain.Errorf(domain.CodeInternal, "write what a file of the lake has: %w", err)
	}
	if err := d.run(ctx, "INSERT INTO _sluice_file VALUES (?, ?, ?)", []any{f.id, held.id, string(about)}, nil); err != nil {
		return err
	}
	err = d.run(ctx, `INSERT INTO ducklake_data_file(data_file_id, table_id, begin_snapshot, path, path_is_relative, file_format, record_count, file_size_bytes, footer_size, row_id_start)
VALUES (?, ?, ?, ?, 1, 'parquet', ?, ?, ?, ?)`, []any{f.id, held.id, snapshot, f.Name, f.Rows, f.Bytes, f.footer, rowID}, nil)
	if err != nil {
		return err
	}
	for i := range f.figures {
		g := &f.figures[i]
		least, greatest := g.bounds()
		err := d.run(ctx, "INSERT INTO ducklake_file_column_stats(data_file_id, table_id, column_id, value_count, null_count, min_value, max_value) VALUES (?, ?, ?, ?, ?, ?, ?)",
			[]any{f.id, held.id, g.column, g.values, g.nulls, least, greatest}, nil)
		if err != nil {
			return err
		}
	}
	f.figures = nil
	return nil
}

// expire implements catalog: snapshots that are older than an instant are forgotten,
// but for the newest, and so are the files that only they have.
func (d *duckLake) expire(ctx context.Context, _ *change, before time.Time) (keys []string, err error) {
	oldest := int64(-1)
	err = d.run(ctx, "SELECT min(snapshot_id) FROM ducklake_snapshot WHERE snapshot_time > ? OR snapshot_id = ?", []any{stamp(before), d.snapshot},
		func(s *driver.Stmt) { oldest = s.ColumnInt64(0) })
	if err != nil {
		return nil, err
	}
	first := int64(0)
	if err := d.run(ctx, "SELECT min(snapshot_id) FROM ducklake_snapshot", nil, func(s *driver.Stmt) { first = s.ColumnInt64(0) }); err != nil || first == oldest {
		return nil, err
	}
	err = d.transact(ctx, func(ctx context.Context) error {
		var ids []int64
		err := d.run(ctx, `SELECT f.data_file_id, t.path || f.path FROM _sluice_table o JOIN ducklake_data_file f ON f.table_id = o.table_id
JOIN ducklake_table t ON t.table_id = f.table_id WHERE f.end_snapshot <= ?`, []any{oldest}, func(s *driver.Stmt) {
			ids, keys = append(ids, s.ColumnInt64(0)), append(keys, s.ColumnText(1))
		})
		if err != nil {
			return err
		}
		for _, id := range ids {
			for _, table := range []string{"ducklake_data_file", "ducklake_file_column_stats", "_sluice_file"} {
				if err := d.run(ctx, "DELETE FROM "+table+" WHERE data_file_id = ?", []any{id}, nil); err != nil {
					return err
				}
			}
		}
		for _, table := range []string{"ducklake_snapshot", "ducklake_snapshot_changes"} {
			if err := d.run(ctx, "DELETE FROM "+table+" WHERE snapshot_id < ?", []any{oldest}, nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return keys, nil
}
