package database_test

import (
	"database/sql"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"sluice/internal/sink"
	"sluice/internal/sink/sinktest"
	"sluice/internal/sink/targets"
	"sluice/internal/testkit"
)

func TestMain(m *testing.M) { os.Exit(testkit.Main(m)) }

// place is one of a database, which tests read and change through db.
func place(t testing.TB, address string, db *sql.DB, in sinktest.SQL) sinktest.Place {
	t.Helper()
	return sinktest.Place{
		Open: func(t testing.TB) sink.Target {
			target, err := targets.Open(address)
			if err != nil {
				t.Fatal(err)
			}
			return target.Target
		},
		Rows: func(t testing.TB, table sink.Table) []sink.Row { return sinktest.ReadSQL(t, db, table, in) },
		ByHand: func(t testing.TB, table sink.Table) []string {
			for _, statement := range []string{
				"ALTER TABLE " + table.Name + " DROP COLUMN title",
				"ALTER TABLE " + table.Name + " ADD COLUMN title BIGINT",
			} {
				if _, err := db.ExecContext(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
			return []string{"table " + table.Name, "column title", "Change it back"}
		},
	}
}

func TestPostgres(t *testing.T) {
	sinktest.Run(t, func(t testing.TB) sinktest.Place {
		address := testkit.Postgres(t)
		return place(t, address, testkit.OpenSQL(t, address), sinktest.PostgresSQL)
	})
}

func TestMySQL(t *testing.T) {
	sinktest.Run(t, func(t testing.TB) sinktest.Place {
		address := testkit.MariaDB(t)
		return place(t, address, testkit.OpenSQL(t, address), sinktest.MySQL)
	})
}

func TestSQLite(t *testing.T) {
	sinktest.Run(t, func(t testing.TB) sinktest.Place {
		path := filepath.Join(t.TempDir(), "it's 100% mine.db")
		return place(t, "sqlite:"+(&url.URL{Path: path}).EscapedPath(), sinktest.OpenSQLite(t, path), sinktest.SQLiteSQL)
	})
}
