package compare_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"sluice/internal/compare"
	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/testkit"
)

func TestMain(m *testing.M) { os.Exit(testkit.Main(m)) }

// issues is a kind with a column of every type.
var issues = &document.Declaration{Plural: "issues", Columns: []document.Column{
	{Name: "id", Type: document.TypeInteger}, {Name: "account", Type: document.TypeText}, {Name: "title", Type: document.TypeText},
	{Name: "author", Type: document.TypeText, From: document.FromAuthor, Nullable: true},
	{Name: "open", Type: document.TypeBoolean}, {Name: "created_at", Type: document.TypeInstant, From: document.FromCreatedAt, Nullable: true},
	{Name: "score", Type: document.TypeInteger, Nullable: true},
}}

func lines(texts ...string) *compare.Lines {
	return &compare.Lines{Open: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(strings.Join(texts, "\n"))), nil
	}}
}

func run(t *testing.T, ours, theirs compare.Side, change func(*compare.Options)) compare.Found {
	t.Helper()
	o := compare.Options{Kind: issues, Examples: 10, Folder: t.TempDir()}
	if change != nil {
		change(&o)
	}
	found, err := compare.Compare(t.Context(), ours, theirs, o)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

const (
	first  = `{"id":1,"account":"Ada","title":"a","author":"Eve","open":true,"created_at":"2026-03-01T12:00:00.123456Z","score":3}`
	second = `{"id":2,"account":"Ada","title":"b","open":false,"created_at":"2026-03-02T12:00:00Z","score":null}`
	third  = `{"id":10,"account":"bob","title":"c","open":true,"created_at":null,"score":0}`
)

// TestFindings tells missing, extra and different apart, by account and column.
func TestFindings(t *testing.T) {
	found := run(t, lines(third, first, second),
		lines(`{"id":1,"account":"ada","title":"a","author":"eVE","open":1,"created_at":"2026-03-01T13:00:00.1234567+01:00","score":3.0}`,
			`{"id":10,"account":"bob","title":"C","open":true,"created_at":"","score":1}`,
			`{"id":11,"account":"bob","title":"d","open":true,"created_at":"2026-03-05 00:00:00","score":0}`), nil)
	if found.Same != 1 || found.Missing != 1 || found.Extra != 1 || found.Different != 1 || found.Equal() ||
		found.Ours.Documents != 3 || found.Theirs.Documents != 3 {
		t.Errorf("found %+v", found)
	}
	if ada, bob := found.Accounts["ada"], found.Accounts["bob"]; ada == nil || *ada != (compare.Differences{Extra: 1}) || *bob != (compare.Differences{Missing: 1, Different: 1}) {
		t.Errorf("by account %v, %v", ada, bob)
	}
	if found.Columns["title"] != 1 || found.Columns["score"] != 1 || len(found.Columns) != 2 {
		t.Errorf("by column %v", found.Columns)
	}
	if !found.Theirs.Newest.Equal(time.Date(2026, 3, 5, 0, 0, 0, 0, time.UTC)) || !found.Ours.Newest.Equal(time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)) {
		t.Errorf("the newest are %v, %v", found.Ours.Newest, found.Theirs.Newest)
	}
	what := map[string]compare.Example{}
	for _, e := range found.Examples {
		what[e.What] = e
	}
	if what[compare.Missing].Key != "11 bob" && what[compare.Missing].Key != "bob 11" || what[compare.Different].Values["title"] != (compare.Pair{Ours: "c", Theirs: "C"}) {
		t.Errorf("the examples are %+v", found.Examples)
	}
}

// TestChoices: other names, other keys, what is ignored, whose documents, and what
// the other side does not have.
func TestChoices(t *testing.T) {
	theirs := lines(`{"number":1,"who":"ada","title":"x","open":true}`, `{"number":7,"who":"eve","title":"x","open":true}`)
	found := run(t, lines(first), theirs, func(o *compare.Options) {
		o.Names, o.Ignore, o.Accounts = map[string]string{"id": "number", "account": "who"}, []string{"title"}, []string{"ADA"}
	})
	if !found.Equal() || found.Same != 1 || strings.Join(found.Unknown, " ") != "author created_at score" {
		t.Errorf("found %+v", found)
	}
	for says, change := range map[string]func(*compare.Options){
		"--map id=NAME":    func(*compare.Options) {},
		"have no column x": func(o *compare.Options) { o.Key = []string{"x"} },
		"have no column y": func(o *compare.Options) { o.Ignore = []string{"y"} },
		"have no column z": func(o *compare.Options) { o.Names = map[string]string{"z": "a"} },
		"no column typo; it has number, open": func(o *compare.Options) {
			o.Names = map[string]string{"id": "number", "account": "who", "title": "typo"}
		},
	} {
		o := compare.Options{Kind: issues}
		change(&o)
		if _, err := compare.Compare(t.Context(), lines(first), theirs, o); domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", says, err)
		}
	}
	if _, err := compare.Compare(t.Context(), lines(first), lines(first, "{"), compare.Options{Kind: issues}); err == nil || !strings.Contains(err.Error(), "row 2") {
		t.Errorf("a dump that is cut off: %v", err)
	}
	if found := run(t, lines(first, first), lines(first, first, first), nil); found.Ours.Twice != 1 || found.Theirs.Twice != 2 || found.Same != 1 || !found.Equal() {
		t.Errorf("what is there twice: %+v", found)
	}
	other := strings.Replace(first, `"title":"a"`, `"title":"z"`, 1)
	for _, theirs := range [][]string{{first, other}, {other, first}} {
		if found := run(t, lines(first), lines(theirs...), nil); found.Theirs.Contradicting != 1 || found.Same != 1 || found.Equal() {
			t.Errorf("what is there twice and not the same, %v: %+v", theirs, found)
		}
	}
}

