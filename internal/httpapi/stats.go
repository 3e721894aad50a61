package httpapi

import (
	"context"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
	"sluice/internal/stats"
)

// StatisticsReader reads statistics; *stats.Computer is one.
type StatisticsReader interface {
	Read(ctx context.Context, account int64) (stats.Account, bool, error)
	Leaderboard(ctx context.Context, by stats.Measure) ([]stats.Row, error)
	Global(ctx context.Context) (stats.Totals, error)
}

// statsRoutes serve statistics.
type statsRoutes struct {
	*common
	accountFinder
	Statistics StatisticsReader
}

func (s *statsRoutes) registerStats(api huma.API) {
	const tag = "statistics"
	register(s, api, operation{id: "get-account-stats", method: http.MethodGet, path: "/api/v1/stats/accounts/{id}", tag: tag,
		summary: "Show the statistics of an account and how it compares to all others", errors: []int{http.StatusNotFound}}, s.getAccountStats)
	register(s, api, operation{id: "get-leaderboard", method: http.MethodGet, path: "/api/v1/stats/leaderboard", tag: tag,
		summary: "Rank the accounts by a measure", errors: []int{http.StatusUnprocessableEntity}}, s.getLeaderboard)
	register(s, api, operation{id: "get-global-stats", method: http.MethodGet, path: "/api/v1/stats/global", tag: tag,
		summary: "Sum up all accounts"}, s.getGlobalStats)
}

func (s *statsRoutes) getAccountStats(ctx context.Context, in *accountRef) (*body[wire.AccountStatistics], error) {
	a, err := s.account(ctx, in.ID, in.Source)
	if err != nil {
		return nil, err
	}
	figures, found, err := s.Statistics.Read(ctx, a.ID)
	if err == nil && !found {
		err = domain.Errorf(domain.CodeNotFound, "there are no statistics of %s yet; they are computed when a run completes", a.Login)
	}
	return &body[wire.AccountStatistics]{wire.AccountStatistics(figures)}, err
}

type leaderboardInput struct {
	By     string `query:"by" default:"impact" enum:"activity,impact,commits,additions,issues_solved,pulls_merged,stars,longest_streak" doc:"What accounts are ranked by"`
	Cursor string `query:"cursor" maxLength:"100" doc:"Where an earlier page ended"`
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
}

func (s *statsRoutes) getLeaderboard(ctx context.Context, in *leaderboardInput) (*body[wire.Leaderboard], error) {
	by, err := stats.ParseMeasure(in.By)
	if err != nil {
		return nil, err
	}
	rows, err := s.Statistics.Leaderboard(ctx, by)
	if err != nil {
		return nil, err
	}
	list, err := cut(rows, in.Cursor, in.Limit, func(r *stats.Row) string { return strconv.FormatInt(r.AccountID, 10) })
	return &body[wire.Leaderboard]{wire.Leaderboard{By: by, Accounts: len(rows), List: list}}, err
}

func (s *statsRoutes) getGlobalStats(ctx context.Context, _ *struct{}) (*body[stats.Totals], error) {
	totals, err := s.Statistics.Global(ctx)
	totals.Languages = notNull(totals.Languages)
	return &body[stats.Totals]{totals}, err
}
