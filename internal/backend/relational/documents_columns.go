package relational

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"sluice/internal/document"
	"sluice/internal/document/tables"
)

// addColumns makes room for values of the sources' own that have none yet, which
// servers do without touching the rows. Of several processes that are at it one
// succeeds, and the others find what they wanted.
func (d *DB) addColumns(ctx context.Context, own tables.Own) error {
	missing, err := d.missingColumns(ctx, own)
	if err != nil || len(missing) == 0 {
		return err
	}
	add := make([]string, len(missing))
	for i, name := range missing.Names() {
		add[i] = "ADD COLUMN " + name + " BIGINT NULL"
		if missing.IsText(i) {
			add[i] = "ADD COLUMN " + name + " " + d.options.Dialect.LongText + " NULL"
		}
	}
	_, failed := d.Exec(ctx, "ALTER TABLE document "+strings.Join(add, ", "))
	if failed == nil {
		return nil
	}
	// Somebody else may have been faster, with all of them or with some.
	left, err := d.missingColumns(ctx, own)
	switch {
	case err != nil || len(left) == 0:
		return err
	case len(left) < len(missing):
		return d.addColumns(ctx, own)
	}
	return fmt.Errorf("the table document lacks columns that sources declare; the user must be allowed to alter it, or somebody else does it (ALTER TABLE document %s): %w",
		strings.Join(add, ", "), failed)
}

func (d *DB) missingColumns(ctx context.Context, own tables.Own) (tables.Own, error) {
	if len(own) == 0 {
		return nil, nil
	}
	has := map[string]bool{}
	err := d.Query(ctx, func(r *sql.Rows) error {
		var name, typ string
		err := r.Scan(&name, &typ)
		has[strings.ToLower(name)] = strings.Contains(strings.ToLower(typ), "text")
		return err
	}, "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'document' AND table_schema = "+d.options.Dialect.CurrentSchema)
	if err != nil {
		return nil, err
	}
	return own.Missing(has)
}

// keyColumns hold a document's identity, and fieldColumns what else every document
// has, in the order of documentRow and scanDocument.
var (
	keyColumns   = []string{"account_id", "kind", "name", "kind_rest", "name_rest"}
	fieldColumns = []string{"version", "repository", "number", "stars", "additions", "deletions", "created_at", "updated_at", "closed_at", "merged_at",
		"flags", "chunk", "chunk_start", "chunk_size", "content", "state", "title", "author", "language", "closed_by"}
)

// absenceColumns are read after those.
const absenceColumns = `d.seen_at, d.gone_why, d.gone_at, d.gone_last,
	COALESCE(p.gone_why, ''), COALESCE(p.gone_at, 0), COALESCE(p.gone_last, 0)`

// documentColumns are the columns of a store: those of its fields, absences, and
// then the sources' own.
type documentColumns struct {
	own tables.Own
	all readColumns
	// kinds are what is read of documents of each kind: those of others are null.
	kinds map[document.Kind]*readColumns
	// create is for documents that are not there, and insert for others.
	create, insert *Insert
}

// readColumns are what is read of documents.
type readColumns struct {
	own tables.Own
	// list is what is selected from documentsFrom.
	list string
}

func newReadColumns(own tables.Own) readColumns {
	fixed := append(append([]string{}, keyColumns...), fieldColumns...)
	return readColumns{own: own, list: own.After("d."+strings.Join(fixed, ", d.")+", "+absenceColumns, "d.")}
}

// newDocumentColumns: of two copies the newer wins; of two of the same version the
// later arrival; any of them was seen.
func newDocumentColumns(kinds document.Kinds, own tables.Own) documentColumns {
	read := map[document.Kind]*readColumns{}
	for i := range kinds {
		of := newReadColumns(own.Of(kinds, kinds[i].Kind))
		read[kinds[i].Kind] = &of
	}
	fixed := append(append([]string{}, keyColumns...), fieldColumns...)
	head := strings.Join(fixed, ", ") + ", seen_at"
	return documentColumns{
		own: own, all: newReadColumns(own), kinds: read,
		create: &Insert{Head: "INSERT INTO document (" + own.After(head, "") + ")", Upsert: Upsert{Key: "account_id, kind, name"}},
		insert: &Insert{
			Head: "INSERT INTO document (" + own.After(head, "") + ")",
			Upsert: Upsert{Key: "account_id, kind, name", Set: "seen_at = GREATEST(document.seen_at, excluded.seen_at), " +
				NewerWins("document", fieldColumns[0], append(append([]string{}, fieldColumns[1:]...), own.Names()...)...)},
		},
	}
}

// of are what is read of documents of a kind.
func (dc *documentColumns) of(kind document.Kind) *readColumns {
	if columns := dc.kinds[kind]; columns != nil {
		return columns
	}
	return &dc.all
}

// writeOwn adds the values of a document's own to its row.
func (dc *documentColumns) writeOwn(row *Row, d *document.Document) {
	for i := range dc.own {
		text, number, null := dc.own.Value(i, d)
		row.Write(",")
		switch {
		case null:
			row.Write("NULL")
		case dc.own.IsText(i):
			row.Text(text)
		default:
			row.Int(number)
		}
	}
}

// ownValues takes the values of a document's own from its row.
type ownValues struct {
	texts   []sql.NullString
	numbers []sql.NullInt64
}

// targets is what the values are scanned into.
func (rc *readColumns) targets() (values ownValues, into []any) {
	if len(rc.own) == 0 {
		return values, nil
	}
	values = ownValues{make([]sql.NullString, len(rc.own)), make([]sql.NullInt64, len(rc.own))}
	for i := range rc.own {
		if rc.own.IsText(i) {
			into = append(into, &values.texts[i])
		} else {
			into = append(into, &values.numbers[i])
		}
	}
	return values, into
}

func (rc *readColumns) readOwn(values ownValues, d *document.Document) {
	for i := range rc.own {
		if values.texts[i].Valid || values.numbers[i].Valid {
			rc.own.Read(i, d, values.texts[i].String, values.numbers[i].Int64)
		}
	}
}
