// Package stats turns the stored documents of an account into figures: what
// was done, when, in which language and for whom, with two scores, and where
// the account stands among all accounts.
//
// An account's statistics are computed in one pass over its documents when a
// run completes, and stored with the run. Ranks, percentiles and totals over
// all accounts depend on what others did since, so they are never stored but
// derived when they are read. Every figure is defined in docs/statistics.md.
//
// The figures are those of places where code is kept: repositories, commits,
// issues and pull requests. Which kinds of documents are these is declared by
// their source (document.Role); all other kinds are in the inventory alone.
package stats

import (
	"time"

	"sluice/internal/document"
)

// Account is what is known about one account as of one run. Its JSON is the
// stored form: the same documents and run always give the same bytes, apart
// from ComputedAt.
type Account struct {
	AccountID int64  `json:"account_id"`
	Source    string `json:"source"`
	Login     string `json:"login"`
	RunID     int64  `json:"run_id"`
	// AsOf is the instant the run collected up to; it is the "today" of the
	// current streak.
	AsOf       time.Time `json:"as_of"`
	ComputedAt time.Time `json:"computed_at"`

	Scores Scores `json:"scores"`
	// OthersCollected says whether anything in repositories of others was
	// collected. If not, what is "to others" is not known, though it reads 0.
	OthersCollected bool         `json:"others_collected"`
	Repositories    Repositories `json:"repositories"`
	Commits         Commits      `json:"commits"`
	Issues          Issues       `json:"issues"`
	Pulls           Pulls        `json:"pulls"`
	// Teamwork is absent where nothing of it is collected.
	Teamwork *Teamwork `json:"teamwork,omitempty"`
	// Languages is ordered by activities, the busiest first, then by name.
	Languages []Language `json:"languages"`
	// Documents says what the copy holds, by kind.
	Documents map[document.Kind]DocumentCount `json:"documents"`
	// Activity comes last, and in it ByDay: whoever compares accounts stops
	// reading before the calendar, which is most of the bytes.
	Activity Activity `json:"activity"`

	// Standings is where the account stands among all, in the order of
	// Measures. It is filled in when statistics are read, and never stored.
	Standings []Standing `json:"standings,omitempty"`
}

// Scores condense an account into two numbers; see Figures.
type Scores struct {
	Activity float64 `json:"activity"`
	Impact   float64 `json:"impact"`
}

// Repositories counts the repositories that still exist upstream.
type Repositories struct {
	Owned int64 `json:"owned"`
	// Forks, Private and Archived are parts of Owned.
	Forks    int64 `json:"forks"`
	Private  int64 `json:"private"`
	Archived int64 `json:"archived"`
	// OfOthers counts collected repositories that the account does not own.
	OfOthers int64 `json:"of_others"`
	// Blocked and Forbidden are owned ones that exist but are withheld, or that
	// the credential may not see; they count in no other figure.
	Blocked   int64 `json:"blocked"`
	Forbidden int64 `json:"forbidden"`
	// Stars were given to owned repositories that are no forks.
	Stars int64 `json:"stars_received"`
}

// Commits counts commits. All but Seen and Unattributed are of the account.
type Commits struct {
	Own int64 `json:"own"`
	// ToOthers and InForks are parts of Own.
	ToOthers int64 `json:"to_others"`
	InForks  int64 `json:"in_forks"`
	// Measured is the part of Own whose Additions and Deletions are known.
	Measured  int64 `json:"measured"`
	Additions int64 `json:"additions"`
	Deletions int64 `json:"deletions"`
	// Seen counts everybody's commits, Unattributed those among them that the
	// upstream ties to no login.
	Seen         int64 `json:"seen"`
	Unattributed int64 `json:"unattributed"`
}

// Issues counts issues. All but Seen are of the account.
type Issues struct {
	Opened         int64 `json:"opened"`
	OpenedToOthers int64 `json:"opened_to_others"`
	Solved         int64 `json:"solved"`
	Seen           int64 `json:"seen"`
}

// Pulls counts pull requests. All but Seen are authored by the account.
type Pulls struct {
	Opened         int64 `json:"opened"`
	OpenedToOthers int64 `json:"opened_to_others"`
	Merged         int64 `json:"merged"`
	MergedToOthers int64 `json:"merged_to_others"`
	Seen           int64 `json:"seen"`
}

// Activity is what the account did, over time. One activity is a commit, an
// issue opened, a pull request opened, or a pull request merged; days and
// hours are UTC.
type Activity struct {
	Total      int64     `json:"total"`
	ActiveDays int64     `json:"active_days"`
	First      time.Time `json:"first,omitzero"`
	Last       time.Time `json:"last,omitzero"`
	// Current ends on the day of AsOf or the day before; otherwise it is empty.
	Current Streak `json:"current_streak"`
	// Longest is the latest of the longest streaks.
	Longest Streak `json:"longest_streak"`
	// ByWeekday starts on Sunday, ByHour at midnight.
	ByWeekday [7]int64  `json:"by_weekday"`
	ByHour    [24]int64 `json:"by_hour"`
	// ByDay has the days with any activity, as 2006-01-02.
	ByDay map[string]int64 `json:"by_day"`
}

// Streak is a row of days with activity on each; From and To are inclusive.
type Streak struct {
	Days int64  `json:"days"`
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

// UnknownLanguage stands for repositories whose language the upstream does not
// know.
const UnknownLanguage = "Unknown"

// Language is the share of one language: what the account did in repositories
// whose main language it is.
type Language struct {
	Name string `json:"name"`
	// Repositories counts owned ones.
	Repositories int64 `json:"repositories"`
	Activities   int64 `json:"activities"`
	Commits      int64 `json:"commits"`
	Additions    int64 `json:"additions"`
	Deletions    int64 `json:"deletions"`
}

// DocumentCount counts stored documents of one kind.
type DocumentCount struct {
	Stored int64 `json:"stored"`
	// Deleted documents, or documents in a deleted repository, are kept but
	// count in no other figure.
	Deleted int64 `json:"deleted"`
	// Truncated documents lost part of their payload and no figure.
	Truncated int64 `json:"truncated"`
}
