package sqlite

import (
	"context"
	"errors"
	"slices"
	"strings"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/document"
	"sluice/internal/document/tables"
)

// makeRoom makes the columns and the views that kinds need, and returns the columns that
// there are. A database that is only read stays as whoever wrote it last has left it: what
// it has no room for yet has no values.
func (db *DB) makeRoom(ctx context.Context, kinds document.Kinds, own tables.Own) (tables.Own, error) {
	if db.reader == nil {
		if err := db.addColumns(ctx, own); err != nil {
			return nil, err
		}
		return own, db.makeViews(ctx, kinds)
	}
	var missing tables.Own
	err := db.Read(ctx, func(c *driver.Conn) (err error) {
		missing, err = missingColumns(c, own)
		return err
	})
	return slices.DeleteFunc(own, func(o document.Column) bool {
		return slices.ContainsFunc(missing, func(m document.Column) bool { return m.Name == o.Name })
	}), err
}

// addColumns makes room for values of the sources' own that have none yet. What is
// stored has none of them. If nothing is missing it only reads.
func (db *DB) addColumns(ctx context.Context, own tables.Own) error {
	if len(own) == 0 {
		return nil
	}
	var missing tables.Own
	err := db.Read(ctx, func(c *driver.Conn) (err error) {
		missing, err = missingColumns(c, own)
		return err
	})
	if err != nil || len(missing) == 0 {
		return err
	}
	return db.Write(ctx, func(c *driver.Conn) error {
		// Another store on this database may have been faster.
		missing, err := missingColumns(c, own)
		if err != nil || len(missing) == 0 {
			return err
		}
		filled, err := number(c, "SELECT EXISTS (SELECT 1 FROM document)")
		if err != nil {
			return err
		}
		if filled == 0 {
			return widen(c, definitions(missing))
		}
		return alter(c, definitions(missing)...)
	})
}

// alter adds columns one by one. After each, SQLite reads all tables, indexes and views anew.
func alter(c *driver.Conn, columns ...string) error {
	for _, column := range columns {
		if err := Exec(c, "ALTER TABLE document ADD COLUMN "+column, nil); err != nil {
			return err
		}
	}
	return nil
}

// definitions are columns with their types.
func definitions(columns tables.Own) []string {
	list := columns.Names()
	for i := range list {
		if columns.IsText(i) {
			list[i] += " TEXT"
		} else {
			list[i] += " INTEGER"
		}
	}
	return list
}

// widen adds columns to a table that is empty, as that of every new file: it is made
// again as it would have become. Where a column would come to stand in its definition
// is tried out where there is no other table. So a file is made in half the time.
func widen(c *driver.Conn, columns []string) (err error) {
	var table string
	var indexes []string
	const schema = "SELECT type, sql FROM sqlite_schema WHERE tbl_name = 'document' AND sql IS NOT NULL ORDER BY rowid"
	read := func(r *driver.Stmt) {
		if text := r.ColumnText(1); r.ColumnText(0) == "table" {
			table = text
		} else {
			indexes = append(indexes, text)
		}
	}
	if err := Exec(c, schema, read); err != nil {
		return err
	}
	aside, err := driver.OpenConn(":memory:", driver.OpenReadWrite)
	if err != nil {
		return err
	}
	defer func() { err = joinClose(err, aside) }()
	if err := Exec(aside, table, nil); err != nil {
		return err
	}
	const place = "tried_out_here INTEGER"
	if err := errors.Join(alter(aside, place), Exec(aside, schema, read)); err != nil {
		return err
	}
	table = strings.Replace(table, place, strings.Join(columns, ", "), 1)
	for _, statement := range append([]string{"DROP TABLE document", table}, indexes...) {
		if err := Exec(c, statement, nil); err != nil {
			return err
		}
	}
	return nil
}

func missingColumns(c *driver.Conn, own tables.Own) (tables.Own, error) {
	has := map[string]bool{}
	err := Exec(c, "SELECT name, type FROM pragma_table_info('document')",
		func(r *driver.Stmt) { has[r.ColumnText(0)] = r.ColumnText(1) == "TEXT" })
	if err != nil {
		return nil, err
	}
	return own.Missing(has)
}

// fieldColumns hold what every document has; bindDocument binds them and
// scanDocument reads them in this order.
var fieldColumns = []string{"account_id", "kind", "name", "version", "repository", "number", "state", "title", "author", "language",
	"stars", "additions", "deletions", "created_at", "updated_at", "closed_at", "merged_at", "closed_by", "flags", "seen_at",
	"chunk", "chunk_start", "chunk_size", "content"}

