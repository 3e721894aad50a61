package export

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"sluice/internal/domain"
	"sluice/internal/stats"
)

// AccountStatistics is a row of the kind statistics: the main figures of one
// account, as docs/statistics.md defines them.
type AccountStatistics struct {
	// ID is the account's own; RepositoryID is always null.
	ID           int64      `json:"id" parquet:"id"`
	Account      string     `json:"account" parquet:"account"`
	Source       string     `json:"source" parquet:"source,dict"`
	RepositoryID *int64     `json:"repository_id" parquet:"repository_id,optional"`
	RunID        int64      `json:"run_id" parquet:"run_id"`
	AsOf         *time.Time `json:"as_of" parquet:"as_of,optional,timestamp(microsecond)"`
	ComputedAt   *time.Time `json:"computed_at" parquet:"computed_at,optional,timestamp(microsecond)"`

	ActivityScore float64 `json:"activity_score" parquet:"activity_score"`
	ImpactScore   float64 `json:"impact_score" parquet:"impact_score"`
	// The ranks are null for a deleted account, which does not compete.
	ActivityRank       *int64   `json:"activity_rank" parquet:"activity_rank,optional"`
	ActivityPercentile *float64 `json:"activity_percentile" parquet:"activity_percentile,optional"`
	ImpactRank         *int64   `json:"impact_rank" parquet:"impact_rank,optional"`
	ImpactPercentile   *float64 `json:"impact_percentile" parquet:"impact_percentile,optional"`
	RankedAccounts     *int64   `json:"ranked_accounts" parquet:"ranked_accounts,optional"`

	// What is to others is null if nothing of others was collected.
	Repositories         int64  `json:"repositories" parquet:"repositories"`
	RepositoriesForks    int64  `json:"repositories_forks" parquet:"repositories_forks"`
	RepositoriesPrivate  int64  `json:"repositories_private" parquet:"repositories_private"`
	RepositoriesOfOthers int64  `json:"repositories_of_others" parquet:"repositories_of_others"`
	StarsReceived        int64  `json:"stars_received" parquet:"stars_received"`
	Commits              int64  `json:"commits" parquet:"commits"`
	CommitsToOthers      *int64 `json:"commits_to_others" parquet:"commits_to_others,optional"`
	CommitsMeasured      int64  `json:"commits_measured" parquet:"commits_measured"`
	Additions            int64  `json:"additions" parquet:"additions"`
	Deletions            int64  `json:"deletions" parquet:"deletions"`
	IssuesOpened         int64  `json:"issues_opened" parquet:"issues_opened"`
	IssuesOpenedToOthers *int64 `json:"issues_opened_to_others" parquet:"issues_opened_to_others,optional"`
	IssuesSolved         int64  `json:"issues_solved" parquet:"issues_solved"`
	PullsOpened          int64  `json:"pulls_opened" parquet:"pulls_opened"`
	PullsOpenedToOthers  *int64 `json:"pulls_opened_to_others" parquet:"pulls_opened_to_others,optional"`
	PullsMerged          int64  `json:"pulls_merged" parquet:"pulls_merged"`
	PullsMergedToOthers  *int64 `json:"pulls_merged_to_others" parquet:"pulls_merged_to_others,optional"`

	Activities    int64      `json:"activities" parquet:"activities"`
	ActiveDays    int64      `json:"active_days" parquet:"active_days"`
	FirstActivity *time.Time `json:"first_activity" parquet:"first_activity,optional,timestamp(microsecond)"`
	LastActivity  *time.Time `json:"last_activity" parquet:"last_activity,optional,timestamp(microsecond)"`
	CurrentStreak int64      `json:"current_streak" parquet:"current_streak"`
	LongestStreak int64      `json:"longest_streak" parquet:"longest_streak"`

	// Deleted says that the account is; Truncated that some of its documents
	// lost part of their payload, which changes no figure.
	Deleted   bool `json:"deleted" parquet:"deleted"`
	Truncated bool `json:"truncated" parquet:"truncated"`
}

