package database_test

import (
	"bytes"
	"database/sql"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the database/sql driver that the tests read through

	"sluice/internal/document"
	"sluice/internal/sink"
	"sluice/internal/sink/sinktest"
	"sluice/internal/sink/targets"
	"sluice/internal/testkit"
)

func TestMain(m *testing.M) { os.Exit(testkit.Main(m)) }

// dialect is how a column of each type is read as a text of one form.
type dialect map[document.Type]string

func reads(quote, instant, list, boolean string) dialect {
	return dialect{
		"quote": quote, document.TypeText: "?", document.TypeInteger: "?", document.TypeBoolean: boolean,
		document.TypeInstant: instant, document.TypeList: list,
	}
}

var (
	postgres = reads(`"`, `to_char(? AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`, "to_json(?)::text", "?::int")
	mysql    = reads("`", "DATE_FORMAT(?, '%Y-%m-%dT%H:%i:%s.%fZ')", "?", "?")
	sqlite   = reads(`"`, "CAST(? AS TEXT)", "?", "CAST(? AS INTEGER)")
)

// place is one of a database, which tests read and change through db.
func place(t testing.TB, address string, db *sql.DB, in dialect) sinktest.Place {
	t.Helper()
	return sinktest.Place{
		Open: func(t testing.TB) sink.Target {
			target, err := targets.Open(address)
			if err != nil {
				t.Fatal(err)
			}
			return target.Target
		},
		Rows: func(t testing.TB, table sink.Table) []sink.Row { return read(t, db, table, in) },
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

// read reads a table; lists and payloads as texts of JSON.
func read(t testing.TB, db *sql.DB, table sink.Table, in dialect) (rows []sink.Row) {
	t.Helper()
	columns := []string{"_sluice_account", "_sluice_name"}
	for _, c := range table.Columns {
		columns = append(columns, strings.ReplaceAll(in[c.Type], "?", in["quote"]+c.Name+in["quote"]))
	}
	if table.Raw {
		columns = append(columns, "raw")
	}
	found, err := db.QueryContext(t.Context(), "SELECT "+strings.Join(columns, ", ")+" FROM "+table.Name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = found.Close() }()
	for found.Next() {
		row := sink.Row{Key: document.Key{Kind: table.Kind}, Values: make([]document.Value, len(table.Columns))}
		into := []any{&row.Key.Account, &row.Key.Name}
		cells := make([]sql.NullString, len(table.Columns))
		for i := range cells {
			into = append(into, &cells[i])
		}
		var raw []byte
		if table.Raw {
			into = append(into, &raw)
		}
		if err := found.Scan(into...); err != nil {
			t.Fatal(err)
		}
		row.Raw = bytes.Clone(raw)
		for i, c := range table.Columns {
			row.Values[i] = value(t, c.Type, cells[i])
		}
		rows = append(rows, row)
	}
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	return rows
}

func value(t testing.TB, of document.Type, cell sql.NullString) document.Value {
	t.Helper()
	if !cell.Valid {
		return document.Value{Null: true}
	}
	v := document.Value{Text: cell.String}
	var err error
	switch of {
	case document.TypeInteger:
		v.Integer, err = strconv.ParseInt(cell.String, 10, 64)
	case document.TypeBoolean:
		v.Boolean = cell.String == "1"
	case document.TypeInstant:
		v.Instant, err = time.Parse(time.RFC3339Nano, cell.String)
	case document.TypeText, document.TypeList:
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestPostgres(t *testing.T) {
	sinktest.Run(t, func(t testing.TB) sinktest.Place {
		address := testkit.Postgres(t)
		return place(t, address, testkit.OpenSQL(t, address), postgres)
	})
}

func TestMySQL(t *testing.T) {
	sinktest.Run(t, func(t testing.TB) sinktest.Place {
		address := testkit.MariaDB(t)
		return place(t, address, testkit.OpenSQL(t, address), mysql)
	})
}

func TestSQLite(t *testing.T) {
	sinktest.Run(t, func(t testing.TB) sinktest.Place {
		path := filepath.Join(t.TempDir(), "it's 100% mine.db")
		return place(t, "sqlite:"+(&url.URL{Path: path}).EscapedPath(), openSQLite(t, path), sqlite)
	})
}

func openSQLite(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: "_pragma=busy_timeout(60000)"}).String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}
