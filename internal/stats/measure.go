package stats

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"sluice/internal/domain"
)

// Measure is what accounts are ranked by.
type Measure string

// The measures. More is better in each.
const (
	ByActivity     Measure = "activity"
	ByImpact       Measure = "impact"
	ByCommits      Measure = "commits"
	ByAdditions    Measure = "additions"
	ByIssuesSolved Measure = "issues_solved"
	ByPullsMerged  Measure = "pulls_merged"
	ByStars        Measure = "stars"
	ByStreak       Measure = "longest_streak"
)

// Measures lists every measure, the most telling first.
func Measures() []Measure {
	return []Measure{ByActivity, ByImpact, ByCommits, ByAdditions, ByIssuesSolved, ByPullsMerged, ByStars, ByStreak}
}

// ParseMeasure reads a measure that a person typed.
func ParseMeasure(s string) (Measure, error) {
	if m := Measure(s); slices.Contains(Measures(), m) {
		return m, nil
	}
	var names []string
	for _, m := range Measures() {
		names = append(names, string(m))
	}
	return "", domain.Errorf(domain.CodeInvalid, "%q is not a measure; use one of %s", s, strings.Join(names, ", "))
}

// headline is the part of stored statistics that comparisons need.
type headline struct {
	scores        Scores
	repositories  Repositories
	commits       Commits
	issues        Issues
	pulls         Pulls
	languages     []Language
	activities    int64
	longestStreak int64
}

// readHeadline picks the headline out of stored statistics. It reads no
// further than the last part of it, which spares a leaderboard the calendars
// of all accounts.
func readHeadline(data []byte) (*headline, error) {
	h := &headline{}
	for path, part := range map[string]any{
		"scores": &h.scores, "repositories": &h.repositories, "commits": &h.commits,
		"issues": &h.issues, "pulls": &h.pulls, "languages": &h.languages,
		"activity.total": &h.activities, "activity.longest_streak.days": &h.longestStreak,
	} {
		found := gjson.GetBytes(data, path)
		if !found.Exists() {
			return nil, fmt.Errorf("%s is missing", path)
		}
		if err := json.Unmarshal([]byte(found.Raw), part); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return h, nil
}

func headlineOf(a *Account) *headline {
	return &headline{
		scores: a.Scores, repositories: a.Repositories, commits: a.Commits, issues: a.Issues, pulls: a.Pulls,
		languages: a.Languages, activities: a.Activity.Total, longestStreak: a.Activity.Longest.Days,
	}
}

// value is what the measure finds; counts are exact up to 2^53.
func (m Measure) value(h *headline) float64 {
	switch m {
	case ByActivity:
		return h.scores.Activity
	case ByImpact:
		return h.scores.Impact
	case ByCommits:
		return float64(h.commits.Own)
	case ByAdditions:
		return float64(h.commits.Additions)
	case ByIssuesSolved:
		return float64(h.issues.Solved)
	case ByPullsMerged:
		return float64(h.pulls.Merged)
	case ByStars:
		return float64(h.repositories.Stars)
	case ByStreak:
		return float64(h.longestStreak)
	}
	return 0
}
