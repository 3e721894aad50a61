package sqlite_test

import (
	"os"
	"testing"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/backend/sqlite"
	"sluice/internal/state/statetest"
)

// TestDashboard asks what operators are told to ask.
func TestDashboard(t *testing.T) {
	queries, err := os.ReadFile("../../../docs/sql/sqlite.sql")
	if err != nil {
		t.Fatal(err)
	}
	o := openState(t, t.TempDir())
	statetest.Dashboard(t, o.State, string(queries), func(query string) (rows [][]string, err error) {
		err = o.db.Read(t.Context(), func(c *driver.Conn) error {
			return sqlite.Exec(c, query, func(r *driver.Stmt) {
				row := make([]string, r.ColumnCount())
				for i := range row {
					row[i] = r.ColumnText(i)
				}
				rows = append(rows, row)
			})
		})
		return rows, err
	})
}
