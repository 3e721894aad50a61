package stats_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"slices"
	"testing"
	"time"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/source/github"
	"sluice/internal/stats"
)

// What the engine asks of statistics.
var _ interface {
	Compute(ctx context.Context, run domain.Run) ([]byte, error)
} = (*stats.Computer)(nil)

// smallWorld holds an owned repository, an owned fork, one of somebody else
// a deleted one and withheld ones. The expected figures are worked out by hand.
func smallWorld() world {
	return world{
		doc(github.KindProfile, "99", document.Fields{}),
		doc(github.KindRepository, "10", document.Fields{Repository: 10, Language: "Go", Stars: 40, Private: true}),
		doc(github.KindRepository, "11", document.Fields{Repository: 11, Language: "C", Stars: 5, Fork: true, State: "archived"}),
		doc(github.KindRepository, "12", document.Fields{Repository: 12, Stars: 900, External: true}),
		doc(github.KindRepository, "13", document.Fields{Repository: 13, Language: "Go", Stars: 3, Deleted: true}),
		doc(github.KindRepository, "14", document.Fields{Repository: 14, Deleted: true, GoneWhy: document.GoneBlocked}),
		doc(github.KindRepository, "15", document.Fields{Repository: 15, Deleted: true, GoneWhy: document.GoneForbidden}),
		doc(github.KindRepository, "16", document.Fields{Repository: 16, Deleted: true, GoneWhy: document.GoneForbidden, External: true}),

		commit(10, "a1", document.Fields{Author: "ada", Additions: 10, Deletions: 2, Measured: true, CreatedAt: at("2026-03-01 08:00")}),
		commit(10, "a2", document.Fields{Author: "ADA", Additions: 5, Deletions: 1, Measured: true, CreatedAt: at("2026-03-02 23:59"), Truncated: true}),
		commit(10, "a3", document.Fields{Author: login, Additions: 77, CreatedAt: at("2026-03-03 00:00")}),
		commit(10, "a4", document.Fields{Author: "bob", Additions: 1000, Measured: true, CreatedAt: at("2026-03-03 01:00")}),
		commit(10, "a5", document.Fields{Additions: 1000, Measured: true, CreatedAt: at("2026-03-03 02:00")}),
		// The same commit in the fork and where it was merged counts once, there.
		commit(11, "b1", document.Fields{Author: login, Additions: 7, Deletions: 7, Measured: true, CreatedAt: at("2026-03-09 10:00")}),
		commit(12, "b1", document.Fields{Author: login, Additions: 7, Deletions: 7, Measured: true, CreatedAt: at("2026-03-09 10:00")}),
		commit(11, "b2", document.Fields{Author: login, Additions: 3, Measured: true, CreatedAt: at("2026-03-10 10:00")}),
		commit(13, "c1", document.Fields{Author: login, Additions: 50, Measured: true, CreatedAt: at("2026-03-04 10:00")}),

		// Solved by the account; by another; by whom is not known, in an own
		// repository and in one of others; still open; deleted.
		doc(github.KindIssue, "1", document.Fields{Repository: 10, Author: "bob", State: "closed", ClosedBy: "aDa", CreatedAt: at("2026-03-05 10:00")}),
		doc(github.KindIssue, "2", document.Fields{Repository: 10, Author: login, State: "closed", ClosedBy: "bob", CreatedAt: at("2026-03-05 11:00")}),
		doc(github.KindIssue, "3", document.Fields{Repository: 10, Author: "bob", State: "closed", CreatedAt: at("2026-03-05 10:00")}),
		doc(github.KindIssue, "4", document.Fields{Repository: 12, Author: login, State: "closed", CreatedAt: at("2026-03-05 12:00"), External: true}),
		doc(github.KindIssue, "5", document.Fields{Repository: 10, Author: "bob", State: "open", CreatedAt: at("2026-03-05 10:00")}),
		doc(github.KindIssue, "6", document.Fields{Repository: 10, Author: login, State: "closed", ClosedBy: login, CreatedAt: at("2026-03-06 10:00"), Deleted: true}),

		// Its repository is not in the copy: the pull request speaks for itself.
		doc(github.KindPull, "1", document.Fields{Repository: 77, Language: "Rust", External: true, Author: login, State: "closed", CreatedAt: at("2026-02-01 05:00"), MergedAt: at("2026-02-28 06:00")}),
		doc(github.KindPull, "2", document.Fields{Repository: 10, Author: login, State: "open", CreatedAt: at("2026-03-10 11:00")}),
		doc(github.KindPull, "3", document.Fields{Repository: 10, Author: "bob", State: "closed", ClosedBy: login, CreatedAt: at("2026-03-07 11:00"), MergedAt: at("2026-03-08 11:00")}),

		doc(github.KindEvent, "1", document.Fields{Author: login, Repository: 13, CreatedAt: at("2026-03-08 11:00")}),
	}
}

