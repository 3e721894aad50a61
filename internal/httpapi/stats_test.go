package httpapi_test

import (
	"net/http"
	"slices"
	"testing"

	"sluice/internal/domain"
	"sluice/internal/httpapi/apitest"
	"sluice/internal/httpapi/wire"
	"sluice/internal/stats"
)

func TestStats(t *testing.T) {
	c := newCaller(t, apitest.Options{})
	var totals stats.Totals
	c.do(http.MethodGet, "/api/v1/stats/global", "", http.StatusOK, &totals)
	if totals.Accounts != 0 || totals.Languages == nil {
		t.Errorf("got %+v of nothing", totals)
	}
	var board wire.Leaderboard
	c.do(http.MethodGet, "/api/v1/stats/leaderboard", "", http.StatusOK, &board)
	if board.Items == nil || len(board.Items) != 0 || board.By != stats.ByImpact {
		t.Errorf("got %+v of nothing", board)
	}

	logins := []string{}
	for n := range 3 {
		who := c.service.Signup(n)
		c.wait(c.signup("github", who.Login, who.Token, http.StatusCreated).Run.ID)
		logins = append(logins, who.Login)
	}
	commits := int64(0)
	for i, login := range logins {
		var a wire.AccountStatistics
		c.do(http.MethodGet, "/api/v1/stats/accounts/"+login, "", http.StatusOK, &a)
		if a.AccountID != int64(i+1) || a.Login != login || len(a.Standings) != len(stats.Measures()) || a.Standings[0].Of != 3 {
			t.Errorf("%s: got %+v", login, a)
		}
		commits += a.Commits.Own
	}
	c.do(http.MethodGet, "/api/v1/stats/global", "", http.StatusOK, &totals)
	if totals.Accounts != 3 || totals.Commits != commits || commits == 0 || totals.Repositories != 6 {
		t.Errorf("got %+v, want %d commits", totals, commits)
	}
	for _, by := range stats.Measures() {
		c.do(http.MethodGet, "/api/v1/stats/leaderboard?limit=2&by="+string(by), "", http.StatusOK, &board)
		falling := slices.IsSortedFunc(board.Items, func(a, b stats.Row) int { return int(a.Rank - b.Rank) })
		if board.By != by || board.Accounts != 3 || len(board.Items) != 2 || !falling || board.Items[0].Rank != 1 {
			t.Errorf("by %s: got %+v", by, board)
		}
	}
}

func TestNoStats(t *testing.T) {
	c := newCaller(t, apitest.Options{})
	c.refused(http.MethodGet, "/api/v1/stats/accounts/nobody", "", http.StatusNotFound, domain.CodeNotFound)
	c.refused(http.MethodGet, "/api/v1/stats/leaderboard?by=height", "", http.StatusUnprocessableEntity, domain.CodeInvalid)
	c.refused(http.MethodGet, "/api/v1/stats/leaderboard?limit=0", "", http.StatusUnprocessableEntity, domain.CodeInvalid)
}
