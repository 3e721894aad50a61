package sqlite

import (
	"context"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/document"
	"sluice/internal/document/tables"
)

var (
	_ document.Feed   = (*Documents)(nil)
	_ document.Finder = (*Documents)(nil)
)

// feedRows are what the log of changes is read with. There is one writer, so that
// rows have their positions when they are written.
func (s *Documents) feedRows() tables.FeedRows[*driver.Conn] {
	return tables.FeedRows[*driver.Conn]{Read: s.db.Read, State: feedState, After: logAfter, Trim: trimLog}
}

func writeLog(_ context.Context, c *driver.Conn, rows []tables.LogRow) error {
	count := tables.Positions(rows, 0)
	newest, err := number(c, "UPDATE change_feed SET newest = newest + ? WHERE id = 1 RETURNING newest", count)
	if err != nil {
		return err
	}
	tables.Positions(rows, newest-count)
	for i := range rows {
		r := &rows[i]
		err := Exec(c, "INSERT INTO change_log (last_position, account_id, count, at, entries) VALUES (?, ?, ?, ?, ?)", nil,
			r.Last, r.Account, r.Count, r.At, r.Entries)
		if err != nil {
			return err
		}
	}
	return nil
}

func feedState(_ context.Context, c *driver.Conn) (feed string, newest, trimmed int64, err error) {
	err = Exec(c, "SELECT feed, newest, trimmed FROM change_feed WHERE id = 1",
		func(r *driver.Stmt) { feed, newest, trimmed = r.ColumnText(0), r.ColumnInt64(1), r.ColumnInt64(2) })
	return feed, newest, trimmed, err
}

func logAfter(_ context.Context, c *driver.Conn, position int64, limit int, entries bool) (rows []tables.LogRow, err error) {
	columns := "last_position, account_id, count, at"
	if entries {
		columns += ", entries"
	}
	err = Exec(c, "SELECT "+columns+" FROM change_log WHERE last_position > ? ORDER BY last_position LIMIT ?", func(r *driver.Stmt) {
		row := tables.LogRow{Last: r.ColumnInt64(0), Account: r.ColumnInt64(1), Count: r.ColumnInt64(2), At: r.ColumnInt64(3)}
		if entries {
			row.Entries = readBlob(r, 4)
		}
		rows = append(rows, row)
	}, position, limit)
	return rows, err
}

func trimLog(_ context.Context, c *driver.Conn, position int64) error {
	if err := Exec(c, "DELETE FROM change_log WHERE last_position <= ?", nil, position); err != nil {
		return err
	}
	return Exec(c, "UPDATE change_feed SET trimmed = ? WHERE id = 1", nil, position)
}

// findAll reads documents by their keys.
func (s *Documents) findAll(ctx context.Context, keys []document.Key, withRaw bool) (found []document.Document, err error) {
	chunks := &chunkCache{store: s}
	err = s.db.Read(ctx, func(c *driver.Conn) error {
		found = nil
		for _, key := range keys {
			var place tables.Place
			met, columns := false, s.columns.of(key.Kind)
			err := Exec(c, columns.find, func(r *driver.Stmt) {
				var d document.Document
				d, place = s.scanDocument(r, &columns.read)
				found, met = append(found, d), true
			}, key.Account, string(key.Kind), key.Name)
			if err == nil && met && withRaw {
				found[len(found)-1].Raw, err = chunks.load(c, place)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return found, err
}
