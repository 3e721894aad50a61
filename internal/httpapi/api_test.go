package httpapi_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"sluice/internal/domain"
	"sluice/internal/httpapi/apitest"
	"sluice/internal/httpapi/wire"
	"sluice/internal/source"
)

// caller makes raw requests and remembers every answer, to look for secrets.
type caller struct {
	*testing.T
	service *apitest.Service
	http    *http.Client
	answers strings.Builder
}

func newCaller(t *testing.T, o apitest.Options) *caller {
	t.Helper()
	return &caller{T: t, service: apitest.Start(t, o), http: &http.Client{}}
}

// do makes a request, demands a status and decodes the answer into out.
func (c *caller) do(method, path, body string, status int, out any) {
	c.Helper()
	req, err := http.NewRequestWithContext(c.Context(), method, c.service.URL+path, strings.NewReader(body))
	if err != nil {
		c.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := c.http.Do(req)
	if err != nil {
		c.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		c.Fatal(err)
	}
	c.answers.Write(text)
	if res.StatusCode != status {
		c.Fatalf("%s %s %s: got %s %s, want %d", method, path, body, res.Status, text, status)
	}
	if status >= 400 && res.Header.Get("Content-Type") != "application/problem+json" {
		c.Errorf("%s %s: an error of type %q", method, path, res.Header.Get("Content-Type"))
	}
	if out == nil {
		return
	}
	if err := json.Unmarshal(text, out); err != nil {
		c.Fatalf("%s %s: %v in %s", method, path, err, text)
	}
}

// refused makes a request that must fail and returns its problem.
func (c *caller) refused(method, path, body string, status int, code domain.Code) wire.Problem {
	c.Helper()
	var p wire.Problem
	c.do(method, path, body, status, &p)
	if p.Code != code || p.Status != status || p.Title != http.StatusText(status) || p.Detail == "" {
		c.Errorf("%s %s: got problem %+v, want code %s", method, path, p, code)
	}
	return p
}

func (c *caller) signup(source, login, token string, status int) wire.SignupAnswer {
	c.Helper()
	var out wire.SignupAnswer
	c.do(http.MethodPost, "/api/v1/accounts", fmt.Sprintf(`{"source":%q,"login":%q,"token":%q}`, source, login, token), status, &out)
	return out
}

// wait blocks until a run has ended.
func (c *caller) wait(id int64) domain.Run {
	c.Helper()
	return c.service.Wait(c, id)
}

func TestSignupCollects(t *testing.T) {
	c := newCaller(t, apitest.Options{})
	who := c.service.Signup(0)
	first := c.signup("github", who.Login, who.Token, http.StatusCreated)
	if !first.Started || first.Account.Login != who.Login || first.Run.AccountID != first.Account.ID || first.Run.Trigger != domain.TriggerSignup {
		t.Errorf("got %+v", first)
	}
	if run := c.wait(first.Run.ID); run.Status != domain.RunCompleted || run.Failed != 0 {
		t.Fatalf("the run ended as %+v", run)
	}

	var detail wire.RunDetail
	path := fmt.Sprintf("/api/v1/runs/%d", first.Run.ID)
	c.do(http.MethodGet, path, "", http.StatusOK, &detail)
	sum := detail.LedgerSummary
	if detail.Status != domain.RunCompleted || sum.Gaps != 0 || sum.PagesStored == 0 || sum.PagesStored != sum.PagesKnown || detail.Ledger != nil {
		t.Errorf("got %+v", detail)
	}
	c.do(http.MethodGet, path+"?ledger=1", "", http.StatusOK, &detail)
	if len(detail.Ledger) != sum.Resources || sum.Resources == 0 {
		t.Errorf("the ledger has %d lines, the summary %d resources", len(detail.Ledger), sum.Resources)
	}

	for _, name := range []string{who.Login, strings.ToUpper(who.Login), fmt.Sprint(first.Account.ID)} {
		var a domain.Account
		c.do(http.MethodGet, "/api/v1/accounts/"+name, "", http.StatusOK, &a)
		if a.ID != first.Account.ID || a.State != domain.AccountActive {
			t.Errorf("%s is %+v", name, a)
		}
	}
	var kept, later domain.Account
	c.do(http.MethodPatch, "/api/v1/accounts/"+who.Login, `{"floor":250,"hours":"09:00-18:00 Asia/Seoul"}`, http.StatusOK, &kept)
	if kept.Floor != 250 || kept.Hours.String() != "09:00-18:00 Asia/Seoul" {
		t.Errorf("the owner keeps %d calls and %q", kept.Floor, kept.Hours)
	}
	c.do(http.MethodPatch, "/api/v1/accounts/"+who.Login, `{"hours":""}`, http.StatusOK, &later)
	if later.Floor != 250 || !later.Hours.IsZero() {
		t.Errorf("after the hours were given up the owner keeps %d calls and %q", later.Floor, later.Hours)
	}
	c.do(http.MethodPatch, "/api/v1/accounts/"+who.Login, `{"hours":"late"}`, http.StatusUnprocessableEntity, nil)
	var statistics map[string]any
	c.do(http.MethodGet, "/api/v1/accounts/"+who.Login+"/statistics", "", http.StatusOK, &statistics)
	if len(statistics) == 0 {
		t.Error("the statistics are empty")
	}
	var q wire.Quota
	c.do(http.MethodGet, "/api/v1/quota", "", http.StatusOK, &q)
	var now domain.Account
	c.do(http.MethodGet, "/api/v1/accounts/"+who.Login, "", http.StatusOK, &now)
	ours := func(w wire.QuotaWindow) bool {
		return w.Owner == now.Owner && w.Limit == 5000 && slices.Equal(w.Logins, []string{who.Login})
	}
	if !slices.ContainsFunc(q.Items, ours) || q.Waits == nil {
		t.Errorf("got the quota %+v", q)
	}
	for _, owner := range []string{now.Owner, who.Login} {
		var reset wire.Quota
		c.do(http.MethodPost, "/api/v1/quota/"+owner+"/reset", "", http.StatusOK, &reset)
		if len(reset.Items) == 0 || reset.Items[0].Owner != now.Owner || reset.Items[0].Available > 4999 {
			t.Errorf("after the reset of %s: %+v, want the owner's windows and no more than was left", owner, reset)
		}
	}
	c.do(http.MethodPost, "/api/v1/quota/nobody/reset", "", http.StatusNotFound, nil)
	c.do(http.MethodPatch, "/api/v1/accounts/"+who.Login, `{"floor":5000}`, http.StatusUnprocessableEntity, nil)
}

func TestRuns(t *testing.T) {
	c := newCaller(t, apitest.Options{})
	a := c.signup("noop", "ann", "t1", http.StatusCreated).Account
	b := c.signup("noop", "bob", "t2", http.StatusCreated).Account
	c.wait(1)
	c.wait(2)
	start := func(body string) domain.Run {
		var run domain.Run
		c.do(http.MethodPost, "/api/v1/runs", body, http.StatusCreated, &run)
		c.wait(run.ID)
		return run
	}
	byID := start(fmt.Sprintf(`{"account_id":%d,"priority":"LOW"}`, a.ID))
	if byID.AccountID != a.ID || byID.Priority != domain.PriorityLow || byID.Trigger != domain.TriggerManual {
		t.Errorf("got %+v", byID)
	}
	byLogin := start(`{"source":"noop","login":"bob"}`)
	if byLogin.AccountID != b.ID || byLogin.Priority != domain.PriorityHigh {
		t.Errorf("got %+v", byLogin)
	}

	for query, want := range map[string]string{
		"": "4 3 2 1", "?limit=2": "4 3 next runs:3", "?limit=2&before=3": "2 1", "?limit=2&cursor=3": "2 1", "?limit=2&cursor=runs:3": "2 1", "?status=COMPLETED&limit=3": "4 3 2 next runs:2", "?status=FAILED,CANCELED": "", "?account=ann&source=noop&status=COMPLETED": "3 1", "?limit=4": "4 3 2 1", "?active=true": "",
		fmt.Sprintf("?account=%d", a.ID): "3 1", "?account=bob&source=noop": "4 2",
	} {
		var list wire.RunList
		c.do(http.MethodGet, "/api/v1/runs"+query, "", http.StatusOK, &list)
		if got := runIDs(list); got != want || list.Items == nil {
			t.Errorf("%q lists %q, want %q", query, got, want)
		}
	}
	for _, body := range []string{`{}`, `{"account_id":1,"login":"ann"}`} {
		c.refused(http.MethodPost, "/api/v1/runs", body, http.StatusUnprocessableEntity, domain.CodeInvalid)
	}
	c.refused(http.MethodPost, "/api/v1/runs", `{"account_id":99}`, http.StatusNotFound, domain.CodeNotFound)
	c.refused(http.MethodPost, "/api/v1/runs", `{"login":"nobody"}`, http.StatusNotFound, domain.CodeNotFound)
	c.refused(http.MethodGet, "/api/v1/runs?account=nobody", "", http.StatusNotFound, domain.CodeNotFound)
	c.refused(http.MethodGet, "/api/v1/runs/99", "", http.StatusNotFound, domain.CodeNotFound)
	c.refused(http.MethodPost, "/api/v1/runs/99/cancel", "", http.StatusNotFound, domain.CodeNotFound)
	c.refused(http.MethodPost, "/api/v1/runs/1/cancel", "", http.StatusConflict, domain.CodeIllegalMove)
}

func runIDs(list wire.RunList) string {
	var ids []string
	for _, run := range list.Items {
		ids = append(ids, fmt.Sprint(run.ID))
	}
	if list.NextCursor != "" {
		ids = append(ids, "next", list.NextCursor)
	}
	return strings.Join(ids, " ")
}

// holdCalls lets no call of the noop source end before release is called.
func holdCalls() (onCall func(source.Call) (source.Result, bool), release func()) {
	gate := make(chan struct{})
	return func(source.Call) (source.Result, bool) { <-gate; return source.Result{}, false },
		sync.OnceFunc(func() { close(gate) })
}

func TestActiveRun(t *testing.T) {
	onCall, release := holdCalls()
	c := newCaller(t, apitest.Options{OnCall: onCall})
	t.Cleanup(release) // which is before the engine is stopped
	first := c.signup("noop", "ann", "t1", http.StatusCreated)
	again := c.signup("noop", "ann", "t2", http.StatusOK)
	if again.Started || again.Run.ID != first.Run.ID || again.Account.Owner == first.Account.Owner {
		t.Errorf("the second signup gave %+v", again)
	}
	p := c.refused(http.MethodPost, "/api/v1/runs", `{"account_id":1}`, http.StatusConflict, domain.CodeConflict)
	if !strings.Contains(p.Detail, "run 1") {
		t.Errorf("the refusal does not name the active run: %s", p.Detail)
	}
	var list wire.RunList
	c.do(http.MethodGet, "/api/v1/runs?active=true", "", http.StatusOK, &list)
	if runIDs(list) != "1" {
		t.Errorf("active are %q", runIDs(list))
	}
	var detail wire.RunDetail
	c.do(http.MethodGet, "/api/v1/runs/1", "", http.StatusOK, &detail)
	if detail.Status != domain.RunRunning || detail.LedgerSummary.Gaps != 1 {
		t.Errorf("got %+v", detail)
	}
	var run domain.Run
	c.do(http.MethodPost, "/api/v1/runs/1/cancel", `{"reason":"not needed"}`, http.StatusOK, &run)
	if run.Status != domain.RunCanceled || run.Reason != "not needed" {
		t.Errorf("got %+v", run)
	}
}

func TestPauseAndResume(t *testing.T) {
	c := newCaller(t, apitest.Options{})
	c.signup("noop", "ann", "t1", http.StatusCreated)
	c.wait(1)
	var a domain.Account
	c.do(http.MethodPost, "/api/v1/accounts/1/pause", `{"reason":"holiday"}`, http.StatusOK, &a)
	if a.State != domain.AccountPaused || a.Reason != "holiday" {
		t.Errorf("got %+v", a)
	}
	p := c.refused(http.MethodPost, "/api/v1/runs", `{"account_id":1}`, http.StatusConflict, domain.CodeConflict)
	if !strings.Contains(p.Detail, "holiday") {
		t.Errorf("the refusal does not say why: %s", p.Detail)
	}
	var resumed domain.Account
	c.do(http.MethodPost, "/api/v1/accounts/ann/resume?source=noop", "", http.StatusOK, &resumed)
	if resumed.State != domain.AccountActive || resumed.Reason != "" {
		t.Errorf("got %+v", resumed)
	}
	c.do(http.MethodPost, "/api/v1/accounts/1/pause", "", http.StatusOK, &a)
	if a.State != domain.AccountPaused || a.Reason == "" {
		t.Errorf("without a reason got %+v", a)
	}
	var list wire.AccountList
	c.do(http.MethodGet, "/api/v1/accounts", "", http.StatusOK, &list)
	if len(list.Items) != 1 || list.Items[0].Login != "ann" {
		t.Errorf("got %+v", list)
	}
	for _, path := range []string{"", "/statistics"} {
		c.refused(http.MethodGet, "/api/v1/accounts/nobody"+path, "", http.StatusNotFound, domain.CodeNotFound)
	}
	for _, path := range []string{"/pause", "/resume"} {
		c.refused(http.MethodPost, "/api/v1/accounts/77"+path, "", http.StatusNotFound, domain.CodeNotFound)
	}
}

func TestJobs(t *testing.T) {
	fail := func(call source.Call) (source.Result, bool) {
		if call.Job.Resource != "item:1" || call.Job.Attempt > 1 {
			return source.Result{}, false
		}
		return source.Result{Verdict: source.Fail, Failure: &domain.Failure{Kind: domain.FailureGone, Message: "it is gone"}}, true
	}
	c := newCaller(t, apitest.Options{OnCall: fail, NoopJobs: 3})
	c.signup("noop", "ann", "t1", http.StatusCreated)
	c.wait(1)
	var list wire.JobList
	c.do(http.MethodGet, "/api/v1/jobs?run=1&status=FAILED", "", http.StatusOK, &list)
	if len(list.Items) != 1 {
		t.Fatalf("failed are %+v", list)
	}
	failed := list.Items[0]
	if failed.ErrorKind != domain.FailureGone || failed.Error != "it is gone" || failed.Type != "NOOP" || failed.FinishedAt.IsZero() {
		t.Errorf("got %+v", failed)
	}
	var pages []int
	for cursor := ""; ; cursor = list.NextCursor {
		query := "/api/v1/jobs?run=1&limit=3"
		if cursor != "" {
			query += "&cursor=" + cursor
		}
		list = wire.JobList{}
		c.do(http.MethodGet, query, "", http.StatusOK, &list)
		pages = append(pages, len(list.Items))
		if list.NextCursor == "" {
			break
		}
	}
	if fmt.Sprint(pages) != "[3 1]" {
		t.Errorf("pages of %v jobs", pages)
	}
	c.do(http.MethodGet, "/api/v1/jobs?status=SUCCEEDED,FAILED", "", http.StatusOK, &list)
	if len(list.Items) != 4 {
		t.Errorf("got %d ended jobs", len(list.Items))
	}
	var job wire.Job
	c.do(http.MethodGet, fmt.Sprintf("/api/v1/jobs/%d", failed.ID), "", http.StatusOK, &job)
	if job != failed {
		t.Errorf("got %+v, listed was %+v", job, failed)
	}
	c.do(http.MethodPost, fmt.Sprintf("/api/v1/jobs/%d/retry", failed.ID), "", http.StatusOK, &job)
	if job.ID != failed.ID || job.Failures != 0 {
		t.Errorf("got %+v", job)
	}
	if run := c.wait(1); run.Failed != 0 || run.Status != domain.RunCompleted {
		t.Errorf("after the retry the run is %+v", run)
	}
	c.refused(http.MethodPost, fmt.Sprintf("/api/v1/jobs/%d/retry", failed.ID), "", http.StatusConflict, domain.CodeIllegalMove)
	c.refused(http.MethodGet, "/api/v1/jobs/999", "", http.StatusNotFound, domain.CodeNotFound)
	c.refused(http.MethodPost, "/api/v1/jobs/999/retry", "", http.StatusNotFound, domain.CodeNotFound)
}
