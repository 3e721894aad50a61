package stats_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"sluice/internal/document"
	"sluice/internal/source/github"
	"sluice/internal/stats"
)

// golden compares with a file of testdata; SLUICE_UPDATE_GOLDEN=1 rewrites it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("SLUICE_UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", path, got, want)
	}
}

func draw(t *testing.T, a stats.Account, o stats.SummaryOptions) string {
	t.Helper()
	var b strings.Builder
	if err := stats.Summary(&b, a, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// busy is an account with a pattern over a year that a person can check: the
// busier the later in the week, nothing in May, a very busy last week.
func busy() stats.Account {
	a := stats.Account{
		Login: "ada", Source: "github", AsOf: at("2026-03-11 12:00"),
		Scores: stats.Scores{Activity: 238.17, Impact: 104.4}, OthersCollected: true,
		Repositories: stats.Repositories{Owned: 14, Forks: 1, Private: 2, Archived: 3, Stars: 1987},
		Commits:      stats.Commits{Own: 1234, ToOthers: 56, Measured: 1200, Additions: 456789, Deletions: 98765, Seen: 5678},
		Issues:       stats.Issues{Opened: 31, OpenedToOthers: 4, Solved: 27},
		Pulls:        stats.Pulls{Opened: 88, OpenedToOthers: 12, Merged: 80, MergedToOthers: 9},
		Activity: stats.Activity{
			ByDay:   map[string]int64{},
			Current: stats.Streak{Days: 1, From: "2026-03-11", To: "2026-03-11"},
			Longest: stats.Streak{Days: 10, From: "2026-03-02", To: "2026-03-11"},
		},
		Standings: []stats.Standing{
			{By: stats.ByActivity, Value: 238.17, Rank: 3, Of: 1020, Percentile: 99.8},
			{By: stats.ByImpact, Value: 104.4, Rank: 17, Of: 1020, Percentile: 98.43},
		},
		Documents: map[document.Kind]stats.DocumentCount{
			github.KindCommit: {Stored: 9000, Deleted: 1, Truncated: 2}, github.KindIssue: {Stored: 3, Deleted: 2},
		},
	}
	for day := at("2024-12-01 00:00"); !day.After(a.AsOf); day = day.AddDate(0, 0, 1) {
		n := int64(day.Weekday())
		if day.Month() == time.May {
			n = 0
		}
		if day.After(at("2026-03-07 00:00")) {
			n = 30
		}
		if n > 0 {
			a.Activity.ByDay[day.Format(time.DateOnly)] = n
			a.Activity.Total += n
		}
	}
	activities := a.Activity.Total / 2
	for _, name := range []string{"Go", "C", "Rust", "Python", "TypeScript", "A\x1b[31mlanguage of long name", "Lua", "Zig", "Ada"} {
		a.Languages = append(a.Languages, stats.Language{Name: name, Activities: activities, Commits: activities / 2})
		activities /= 2
	}
	a.Languages = append(a.Languages, stats.Language{Name: "HTML", Repositories: 1})
	return a
}

func TestSummary(t *testing.T) {
	for name, o := range map[string]stats.SummaryOptions{
		"plain.golden":  {},
		"color.golden":  {Color: true, Width: 80},
		"wide.golden":   {Width: 132},
		"narrow.golden": {Width: 20},
		"later.golden":  {Now: at("2026-06-30 10:00")},
	} {
		t.Run(name, func(t *testing.T) { golden(t, name, draw(t, busy(), o)) })
	}
	t.Run("empty.golden", func(t *testing.T) {
		golden(t, "empty.golden", draw(t, stats.Account{Login: "new", Source: "github", AsOf: at("2026-03-11 12:00")}, stats.SummaryOptions{}))
	})
}

// TestSummaryOfOtherThings: of an account that has nothing to do with code it is told
// what the copy holds.
func TestSummaryOfOtherThings(t *testing.T) {
	a := stats.Account{Login: "acme", Source: "shop", AsOf: at("2026-03-11 12:00"), Documents: map[document.Kind]stats.DocumentCount{
		"shop_orders": {Stored: 12345, Deleted: 7}, "shop_lines": {Stored: 3},
	}}
	want := "acme on shop, as of 11 Mar 2026 12:00 UTC\n\n  shop_lines             3\n  shop_orders       12,345  7 gone\n"
	if got := draw(t, a, stats.SummaryOptions{}); got != want {
		t.Errorf("%s", got)
	}
}

func TestSummaryFitsTheTerminal(t *testing.T) {
	a := busy()
	escapes := regexp.MustCompile("\x1b\\[[0-9;]*m")
	for _, color := range []bool{false, true} {
		for _, width := range []int{50, 51, 58, 59, 60, 80, 111, 112, 113, 140} {
			text := draw(t, a, stats.SummaryOptions{Width: width, Color: color})
			text = escapes.ReplaceAllString(text, "")
			for line := range strings.Lines(text) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
					t.Fatalf("at width %d a line has %d columns: %q", width, n, line)
				}
				if !utf8.ValidString(line) || strings.ContainsRune(line, '\x1b') {
					t.Fatalf("a name steers the terminal: %q", line)
				}
			}
		}
	}
}

func TestSummaryWithoutColorHasNoEscapes(t *testing.T) {
	if text := draw(t, busy(), stats.SummaryOptions{}); strings.ContainsRune(text, '\x1b') {
		t.Errorf("there are escapes in %q", text)
	}
	if text := draw(t, busy(), stats.SummaryOptions{Color: true}); !strings.Contains(text, "\x1b[38;5;46m■\x1b[0m") {
		t.Errorf("there is no colour in %q", text)
	}
}

func TestSummaryReportsAWriterThatFails(t *testing.T) {
	r, w := io.Pipe()
	r.CloseWithError(io.ErrClosedPipe)
	if err := stats.Summary(w, busy(), stats.SummaryOptions{}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v", err)
	}
}
