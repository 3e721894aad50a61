package stats_test

import (
	"context"
	"errors"
	"io"
	"reflect"
	"slices"
	"testing"

	"sluice/internal/domain"
	"sluice/internal/source/github"
	"sluice/internal/stats"
)

func account(id int64, name string, state domain.AccountState) domain.Account {
	return domain.Account{ID: id, Source: "github", Login: name, State: state}
}

// crowd has two accounts that are equal in commits, a paused one, and a
// deleted one that would lead everywhere.
func crowd(t *testing.T) *shelf {
	s := &shelf{}
	s.put(t, account(1, "ann", domain.AccountActive), stats.Account{
		AccountID: 1, Login: "ann", Scores: stats.Scores{Activity: 10.5, Impact: 3},
		Commits: stats.Commits{Own: 5, Additions: 50, Deletions: 1}, Repositories: stats.Repositories{Owned: 1, Stars: 9},
		Issues: stats.Issues{Opened: 1, Solved: 2}, Pulls: stats.Pulls{Opened: 4, Merged: 3, MergedToOthers: 1},
		Activity:  stats.Activity{Total: 10, Longest: stats.Streak{Days: 4}},
		Languages: []stats.Language{{Name: "Go", Repositories: 1, Activities: 10, Commits: 5, Additions: 50, Deletions: 1}},
	})
	s.put(t, account(2, "Bob", domain.AccountPaused), stats.Account{
		AccountID: 2, Login: "Bob", Scores: stats.Scores{Activity: 20, Impact: 3},
		Commits: stats.Commits{Own: 5, Additions: 10, Deletions: 2}, Repositories: stats.Repositories{Owned: 2, Stars: 10},
		Activity:  stats.Activity{Total: 17},
		Languages: []stats.Language{{Name: "C", Activities: 12}, {Name: "Go", Activities: 5, Commits: 5, Additions: 10, Deletions: 2}},
	})
	s.put(t, account(3, "amy", domain.AccountActive), stats.Account{AccountID: 3, Login: "amy", Commits: stats.Commits{Own: 1}})
	s.put(t, account(4, "eve", domain.AccountActive), stats.Account{AccountID: 4, Login: "eve", Commits: stats.Commits{Own: 9}})
	s.put(t, account(5, "gone", domain.AccountDeleted), stats.Account{
		AccountID: 5, Login: "gone", Scores: stats.Scores{Activity: 99, Impact: 99}, Commits: stats.Commits{Own: 99},
	})
	return s
}

func TestLeaderboard(t *testing.T) {
	rows, err := stats.New(world{}, crowd(t), github.Kinds(), nil).Leaderboard(t.Context(), stats.ByCommits)
	if err != nil {
		t.Fatal(err)
	}
	row := func(id int64, login string, value float64, rank int64, percentile float64) stats.Row {
		return stats.Row{AccountID: id, Source: "github", Login: login,
			Standing: stats.Standing{By: stats.ByCommits, Value: value, Rank: rank, Of: 4, Percentile: percentile}}
	}
	want := []stats.Row{
		row(4, "eve", 9, 1, 100), row(1, "ann", 5, 2, 75), row(2, "Bob", 5, 2, 75), row(3, "amy", 1, 4, 25),
	}
	if !reflect.DeepEqual(rows, want) {
		t.Errorf("got\n%+v, want\n%+v", rows, want)
	}
}

func TestEveryMeasureHasItsOwnValue(t *testing.T) {
	want := map[stats.Measure]float64{
		stats.ByActivity: 10.5, stats.ByImpact: 3, stats.ByCommits: 5, stats.ByAdditions: 50,
		stats.ByIssuesSolved: 2, stats.ByPullsMerged: 3, stats.ByStars: 9, stats.ByStreak: 4,
	}
	a, ok, err := stats.New(world{}, crowd(t), github.Kinds(), nil).Read(t.Context(), 1)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if len(a.Standings) != len(want) {
		t.Errorf("got %d standings, want %d", len(a.Standings), len(want))
	}
	for i, s := range a.Standings {
		if s.By != stats.Measures()[i] || s.Value != want[s.By] {
			t.Errorf("standing %d is %+v, want the value %v", i, s, want[s.By])
		}
	}
}

// What Read derives in one pass is what each leaderboard says.
func TestReadAgreesWithLeaderboards(t *testing.T) {
	r := randomness(t)
	s := &shelf{}
	for id := range int64(12) {
		s.put(t, account(id, "x", domain.AccountActive), stats.Account{
			AccountID: id, Scores: stats.Scores{Activity: float64(r.IntN(9)) / 4}, Commits: stats.Commits{Own: r.Int64N(5)},
			Repositories: stats.Repositories{Stars: r.Int64N(100)},
		})
	}
	c := stats.New(world{}, s, github.Kinds(), nil)
	for _, by := range stats.Measures() {
		rows, err := c.Leaderboard(t.Context(), by)
		if err != nil || len(rows) != 12 {
			t.Fatal(len(rows), err)
		}
		for _, row := range rows {
			a, _, err := c.Read(t.Context(), row.AccountID)
			if err != nil {
				t.Fatal(err)
			}
			for _, standing := range a.Standings {
				if standing.By == by && standing != row.Standing {
					t.Fatalf("account %d: read %+v, leaderboard %+v", row.AccountID, standing, row.Standing)
				}
			}
		}
	}
}

