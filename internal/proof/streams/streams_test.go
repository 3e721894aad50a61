// Package streams_test proves with the built program that lakes, topics and receivers of
// webhooks, whose sinks are killed again and again together with the collector, end as the
// export is.
package streams_test

import (
	"bufio"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sluice/internal/backoff"
	"sluice/internal/document"
	sim "sluice/internal/simulator/github"
	"sluice/internal/sink"
	"sluice/internal/sink/sinktest"
	"sluice/internal/source"
	"sluice/internal/sources"
	"sluice/internal/testkit"
	"sluice/internal/testkit/sluice"
)

var kills = flag.Int("kills", 3, "how often the proof kills the program")

// place is where a sink carries to, and how that is read.
type place struct {
	address string
	rows    func(t *testing.T, table sink.Table) []sink.Row
}

// TestStreams: whatever is killed while the world changes, in the end all places show
// what `sluice export` shows.
func TestStreams(t *testing.T) {
	duck, plain, prefix := t.TempDir(), t.TempDir(), testkit.Prefix(t)
	receiver := newReceiver(t)
	broker := testkit.Kafka(t)
	places := map[string]place{
		"duck":   {"file://" + duck + "?every=0s", func(t *testing.T, table sink.Table) []sink.Row { return duckRows(t, duck, table) }},
		"plain":  {"file://" + plain + "?catalog=none&every=0s", func(t *testing.T, table sink.Table) []sink.Row { return plainRows(t, plain, table) }},
		"topics": {broker + "/" + prefix + "?deleted=keep", func(t *testing.T, table sink.Table) []sink.Row { return topicRows(t, broker, prefix, table) }},
		"hook":   {receiver.URL, receiver.table},
	}
	var all []string
	for name, p := range places {
		all = append(all, name+"="+p.address)
	}
	env := []string{"SLUICE_SINK=" + strings.Join(all, ","), "SLUICE_WEBHOOK_SECRET=" + secret}

	random := sluice.Seeded(t)
	u := sluice.NewUpstream(t, sim.Options{Seed: random.Uint64(), Accounts: 2, Latency: sim.Latency{Fixed: 5 * time.Millisecond, Jitter: 10 * time.Millisecond}})
	dir := t.TempDir()
	up := func() *sluice.Service { return sluice.UpIn(t, u, dir, env, "--floor", "0", "--webhook-allow-private") }
	first := up()
	for _, login := range u.Logins() {
		first.Signup(login, u.Token(login))
	}
	first.Dies(random)
	for range *kills {
		s := up()
		for range 1 + random.IntN(5) {
			u.MutateOnce("")
		}
		s.BeginAll(u)
		s.Dies(random)
	}
	last := up()
	for _, run := range last.BeginAll(u) {
		last.Completes(run)
	}
	caughtUp(t, last, len(places))
	compare(t, dir, places, last)

	sluice.Run(t, nil, "account", "purge", u.Logins()[0], "--yes", "--cancel", "--data-dir", dir).Expect(t, 0)
	last = up()
	caughtUp(t, last, len(places))
	compare(t, dir, places, last)
}

// caughtUp waits until every sink is where the documents are.
func caughtUp(t *testing.T, s *sluice.Service, sinks int) {
	t.Helper()
	for until := time.Now().Add(5 * time.Minute); ; {
		text := s.Get("/api/v1/sinks")
		list := sluice.Decode[struct {
			Items []struct {
				State         string
				BehindChanges *int64 `json:"behind_changes"`
			}
		}](t, text)
		there := 0
		for _, n := range list.Items {
			if n.State == "following" && n.BehindChanges != nil && *n.BehindChanges == 0 {
				there++
			}
		}
		if there == sinks {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("the sinks do not get there: %s", text)
		}
		if !backoff.Sleep(t.Context(), 100*time.Millisecond) {
			t.Fatal(t.Context().Err())
		}
	}
}

// compare ends the program and compares every table with its export.
func compare(t *testing.T, dir string, places map[string]place, s *sluice.Service) {
	t.Helper()
	s.Signal(syscall.SIGTERM)
	s.Ends()
	all := 0
	for _, table := range sink.Tables(source.Kinds(sources.Collected()), false) {
		want := exported(t, dir, table)
		for name, p := range places {
			got := p.rows(t, table)
			for i := range got {
				got[i].Key = document.Key{}
			}
			t.Run(name, func(t *testing.T) { sinktest.CompareRows(t, table, got, want) })
		}
		all += len(want)
	}
	if all < 50 {
		t.Errorf("only %d rows were compared", all)
	}
	t.Logf("%d rows are the same in %d places", all, len(places))
}

func exported(t *testing.T, dir string, table sink.Table) (rows []sink.Row) {
	t.Helper()
	answer := sluice.Run(t, nil, "export", "--kind", table.Name, "--format", "jsonl", "--data-dir", dir).Expect(t, 0)
	lines := bufio.NewScanner(strings.NewReader(answer.Out))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		rows = append(rows, jsonRow(t, table, lines.Bytes()))
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return rows
}

// jsonRow reads a row that was written as JSON.
func jsonRow(t *testing.T, table sink.Table, text []byte) (row sink.Row) {
	t.Helper()
	cells := sluice.Decode[map[string]json.RawMessage](t, string(text))
	for _, c := range table.Columns {
		row.Values = append(row.Values, sinktest.ParseJSON(t, c.Type, cells[c.Name]))
	}
	return row
}

func plainRows(t *testing.T, dir string, table sink.Table) (rows []sink.Row) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, table.Name, "*.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	return parquetRows(t, files, table)
}

func parquetRows(t *testing.T, files []string, table sink.Table) (rows []sink.Row) {
	t.Helper()
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, sinktest.ReadParquet(t, data, table)...)
	}
	return rows
}
