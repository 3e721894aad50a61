package client_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"sluice/internal/client"
	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/httpapi/apitest"
	"sluice/internal/httpapi/wire"
	"sluice/internal/source"
)

const apiToken = "the-api-token"

func start(t *testing.T, o apitest.Options) (*client.Client, *apitest.Service) {
	t.Helper()
	o.APIToken = apiToken
	s := apitest.Start(t, o)
	return newClient(t, s.URL, apiToken), s
}

func newClient(t *testing.T, url, token string) *client.Client {
	t.Helper()
	c, err := client.New(url, token, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// ok returns the value of a call that must succeed.
func ok[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestCollection(t *testing.T) {
	c, s := start(t, apitest.Options{})
	ctx := t.Context()
	if err := c.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	who := s.Signup(1)
	signed := ok[wire.SignupAnswer](t)(c.Signup(ctx, who))
	if !signed.Started || signed.Account.Login != who.Login {
		t.Errorf("got %+v", signed)
	}
	var last engine.Progress
	seen := 0
	for p, err := range c.WatchRun(ctx, signed.Run.ID) {
		if err != nil {
			t.Fatal(err)
		}
		last, seen = p, seen+1
	}
	if last.Status != domain.RunCompleted || last.Failed != 0 || seen == 0 {
		t.Errorf("after %d events the run is %+v", seen, last)
	}
	detail := ok[wire.RunDetail](t)(c.Run(ctx, signed.Run.ID, true))
	if detail.Run != last.Run || detail.LedgerSummary.Gaps != 0 || len(detail.Ledger) == 0 {
		t.Errorf("got %+v, want the run %+v", detail, last.Run)
	}
	if detail := ok[wire.RunDetail](t)(c.Run(ctx, signed.Run.ID, false)); detail.Ledger != nil {
		t.Error("got a ledger unasked")
	}
	if got := ok[domain.Account](t)(c.Account(ctx, who.Login)); got.ID != signed.Account.ID {
		t.Errorf("got %+v", got)
	}
	if got := ok[wire.AccountList](t)(c.Accounts(ctx, client.AccountFilter{})).Items; len(got) != 1 || got[0].ID != signed.Account.ID {
		t.Errorf("got %+v", got)
	}
	statistics, err := c.Statistics(ctx, who.Login)
	if err != nil || !strings.HasPrefix(string(statistics), "{") {
		t.Errorf("got %s, %v", statistics, err)
	}
	floor := 300
	kept, err := c.SetAccount(ctx, who.Login, wire.AccountSettings{Floor: &floor})
	if err != nil || kept.Floor != floor {
		t.Errorf("got %+v, %v", kept, err)
	}
	ours := func(w wire.QuotaWindow) bool { return w.Owner == kept.Owner }
	if q := ok[wire.Quota](t)(c.Quota(ctx, who.Login, client.Page{})); !slices.ContainsFunc(q.Items, ours) {
		t.Errorf("got %+v", q)
	}
}

func TestOperating(t *testing.T) {
	gate := make(chan struct{})
	open := sync.OnceFunc(func() { close(gate) })
	c, s := start(t, apitest.Options{OnCall: func(call source.Call) (source.Result, bool) {
		<-gate
		if call.Job.Resource == "item:1" && call.Job.Attempt == 1 {
			return source.Result{Verdict: source.Fail, Failure: &domain.Failure{Kind: domain.FailureGone, Message: "it is gone"}}, true
		}
		return source.Result{}, false
	}})
	t.Cleanup(open) // before the engine is stopped
	ctx := t.Context()
	first := ok[wire.SignupAnswer](t)(c.Signup(ctx, engine.Signup{Source: "noop", Login: "ann", Token: "t1"}))
	again := ok[wire.SignupAnswer](t)(c.Signup(ctx, engine.Signup{Source: "noop", Login: "ann", Token: "t2"}))
	if again.Started || again.Run.ID != first.Run.ID {
		t.Errorf("got %+v", again)
	}
	canceled := ok[domain.Run](t)(c.CancelRun(ctx, first.Run.ID, "not needed"))
	if canceled.Status != domain.RunCanceled || canceled.Reason != "not needed" {
		t.Errorf("got %+v", canceled)
	}
	open()
	run := ok[domain.Run](t)(c.StartRun(ctx, wire.RunRequest{Source: "noop", Login: "ann", Priority: "LOW"}))
	if run.Priority != domain.PriorityLow {
		t.Errorf("got %+v", run)
	}
	s.Wait(t, run.ID)

	runs := ok[wire.RunList](t)(c.Runs(ctx, client.RunFilter{Account: "1", Page: client.Page{Limit: 1}}))
	if len(runs.Items) != 1 || runs.Items[0].ID != run.ID || runs.NextCursor != fmt.Sprint("runs:", run.ID) {
		t.Errorf("got %+v", runs)
	}
	if runs := ok[wire.RunList](t)(c.Runs(ctx, client.RunFilter{Page: client.Page{Cursor: fmt.Sprint(run.ID)}})); len(runs.Items) != 1 || runs.NextCursor != "" {
		t.Errorf("got %+v", runs)
	}
	if runs := ok[wire.RunList](t)(c.Runs(ctx, client.RunFilter{Active: true})); len(runs.Items) != 0 {
		t.Errorf("got %+v", runs)
	}
	jobs := ok[wire.JobList](t)(c.Jobs(ctx, client.JobFilter{Run: run.ID, Status: []string{"FAILED", "PAUSED"}}))
	if len(jobs.Items) != 1 || jobs.Items[0].Error != "it is gone" {
		t.Fatalf("got %+v", jobs)
	}
	failed := jobs.Items[0]
	if job := ok[wire.Job](t)(c.Job(ctx, failed.ID)); job != failed {
		t.Errorf("got %+v, want %+v", job, failed)
	}
	if page := ok[wire.JobList](t)(c.Jobs(ctx, client.JobFilter{Run: run.ID, Page: client.Page{Limit: 1}})); page.NextCursor == "" || len(page.Items) != 1 {
		t.Errorf("got %+v", page)
	} else if rest := ok[wire.JobList](t)(c.Jobs(ctx, client.JobFilter{Run: run.ID, Page: client.Page{Cursor: page.NextCursor}})); len(rest.Items) != 3 {
		t.Errorf("got %+v", rest)
	}
	if job := ok[wire.Job](t)(c.RetryJob(ctx, failed.ID)); job.ID != failed.ID {
		t.Errorf("got %+v", job)
	}
	if run := s.Wait(t, run.ID); run.Failed != 0 {
		t.Errorf("after the retry: %+v", run)
	}
	if a := ok[domain.Account](t)(c.Pause(ctx, "1", "holiday")); a.State != domain.AccountPaused || a.Reason != "holiday" {
		t.Errorf("got %+v", a)
	}
	if a := ok[domain.Account](t)(c.Resume(ctx, "1")); a.State != domain.AccountActive {
		t.Errorf("got %+v", a)
	}
}

func TestErrorsKeepTheirCode(t *testing.T) {
	c, s := start(t, apitest.Options{})
	ctx := t.Context()
	ok[wire.SignupAnswer](t)(c.Signup(ctx, engine.Signup{Source: "noop", Login: "ann", Token: "t1"}))
	s.Wait(t, 1)
	for what, test := range map[string]struct {
		call func() error
		code domain.Code
		says string
	}{
		"unknown run":   {func() error { _, err := c.Run(ctx, 99, false); return err }, domain.CodeNotFound, "99"},
		"unknown job":   {func() error { _, err := c.Job(ctx, 99); return err }, domain.CodeNotFound, "99"},
		"odd login":     {func() error { _, err := c.Account(ctx, "a/../b"); return err }, domain.CodeNotFound, "there is no account"},
		"no statistics": {func() error { _, err := c.Statistics(ctx, "nobody"); return err }, domain.CodeNotFound, "nobody"},
		"ended run":     {func() error { _, err := c.CancelRun(ctx, 1, ""); return err }, domain.CodeIllegalMove, "COMPLETED"},
		"too many":      {func() error { _, err := c.Runs(ctx, client.RunFilter{Page: client.Page{Limit: 5000}}); return err }, domain.CodeInvalid, "query.limit"},
		"no token":      {func() error { _, err := c.Signup(ctx, engine.Signup{Source: "noop", Login: "nobody"}); return err }, domain.CodeInvalid, "needs a token"},
		"unknown source": {func() error {
			_, err := c.Signup(ctx, engine.Signup{Source: "x", Login: "ann", Token: "t"})
			return err
		}, domain.CodeInvalid, "there is no source"},
		"unknown stream": {func() error { return firstError(c.WatchRun(ctx, 99)) }, domain.CodeNotFound, "99"},
		"no API token":   {func() error { _, err := newClient(t, s.URL, "").Accounts(ctx, client.AccountFilter{}); return err }, domain.CodeUnauthorized, "API token"},
		"wrong token":    {func() error { return firstError(newClient(t, s.URL, "wrong").Watch(ctx)) }, domain.CodeUnauthorized, "API token"},
	} {
		err := test.call()
		if domain.CodeOf(err) != test.code || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: got %v of code %s, want %s saying %q", what, err, domain.CodeOf(err), test.code, test.says)
		}
	}
}

func firstError(stream func(func(engine.Progress, error) bool)) error {
	for _, err := range stream {
		return err
	}
	return nil
}

func TestNobodyListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	c := newClient(t, address, apiToken)
	_, listErr := c.Accounts(t.Context(), client.AccountFilter{})
	for _, err := range []error{listErr, firstError(c.Watch(t.Context()))} {
		if domain.CodeOf(err) != domain.CodeUnavailable || !strings.Contains(err.Error(), address) || !strings.Contains(err.Error(), "sluice up") {
			t.Errorf("got %v of code %s", err, domain.CodeOf(err))
		}
		if strings.Contains(err.Error(), apiToken) {
			t.Errorf("%v shows the token", err)
		}
	}
}

func TestSomethingElseListens(t *testing.T) {
	stolen := ""
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { stolen += r.Header.Get("Authorization") + "!" }))
	defer thief.Close()
	for what, test := range map[string]struct {
		handler http.HandlerFunc
		code    domain.Code
	}{
		"a web page":     {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }, domain.CodeUnavailable},
		"a wrong path":   {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }, domain.CodeInvalid},
		"a broken proxy": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }, domain.CodeUnavailable},
		"a redirect":     {http.RedirectHandler(thief.URL, http.StatusTemporaryRedirect).ServeHTTP, domain.CodeInvalid},
	} {
		server := httptest.NewServer(test.handler)
		_, err := newClient(t, server.URL, apiToken).Accounts(t.Context(), client.AccountFilter{})
		server.Close()
		if domain.CodeOf(err) != test.code || !strings.Contains(err.Error(), server.URL) {
			t.Errorf("%s: got %v of code %s", what, err, domain.CodeOf(err))
		}
	}
	if stolen != "" {
		t.Errorf("the redirect was followed with %q", stolen)
	}
}

func TestWrongAddress(t *testing.T) {
	for _, address := range []string{"", "127.0.0.1:8090", "ftp://host", "http://", "http://user:password@host", "http://host?x=1", "http://a b"} {
		if _, err := client.New(address, "", nil); domain.CodeOf(err) != domain.CodeInvalid || strings.Contains(err.Error(), "password") {
			t.Errorf("%q: got %v", address, err)
		}
	}
}

func TestCanceledCall(t *testing.T) {
	c, _ := start(t, apitest.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, listErr := c.Accounts(ctx, client.AccountFilter{})
	for _, err := range []error{listErr, firstError(c.Watch(ctx))} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
}