// renewed replaces an account's statistics right after they were read.
type renewed struct {
	*shelf
	data []byte
}

func (r renewed) AccountStatistics(context.Context, int64) ([]byte, bool, error) {
	return r.data, true, nil
}

// An account is never behind itself, even if a run completes while its
// statistics are read.
func TestReadIsConsistentWithItself(t *testing.T) {
	s := crowd(t)
	old := renewed{s, s.data[1]}
	s.data[1] = s.data[5]
	a, _, err := stats.New(world{}, old, github.Kinds(), nil).Read(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, standing := range a.Standings {
		if standing.By == stats.ByImpact && (standing.Rank != 1 || standing.Percentile != 100) {
			t.Errorf("got %+v", standing)
		}
	}
}

func TestReadWithoutStanding(t *testing.T) {
	c := stats.New(world{}, crowd(t), github.Kinds(), nil)
	if _, ok, err := c.Read(t.Context(), 77); ok || err != nil {
		t.Errorf("an account without statistics: %v, %v", ok, err)
	}
	a, ok, err := c.Read(t.Context(), 5)
	if err != nil || !ok || a.Commits.Own != 99 || a.Standings != nil {
		t.Errorf("a deleted account: %+v, %v, %v", a, ok, err)
	}
}

func TestGlobal(t *testing.T) {
	got, err := stats.New(world{}, crowd(t), github.Kinds(), nil).Global(t.Context())
	want := stats.Totals{
		Accounts: 4, Repositories: 3, Stars: 19, Activities: 27, Commits: 20, Additions: 60, Deletions: 3,
		IssuesOpened: 1, IssuesSolved: 2, PullsOpened: 4, PullsMerged: 3, MergedToOthers: 1,
		Languages: []stats.Language{
			{Name: "Go", Repositories: 1, Activities: 15, Commits: 10, Additions: 60, Deletions: 3},
			{Name: "C", Activities: 12},
		},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v, %v, want\n%+v", got, err, want)
	}
}

func TestUnknownMeasure(t *testing.T) {
	_, err := stats.New(world{}, &shelf{}, github.Kinds(), nil).Leaderboard(t.Context(), "beauty")
	want := `"beauty" is not a measure; use one of activity, impact, commits, additions, issues_solved, pulls_merged, stars, longest_streak`
	if domain.CodeOf(err) != domain.CodeInvalid || err.Error() != want {
		t.Errorf("got %v", err)
	}
	if m, err := stats.ParseMeasure("stars"); err != nil || m != stats.ByStars {
		t.Errorf("got %q, %v", m, err)
	}
}

func TestUnreadableStatistics(t *testing.T) {
	for _, data := range []string{"", "{", "[]", `{"scores":1}`} {
		checkUnreadable(t, data)
	}
}

func checkUnreadable(t *testing.T, data string) {
	t.Helper()
	s := crowd(t)
	s.data[3] = []byte(data)
	c := stats.New(world{}, s, github.Kinds(), nil)
	_, boardErr := c.Leaderboard(t.Context(), stats.ByStars)
	_, totalErr := c.Global(t.Context())
	_, _, otherErr := c.Read(t.Context(), 1)
	_, _, ownErr := c.Read(t.Context(), 3)
	for what, err := range map[string]error{"leaderboard": boardErr, "totals": totalErr, "other": otherErr, "own": ownErr} {
		if domain.CodeOf(err) != domain.CodeCorrupt {
			t.Errorf("%q in the %s: got %v", data, what, err)
		}
	}
}

func TestStoreFailureIsReturned(t *testing.T) {
	s := crowd(t)
	s.err = io.ErrUnexpectedEOF
	c := stats.New(world{}, s, github.Kinds(), nil)
	_, boardErr := c.Leaderboard(t.Context(), stats.ByStars)
	_, totalErr := c.Global(t.Context())
	_, _, readErr := c.Read(t.Context(), 1)
	for what, err := range map[string]error{"leaderboard": boardErr, "totals": totalErr, "read": readErr} {
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: got %v", what, err)
		}
	}
}

// TestOnlyWhatIsCountedIsCompared: an account of a source that has nothing to count has
// no place, and takes none.
func TestOnlyWhatIsCountedIsCompared(t *testing.T) {
	s := crowd(t)
	computer := stats.New(world{}, s, github.Kinds(), nil)
	before, _, err := computer.Read(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	other := account(99, "pokemon", domain.AccountActive)
	other.Source = "pokeapi"
	s.put(t, other, stats.Account{AccountID: 99, Source: "pokeapi", Login: "pokemon"})
	after, _, err := computer.Read(t.Context(), 1)
	if err != nil || after.Standings[0].Of != before.Standings[0].Of {
		t.Errorf("it is one of %d, and was of %d: %v", after.Standings[0].Of, before.Standings[0].Of, err)
	}
	none, ok, err := computer.Read(t.Context(), 99)
	if err != nil || !ok || len(none.Standings) > 0 {
		t.Errorf("the other has %+v, %v", none.Standings, err)
	}
	rows, err := computer.Leaderboard(t.Context(), stats.ByCommits)
	if err != nil || slices.ContainsFunc(rows, func(r stats.Row) bool { return r.AccountID == 99 }) {
		t.Errorf("it is ranked: %v, %v", rows, err)
	}
}
