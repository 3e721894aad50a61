// Package sinks_test proves with the built program that a sink which is killed again
// and again, together with the collector, ends as the export is.
package sinks_test

import (
	"bufio"
	"database/sql"
	"encoding/json"
	"flag"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sluice/internal/document"
	sim "sluice/internal/simulator/github"
	"sluice/internal/sink"
	"sluice/internal/sink/sinktest"
	"sluice/internal/source"
	"sluice/internal/sources"
	"sluice/internal/testkit"
	"sluice/internal/testkit/sluice"
)

var kills = flag.Int("kills", 3, "how often each proof kills the program")

// TestPostgres, TestMySQL, TestSQLite and TestMongo: whatever is killed while the world changes,
// in the end the target shows what `sluice export` shows.
func TestPostgres(t *testing.T) {
	address := testkit.Postgres(t)
	carries(t, nil, address, testkit.OpenSQL(t, address), sinktest.PostgresSQL)
}

func TestMySQL(t *testing.T) {
	address := testkit.MariaDB(t)
	carries(t, nil, address, testkit.OpenSQL(t, address), sinktest.MySQL)
}

func TestSQLite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "collected.db")
	carries(t, nil, "sqlite:"+path, sinktest.OpenSQLite(t, path), sinktest.SQLiteSQL)
}

// TestMongo: documents are in MongoDB, whose feed knows no transactions.
func TestMongo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "collected.db")
	// The stand-in for MongoDB searches everything it has for each document.
	carries(t, small(), "sqlite:"+path, sinktest.OpenSQLite(t, path), sinktest.SQLiteSQL, "SLUICE_MONGO="+testkit.Mongo(t))
}

// small are accounts with a little of everything.
func small() *sim.Shape {
	return &sim.Shape{Repos: sim.Between(4, 6), Commits: sim.Between(5, 15), Issues: sim.Between(4, 10), Pulls: sim.Between(2, 5), Oddities: true}
}

// carries is the proof, with documents where the environment says.
func carries(t *testing.T, shape *sim.Shape, address string, db *sql.DB, in sinktest.SQL, where ...string) {
	random := sluice.Seeded(t)
	if testing.Short() {
		shape = small()
	}
	u := sluice.NewUpstream(t, sim.Options{Seed: random.Uint64(), Accounts: 2, Shape: shape, Latency: sim.Latency{Fixed: 5 * time.Millisecond, Jitter: 10 * time.Millisecond}})
	dir := t.TempDir()
	env := append([]string{"SLUICE_SINK=there=" + address}, where...)
	first := sluice.UpIn(t, u, dir, env, "--floor", "0")
	for _, login := range u.Logins() {
		first.Signup(login, u.Token(login))
	}
	first.Dies(random)
	for range *kills {
		s := sluice.UpIn(t, u, dir, env, "--floor", "0")
		for range 1 + random.IntN(5) {
			u.MutateOnce("")
		}
		s.BeginAll(u)
		s.Dies(random)
	}
	last := sluice.UpIn(t, u, dir, env, "--floor", "0")
	if state := last.Get("/api/v1/sinks"); !strings.Contains(state, `"name":"there"`) {
		t.Errorf("the sink is not listed: %s", state)
	}
	repo := u.Repos(u.Logins()[0])[0]
	if err := u.RenameRepo(repo, "another-name"); err != nil {
		t.Fatal(err)
	}
	for _, run := range last.BeginAll(u) {
		last.Completes(run)
	}
	last.Signal(syscall.SIGTERM)
	last.Ends()
	done := sluice.Run(t, where, "sync", address, "--data-dir", dir, "-o", "json").Expect(t, 0)
	t.Logf("the last sync: %s", done.Out)
	compare(t, dir, db, in, where)
	purge(t, u, dir, address, db, in, where)
}

// compare compares every table with its export.
func compare(t *testing.T, dir string, db *sql.DB, in sinktest.SQL, where []string) {
	t.Helper()
	all := 0
	for _, table := range sink.Tables(source.Kinds(sources.Collected()), false) {
		want := exported(t, dir, table, where)
		got := sinktest.ReadSQL(t, db, table, in)
		for i := range got {
			got[i].Key = document.Key{}
		}
		sinktest.CompareRows(t, table, got, want)
		all += len(want)
	}
	if all < 100 {
		t.Errorf("only %d rows were compared", all)
	}
	t.Logf("%d rows are the same", all)
}

func exported(t *testing.T, dir string, table sink.Table, where []string) (rows []sink.Row) {
	t.Helper()
	answer := sluice.Run(t, where, "export", "--kind", table.Name, "--format", "jsonl", "--data-dir", dir).Expect(t, 0)
	lines := bufio.NewScanner(strings.NewReader(answer.Out))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		cells := sluice.Decode[map[string]json.RawMessage](t, lines.Text())
		row := sink.Row{}
		for _, c := range table.Columns {
			row.Values = append(row.Values, cell(t, c.Type, cells[c.Name]))
		}
		rows = append(rows, row)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return rows
}

func cell(t *testing.T, of document.Type, text json.RawMessage) (v document.Value) {
	t.Helper()
	if string(text) == "null" {
		return document.Value{Null: true}
	}
	into := map[document.Type]any{document.TypeText: &v.Text, document.TypeInteger: &v.Integer, document.TypeBoolean: &v.Boolean, document.TypeInstant: &v.Instant}[of]
	if of == document.TypeList {
		return document.Value{Text: string(text)}
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%s of an export: %v", text, err)
	}
	return v
}

// purge: nothing of a purged account stays in the target.
func purge(t *testing.T, u *sluice.Upstream, dir, address string, db *sql.DB, in sinktest.SQL, where []string) {
	t.Helper()
	sluice.Run(t, where, "account", "purge", u.Logins()[0], "--yes", "--cancel", "--data-dir", dir).Expect(t, 0)
	sluice.Run(t, where, "sync", address, "--data-dir", dir).Expect(t, 0)
	compare(t, dir, db, in, where)
}
