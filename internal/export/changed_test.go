package export_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"sluice/internal/document"
	"sluice/internal/document/documenttest"
	"sluice/internal/domain"
	"sluice/internal/export"
	"sluice/internal/source/github"
)

// stored is a store in memory with the world, and what is exported from it.
func stored(t *testing.T) (*documenttest.Memory, export.Sources) {
	t.Helper()
	m := documenttest.NewMemory(github.Kinds())
	if err := m.Upsert(t.Context(), world()); err != nil {
		t.Fatal(err)
	}
	return m, export.Sources{Documents: m, Feed: m, Finder: m, Kinds: github.Kinds()}
}

// TestChangedFromTheBeginning: everything has changed since the beginning, so that
// both exports are the same, byte by byte.
func TestChangedFromTheBeginning(t *testing.T) {
	m, src := stored(t)
	if err := m.MarkDeleted(t.Context(), absences()); err != nil {
		t.Fatal(err)
	}
	span, err := export.SpanSince(t.Context(), m, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range github.Kinds().Tables() {
		for _, format := range export.Formats() {
			o := export.Options{Kind: export.Kind(kind), Format: export.Format(format), Accounts: []domain.Account{bob, ann}}
			want, rows := render(t, src, o)
			o.Changed = span
			if got, n := render(t, src, o); n != rows || !bytes.Equal(got, want) {
				t.Errorf("%s as %s: %d rows\n%s\nwant %d\n%s", kind, format, n, got, rows, want)
			}
		}
	}
	o := export.Options{Kind: kindCommits, Format: export.FormatJSONL, Accounts: []domain.Account{ann, bob}, Since: at("2026-02-01T00:00:00Z"), Until: at("2027-01-01T00:00:00Z")}
	want, _ := render(t, src, o)
	o.Changed = span
	if got, n := render(t, src, o); n == 0 || !bytes.Equal(got, want) {
		t.Errorf("between bounds: got\n%s\nwant\n%s", got, want)
	}
}

// TestChangedSince: only what changed after a position, once, as it is now, and of
// the accounts that were asked for.
func TestChangedSince(t *testing.T) {
	m, src := stored(t)
	span, err := export.SpanSince(t.Context(), m, 0)
	if err != nil {
		t.Fatal(err)
	}
	change := func(title string, version int64) {
		d := doc(1, github.KindIssue, "101", document.Fields{Repository: 11, Number: 3, State: "closed", Title: title, CreatedAt: time.Unix(1, 0), UpdatedAt: time.Unix(version, 0)})
		d.Version = time.Unix(version, 0)
		if err := m.Upsert(t.Context(), []document.Document{d}); err != nil {
			t.Fatal(err)
		}
	}
	change("second", 5)
	change("third", 6)
	since, err := export.SpanSince(t.Context(), m, span.Until)
	if err != nil {
		t.Fatal(err)
	}
	change("too late to be told of, and shown", 7)
	o := export.Options{Kind: "issues", Format: export.FormatJSONL, Accounts: []domain.Account{ann, bob}, Changed: since}
	text, n := render(t, src, o)
	if n != 1 || !strings.Contains(string(text), `"title":"too late to be told of, and shown"`) || !strings.Contains(string(text), `"repository":"ann/one"`) {
		t.Errorf("%d rows: %s", n, text)
	}
	o.Accounts = []domain.Account{bob}
	if text, n := render(t, src, o); n != 0 {
		t.Errorf("of another account: %s", text)
	}
	o.Accounts, o.Kind = []domain.Account{ann}, kindCommits
	if text, n := render(t, src, o); n != 0 {
		t.Errorf("of another kind: %s", text)
	}
	if _, err := m.Purge(t.Context(), 1, 1000); err != nil {
		t.Fatal(err)
	}
	if o.Changed, err = export.SpanSince(t.Context(), m, span.Until); err != nil {
		t.Fatal(err)
	}
	if text, n := render(t, src, o); n != 0 {
		t.Errorf("of a purged account: %s", text)
	}
}

func TestRefusedPositions(t *testing.T) {
	m, src := stored(t)
	if _, err := export.SpanSince(t.Context(), m, 1000); domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("ahead: %v", err)
	}
	if _, err := m.TrimChanges(t.Context(), time.Now().AddDate(100, 0, 0), 3); err != nil {
		t.Fatal(err)
	}
	if _, err := export.SpanSince(t.Context(), m, 2); domain.CodeOf(err) != domain.CodeGone {
		t.Errorf("behind: %v", err)
	}
	var out bytes.Buffer
	o := export.Options{Kind: kindCommits, Format: export.FormatJSONL, Accounts: []domain.Account{ann}, Changed: &export.Span{After: 2, Until: 5}}
	if _, err := export.Export(t.Context(), src, o, &out); domain.CodeOf(err) != domain.CodeGone || out.Len() > 0 {
		t.Errorf("trimmed meanwhile: %v, %q", err, out.String())
	}
	o.Kind = export.KindStatistics
	if _, err := export.Export(t.Context(), src, o, &out); domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("statistics: %v", err)
	}
}