func TestFiguresByHand(t *testing.T) {
	want := stats.Account{
		AccountID: 1, Source: "github", Login: login, RunID: 7,
		AsOf: at("2026-03-10 12:00"), ComputedAt: at("2026-03-10 12:34"),
		OthersCollected: true,
		Repositories:    stats.Repositories{Owned: 2, Forks: 1, Private: 1, Archived: 1, OfOthers: 1, Blocked: 1, Forbidden: 1, Stars: 40},
		Commits: stats.Commits{
			Own: 5, ToOthers: 1, InForks: 1, Measured: 4, Additions: 10 + 5 + 7 + 3, Deletions: 2 + 1 + 7,
			Seen: 8, Unattributed: 1,
		},
		Issues: stats.Issues{Opened: 2, OpenedToOthers: 1, Solved: 2, Seen: 5},
		Pulls:  stats.Pulls{Opened: 2, OpenedToOthers: 1, Merged: 1, MergedToOthers: 1, Seen: 3},
		Activity: stats.Activity{
			Total: 10, ActiveDays: 8,
			First: at("2026-02-01 05:00"), Last: at("2026-03-10 11:00"),
			Current: stats.Streak{Days: 2, From: "2026-03-09", To: "2026-03-10"},
			Longest: stats.Streak{Days: 4, From: "2026-02-28", To: "2026-03-03"},
			// 1 March 2026 was a Sunday.
			ByWeekday: [7]int64{0: 2, 1: 2, 2: 3, 4: 2, 6: 1},
			ByHour:    [24]int64{0: 1, 5: 1, 6: 1, 8: 1, 10: 2, 11: 2, 12: 1, 23: 1},
			ByDay: map[string]int64{
				"2026-02-01": 1, "2026-02-28": 1, "2026-03-01": 1, "2026-03-02": 1,
				"2026-03-03": 1, "2026-03-05": 2, "2026-03-09": 1, "2026-03-10": 2,
			},
		},
		Languages: []stats.Language{
			{Name: "Go", Repositories: 1, Activities: 5, Commits: 3, Additions: 15, Deletions: 3},
			{Name: "Rust", Activities: 2},
			{Name: "Unknown", Activities: 2, Commits: 1, Additions: 7, Deletions: 7},
			{Name: "C", Repositories: 1, Activities: 1, Commits: 1, Additions: 3},
		},
		Documents: map[document.Kind]stats.DocumentCount{
			github.KindProfile:    {Stored: 1},
			github.KindRepository: {Stored: 7, Deleted: 4},
			github.KindCommit:     {Stored: 9, Deleted: 1, Truncated: 1},
			github.KindIssue:      {Stored: 6, Deleted: 1},
			github.KindPull:       {Stored: 3},
			github.KindEvent:      {Stored: 1},
		},
		// 10·log2(6) + 4·log2(3) + 6·log2(3) + 10·log2(9)
		// 10·log2(41) + 5·log2(3) + 5·log2(2) + 8·log2(2) + 2·log2(2)
		Scores: stats.Scores{Activity: 73.4, Impact: 76.5},
	}
	check(t, compute(t, smallWorld()), want)
}

// check compares part by part, so that a failure names the part.
func check(t *testing.T, got, want stats.Account) {
	t.Helper()
	g, w := reflect.ValueOf(got), reflect.ValueOf(want)
	for i := range g.NumField() {
		if !reflect.DeepEqual(g.Field(i).Interface(), w.Field(i).Interface()) {
			t.Errorf("%s is\n%+v, want\n%+v", g.Type().Field(i).Name, g.Field(i).Interface(), w.Field(i).Interface())
		}
	}
}

func TestEmptyWorld(t *testing.T) {
	data := computeJSON(t, world{})
	for _, part := range []string{`"by_day":{}`, `"languages":[]`, `"documents":{}`, `"activity":0`} {
		if !bytes.Contains(data, []byte(part)) {
			t.Errorf("%s is not in %s", part, data)
		}
	}
	if bytes.Contains(data, []byte(`"first"`)) || bytes.Contains(data, []byte("standings")) {
		t.Errorf("there is too much in %s", data)
	}
}

