package sinktest

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/internal/backoff"
	"sluice/internal/document"
	"sluice/internal/document/documenttest"
	"sluice/internal/domain"
	"sluice/internal/sink"
	"sluice/internal/testkit"
)

// Kinds are what the suite carries: repositories, issues with a column of every type
// and of every nullness, events that are nobody's, and profiles, which have no table.
func Kinds() document.Kinds {
	const source = "suite"
	return document.Kinds{
		{Kind: "repository", Source: source, Plural: "repositories", Container: true, Columns: []document.Column{
			{Name: "id", Type: document.TypeInteger, From: document.FromName},
			{Name: "account", Type: document.TypeText, From: document.FromAccount},
			{Name: "name", Type: document.TypeText, From: document.FromTitle},
			{Name: "deleted", Type: document.TypeBoolean, From: document.FromDeleted},
		}},
		{Kind: "issue", Source: source, Plural: "issues", Columns: []document.Column{
			{Name: "name", Type: document.TypeText, From: document.FromName},
			{Name: "account", Type: document.TypeText, From: document.FromAccount},
			{Name: "source", Type: document.TypeText, From: document.FromSource},
			{Name: "repository", Type: document.TypeText, From: document.FromContainerTitle, Nullable: true},
			{Name: "number", Type: document.TypeInteger, From: document.FromNumber},
			{Name: "title", Type: document.TypeText, From: document.FromTitle},
			{Name: "state", Type: document.TypeText, From: document.FromState, Nullable: true},
			{Name: "created_at", Type: document.TypeInstant, From: document.FromCreatedAt, Nullable: true},
			{Name: "private", Type: document.TypeBoolean, From: document.FromPrivate},
			{Name: "labels", Type: document.TypeList, From: document.FromOwn, Nullable: true},
			{Name: "order", Type: document.TypeInteger, From: document.FromOwn, Nullable: true},
			{Name: "deleted", Type: document.TypeBoolean, From: document.FromDeleted},
			{Name: "gone_since", Type: document.TypeInstant, From: document.FromGoneSince, Nullable: true},
		}},
		{Kind: "event", Source: source, Plural: "events", Independent: true, Columns: []document.Column{
			{Name: "id", Type: document.TypeText, From: document.FromName},
			{Name: "type", Type: document.TypeText, From: document.FromTitle},
		}},
		{Kind: "profile", Source: source, Plural: "profiles"},
	}
}

// issues is the place of that table.
const issues = 1

// world are documents in memory that change by chance, and a runner for them.
type world struct {
	*testing.T
	*documenttest.Memory
	Place
	dice  *rand.Rand
	kinds document.Kinds
	clock int
	// feed replaces what the feed is called.
	feed    string
	options sink.Options
	// moved gets a token when the status of a runner is another one.
	moved chan struct{}
}

func newWorld(t *testing.T, p Place) *world {
	kinds := Kinds()
	return &world{T: t, Memory: documenttest.NewMemory(kinds), Place: p, kinds: kinds,
		dice: rand.New(rand.NewPCG(testkit.Seed(t), 0)), moved: make(chan struct{}, 1)}
}

// Account implements sink.Accounts.
func (w *world) Account(_ context.Context, id int64) (domain.Account, error) {
	return domain.Account{ID: id, Login: "login-" + strconv.FormatInt(id, 10), Source: "suite"}, nil
}

// Bounds implements document.Feed.
func (w *world) Bounds(ctx context.Context) (document.Bounds, error) {
	b, err := w.Memory.Bounds(ctx)
	if w.feed != "" {
		b.Feed = w.feed
	}
	return b, err
}

// runner carries the world to a target, in small batches.
func (w *world) runner(target sink.Target) *sink.Runner {
	return sink.New(sink.RunnerOptions{
		Name: "suite", Kind: "test", Target: target, BatchRows: 1 + w.dice.IntN(7), Options: w.options,
		Source: sink.Source{
			Feed: w, Finder: w, Documents: w, Accounts: w, Kinds: w.kinds,
			Watch: func() (<-chan struct{}, func()) { return w.Changed(), func() {} },
		},
		Delays: backoff.Delays{First: time.Millisecond, Longest: time.Second},
		Moved: func() {
			select {
			case w.moved <- struct{}{}:
			default:
			}
		},
	})
}

