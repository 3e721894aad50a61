package relational_test

import (
	"database/sql"
	"os"
	"testing"

	"sluice/internal/state/statetest"
)

// TestDashboard asks what operators are told to ask.
func TestDashboard(t *testing.T) {
	t.Parallel()
	eachServer(t, testDashboard)
}

func testDashboard(t *testing.T, on server) {
	file := map[string]string{"mysql": "mariadb", "postgres": "postgres"}[on.name]
	queries, err := os.ReadFile("../../../docs/sql/" + file + ".sql")
	if err != nil {
		t.Fatal(err)
	}
	o := mustOpenState(t, on.fresh(t))
	statetest.Dashboard(t, o.State, string(queries), func(query string) (rows [][]string, err error) {
		err = o.db.Query(t.Context(), func(r *sql.Rows) error {
			columns, err := r.Columns()
			if err != nil {
				return err
			}
			row, into := make([]string, len(columns)), make([]any, len(columns))
			for i := range row {
				into[i] = &row[i]
			}
			rows = append(rows, row)
			return r.Scan(into...)
		}, query)
		return rows, err
	})
}
