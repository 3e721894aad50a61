package httpapi_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"sluice/internal/domain"
	"sluice/internal/httpapi"
	"sluice/internal/httpapi/apitest"
	"sluice/internal/httpapi/wire"
	"sluice/internal/quota"
	"sluice/internal/source"
	"sluice/internal/source/github"
)

// TestLoginsOfEverySource are found without saying which it is, as long as one has them.
func TestLoginsOfEverySource(t *testing.T) {
	c := newCaller(t, apitest.Options{})
	ann := c.signup("noop", "ann", "t", http.StatusCreated)
	c.wait(ann.Run.ID)
	both := c.service.Signup(0)
	c.wait(c.signup("github", both.Login, both.Token, http.StatusCreated).Run.ID)
	c.wait(c.signup("noop", both.Login, "t", http.StatusCreated).Run.ID)
	var found wire.AccountDetail
	c.do(http.MethodGet, "/api/v1/accounts/ann", "", http.StatusOK, &found)
	if found.ID != ann.Account.ID {
		t.Errorf("ann is %v", found.Account)
	}
	var runs wire.RunList
	c.do(http.MethodGet, "/api/v1/runs?account=ann", "", http.StatusOK, &runs)
	if len(runs.Items) != 1 || runs.Items[0].AccountID != ann.Account.ID {
		t.Errorf("the runs of ann are %v", runs.Items)
	}
	for _, path := range []string{"/api/v1/accounts/" + both.Login, "/api/v1/jobs?account=" + both.Login, "/api/v1/documents/commits?account=" + both.Login} {
		p := c.refused(http.MethodGet, path, "", http.StatusConflict, domain.CodeConflict)
		if !strings.Contains(p.Detail, "github:"+both.Login) || !strings.Contains(p.Detail, "noop:"+both.Login) {
			t.Errorf("%s: %s", path, p.Detail)
		}
	}
	for _, name := range []string{"noop", "github"} {
		c.do(http.MethodGet, "/api/v1/accounts/"+name+":"+both.Login, "", http.StatusOK, &found)
		if found.Source != name {
			t.Errorf("%s:%s is at %s", name, both.Login, found.Source)
		}
		c.do(http.MethodGet, "/api/v1/accounts/"+both.Login+"?source="+name, "", http.StatusOK, &found)
		if found.Source != name {
			t.Errorf("%s at %s is at %s", both.Login, name, found.Source)
		}
	}
	if p := c.refused(http.MethodGet, "/api/v1/accounts/nobody", "", http.StatusNotFound, domain.CodeNotFound); !strings.Contains(p.Detail, "at any source") {
		t.Error(p.Detail)
	}
	if p := c.refused(http.MethodGet, "/api/v1/accounts/ann?source=github", "", http.StatusNotFound, domain.CodeNotFound); !strings.Contains(p.Detail, "at github") {
		t.Error(p.Detail)
	}
}

// sourceWide shows every owner what one source counts for all.
type sourceWide struct{ httpapi.QuotaReader }

func (q sourceWide) Windows(ctx context.Context, owner string) ([]quota.Window, error) {
	all, err := q.QuotaReader.Windows(ctx, owner)
	if owner == "" {
		return append(all, quota.Window{Owner: "evil", Bucket: "evil", Limit: 600, Available: 595}), err
	}
	return append(all, quota.Window{Owner: owner, Bucket: "evil", Limit: 600, Available: 595}), err
}

// TestRationsAreOfTheAccountsSource: what another source counts for everybody is not
// told of an account.
func TestRationsAreOfTheAccountsSource(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	who := s.Signup(0)
	account, err := s.Engine.PutAccount(t.Context(), who)
	if err != nil {
		t.Fatal(err)
	}
	h := httpapi.New(httpapi.Deps{
		Orchestrator: s.Engine, Observer: s.Engine, Reader: s.State, Quota: sourceWide{s.Quota}, Statistics: s.Statistics, Documents: s.Documents,
		Sources: []source.Description{github.Describe(), {Name: "evil", Title: "Evil"}},
	}, httpapi.Options{})
	for path, want := range map[string]bool{
		"/api/v1/accounts/" + account.Login: false, "/api/v1/quota?owner=" + account.Login: false, "/api/v1/quota": true, "/api/v1/quota?owner=evil": true,
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil))
		if got := strings.Contains(w.Body.String(), `"bucket":"evil"`); w.Code != http.StatusOK || got != want {
			t.Errorf("%s tells of the other source: %v, %d %s", path, got, w.Code, w.Body)
		}
	}
}