// carry carries all that there is, or fails the test.
func (w *world) carry() {
	w.Helper()
	target := w.Open(w)
	err := w.runner(target).CatchUp(w.Context())
	if closed := target.Close(); err != nil || closed != nil {
		w.Fatalf("catch up: %v; close: %v", err, closed)
	}
}

func minute(n int) time.Time { return time.Unix(int64(n)*60, 0).UTC() }

// texts are such as break what is not careful.
var texts = []string{
	"plain", "", "a'b\"c`d", "back\\slash \\N \\. \\0", "tab\tline\nreturn\r", "naïve 日本 🦀", "%s ? $1 :name", "NULL", "{a,b}", "'; DROP TABLE issues; --", " spaces ", "nul\x00here",
}

func (w *world) text() string {
	return texts[w.dice.IntN(len(texts))] + strings.Repeat(strconv.Itoa(w.dice.IntN(10)), w.dice.IntN(3))
}

// document is one of few, so that they are written again and again.
func (w *world) document() document.Document {
	w.clock++
	account, repository := 1+w.dice.Int64N(3), 10+w.dice.Int64N(3)
	d := document.Document{
		Version: minute(w.clock), SeenAt: minute(w.clock), Raw: fmt.Appendf(nil, `{"n":%d,"text":%s}`, w.dice.IntN(100), encoded(w.text())),
		Fields: document.Fields{Repository: repository, Title: w.text(), Number: w.dice.Int64() - w.dice.Int64(), Private: w.dice.IntN(2) == 0},
	}
	switch w.dice.IntN(5) {
	case 0:
		d.Key = document.Key{Account: account, Kind: "repository", Name: strconv.FormatInt(repository, 10)}
	case 1:
		d.Key = document.Key{Account: account, Kind: "event", Name: fmt.Sprint("e", w.dice.IntN(9))}
	case 2:
		d.Key = document.Key{Account: account, Kind: "profile", Name: "me"}
	default:
		d.Key = document.Key{Account: account, Kind: "issue", Name: fmt.Sprintf("%d:%d", repository, w.dice.IntN(9))}
		if w.dice.IntN(2) == 0 {
			d.State, d.CreatedAt = w.text(), minute(w.dice.IntN(1000)).Add(123456789*time.Nanosecond)
			d.Set("order", document.Integer(w.dice.Int64()))
		}
		d.Set("labels", document.List([]string{w.text(), w.text(), w.text()}[:w.dice.IntN(4)]...))
	}
	return d
}

func encoded(s string) []byte {
	// A text always encodes.
	b, _ := json.Marshal(s)
	return b
}

// change changes something.
func (w *world) change() {
	w.Helper()
	var err error
	switch w.dice.IntN(12) {
	case 0:
		w.clock++
		a := document.Absence{Account: 1 + w.dice.Int64N(3), Repository: 10 + w.dice.Int64N(3), Why: document.GoneDeleted, Since: minute(w.clock)}
		if w.dice.IntN(2) == 0 {
			a.Kind, a.NotSeenSince = "issue", minute(w.clock-w.dice.IntN(10))
		}
		err = w.MarkDeleted(w.Context(), []document.Absence{a})
	case 1:
		_, err = w.Purge(w.Context(), 1+w.dice.Int64N(3), 1000)
	default:
		var docs []document.Document
		for range 1 + w.dice.IntN(5) {
			docs = append(docs, w.document())
		}
		err = w.Upsert(w.Context(), docs)
	}
	if err != nil {
		w.Fatal(err)
	}
}

