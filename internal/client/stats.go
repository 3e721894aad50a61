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
func (c accountCalls) AccountStats(ctx context.Context, account string) (stats.Account, error) {
	var out wire.AccountStatistics
	err := c.call(ctx, http.MethodGet, api+"/stats/accounts/"+url.PathEscape(account), nil, nil, &out)
	return stats.Account(out), err
}

// GlobalStats sums up all accounts.
func (c accountCalls) GlobalStats(ctx context.Context) (stats.Totals, error) {
	var out stats.Totals
	err := c.call(ctx, http.MethodGet, api+"/stats/global", nil, nil, &out)
	return out, err
}
