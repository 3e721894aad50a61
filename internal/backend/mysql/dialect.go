package mysql

import (
	"context"
	"database/sql"
	"regexp"
	"strings"

	"sluice/internal/backend/relational"
	"sluice/internal/document/views"
)

// dialect is what MySQL and MariaDB speak.
var dialect = &relational.Dialect{
	Name: "MySQL",
	// MariaDB has no FOR SHARE.
	ForShare: "LOCK IN SHARE MODE",
	// Who waits for a row is served in turn.
	Overtake: func(table string) string { return "SELECT id FROM " + table + " WHERE id = 1 FOR UPDATE" },
	// Its texts are compared as the table says.
	CurrentSchema: "DATABASE()",
	LongText:      "LONGTEXT",
	Size:          "SELECT COALESCE(SUM(data_length + index_length), 0) FROM information_schema.tables WHERE table_schema = DATABASE()",
	Views:         views.MySQL(),
	ReplaceView:   replaceView,
	// The column folds more letters than A to Z.
	AuthorIs: "d.author_key = LOWER(?)",
	Upsert:   upsert,
	Refuse:   refuse,
	Exactly:  exactly,
	Classify: classify,
	TryLock:  func(ctx context.Context, conn *sql.Conn, name string) (bool, error) { return lock(ctx, conn, name, 0) },
	Unlock:   unlock,
}

// newColumn is a column of a row that was to be inserted.
var newColumn = regexp.MustCompile(`\bexcluded\.(\w+)`)

// upsert is ON DUPLICATE KEY UPDATE. Which key it is about cannot be said; a
// table has one that matters.
func upsert(u relational.Upsert) string {
	set := u.Set
	switch {
	case len(u.Replace) > 0:
		set = replace(u.Replace, u.When)
	case set == "":
		column, _, _ := strings.Cut(u.Key, ",")
		set = column + " = " + column
	}
	return "ON DUPLICATE KEY UPDATE " + newColumn.ReplaceAllString(set, "VALUES($1)")
}

// replace asks the condition before each assignment. That a column has its new
// value cannot stand for the answer: once a BLOB was assigned to itself, MariaDB
// takes the value that was to be inserted for the same.
func replace(columns []string, when string) string {
	all := make([]string, len(columns))
	for i, c := range columns {
		all[i] = c + " = IF(" + when + ", excluded." + c + ", " + c + ")"
	}
	return strings.Join(all, ", ")
}

func refuse(number *relational.Statement) *relational.Statement {
	s := &relational.Statement{}
	s.Write("SET @refused = 18446744073709551615 + (")
	s.Append(number)
	return s.Write(")")
}

func exactly(update *relational.Statement, rows int64) []*relational.Statement {
	var others relational.Statement
	return []*relational.Statement{update, refuse(others.Write("ROW_COUNT() <> ").Int(rows))}
}

// lock takes a lock on a connection, and reports whether it got it within so many
// seconds. It ends with the connection.
func lock(ctx context.Context, conn *sql.Conn, name string, seconds int) (bool, error) {
	var got sql.NullInt64
	err := conn.QueryRowContext(ctx, "SELECT GET_LOCK(?, ?)", name, seconds).Scan(&got)
	return got.Int64 == 1, err
}

func unlock(ctx context.Context, conn *sql.Conn, name string) error {
	_, err := conn.ExecContext(ctx, "DO RELEASE_LOCK(?)", name)
	return err
}

// replaceView: who made the view lends it his rights, so that somebody may be
// allowed to read it and nothing else.
func replaceView(v *views.View, definition string) []*relational.Statement {
	var create, note relational.Statement
	create.Write(v.Create("CREATE OR REPLACE SQL SECURITY DEFINER VIEW", views.MySQL()))
	note.Write("REPLACE INTO document_view (name, definition) VALUES (").Text(v.Name).Write(", ").Text(definition).Write(")")
	return []*relational.Statement{&create, &note}
}