// TestManyInLittleMemory compares random sides that are sorted in many parts with
// what a map finds.
func TestManyInLittleMemory(t *testing.T) {
	random := rand.New(rand.NewPCG(testkit.Seed(t), 1))
	var sides [2][]string
	var have [2]map[string]string
	for i := range sides {
		have[i] = map[string]string{}
		for range 5000 {
			key, title := fmt.Sprint(random.IntN(6000)), fmt.Sprint(random.IntN(3))
			if _, twice := have[i][key]; twice {
				continue
			}
			have[i][key] = title
			sides[i] = append(sides[i], fmt.Sprintf(`{"id":%s,"account":"ada","title":%q}`, key, title))
		}
	}
	want := compare.Differences{}
	for key, title := range have[0] {
		other, there := have[1][key]
		switch {
		case !there:
			want.Extra++
		case other != title:
			want.Different++
		}
	}
	for key := range have[1] {
		if _, there := have[0][key]; !there {
			want.Missing++
		}
	}
	folder := t.TempDir()
	found := run(t, lines(sides[0]...), lines(sides[1]...), func(o *compare.Options) { o.Memory, o.Folder = 10_000, folder })
	if found.Differences != want || len(found.Examples) != 30 {
		t.Errorf("found %+v, want %+v", found.Differences, want)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}

// TestParquet reads what others write.
func TestParquet(t *testing.T) {
	type issue struct {
		Number  int64      `parquet:"number"`
		Account string     `parquet:"account"`
		Title   *string    `parquet:"title,optional"`
		Open    bool       `parquet:"open"`
		Created *time.Time `parquet:"created_at,optional,timestamp(microsecond)"`
	}
	title, at := "a", time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)
	path := filepath.Join(t.TempDir(), "issues.parquet")
	err := parquet.WriteFile(path, []issue{{1, "Ada", &title, true, &at}, {10, "bob", nil, true, nil}})
	if err != nil {
		t.Fatal(err)
	}
	found := run(t, lines(first, `{"id":10,"account":"bob","title":"","open":true,"created_at":null}`), &compare.Parquet{Path: path},
		func(o *compare.Options) { o.Names = map[string]string{"id": "number"} })
	if !found.Equal() || found.Same != 2 || strings.Join(found.Unknown, " ") != "author score" {
		t.Errorf("found %+v", found)
	}
	if err := os.WriteFile(path, []byte("PAR1 but no more"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := compare.Compare(t.Context(), lines(first), &compare.Parquet{Path: path}, compare.Options{Kind: issues}); domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("a file that is none: %v", err)
	}
}

// TestTables reads tables of real servers.
func TestTables(t *testing.T) {
	for name, server := range map[string]struct {
		url   func(testing.TB) string
		types string
	}{
		"MariaDB":    {testkit.MariaDB, "id BIGINT, login VARCHAR(100), title TEXT, open TINYINT(1), created_at DATETIME(6), score INT"},
		"PostgreSQL": {testkit.Postgres, "id BIGINT, login TEXT, title TEXT, open BOOLEAN, created_at TIMESTAMPTZ, score INT"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := server.url(t)
			db, err := testkit.ConnectSQL(url)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			fill(t, db, "CREATE TABLE their_issues ("+server.types+")",
				"INSERT INTO their_issues VALUES (1, 'ADA', 'a', true, '2026-03-01 12:00:00.123456', 3), (2, 'ada', 'b', false, '2026-03-02 12:00:00', NULL), (11, 'bob', 'x', true, NULL, 0)")
			found := run(t, lines(first, second, third), &compare.Table{URL: url, Name: "their_issues"}, func(o *compare.Options) {
				o.Names = map[string]string{"account": "login"}
			})
			if found.Same != 2 || found.Missing != 1 || found.Extra != 1 || found.Different != 0 {
				t.Errorf("found %+v", found)
			}
			for _, wrong := range []string{"nobody", "x; DROP TABLE their_issues", ""} {
				_, err := compare.Compare(t.Context(), lines(first), &compare.Table{URL: url, Name: wrong}, compare.Options{Kind: issues})
				if err == nil || strings.Contains(err.Error(), url) {
					t.Errorf("table %q: %v", wrong, err)
				}
			}
		})
	}
}

func fill(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// TestReportIsJSON: what programs read has no nulls where lists are.
func TestReportIsJSON(t *testing.T) {
	text, err := json.Marshal(run(t, lines(first), lines(first), nil))
	if err != nil || bytes.Contains(text, []byte("null")) || !bytes.Contains(text, []byte(`"missing":0`)) {
		t.Errorf("%s, %v", text, err)
	}
}
