package export_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/export"
	"sluice/internal/source/github"
)

// golden compares with a file of testdata; SLUICE_UPDATE_GOLDEN=1 rewrites it.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("SLUICE_UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
	}
}

// checkKind compares one kind in all formats: with the golden files, and the
// formats with each other.
func checkKind[T any](t *testing.T, kind export.Kind, want int64) {
	t.Helper()
	src := sources(t)
	o := export.Options{Kind: kind, Accounts: []domain.Account{bob, ann, ann}}
	o.Format = export.FormatJSONL
	lines, rows := render(t, src, o)
	if rows != want {
		t.Errorf("%s: %d rows, want %d", kind, rows, want)
	}
	golden(t, string(kind)+".jsonl", lines)
	o.Format = export.FormatCSV
	table, _ := render(t, src, o)
	golden(t, string(kind)+".csv", table)
	o.Format = export.FormatParquet
	file, _ := render(t, src, o)

	values := decodeLines[T](t, lines)
	if got := decodeParquet[T](t, file); !reflect.DeepEqual(asJSON(t, got), asJSON(t, values)) {
		t.Errorf("%s: parquet has\n%s\nand JSON\n%s", kind, asJSON(t, got), asJSON(t, values))
	}
	compareCSV(t, table, lines)
}

func decodeLines[T any](t *testing.T, text []byte) []T {
	t.Helper()
	rows := []T{}
	for line := range bytes.Lines(text) {
		var row T
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&row); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		rows = append(rows, row)
	}
	return rows
}