func TestOtherAccountsDoNotCount(t *testing.T) {
	w := smallWorld()
	for _, d := range smallWorld() {
		d.Account = 2
		w = append(w, d)
	}
	if got, want := computeJSON(t, w), computeJSON(t, smallWorld()); !bytes.Equal(got, want) {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
}

func TestOldestForkCounts(t *testing.T) {
	w := world{
		doc(github.KindRepository, "20", document.Fields{Repository: 20, Language: "C", Fork: true}),
		doc(github.KindRepository, "21", document.Fields{Repository: 21, Language: "Go", Fork: true}),
		commit(21, "x", document.Fields{Author: login, CreatedAt: at("2026-03-01 08:00")}),
		commit(20, "x", document.Fields{Author: login, CreatedAt: at("2026-03-01 08:00")}),
	}
	a := compute(t, w)
	if a.Commits.Own != 1 || a.Commits.Seen != 2 || a.Languages[0].Name != "C" || a.Languages[0].Commits != 1 {
		t.Errorf("got %+v and %+v", a.Commits, a.Languages)
	}
}

func TestForkKeepsCommitWhenTheOtherRepositoryIsDeleted(t *testing.T) {
	w := world{
		doc(github.KindRepository, "20", document.Fields{Repository: 20, Fork: true}),
		doc(github.KindRepository, "21", document.Fields{Repository: 21, Deleted: true}),
		commit(21, "x", document.Fields{Author: login, CreatedAt: at("2026-03-01 08:00")}),
		commit(20, "x", document.Fields{Author: login, CreatedAt: at("2026-03-01 08:00")}),
	}
	if a := compute(t, w); a.Commits.Own != 1 || a.Commits.InForks != 1 {
		t.Errorf("got %+v", a.Commits)
	}
}

func TestUndatedActivityCountsInTotalsOnly(t *testing.T) {
	w := world{
		commit(10, "a", document.Fields{Author: login}),
		commit(10, "b", document.Fields{Author: login, CreatedAt: time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC)}),
		commit(10, "c", document.Fields{Author: login, CreatedAt: at("1969-12-31 23:30")}),
	}
	a := compute(t, w)
	if a.Commits.Own != 3 || a.Activity.Total != 3 || a.Activity.ActiveDays != 1 || a.Activity.ByDay["1969-12-31"] != 1 {
		t.Errorf("got %+v", a.Activity)
	}
	if a.Activity.ByHour[23] != 1 || a.Activity.ByWeekday[time.Wednesday] != 1 {
		t.Errorf("got hours %v, weekdays %v", a.Activity.ByHour, a.Activity.ByWeekday)
	}
}

func TestRunWithoutAnchorIsAsOfNow(t *testing.T) {
	bare := run
	bare.Anchor = time.Time{}
	now := at("2026-03-02 12:00")
	data, err := stats.New(smallWorld(), &shelf{}, github.Kinds(), func() time.Time { return now }).Compute(t.Context(), bare)
	if err != nil {
		t.Fatal(err)
	}
	var a stats.Account
	if err := json.Unmarshal(data, &a); err != nil {
		t.Fatal(err)
	}
	want := stats.Streak{Days: 3, From: "2026-02-28", To: "2026-03-02"}
	if !a.AsOf.Equal(now) || a.Activity.Current != want {
		t.Errorf("as of %s the streak is %+v, want %+v", a.AsOf, a.Activity.Current, want)
	}
}

// broken fails on one kind of documents.
type broken struct {
	world
	kind document.Kind
}

func (b broken) Scan(ctx context.Context, q document.Query, fn func(*document.Document) error) error {
	if q.Kind == b.kind {
		return domain.Errorf(domain.CodeUnavailable, "no disk: %w", io.ErrUnexpectedEOF)
	}
	return b.world.Scan(ctx, q, fn)
}

func TestReaderFailureIsReturned(t *testing.T) {
	for _, kind := range []document.Kind{github.KindRepository, github.KindCommit, github.KindIssue, github.KindPull, github.KindEvent, github.KindProfile} {
		_, err := stats.New(broken{smallWorld(), kind}, &shelf{}, github.Kinds(), nil).Compute(t.Context(), run)
		if domain.CodeOf(err) != domain.CodeUnavailable || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: got %v", kind, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := stats.New(smallWorld(), &shelf{}, github.Kinds(), nil).Compute(ctx, run); !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled computation returned %v", err)
	}
}

func TestOrderOfDocumentsDoesNotMatter(t *testing.T) {
	r := randomness(t)
	for range 50 {
		w := randomWorld(r)
		want := computeJSON(t, w)
		shuffled := slices.Clone(w)
		r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if got := computeJSON(t, shuffled); !bytes.Equal(got, want) {
			t.Fatalf("in another order the statistics are\n%s, want\n%s", got, want)
		}
	}
}

func TestEqualsNaiveRecomputation(t *testing.T) {
	r := randomness(t)
	for range 200 {
		w := randomWorld(r)
		check(t, compute(t, w), naive(w))
		if t.Failed() {
			t.FailNow()
		}
	}
}
