package sinktest

import (
	"bytes"
	"database/sql"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the database/sql driver that files are read through

	"sluice/internal/document"
	"sluice/internal/sink"
)

// SQL is how a database shows a column of each type as a text of one form.
type SQL map[document.Type]string

func reads(quote, instant, list, boolean string) SQL {
	return SQL{
		"quote": quote, document.TypeText: "?", document.TypeInteger: "?", document.TypeBoolean: boolean,
		document.TypeInstant: instant, document.TypeList: list,
	}
}

// The databases.
var (
	PostgresSQL = reads(`"`, `to_char(? AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`, "to_json(?)::text", "?::int")
	MySQL       = reads("`", "DATE_FORMAT(?, '%Y-%m-%dT%H:%i:%s.%fZ')", "?", "?")
	SQLiteSQL   = reads(`"`, "CAST(? AS TEXT)", "?", "CAST(? AS INTEGER)")
)

// ReadSQL reads the table of a sink as the suite wants it; lists and payloads as texts of JSON.
func ReadSQL(t testing.TB, db *sql.DB, table sink.Table, in SQL) (rows []sink.Row) {
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

// OpenSQLite opens a file of SQLite for whoever looks at it.
func OpenSQLite(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: "_pragma=busy_timeout(60000)"}).String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}
