package relational

import (
	"context"
	"database/sql"
	"strings"

	"sluice/internal/document"
	"sluice/internal/document/tables"
)

var _ document.Lister = (*Documents)(nil)

func (s *Documents) lister() tables.Lister {
	return tables.NewLister(s.kinds, tables.ListRows{Entries: s.listEntries, Numbers: s.listNumbers, Authors: true, Find: s.Find})
}

// listStatement is a statement of a list.
func listStatement(d *Dialect, q *tables.SQL) *Statement {
	var out Statement
	for _, part := range q.Parts {
		out.Write(part.Text)
		switch v := part.Value.(type) {
		case int64:
			out.Int(v)
		case string:
			out.Text(v)
		case document.Kind:
			out.Blob(keyOf(string(v), kindWidth))
		case tables.Name:
			out.Blob(keyOf(string(v), nameWidth))
		case tables.Author:
			before, after, _ := strings.Cut(d.AuthorIs, "?")
			out.Write(before).Text(v.Key()).Write(after)
		case tables.Contains:
			out.Write("POSITION(").Text(v.Text).Write(" IN " + v.Column + ") > 0")
		case tables.Index:
			name := string(v)
			if v == tables.PrimaryKey {
				name = "PRIMARY"
			}
			out.Write(" /*! FORCE INDEX (" + name + ") */")
		}
	}
	return &out
}

func (s *Documents) listEntries(ctx context.Context, q *tables.SQL, each func(tables.Entry)) error {
	var entries []tables.Entry
	err := s.db.Run(ctx, listStatement(s.db.options.Dialect, q), func(r *sql.Rows) error {
		var e tables.Entry
		var selected int64
		err := r.Scan(&e.Account, &e.Name, &e.At, &selected)
		e.Selected = selected != 0
		entries = append(entries, e)
		return err
	})
	for i := 0; err == nil && i < len(entries); i++ {
		e := &entries[i]
		if len(e.Name) == nameWidth {
			e.Name, err = s.wholeName(ctx, e)
		}
		each(*e)
	}
	return err
}

// wholeName is the name of a document whose key does not hold all of it.
func (s *Documents) wholeName(ctx context.Context, e *tables.Entry) (name string, err error) {
	name = e.Name
	var find Statement
	find.Write("SELECT name_rest FROM document WHERE account_id = ").Int(e.Account).Write(" AND name = ").Blob([]byte(e.Name))
	err = s.db.Run(ctx, &find, func(r *sql.Rows) error {
		var rest string
		err := r.Scan(&rest)
		name = whole(e.Name, rest, nameWidth)
		return err
	})
	return name, err
}

func (s *Documents) listNumbers(ctx context.Context, q *tables.SQL, each func(a, b int64)) error {
	return s.db.Run(ctx, listStatement(s.db.options.Dialect, q), func(r *sql.Rows) error {
		var a, b int64
		err := r.Scan(&a, &b)
		each(a, b)
		return err
	})
}
