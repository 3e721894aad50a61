package declared_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/testkit/sluice"
)

const undeclared = `
source: stall
base: https://stall.example
ration: {all: {per: source, calls: 50, every: 1s, shape: sliding}}
streams:
  goods:
    get: /goods
    key: id
    title: name
`

// TestColumnsOfTwoSources: what is inferred in one folder by commands that do not know of
// each other goes round what the other has, and declared columns are gone round as well.
func TestColumnsOfTwoSources(t *testing.T) {
	dir := t.TempDir()
	var files []string
	collect := func(name, goods, more string) string {
		t.Helper()
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(goods)) }))
		defer server.Close()
		file := filepath.Join(t.TempDir(), name+".yaml")
		if err := os.WriteFile(file, []byte(strings.Replace(undeclared, "source: stall", "source: "+name, 1)+more), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
		for range 2 {
			sluice.Run(t, nil, "collect", "--source", file, "--set", "base="+server.URL, "all", "--data-dir", dir).Expect(t, 0)
		}
		return sluice.Run(t, nil, "source", "show", file, "--data-dir", dir).Expect(t, 0).Out
	}
	collect("first", `[{"id":1,"price":3}]`, "    columns: {price: {at: price, type: integer}}\n")
	if text := collect("second", `[{"id":1,"price":"three","size":4}]`, ""); !strings.Contains(text, "price_text: price") || !strings.Contains(text, "size_integer:") {
		t.Error(text)
	}
	if text := collect("third", `[{"id":1,"price":true,"size_integer":"x","size":5}]`, ""); !strings.Contains(text, "price: {at: price, type: boolean}") || !strings.Contains(text, "size_integer_text:") {
		t.Error(text)
	}
	// All of them together: what the first declares is what price means.
	sluice.Run(t, nil, "sql", "SELECT price FROM first_goods", "--data-dir", dir, "--sources", strings.Join(files, ",")).Expect(t, 0)
	sluice.Run(t, nil, "sql", "SELECT price_text FROM second_goods", "--data-dir", dir).Expect(t, 0)
}

// TestInferredColumns: a stream that says nothing of columns gets those of its first
// records, with their types; they stay as they are whatever comes later, every command
// sees them, and what is declared in the file wins.
func TestInferredColumns(t *testing.T) {
	var goods atomic.Value
	goods.Store(`[{"id":1,"name":"tea","price":3,"made":"2026-01-02T03:04:05Z","open":true,"tags":["a","b"],"of":{"land":"JP"},"number":"A7","none":null},
		{"id":2,"name":"rice","price":4,"made":"2026-02-02T03:04:05Z","open":false,"tags":[],"of":{"land":"IN"},"number":"A8"}]`)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(goods.Load().(string)))
	}))
	defer server.Close()
	file, dir := filepath.Join(t.TempDir(), "stall.yaml"), t.TempDir()
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(undeclared)
	collect := func() {
		t.Helper()
		sluice.Run(t, nil, "collect", "--source", file, "--set", "base="+server.URL, "all", "--data-dir", dir).Expect(t, 0)
	}
	const query = "SELECT id, title, price, made, open, tags, of_land, number FROM stall_goods ORDER BY id"
	ask := func(want string) {
		t.Helper()
		a := sluice.Run(t, nil, "sql", query, "--sources", file, "--data-dir", dir, "--format", "csv").Expect(t, 0)
		if got := strings.Join(strings.Split(strings.TrimSpace(strings.ReplaceAll(a.Out, "\r", "")), "\n")[1:], "\n"); got != want {
			t.Errorf("it is\n%s\nand should be\n%s", got, want)
		}
	}
	show := func(says ...string) string {
		t.Helper()
		return sluice.Run(t, nil, "source", "show", file, "--data-dir", dir).Expect(t, 0, says...).Out
	}
	collect()
	ask("1,tea,3,2026-01-02T03:04:05.000000Z,1,\"[\"\"a\"\",\"\"b\"\"]\",JP,A7\n2,rice,4,2026-02-02T03:04:05.000000Z,0,[],IN,A8")
	if text := show(); !strings.Contains(text, "#       price: {at: price, type: integer}") || !strings.Contains(text, "number: number") || strings.Contains(text, "another type") {
		t.Error(text)
	}
	// Another type is null and counted, another field makes no column.
	goods.Store(`[{"id":1,"name":"tea","price":"free","made":"2026-01-02T03:04:05Z","open":"no","tags":["c"],"of":{"land":"JP"},"number":8,"new":1},
		{"id":3,"name":"salt","price":1}]`)
	collect()
	ask("1,tea,,2026-01-02T03:04:05.000000Z,,\"[\"\"c\"\"]\",JP,8\n2,rice,4,2026-02-02T03:04:05.000000Z,0,[],IN,A8\n3,salt,1,,,,,")
	if text := show(); !strings.Contains(text, "# price: 1 values were of another type") || !strings.Contains(text, "# open: 1 values") || strings.Contains(text, "new") {
		t.Error(text)
	}
	out := sluice.Run(t, nil, "export", "--kind", "stall_goods", "--sources", file, "--data-dir", dir, "--format", "csv").Expect(t, 0).Out
	if !strings.Contains(out, "of_land") || !strings.Contains(out, "JP") {
		t.Errorf("the export has\n%s", out)
	}
	// What the file declares wins.
	write(undeclared + "    columns: {cost: {at: price, type: integer}}\n")
	collect()
	a := sluice.Run(t, nil, "export", "--kind", "stall_goods", "--sources", file, "--data-dir", dir, "--format", "csv").Expect(t, 0)
	if header, _, _ := strings.Cut(a.Out, "\n"); strings.Contains(header, "of_land") || !strings.Contains(header, "cost") {
		t.Errorf("the export has %s", header)
	}
}

// TestColumnsWhileItRuns: a service that runs infers columns of what it collects, and takes
// them up without being started again; nobody is answered anything but what was asked for.
func TestColumnsWhileItRuns(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`[{"id":1,"name":"tea","price":3},{"id":2,"name":"rice","price":4}]`))
	}))
	defer server.Close()
	file, dir := filepath.Join(t.TempDir(), "stall.yaml"), t.TempDir()
	if err := os.WriteFile(file, []byte(undeclared), 0o600); err != nil {
		t.Fatal(err)
	}
	_, url := upOn(t, dir)
	sluice.Run(t, nil, "source", "add", file, "--set", "base="+server.URL, "--server", url).Expect(t, 0)
	stop := asked(t, url)
	sluice.Run(t, nil, "collect", "stall:all", "--server", url).Expect(t, 0)
	late := time.After(sluice.Patience)
	for again := time.NewTicker(200 * time.Millisecond); ; {
		a := sluice.Run(t, nil, "sql", "SELECT sum(price) FROM stall_goods", "--server", url, "--format", "csv")
		if a.Code == 0 && strings.Contains(a.Out, "7") {
			again.Stop()
			break
		}
		select {
		case <-again.C:
		case <-late:
			t.Fatalf("the table has no column price: %s%s", a.Out, a.Err)
		}
	}
	if answers, others := stop(); answers == 0 || len(others) > 0 {
		t.Errorf("of %d answers some were %v", answers, others)
	}
}