// absenceColumns are read after those.
const absenceColumns = "d.gone_why, d.gone_at, d.gone_last, p.gone_why, p.gone_at, p.gone_last"

// absenceWidth is how many they are.
const absenceWidth = 6

// documentColumns are the columns of a store: those of its fields, absences, and
// then the sources' own.
type documentColumns struct {
	own tables.Own
	all readColumns
	// kinds are what is written and read of documents of each kind, and others of those
	// that nobody declares: a column costs time in every row, also one that is null.
	kinds  map[document.Kind]*kindColumns
	others *kindColumns
}

// kindColumns are those of one kind; find reads a document by its key.
type kindColumns struct {
	writtenColumns
	read readColumns
	find string
}

// writtenColumns are what is written of documents: fieldColumns, and then own.
type writtenColumns struct {
	own tables.Own
	// create is for documents that are not there, and upsert, with one row, for others.
	create *Insert
	upsert string
}

// readColumns are what is read of documents.
type readColumns struct {
	own tables.Own
	// list is what is selected from documentsFrom, and count how many that is.
	list  string
	count int
}

func newDocumentColumns(kinds document.Kinds, own tables.Own) documentColumns {
	dc := documentColumns{own: own, all: newReadColumns(own), kinds: map[document.Kind]*kindColumns{}}
	dc.others = newKindColumns(nil, dc.all)
	for i := range kinds {
		of := own.Of(kinds, kinds[i].Kind)
		dc.kinds[kinds[i].Kind] = newKindColumns(of, newReadColumns(of))
	}
	return dc
}

func newKindColumns(own tables.Own, read readColumns) *kindColumns {
	return &kindColumns{
		newWrittenColumns(own), read,
		"SELECT " + read.list + " FROM " + documentsFrom + " WHERE d.account_id = ? AND d.kind = ? AND d.name = ?",
	}
}

func newWrittenColumns(own tables.Own) writtenColumns {
	columns := append(append([]string{}, fieldColumns...), own.Names()...)
	into := "INTO document (" + strings.Join(columns, ", ") + ")"
	return writtenColumns{
		own: own,
		// A statement of several rows that could be undone alone copies every page before
		// it changes it, which takes half as long as storing the rows. If one fails, its
		// request is undone as a whole.
		create: NewInsert("INSERT OR FAIL "+into, "", len(columns)),
		upsert: "INSERT " + into + " VALUES (?" + strings.Repeat(", ?", len(columns)-1) + ") " + newerWins(columns),
	}
}

// of are those of a kind.
func (dc *documentColumns) of(kind document.Kind) *kindColumns {
	if of := dc.kinds[kind]; of != nil {
		return of
	}
	return dc.others
}

func newReadColumns(own tables.Own) readColumns {
	read := "d." + strings.Join(fieldColumns, ", d.") + ", " + absenceColumns
	return readColumns{own: own, list: own.After(read, "d."), count: len(fieldColumns) + absenceWidth + len(own)}
}

// newerWins: of two copies the newer wins; of two of the same version the later
// arrival.
func newerWins(columns []string) string {
	var set []string
	for _, c := range columns {
		switch c {
		case "account_id", "kind", "name":
		case "seen_at":
			set = append(set, "seen_at = max(document.seen_at, excluded.seen_at)")
		default:
			set = append(set, c+" = excluded."+c)
		}
	}
	return "ON CONFLICT (account_id, kind, name) DO UPDATE SET " + strings.Join(set, ", ") + " WHERE excluded.version >= document.version"
}

// bindOwn binds the values of a document's own.
func (w *writtenColumns) bindOwn(s *driver.Stmt, base int, d *document.Document) {
	for i := range w.own {
		text, number, null := w.own.Value(i, d)
		switch {
		case null:
			s.BindNull(base + i)
		case w.own.IsText(i):
			s.BindText(base+i, text)
		default:
			s.BindInt64(base+i, number)
		}
	}
}

// readOwn is the inverse of bindOwn.
func (rc *readColumns) readOwn(r *driver.Stmt, d *document.Document) {
	first := rc.count - len(rc.own)
	for i := range rc.own {
		switch {
		case r.ColumnType(first+i) == driver.TypeNull:
		case rc.own.IsText(i):
			rc.own.Read(i, d, r.ColumnText(first+i), 0)
		default:
			rc.own.Read(i, d, "", r.ColumnInt64(first+i))
		}
	}
}
