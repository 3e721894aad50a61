package httpapi

import (
	"context"
	"net/http"

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

func (s *server) registerStats(api huma.API) {
	const tag = "statistics"
	register(s, api, operation{id: "get-account-stats", method: http.MethodGet, path: "/api/v1/stats/accounts/{id}", tag: tag,
		summary: "Show the statistics of an account and where it stands among all", errors: []int{http.StatusNotFound}}, s.getAccountStats)
	register(s, api, operation{id: "get-leaderboard", method: http.MethodGet, path: "/api/v1/stats/leaderboard", tag: tag,
		summary: "Rank the accounts by a measure", errors: []int{http.StatusUnprocessableEntity}}, s.getLeaderboard)
	register(s, api, operation{id: "get-global-stats", method: http.MethodGet, path: "/api/v1/stats/global", tag: tag,
		summary: "Sum up all accounts"}, s.getGlobalStats)
}

func (s *server) getAccountStats(ctx context.Context, in *accountRef) (*body[wire.AccountStatistics], error) {
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
	By    string `query:"by" default:"impact" enum:"activity,impact,commits,additions,issues_solved,pulls_merged,stars,longest_streak" doc:"What accounts are ranked by"`
	Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
}

func (s *server) getLeaderboard(ctx context.Context, in *leaderboardInput) (*body[wire.Leaderboard], error) {
	by, err := stats.ParseMeasure(in.By)
	if err != nil {
		return nil, err
	}
	rows, err := s.Statistics.Leaderboard(ctx, by)
	if err != nil {
		return nil, err
	}
	board := wire.Leaderboard{By: by, Accounts: len(rows), Rows: notNull(rows)}
	board.Rows = board.Rows[:min(in.Limit, len(rows))]
	return &body[wire.Leaderboard]{board}, nil
}

func (s *server) getGlobalStats(ctx context.Context, _ *struct{}) (*body[stats.Totals], error) {
	totals, err := s.Statistics.Global(ctx)
	totals.Languages = notNull(totals.Languages)
	return &body[stats.Totals]{totals}, err
}
