package client

import (
	"context"
	"net/http"
	"net/url"

	"sluice/internal/httpapi/wire"
	"sluice/internal/stats"
)

// AccountStats shows the statistics of an account, named by id or login, and
// where it stands among all.
func (c *Client) AccountStats(ctx context.Context, account string) (stats.Account, error) {
	var out wire.AccountStatistics
	err := c.call(ctx, http.MethodGet, api+"/stats/accounts/"+url.PathEscape(account), nil, nil, &out)
	return stats.Account(out), err
}

// Leaderboard ranks the accounts by a measure. A limit of zero leaves it to the
// service how many are listed.
func (c *Client) Leaderboard(ctx context.Context, by stats.Measure, limit int) (wire.Leaderboard, error) {
	q := url.Values{"by": {string(by)}}
	setNumber(q, "limit", int64(limit))
	var out wire.Leaderboard
	err := c.call(ctx, http.MethodGet, api+"/stats/leaderboard", q, nil, &out)
	return out, err
}

// GlobalStats sums up all accounts.
func (c *Client) GlobalStats(ctx context.Context) (stats.Totals, error) {
	var out stats.Totals
	err := c.call(ctx, http.MethodGet, api+"/stats/global", nil, nil, &out)
	return out, err
}
