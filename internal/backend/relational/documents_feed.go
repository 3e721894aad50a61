package relational

import (
	"context"
	"database/sql"

	"sluice/internal/document"
	"sluice/internal/document/tables"
)

var (
	_ document.Feed   = (*Documents)(nil)
	_ document.Finder = (*Documents)(nil)
)

func (s *Documents) feedRows() tables.FeedRows[*Tx] {
	return tables.FeedRows[*Tx]{Sequence: s.sequence, Read: s.db.Snapshot, State: feedState, After: logAfter, Trim: trimLog}
}

var insertLog = &Insert{Head: "INSERT INTO change_log (account_id, count, at, entries)"}

// writeLog writes rows without positions: transactions commit in any order, and who
// follows must not pass by what is committed later. Their ids are given while what
// they are about is locked, so that of two changes of a document the later one has
// the higher id.
func writeLog(ctx context.Context, tx *Tx, rows []tables.LogRow) error {
	insert := Rows{Insert: insertLog, Rows: make([]Row, len(rows))}
	for i := range rows {
		insert.Rows[i].Write("(").Ints(rows[i].Account, rows[i].Count, rows[i].At).Write(",").Blob(rows[i].Entries).Write(")")
	}
	return Write(ctx, tx, []Rows{insert})
}

// sequenceRows is how many rows get positions in one transaction.
const sequenceRows = 1000

// sequence gives positions to what is committed, in the order of ids: one process at
// a time, whoever reads first. What is committed later comes after that, whatever
// its id.
func (s *Documents) sequence(ctx context.Context) error {
	for more := true; more; {
		more = false
		err := s.db.Query(ctx, func(*sql.Rows) error { more = true; return nil }, "SELECT id FROM change_log WHERE last_position IS NULL LIMIT 1")
		if err != nil || !more {
			return err
		}
		if err := s.db.Tx(ctx, func(tx *Tx) error { return placeRows(ctx, tx) }); err != nil {
			return err
		}
	}
	return nil
}

func placeRows(ctx context.Context, tx *Tx) error {
	var newest int64
	err := Query(ctx, tx, func(r *sql.Rows) error { return r.Scan(&newest) }, "SELECT newest FROM change_feed WHERE id = 1 FOR UPDATE")
	if err != nil {
		return err
	}
	var rows []tables.LogRow
	var ids []int64
	var find Statement
	find.Write("SELECT id, count FROM change_log WHERE last_position IS NULL ORDER BY id LIMIT ").Int(sequenceRows)
	err = find.Query(ctx, tx, func(r *sql.Rows) error {
		var row tables.LogRow
		err := r.Scan(&row.ID, &row.Count)
		rows, ids = append(rows, row), append(ids, row.ID)
		return err
	})
	if err != nil || len(rows) == 0 {
		return err
	}
	newest = tables.Positions(rows, newest)
	var place, set Statement
	place.Write("UPDATE change_log SET last_position = ").CaseInt(ids, func(i int) int64 { return rows[i].Last })
	if _, err := place.Write(" WHERE id IN (").Ints(ids...).Write(")").Exec(ctx, tx); err != nil {
		return err
	}
	_, err = set.Write("UPDATE change_feed SET newest = ").Int(newest).Write(" WHERE id = 1").Exec(ctx, tx)
	return err
}

func feedState(ctx context.Context, tx *Tx) (feed string, newest, trimmed int64, err error) {
	err = Query(ctx, tx, func(r *sql.Rows) error { return r.Scan(&feed, &newest, &trimmed) }, "SELECT feed, newest, trimmed FROM change_feed WHERE id = 1")
	return feed, newest, trimmed, err
}

func logAfter(ctx context.Context, tx *Tx, position int64, limit int, entries bool) (rows []tables.LogRow, err error) {
	columns := "id, account_id, last_position, count, at"
	if entries {
		columns += ", entries"
	}
	var find Statement
	find.Write("SELECT " + columns + " FROM change_log /*! FORCE INDEX (change_log_position) */ WHERE last_position > ").Int(position).Write(" ORDER BY last_position LIMIT ").Int(int64(limit))
	err = find.Query(ctx, tx, func(r *sql.Rows) error {
		var row tables.LogRow
		into := []any{&row.ID, &row.Account, &row.Last, &row.Count, &row.At}
		if entries {
			into = append(into, &row.Entries)
		}
		err := r.Scan(into...)
		rows = append(rows, row)
		return err
	})
	return rows, err
}

func trimLog(ctx context.Context, tx *Tx, position int64) error {
	var set, remove Statement
	set.Write("UPDATE change_feed SET trimmed = GREATEST(trimmed, ").Int(position).Write(") WHERE id = 1")
	if _, err := set.Exec(ctx, tx); err != nil {
		return err
	}
	_, err := remove.Write("DELETE FROM change_log WHERE last_position <= ").Int(position).Exec(ctx, tx)
	return err
}

// ofAccounts reads documents of one kind by their keys, whose accounts may be many, in
// one trip.
func ofAccounts(keys []document.Key, columns string) *Statement {
	find := &Statement{}
	find.Write("SELECT " + columns + " FROM " + documentsFrom + " WHERE ")
	for from, i := 0, 1; from < len(keys); i++ {
		if i < len(keys) && keys[i].Account == keys[from].Account {
			continue
		}
		if from > 0 {
			find.Write(" OR ")
		}
		find.Append(withKeys(keys[from:i], "d."))
		from = i
	}
	return find
}

// findAll reads documents by their keys, as they were at one moment.
func (s *Documents) findAll(ctx context.Context, keys []document.Key, withRaw bool) (found []document.Document, err error) {
	chunks := &chunkCache{store: s}
	var places []tables.Place
	err = s.db.Snapshot(ctx, func(tx *Tx) error {
		found, places = nil, nil
		err := alike(keys, func(a, b *document.Key) bool { return a.Kind == b.Kind }, func(part []document.Key) error {
			columns := s.columns.of(part[0].Kind)
			return ofAccounts(part, columns.list).Query(ctx, tx, func(r *sql.Rows) error {
				d, at, err := s.scanDocument(r, columns)
				found, places = append(found, d), append(places, at)
				return err
			})
		})
		if err != nil || !withRaw {
			return err
		}
		return chunks.load(ctx, tx, places)
	})
	for i := 0; err == nil && withRaw && i < len(places); i++ {
		found[i].Raw, err = places[i].Cut(chunks.plain[places[i].Chunk])
	}
	return found, err
}