// statistics exports those of each account that has some.
func statistics(ctx context.Context, src Sources, o Options, w io.Writer) (int64, error) {
	out, err := NewWriter[AccountStatistics](w, o.Format)
	if err != nil {
		return 0, err
	}
	ranks, err := rank(ctx, src.Ranking)
	if err != nil {
		return 0, err
	}
	rows := int64(0)
	for _, account := range o.Accounts {
		data, found, err := src.Statistics.AccountStatistics(ctx, account.ID)
		if err != nil {
			return rows, err
		}
		if !found {
			continue
		}
		var figures stats.Account
		if err := json.Unmarshal(data, &figures); err != nil {
			return rows, domain.Errorf(domain.CodeCorrupt, "the stored statistics of %s cannot be read; collect it again to renew them: %w", account.Login, err)
		}
		row := figuresRow(account, &figures)
		row.stand(ranks[account.ID])
		rows++
		if err := out.Write(&row); err != nil {
			return rows, err
		}
	}
	return rows, out.Close()
}

// standings are an account's ranks.
type standings struct{ activity, impact stats.Standing }

func rank(ctx context.Context, ranking Ranking) (map[int64]standings, error) {
	active, err := ranking.Leaderboard(ctx, stats.ByActivity)
	if err != nil {
		return nil, err
	}
	ranks := make(map[int64]standings, len(active))
	for _, row := range active {
		ranks[row.AccountID] = standings{activity: row.Standing}
	}
	impact, err := ranking.Leaderboard(ctx, stats.ByImpact)
	for _, row := range impact {
		s := ranks[row.AccountID]
		s.impact = row.Standing
		ranks[row.AccountID] = s
	}
	return ranks, err
}

func figuresRow(account domain.Account, f *stats.Account) AccountStatistics {
	row := AccountStatistics{
		ID: account.ID, Account: account.Login, Source: account.Source,
		RunID: f.RunID, AsOf: instant(f.AsOf), ComputedAt: instant(f.ComputedAt),
		ActivityScore: f.Scores.Activity, ImpactScore: f.Scores.Impact,
		Repositories: f.Repositories.Owned, RepositoriesForks: f.Repositories.Forks, RepositoriesPrivate: f.Repositories.Private,
		RepositoriesOfOthers: f.Repositories.OfOthers, StarsReceived: f.Repositories.Stars,
		Commits: f.Commits.Own, CommitsToOthers: toOthers(f, f.Commits.ToOthers), CommitsMeasured: f.Commits.Measured,
		Additions: f.Commits.Additions, Deletions: f.Commits.Deletions,
		IssuesOpened: f.Issues.Opened, IssuesOpenedToOthers: toOthers(f, f.Issues.OpenedToOthers), IssuesSolved: f.Issues.Solved,
		PullsOpened: f.Pulls.Opened, PullsOpenedToOthers: toOthers(f, f.Pulls.OpenedToOthers),
		PullsMerged: f.Pulls.Merged, PullsMergedToOthers: toOthers(f, f.Pulls.MergedToOthers),
		Activities: f.Activity.Total, ActiveDays: f.Activity.ActiveDays,
		FirstActivity: instant(f.Activity.First), LastActivity: instant(f.Activity.Last),
		CurrentStreak: f.Activity.Current.Days, LongestStreak: f.Activity.Longest.Days,
		Deleted: account.State.Gone(),
	}
	for _, n := range f.Documents {
		row.Truncated = row.Truncated || n.Truncated > 0
	}
	return row
}

// toOthers is a figure about repositories of others, if those were collected.
func toOthers(f *stats.Account, n int64) *int64 {
	if !f.OthersCollected && n == 0 {
		return nil
	}
	return &n
}

// stand fills in the ranks, if there are any.
func (r *AccountStatistics) stand(s standings) {
	if s.activity.Of > 0 {
		r.ActivityRank, r.ActivityPercentile, r.RankedAccounts = &s.activity.Rank, &s.activity.Percentile, &s.activity.Of
	}
	if s.impact.Of > 0 {
		r.ImpactRank, r.ImpactPercentile = &s.impact.Rank, &s.impact.Percentile
	}
}

// instant is a time as exact as every format has it.
func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC().Truncate(time.Microsecond)
	return &t
}
