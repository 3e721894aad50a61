package stats

import "math"

// Figures are the counts that the two scores are made of.
type Figures struct {
	Commits         int64 `json:"commits"`
	IssuesOpened    int64 `json:"issues_opened"`
	PullsOpened     int64 `json:"pulls_opened"`
	ActiveDays      int64 `json:"active_days"`
	Stars           int64 `json:"stars_received"`
	IssuesSolved    int64 `json:"issues_solved"`
	PullsMerged     int64 `json:"pulls_merged"`
	MergedToOthers  int64 `json:"pulls_merged_to_others"`
	CommitsToOthers int64 `json:"commits_to_others"`
}

// What doubling a figure is worth, in points.
const (
	weightCommits      = 10
	weightIssuesOpened = 4
	weightPullsOpened  = 6
	weightActiveDays   = 10

	weightStars           = 10
	weightIssuesSolved    = 5
	weightPullsMerged     = 5
	weightMergedToOthers  = 8
	weightCommitsToOthers = 2
)

// Scores computes both scores. Each is a sum of weight × log2(1 + figure),
// rounded to two decimals: no figure can lower a score by growing, and
// doubling a large one is always worth its weight in points.
func (f Figures) Scores() Scores {
	return Scores{
		Activity: hundredths(
			points(weightCommits, f.Commits) +
				points(weightIssuesOpened, f.IssuesOpened) +
				points(weightPullsOpened, f.PullsOpened) +
				points(weightActiveDays, f.ActiveDays)),
		Impact: hundredths(
			points(weightStars, f.Stars) +
				points(weightIssuesSolved, f.IssuesSolved) +
				points(weightPullsMerged, f.PullsMerged) +
				points(weightMergedToOthers, f.MergedToOthers) +
				points(weightCommitsToOthers, f.CommitsToOthers)),
	}
}

func figuresOf(a *Account) Figures {
	return Figures{
		Commits:         a.Commits.Own,
		IssuesOpened:    a.Issues.Opened,
		PullsOpened:     a.Pulls.Opened,
		ActiveDays:      a.Activity.ActiveDays,
		Stars:           a.Repositories.Stars,
		IssuesSolved:    a.Issues.Solved,
		PullsMerged:     a.Pulls.Merged,
		MergedToOthers:  a.Pulls.MergedToOthers,
		CommitsToOthers: a.Commits.ToOthers,
	}
}

func points(weight float64, n int64) float64 {
	return weight * math.Log2(1+float64(max(n, 0)))
}

func hundredths(x float64) float64 { return math.Round(x*100) / 100 }
