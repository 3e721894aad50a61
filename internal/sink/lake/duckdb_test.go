package lake_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sluice/internal/document"
	"sluice/internal/sink"
	"sluice/internal/sink/sinktest"
	"sluice/internal/testkit"
)

// asked is what DuckDB answers that has a lake attached.
func asked(t *testing.T, catalog, statement string) string {
	t.Helper()
	root, err := testkit.Repository()
	if err != nil {
		t.Fatal(err)
	}
	python := filepath.Join(root, ".tools", "data", "python", "bin", "python")
	if out, err := exec.CommandContext(t.Context(), python, "-c", "import duckdb_extension_ducklake, duckdb_extension_sqlite_scanner").CombinedOutput(); err != nil {
		testkit.Lacks(t, "DuckDB with DuckLake", fmt.Sprintf("scripts/data-tools gets it: %v: %s", err, out))
	}
	out, err := exec.CommandContext(t.Context(), python, "testdata/attach.py", catalog, statement).CombinedOutput()
	if err != nil {
		t.Fatalf("DuckDB: %v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// row is an issue with a title and a number.
func row(name, title string, number int64) sink.Row {
	r := sink.Row{Table: 1, Key: document.Key{Account: number % 3, Kind: "issue", Name: name}, Raw: []byte(`{"id":1}`)}
	for _, c := range sinktest.Kinds()[1].Columns {
		v := document.Value{Null: c.Nullable}
		switch c.Name {
		case "name":
			v.Text = name
		case "title":
			v.Text = title
		case "number":
			v.Integer = number
		case "labels":
			v = document.List("a", "b "+name)
		}
		r.Values = append(r.Values, v)
	}
	return r
}

// TestDuckDBAttaches: DuckDB itself reads the lake, of several versions of a table,
// and skips files by their figures without missing a row.
func TestDuckDBAttaches(t *testing.T) {
	dir := t.TempDir()
	catalog := filepath.Join(dir, "catalog.sqlite")
	p := duck(open(t, dir), dir+"/", catalog)
	kinds := sinktest.Kinds()
	all := kinds[1].Columns
	kinds[1].Columns = all[:6]
	position := int64(0)
	apply := func(target sink.Target, b *sink.Batch) {
		t.Helper()
		position++
		b.Progress = sink.Progress{Feed: "f", Position: position, Generation: 1}
		if err := target.Apply(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	prepared := func() sink.Target {
		t.Helper()
		target := p.Open(t)
		if err := target.Prepare(t.Context(), sink.Tables(kinds, true)); err != nil {
			t.Fatal(err)
		}
		return target
	}
	first := prepared()
	older := row("old", "before there were labels", 2)
	older.Values = older.Values[:6]
	apply(first, &sink.Batch{Rows: []sink.Row{older}})
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	kinds[1].Columns = all
	target := prepared()
	defer func() { _ = target.Close() }()
	for n := range int64(40) {
		var rows []sink.Row
		for i := range int64(10) {
			rows = append(rows, row(fmt.Sprintf("n%03d", n*10+i), "first", n*10+i))
		}
		apply(target, &sink.Batch{Rows: rows})
	}
	apply(target, &sink.Batch{Rows: []sink.Row{row("n007", "newest", 7)}})
	gone := row("n008", "", 8)
	gone.Removed = true
	apply(target, &sink.Batch{Rows: []sink.Row{gone}, Purged: []int64{0}})
	for question, want := range map[string]string{
		`SELECT count(*) AS n, count(DISTINCT name) AS names, sum("number")::BIGINT AS s FROM issues`:                 `{"n": 266, "names": 266, "s": 53061}`,
		"SELECT title, labels, created_at FROM issues WHERE name = 'n007'":                                            `{"title": "newest", "labels": ["a", "b n007"], "created_at": null}`,
		`SELECT name, labels, raw, _sluice_account FROM issues WHERE title LIKE 'before%'`:                            `{"name": "old", "labels": null, "raw": "{\"id\":1}", "_sluice_account": 2}`,
		`SELECT count(*) AS n FROM issues WHERE "number" BETWEEN 100 AND 110`:                                         `{"n": 8}`,
		"SELECT count(*) AS n FROM issues WHERE account = ''":                                                         `{"n": 266}`,
		"SELECT count(*) AS n FROM repositories":                                                                      `{"n": 0}`,
		"SELECT count(*) > 0 AS some FROM ducklake_snapshots('lake')":                                                 `{"some": true}`,
		"SELECT data_type FROM information_schema.columns WHERE table_name = 'issues' AND column_name = 'created_at'": `{"data_type": "TIMESTAMP WITH TIME ZONE"}`,
	} {
		if got := asked(t, catalog, question); got != want {
			t.Errorf("%s: DuckDB says %s, want %s", question, got, want)
		}
	}
}