// TestRowsAreLines: rows of documents are the lines of an export.
func TestRowsAreLines(t *testing.T) {
	m, src := stored(t)
	places := &export.Places{Kinds: src.Kinds, Finder: m, Account: accountOf}
	for i := range src.Kinds {
		kind := &src.Kinds[i]
		text, _ := render(t, src, export.Options{Kind: export.Kind(kind.Plural), Format: export.FormatJSONL, Accounts: []domain.Account{ann, bob}})
		page, err := m.List(t.Context(), document.Selection{Kind: kind.Kind, Limit: 100, WithRaw: true})
		if err != nil {
			t.Fatal(err)
		}
		rows, err := export.NewRows(kind, nil, false)
		if err != nil {
			t.Fatal(err)
		}
		got, err := rows.Render(t.Context(), places, page.Documents)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(string(text), "\n")
		for i, row := range got {
			if string(row)+"\n" != lines[i] {
				t.Errorf("%s: got %s, want %s", kind.Plural, row, lines[i])
			}
		}
		if len(got) != len(lines)-1 {
			t.Errorf("%s: %d rows, want %d", kind.Plural, len(got), len(lines)-1)
		}
	}
}

func TestChosenFields(t *testing.T) {
	m, src := stored(t)
	kind := src.Kinds.Of(github.KindCommit)
	rows, err := export.NewRows(kind, []string{"sha", "id"}, true)
	if err != nil {
		t.Fatal(err)
	}
	d := doc(1, github.KindCommit, "11:aaaa", document.Fields{Repository: 11})
	d.Raw = []byte(`{"of":"the upstream"}`)
	places := &export.Places{Kinds: src.Kinds, Finder: m, Account: accountOf}
	got, err := rows.Render(t.Context(), places, []document.Document{d})
	if want := `{"id":"11:aaaa","sha":"aaaa","raw":{"of":"the upstream"}}`; err != nil || string(got[0]) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	d.Raw = nil
	if got, err = rows.Render(t.Context(), places, []document.Document{d}); err != nil || !json.Valid(got[0]) || !strings.HasSuffix(string(got[0]), `"raw":null}`) {
		t.Errorf("without a payload: %s, %v", got, err)
	}
	d.Raw = []byte(`{"cut`)
	if _, err = rows.Render(t.Context(), places, []document.Document{d}); domain.CodeOf(err) != domain.CodeCorrupt {
		t.Errorf("a damaged payload: %v", err)
	}
	_, err = export.NewRows(kind, []string{"sha", "shape"}, false)
	if domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), `"shape"`) || !strings.Contains(err.Error(), "committed_at") {
		t.Errorf("an unknown column: %v", err)
	}
}

func accountOf(_ context.Context, id int64) (domain.Account, error) {
	return map[int64]domain.Account{1: ann, 2: bob}[id], nil
}