func decodeParquet[T any](t *testing.T, file []byte) []T {
	t.Helper()
	r := parquet.NewGenericReader[T](bytes.NewReader(file))
	rows := make([]T, r.NumRows())
	if n, err := r.Read(rows); n != len(rows) || err != nil && !errors.Is(err, io.EOF) {
		t.Fatalf("read %d of %d rows: %v", n, len(rows), err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return rows
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// compareCSV reads a table as RFC 4180 has it and compares every value with
// its JSON.
func compareCSV(t *testing.T, table, lines []byte) {
	t.Helper()
	if bytes.Count(table, []byte("\r\n")) == 0 {
		t.Errorf("no line of the table ends as RFC 4180 demands: %q", table)
	}
	// The reader of the standard library drops the CR of a CRLF in a value,
	// so the values are compared without.
	records, err := csv.NewReader(bytes.NewReader(table)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	row := 0
	for line := range bytes.Lines(lines) {
		row++
		values := map[string]any{}
		d := json.NewDecoder(bytes.NewReader(line))
		d.UseNumber()
		if err := d.Decode(&values); err != nil {
			t.Fatal(err)
		}
		if len(values) != len(records[0]) {
			t.Errorf("%d columns as JSON, %d as CSV", len(values), len(records[0]))
		}
		for i, column := range records[0] {
			if want := csvText(values[column]); records[row][i] != want {
				t.Errorf("row %d, %s: %q as CSV, %q as JSON", row, column, records[row][i], want)
			}
		}
	}
	if row != len(records)-1 {
		t.Errorf("%d rows as JSON, %d as CSV", row, len(records)-1)
	}
}

func csvText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case bool:
		if v {
			return "true"
		}
		return "false"
	case json.Number:
		if v == "1e-7" {
			return "0.0000001"
		}
		return v.String()
	case string:
		return strings.ReplaceAll(v, "\r\n", "\n")
	case []any:
		// Lists of the world have nothing that JSON can write in two ways.
		text, err := json.Marshal(v)
		if err == nil {
			return string(text)
		}
	}
	return "?"
}

func TestKinds(t *testing.T) {
	checkKind[Repository](t, kindRepositories, 3)
	checkKind[Commit](t, kindCommits, 4)
	checkKind[Issue](t, kindIssues, 2)
	checkKind[Pull](t, kindPulls, 2)
	checkKind[Event](t, kindEvents, 3)
	checkKind[Profile](t, kindProfiles, 1)
	checkKind[export.AccountStatistics](t, export.KindStatistics, 2)
}

// TestEveryLineNamesTheSame checks what all kinds have in common.
func TestEveryLineNamesTheSame(t *testing.T) {
	collected := []export.Kind{kindRepositories, kindCommits, kindIssues, kindPulls, kindEvents, kindProfiles}
	src := sources(t)
	for _, kind := range export.Kinds(github.Kinds()) {
		text, rows := render(t, src, export.Options{Kind: export.Kind(kind), Format: export.FormatJSONL, Accounts: []domain.Account{ann}})
		if rows == 0 && slices.Contains(collected, export.Kind(kind)) {
			t.Errorf("%s: no rows", kind)
		}
		seen := map[string]bool{}
		for line := range bytes.Lines(text) {
			var row map[string]json.RawMessage
			if err := json.Unmarshal(line, &row); err != nil {
				t.Fatal(err)
			}
			for _, column := range []string{"id", "account", "repository_id", "deleted", "truncated"} {
				// A profile lies in no repository.
				if _, ok := row[column]; !ok && (column != "repository_id" || kind != string(kindProfiles)) {
					t.Errorf("%s: no %s in %s", kind, column, line)
				}
			}
			if id := string(row["id"]); seen[id] || id == "null" {
				t.Errorf("%s: the id %s is there twice", kind, id)
			}
			seen[string(row["id"])] = true
		}
	}
}

// TestWhatIsGone: every row says whether, since when and why it is gone. Events
// stay when their repository goes, and a repository that is withheld is not
// called empty.
func TestWhatIsGone(t *testing.T) {
	src := sources(t)
	gone := map[string]string{}
	for _, kind := range []export.Kind{kindRepositories, kindCommits, kindIssues, kindPulls, kindEvents} {
		text, _ := render(t, src, export.Options{Kind: kind, Format: export.FormatJSONL, Accounts: []domain.Account{ann}})
		for line := range bytes.Lines(text) {
			var row struct {
				ID        json.RawMessage `json:"id"`
				State     string          `json:"state"`
				Deleted   bool            `json:"deleted"`
				GoneSince *time.Time      `json:"gone_since"`
				GoneWhy   *string         `json:"gone_why"`
			}
			if err := json.Unmarshal(line, &row); err != nil {
				t.Fatal(err)
			}
			if row.Deleted != (row.GoneWhy != nil) || row.Deleted != (row.GoneSince != nil) {
				t.Errorf("%s: deleted, but not why and since when: %s", kind, line)
			}
			if row.Deleted {
				gone[string(row.ID)] = *row.GoneWhy + " " + row.GoneSince.Format(time.DateOnly) + " " + row.State
			}
		}
	}
	want := map[string]string{
		"9": "transferred 2026-03-12 deleted", "12": "blocked 2026-03-12 blocked", `"9:cccc"`: "transferred 2026-03-12 ",
		"201": "deleted 2026-03-12 open",
	}
	if !maps.Equal(gone, want) {
		t.Errorf("gone are %q, want %q", gone, want)
	}
}

func TestCSVIsExact(t *testing.T) {
	text, _ := render(t, sources(t), export.Options{Kind: kindIssues, Format: export.FormatCSV, Accounts: []domain.Account{ann}})
	quoted := `,"` + strings.ReplaceAll(awkward, `"`, `""`) + `",`
	if !bytes.Contains(text, []byte(quoted)) {
		t.Errorf("%q is not in %q", quoted, text)
	}
}

func TestNothingToExport(t *testing.T) {
	src := sources(t)
	for _, kind := range export.Kinds(github.Kinds()) {
		for _, accounts := range [][]domain.Account{nil, {{ID: 99, Login: "new"}}} {
			o := export.Options{Kind: export.Kind(kind), Format: export.FormatJSONL, Accounts: accounts}
			if text, rows := render(t, src, o); len(text) != 0 || rows != 0 {
				t.Errorf("%s: got %d rows, %q", kind, rows, text)
			}
			o.Format = export.FormatCSV
			if text, _ := render(t, src, o); bytes.Count(text, []byte("\r\n")) != 1 || !bytes.HasPrefix(text, []byte("id,account,")) {
				t.Errorf("%s: got %q, want a header", kind, text)
			}
			o.Format = export.FormatParquet
			file, _ := render(t, src, o)
			f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
			if err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
			if f.NumRows() != 0 || !slices.ContainsFunc(f.Schema().Columns(), func(path []string) bool { return path[0] == "truncated" }) {
				t.Errorf("%s: %d rows of %s", kind, f.NumRows(), f.Schema())
			}
		}
	}
}

func TestBounds(t *testing.T) {
	src := sources(t)
	old, now := at("2026-01-02T03:04:05Z"), at("2026-03-11T12:00:00.123456Z")
	for _, test := range []struct {
		kind         export.Kind
		since, until time.Time
		rows         int64
	}{
		{kindCommits, time.Time{}, time.Time{}, 3},
		{kindCommits, old, time.Time{}, 3},
		{kindCommits, old.Add(time.Microsecond), time.Time{}, 1},
		{kindCommits, now, time.Time{}, 1},
		{kindCommits, time.Time{}, now, 2},
		{kindCommits, time.Time{}, now.Add(time.Microsecond), 3},
		{kindCommits, time.Time{}, old, 0},
		{kindCommits, old, now, 2},
		{kindIssues, now, time.Time{}, 0},
		// The creation of the deleted repository is not known.
		{kindRepositories, time.Time{}, now, 1},
		{kindRepositories, time.Time{}, time.Time{}, 3},
	} {
		o := export.Options{Kind: test.kind, Format: export.FormatJSONL, Accounts: []domain.Account{ann}, Since: test.since, Until: test.until}
		if _, rows := render(t, src, o); rows != test.rows {
			t.Errorf("%s since %v until %v: %d rows, want %d", test.kind, test.since, test.until, rows, test.rows)
		}
	}
}

func TestInstants(t *testing.T) {
	for text, want := range map[string]string{
		"": "0001-01-01T00:00:00Z", "2026-01-02": "2026-01-02T00:00:00Z",
		"2026-01-02T03:04:05Z": "2026-01-02T03:04:05Z", "2026-01-02T03:04:05.5+02:00": "2026-01-02T01:04:05.5Z",
	} {
		if got, err := export.ParseInstant(text); err != nil || got.Format(time.RFC3339Nano) != want {
			t.Errorf("%q: got %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"yesterday", "2026-13-01", "2026-01-02 03:04", "1700000000", "2026-01-02T03:04:05"} {
		if _, err := export.ParseInstant(text); domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

func TestRefusedOptions(t *testing.T) {
	day := at("2026-01-02T00:00:00Z")
	for says, o := range map[string]export.Options{
		"commit":   {Kind: "commit", Format: export.FormatCSV},
		"xlsx":     {Kind: kindCommits, Format: "xlsx"},
		"all time": {Kind: export.KindStatistics, Format: export.FormatCSV, Since: day},
		"later":    {Kind: kindCommits, Format: export.FormatCSV, Since: day, Until: day},
		"one of ":  {},
	} {
		var out bytes.Buffer
		_, err := export.Export(t.Context(), export.Sources{Kinds: github.Kinds()}, o, &out)
		if domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), says) || out.Len() != 0 {
			t.Errorf("%+v: got %v and %q", o, err, out.String())
		}
	}
}

func TestDamage(t *testing.T) {
	broken := open(t, []document.Document{
		doc(1, github.KindIssue, "x1", document.Fields{Repository: 1}), doc(1, github.KindCommit, "no-colon", document.Fields{Repository: 1}),
	})
	for _, kind := range []export.Kind{kindIssues, kindCommits} {
		o := export.Options{Kind: kind, Format: export.FormatJSONL, Accounts: []domain.Account{ann}}
		if _, err := export.Export(t.Context(), export.Sources{Kinds: github.Kinds(), Documents: broken}, o, io.Discard); domain.CodeOf(err) != domain.CodeCorrupt {
			t.Errorf("%s: got %v", kind, err)
		}
	}
}

// full is a writer that takes so many bytes.
type full struct{ room int }

var errFull = errors.New("no space left")

func (f *full) Write(p []byte) (int, error) {
	if f.room -= len(p); f.room < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestFailuresEndTheExport(t *testing.T) {
	for _, format := range export.Formats() {
		o := export.Options{Kind: kindCommits, Format: export.Format(format), Accounts: []domain.Account{ann}}
		src := export.Sources{Kinds: github.Kinds(), Documents: flood{rows: 2000}}
		for _, room := range []int{0, 70_000} {
			if rows, err := export.Export(t.Context(), src, o, &full{room}); !errors.Is(err, errFull) && (room == 0 || format != "parquet") {
				t.Errorf("%s with room for %d: %d rows, %v", format, room, rows, err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := export.Export(ctx, src, o, io.Discard); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v", format, err)
		}
	}
}
