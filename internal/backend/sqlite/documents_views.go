package sqlite

import (
	"context"
	"strings"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/document"
	"sluice/internal/document/views"
)

// makeViews makes the views that people read documents by, and replaces those that
// are declared otherwise by now. If there is nothing to do it only reads. Views that
// are no longer declared stay: somebody may read them.
func (db *DB) makeViews(ctx context.Context, kinds document.Kinds) error {
	var statements []string
	err := db.Read(ctx, func(c *driver.Conn) (err error) {
		statements, err = viewStatements(c, kinds)
		return err
	})
	if err != nil || len(statements) == 0 {
		return err
	}
	return db.Write(ctx, func(c *driver.Conn) error {
		// Another store on this database may have been faster.
		statements, err := viewStatements(c, kinds)
		for i := 0; err == nil && i < len(statements); i++ {
			err = Exec(c, statements[i], nil)
		}
		return err
	})
}

// viewStatements are what is to be done to have the views. SQLite keeps the text of
// each as it was written.
func viewStatements(c *driver.Conn, kinds document.Kinds) (statements []string, err error) {
	made, taken, err := namesInUse(c)
	if err != nil {
		return nil, err
	}
	dialect := views.SQLite()
	for _, v := range views.Of(kinds, dialect, func(name string) bool { return taken[strings.ToLower(name)] }) {
		create := v.Create("CREATE VIEW", dialect)
		switch text, there := made[v.Name]; {
		case text == create:
		case there:
			statements = append(statements, "DROP VIEW "+dialect.Quote(v.Name), create)
		default:
			statements = append(statements, create)
		}
	}
	return statements, nil
}

// namesInUse are the views that were made from declarations, by name with their
// texts, and in small letters the names that anything else has.
func namesInUse(c *driver.Conn) (made map[string]string, taken map[string]bool, err error) {
	made, taken = map[string]string{}, map[string]bool{}
	err = Exec(c, "SELECT name, type, COALESCE(sql, '') FROM sqlite_schema WHERE type IN ('table', 'view')", func(r *driver.Stmt) {
		name, text := r.ColumnText(0), r.ColumnText(2)
		if r.ColumnText(1) == "view" && strings.Contains(text, views.Mark) {
			made[name] = text
		} else {
			taken[strings.ToLower(name)] = true
		}
	})
	return made, taken, err
}