// check compares what the place shows with the documents.
func (w *world) check() {
	w.Helper()
	want := w.want()
	for i, table := range sink.Tables(w.kinds, !w.options.WithoutRaw) {
		CompareRows(w, table, w.Rows(w, table), want[i])
	}
}

// want are the rows that a place is to show, read document by document.
func (w *world) want() map[int][]sink.Row {
	w.Helper()
	titles := map[[2]int64]string{}
	rows := map[int][]sink.Row{}
	tables := sink.Tables(w.kinds, !w.options.WithoutRaw)
	for _, fn := range []func(*document.Document) error{
		func(d *document.Document) error {
			if d.Kind == "repository" {
				titles[[2]int64{d.Account, d.Repository}] = d.Title
			}
			return nil
		},
		func(d *document.Document) error {
			i := slices.IndexFunc(tables, func(t sink.Table) bool { return t.Kind == d.Kind })
			if i < 0 || d.Deleted && w.options.DropDeleted {
				return nil
			}
			account, _ := w.Account(w.Context(), d.Account)
			row := sink.Row{Table: i, Key: d.Key}
			if tables[i].Raw {
				row.Raw = d.Raw
			}
			at := &document.Place{Account: account, Titles: map[int64]string{d.Repository: titles[[2]int64{d.Account, d.Repository}]}}
			for k := range tables[i].Columns {
				v, err := tables[i].Columns[k].Value(d, at)
				if err != nil {
					return err
				}
				row.Values = append(row.Values, v)
			}
			rows[i] = append(rows[i], row)
			return nil
		},
	} {
		if err := w.Scan(w.Context(), document.Query{WithRaw: true}, fn); err != nil {
			w.Fatal(err)
		}
	}
	return rows
}

// CompareRows fails a test unless rows are the same, in any order.
func CompareRows(t testing.TB, table sink.Table, got, want []sink.Row) {
	t.Helper()
	g, w := shown(t, table, got), shown(t, table, want)
	if !slices.Equal(g, w) {
		t.Fatalf("%s: it shows %d rows:\n%s\nwant %d:\n%s", table.Name, len(g), clipped(g, w), len(w), clipped(w, g))
	}
}

// clipped are the lines that others do not have.
func clipped(lines, others []string) string {
	var out []string
	for _, line := range lines {
		if !slices.Contains(others, line) && len(out) < 20 {
			out = append(out, line[:min(len(line), 2000)])
		}
	}
	return strings.Join(out, "\n")
}

func shown(t testing.TB, table sink.Table, rows []sink.Row) []string {
	t.Helper()
	var lines []string
	for _, r := range rows {
		var line strings.Builder
		fmt.Fprintf(&line, "%d %q", r.Key.Account, r.Key.Name)
		for i := range table.Columns {
			fmt.Fprintf(&line, " %s=%s", table.Columns[i].Name, shownValue(t, table.Columns[i].Type, &r.Values[i]))
		}
		if table.Raw {
			fmt.Fprintf(&line, " raw=%s", shownJSON(t, r.Raw))
		}
		lines = append(lines, line.String())
	}
	slices.Sort(lines)
	return lines
}

func shownValue(t testing.TB, of document.Type, v *document.Value) string {
	t.Helper()
	if v.Null {
		return "null"
	}
	switch of {
	case document.TypeInteger:
		return strconv.FormatInt(v.Integer, 10)
	case document.TypeBoolean:
		return strconv.FormatBool(v.Boolean)
	case document.TypeInstant:
		return v.Instant.UTC().Format(time.RFC3339Nano)
	case document.TypeList:
		members, err := v.Members()
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%q", members)
	case document.TypeText:
	}
	return strconv.Quote(strings.ReplaceAll(v.Text, "\x00", "\uFFFD"))
}

// shownJSON is the same for payloads that mean the same; what some databases have no
// room for is the same as what stands for it.
func shownJSON(t testing.TB, raw []byte) string {
	t.Helper()
	if len(raw) == 0 {
		return "none"
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("the payload %.200q cannot be read: %v", raw, err)
	}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), `\u0000`, "\uFFFD")
}
