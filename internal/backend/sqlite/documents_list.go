package sqlite

import (
	"context"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/document"
	"sluice/internal/document/tables"
)

var _ document.Lister = (*Documents)(nil)

func (s *Documents) lister() tables.Lister {
	return tables.NewLister(s.kinds, tables.ListRows{Entries: s.listEntries, Numbers: s.listNumbers, Find: s.Find})
}

// listStatement is a statement of a list with its values.
func listStatement(q *tables.SQL) (text string, args []any) {
	for _, part := range q.Parts {
		text += part.Text
		switch v := part.Value.(type) {
		case nil:
		case tables.Index:
			if v == tables.PrimaryKey {
				text += " NOT INDEXED"
			} else {
				text += " INDEXED BY " + string(v)
			}
		case tables.Contains:
			text += "instr(" + v.Column + ", ?) > 0"
			args = append(args, v.Text)
		case tables.Name:
			text += "?"
			args = append(args, string(v))
		case document.Kind:
			text += "?"
			args = append(args, string(v))
		default:
			text += "?"
			args = append(args, v)
		}
	}
	return text, args
}

func (s *Documents) listEntries(ctx context.Context, q *tables.SQL, each func(tables.Entry)) error {
	text, args := listStatement(q)
	return s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, text, func(r *driver.Stmt) {
			each(tables.Entry{Account: r.ColumnInt64(0), Name: r.ColumnText(1), At: r.ColumnInt64(2), Selected: r.ColumnBool(3)})
		}, args...)
	})
}

func (s *Documents) listNumbers(ctx context.Context, q *tables.SQL, each func(a, b int64)) error {
	text, args := listStatement(q)
	return s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, text, func(r *driver.Stmt) { each(r.ColumnInt64(0), r.ColumnInt64(1)) }, args...)
	})
}
