package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sluice/internal/config"
	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/engine/enginetest"
	"sluice/internal/httpapi"
	"sluice/internal/httpapi/apitest"
	"sluice/internal/httpapi/wire"
	"sluice/internal/schedule"
	"sluice/internal/source"
	"sluice/internal/wiring"
)

// newHarvested is a caller of a service whose accounts, of the source noop, are
// collected every six hours. broken decides which calls fail.
func newHarvested(t *testing.T, broken func(source.Call) (source.Result, bool)) *caller {
	t.Helper()
	every, err := schedule.Parse([]byte(`{"every":"6h","spread":"0s"}`))
	if err != nil {
		t.Fatal(err)
	}
	w, err := wiring.Open(t.Context(), wiring.Options{
		Config: config.Embedded(t.TempDir()), Sources: []source.Source{&enginetest.Noop{Jobs: 3, FanOut: 10, OnCall: broken}},
		Engine: engine.Config{Workers: 2, BackoffBase: time.Millisecond, Harvests: map[string]schedule.Policy{"noop": every}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close(context.WithoutCancel(t.Context())) })
	if err := w.Engine.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(httpapi.New(httpapi.Deps{
		Orchestrator: w.Engine, Observer: w.Engine, Reader: w.State, Quota: w.Quota, Statistics: w.Statistics, Documents: w.Documents, Sources: described,
	}, httpapi.Options{}))
	t.Cleanup(server.Close)
	return &caller{T: t, service: &apitest.Service{Service: w, URL: server.URL, Log: &apitest.Log{}}, http: &http.Client{}}
}

// planned reads an account's schedule until something is planned: that follows
// the end of a run at once.
func (c *caller) planned(path string) (s wire.Schedule) {
	c.Helper()
	changed, end := c.service.Engine.Watch()
	defer end()
	for s.Next == nil {
		s = wire.Schedule{}
		c.do(http.MethodGet, path, "", http.StatusOK, &s)
		if s.Next == nil {
			select {
			case <-changed:
			case <-time.After(10 * time.Millisecond): // a plan is not announced
			}
		}
	}
	return s
}

func TestSchedules(t *testing.T) {
	c := newHarvested(t, nil)
	a := c.signup("noop", "ann", "secret", http.StatusCreated)
	c.wait(a.Run.ID)
	const path = "/api/v1/accounts/ann/schedule?source=noop"
	s := c.planned(path)
	if s.AccountID != a.Account.ID || s.Login != "ann" || s.Policy != (wire.Policy{}) || s.Next.Priority != domain.PriorityLow || s.Next.Reason != "every 6h" {
		t.Errorf("got %+v with %+v", s, s.Next)
	}
	first := s.Next.At
	for _, put := range []struct{ body, reason string }{
		{`{"every":"90m","quiet":"","after_failure":"1h"}`, "every 1h30m"},
		{`{"cron":"0 3 * * *","zone":"Asia/Seoul"}`, "cron 0 3 * * * (Asia/Seoul)"},
		{`{}`, "every 6h"},
	} {
		var shown, again wire.Schedule
		c.do(http.MethodPut, path, put.body, http.StatusOK, &shown)
		c.do(http.MethodGet, fmt.Sprintf("/api/v1/accounts/%d/schedule", a.Account.ID), "", http.StatusOK, &again)
		if shown.Next == nil || again.Next == nil || *shown.Next != *again.Next || shown.Next.Reason != put.reason || shown.Policy != again.Policy {
			t.Errorf("%s: got %+v, then %+v", put.body, shown, again)
		}
	}
	if back := c.planned(path); !back.Next.At.Equal(first) {
		t.Errorf("as at first it is %s, was %s", back.Next.At, first)
	}
	off := wire.Schedule{}
	c.do(http.MethodPut, path, `{"off":true}`, http.StatusOK, &off)
	if off.Next != nil || off.Policy.Off == nil || !*off.Policy.Off {
		t.Errorf("off is %+v", off)
	}
}

// TestBadSchedules: the answer names the fix, and nothing is stored.
func TestBadSchedules(t *testing.T) {
	c := newHarvested(t, nil)
	a := c.signup("noop", "ann", "secret", http.StatusCreated)
	c.wait(a.Run.ID)
	const path = "/api/v1/accounts/ann/schedule?source=noop"
	c.do(http.MethodPut, path, `{"every":"7h"}`, http.StatusOK, nil)
	before := c.planned(path)
	for body, says := range map[string]string{
		`{"cron":"every day"}`:                           "five fields",
		`{"cron":"0 25 * * *"}`:                          "hour (0-23)",
		`{"cron":"0 0 31 2 *"}`:                          "choose a day that exists",
		`{"cron":"0 3 * * *","zone":"Mars/Olympus"}`:     "Asia/Seoul",
		`{"every":"6h","cron":"0 3 * * *"}`:              "leave one of them out",
		`{"every":"1s"}`:                                 "write 1m or more",
		`{"every":"often"}`:                              "1h30m",
		`{"quiet":"late"}`:                               "",
		`{"quiet":"00:00-23:30 UTC"}`:                    "at least 1h",
		`{"after_success":"-5m"}`:                        "write 0s for none",
		`{"ever":"6h"}`:                                  "",
		`{"every":"` + strings.Repeat("9", 60) + `h"}`:   "",
		`{"cron":"TZ=Asia/Seoul 0 3 * * *"}`:             "belongs in zone",
		`{"cron":"@every 6h"}`:                           "belongs in every",
		`{"every":"6h","spread":"-1m","zone":"Etc/UTC"}`: "write 0s for none",
	} {
		p := c.refused(http.MethodPut, path, body, http.StatusUnprocessableEntity, domain.CodeInvalid)
		if text := fmt.Sprint(p); !strings.Contains(text, says) {
			t.Errorf("%s: the answer does not say %q: %s", body, says, text)
		}
	}
	if after := c.planned(path); after.Policy != before.Policy || *after.Next != *before.Next {
		t.Errorf("something was stored: %+v, then %+v", before, after)
	}
	c.refused(http.MethodGet, "/api/v1/accounts/nobody/schedule?source=noop", "", http.StatusNotFound, domain.CodeNotFound)
	c.refused(http.MethodPut, "/api/v1/accounts/nobody/schedule?source=noop", `{}`, http.StatusNotFound, domain.CodeNotFound)
}

func TestPriorityAndResume(t *testing.T) {
	gate, broken := make(chan struct{}), make(chan struct{})
	c := newHarvested(t, func(call source.Call) (source.Result, bool) {
		<-gate
		select {
		case <-broken:
			return source.Result{}, false
		default:
		}
		failure := &domain.Failure{Kind: domain.FailureServer, Message: "500"}
		return source.Result{Verdict: source.Retry, Failure: failure}, call.Job.Resource == "item:1"
	})
	run := c.signup("noop", "ann", "secret", http.StatusCreated).Run
	path := fmt.Sprintf("/api/v1/runs/%d", run.ID)
	for _, p := range []domain.Priority{domain.PriorityLow, domain.PriorityHigh, domain.PriorityLow} {
		var changed domain.Run
		var shown wire.RunDetail
		c.do(http.MethodPost, path+"/priority", fmt.Sprintf(`{"priority":%q}`, p), http.StatusOK, &changed)
		c.do(http.MethodGet, path, "", http.StatusOK, &shown)
		if changed.ID != run.ID || changed.Priority != p || shown.Priority != p {
			t.Errorf("the priority is %s and shown as %s, want %s", changed.Priority, shown.Priority, p)
		}
	}
	for _, body := range []string{`{"priority":"URGENT"}`, `{"priority":"low"}`, `{}`, `{"priority":""}`} {
		c.refused(http.MethodPost, path+"/priority", body, http.StatusUnprocessableEntity, domain.CodeInvalid)
	}
	c.refused(http.MethodPost, "/api/v1/runs/99/priority", `{"priority":"HIGH"}`, http.StatusNotFound, domain.CodeNotFound)
	c.refused(http.MethodPost, "/api/v1/runs/99/resume", ``, http.StatusNotFound, domain.CodeNotFound)
	close(gate)
	if ended := c.wait(run.ID); ended.Status != domain.RunCompleted || ended.Failed != 1 {
		t.Fatalf("the run ended as %+v", ended)
	}
	c.refused(http.MethodPost, path+"/priority", `{"priority":"HIGH"}`, http.StatusConflict, domain.CodeConflict)
	if s := c.planned("/api/v1/accounts/ann/schedule?source=noop"); s.Next.Resume != run.ID || s.Next.Priority != domain.PriorityHigh {
		t.Errorf("planned is %+v", s.Next)
	}
	close(broken)
	var resumed domain.Run
	c.do(http.MethodPost, path+"/resume", "", http.StatusOK, &resumed)
	if resumed.ID != run.ID || resumed.Priority != domain.PriorityHigh {
		t.Errorf("resumed is %+v", resumed)
	}
	if ended := c.wait(run.ID); ended.Status != domain.RunCompleted || ended.Failed != 0 {
		t.Errorf("the run ended as %+v", ended)
	}
	c.refused(http.MethodPost, path+"/resume", "", http.StatusConflict, domain.CodeConflict)
}

func TestDeleteAccount(t *testing.T) {
	c := newHarvested(t, nil)
	a := c.signup("noop", "ann", "secret", http.StatusCreated)
	c.wait(a.Run.ID)
	var gone domain.Account
	c.do(http.MethodDelete, "/api/v1/accounts/ann?source=noop", "", http.StatusOK, &gone)
	if gone.ID != a.Account.ID || gone.State != domain.AccountDeleted || !strings.Contains(gone.Reason, "signing up again") {
		t.Errorf("got %+v", gone)
	}
	var s wire.Schedule
	c.do(http.MethodGet, "/api/v1/accounts/ann/schedule?source=noop", "", http.StatusOK, &s)
	if s.Next != nil {
		t.Errorf("a deleted account has planned %+v", s.Next)
	}
	c.do(http.MethodDelete, "/api/v1/accounts/ann?source=noop", "", http.StatusOK, nil)
	c.refused(http.MethodDelete, "/api/v1/accounts/nobody?source=noop", "", http.StatusNotFound, domain.CodeNotFound)
	again := c.signup("noop", "ann", "secret", http.StatusCreated)
	if again.Account.ID != a.Account.ID || again.Account.State != domain.AccountActive || !again.Started {
		t.Errorf("signed up again: %+v", again)
	}
	if ended := c.wait(again.Run.ID); ended.Status != domain.RunCompleted {
		t.Errorf("the run ended as %+v", ended)
	}
}
