package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"sluice/internal/client"
	"sluice/internal/domain"
	"sluice/internal/httpapi/apitest"
	"sluice/internal/httpapi/wire"
	"sluice/internal/source"
	"sluice/internal/state"
)

// failTwice fails two items of every account, each for a reason of its own, until
// they are retried.
func failTwice(call source.Call) (source.Result, bool) {
	kinds := map[string]domain.FailureKind{"item:1": domain.FailureGone, "item:2": domain.FailureInvalid}
	kind, fails := kinds[call.Job.Resource]
	if !fails || call.Job.Attempt > 1 {
		return source.Result{}, false
	}
	return source.Result{Verdict: source.Fail, Failure: &domain.Failure{Kind: kind, Message: "it is gone"}}, true
}

func TestJobFilters(t *testing.T) {
	c := newCaller(t, apitest.Options{OnCall: failTwice, NoopJobs: 3})
	for _, login := range []string{"ann", "bob"} {
		c.wait(c.signup("noop", login, login+"-token", http.StatusCreated).Run.ID)
	}
	for query, want := range map[string]int{
		"": 8, "?type=NOOP": 6, "?type=OTHER": 0, "?status=FAILED": 4, "?error=gone": 2, "?error=gone&account=bob&source=noop": 1,
		"?account=1": 4, "?account=1&status=FAILED,SUCCEEDED&type=NOOP": 3, "?status=READY": 0, "?run=2&error=invalid": 1,
	} {
		var list wire.JobList
		c.do(http.MethodGet, "/api/v1/jobs"+query, "", http.StatusOK, &list)
		if len(list.Items) != want || list.NextCursor != "" {
			t.Errorf("%q lists %d jobs and goes on at %q, want %d", query, len(list.Items), list.NextCursor, want)
		}
	}
	for _, query := range []string{"?error=nonsense", "?cursor=x", "?cursor=-3", "?account=nobody&source=noop"} {
		status, code := http.StatusUnprocessableEntity, domain.CodeInvalid
		if strings.Contains(query, "nobody") {
			status, code = http.StatusNotFound, domain.CodeNotFound
		}
		c.refused(http.MethodGet, "/api/v1/jobs"+query, "", status, code)
	}
}

func TestBulkRetry(t *testing.T) {
	c := newCaller(t, apitest.Options{OnCall: failTwice, NoopJobs: 3})
	for _, login := range []string{"ann", "bob"} {
		c.wait(c.signup("noop", login, login+"-token", http.StatusCreated).Run.ID)
	}
	retry := func(body string) (out wire.BulkAnswer) {
		c.do(http.MethodPost, "/api/v1/jobs/retry", body, http.StatusOK, &out)
		return out
	}
	c.refused(http.MethodPost, "/api/v1/jobs/retry", `{}`, http.StatusUnprocessableEntity, domain.CodeInvalid)
	c.refused(http.MethodPost, "/api/v1/jobs/retry", `{"error":"nonsense"}`, http.StatusUnprocessableEntity, domain.CodeInvalid)
	if dry := retry(`{"all":true,"dry_run":true}`); dry.Matched != 4 || dry.Changed != 0 || !dry.DryRun {
		t.Errorf("a dry run says %+v", dry)
	}
	if none := retry(`{"error":"timeout"}`); none.Matched != 0 {
		t.Errorf("got %+v", none)
	}
	if one := retry(`{"error":"gone","account":"bob","source":"noop"}`); one.Matched != 1 || one.Changed != 1 {
		t.Errorf("got %+v", one)
	}
	c.wait(2)
	// A batch at a time.
	total, batches := 0, 0
	for cursor := ""; ; {
		answer := retry(fmt.Sprintf(`{"all":true,"limit":1,"cursor":%q}`, cursor))
		total += answer.Changed
		if batches++; answer.NextCursor == "" {
			break
		}
		cursor = answer.NextCursor
		c.wait(1)
		c.wait(2)
	}
	if total != 3 || batches < 3 {
		t.Errorf("%d jobs were retried in %d batches, want 3 in as many", total, batches)
	}
	for _, run := range []int64{1, 2} {
		if r := c.wait(run); r.Failed != 0 || r.Status != domain.RunCompleted {
			t.Errorf("after the retry the run is %+v", r)
		}
	}
}

// TestBulkCancelOfJobs cancels what matches with the runs that it is of.
func TestBulkCancelOfJobs(t *testing.T) {
	onCall, release := holdCalls()
	c := newCaller(t, apitest.Options{OnCall: onCall, NoopJobs: 3})
	t.Cleanup(release) // which is before the engine is stopped
	for _, login := range []string{"ann", "bob"} {
		c.signup("noop", login, login+"-token", http.StatusCreated)
	}
	const path = "/api/v1/jobs/cancel"
	var dry, one, none wire.BulkAnswer
	c.refused(http.MethodPost, path, `{"reason":"all of them"}`, http.StatusUnprocessableEntity, domain.CodeInvalid)
	c.do(http.MethodPost, path, `{"account":"bob","source":"noop","dry_run":true}`, http.StatusOK, &dry)
	if dry.Matched == 0 || dry.Changed != 0 || !dry.DryRun {
		t.Errorf("a dry run says %+v", dry)
	}
	// Nothing is paused, and what has ended is not canceled.
	c.do(http.MethodPost, path, `{"status":"PAUSED","account":"bob","source":"noop"}`, http.StatusOK, &none)
	if none.Matched != 0 {
		t.Errorf("of what is paused: %+v", none)
	}
	c.refused(http.MethodPost, path, `{"status":"FAILED"}`, http.StatusUnprocessableEntity, domain.CodeInvalid)
	c.do(http.MethodPost, path, `{"account":"bob","source":"noop","reason":"not needed"}`, http.StatusOK, &one)
	if one.Matched != dry.Matched || one.Changed != dry.Matched || one.Skipped != 0 {
		t.Errorf("got %+v", one)
	}
	c.do(http.MethodPost, path, `{"account":"bob","source":"noop"}`, http.StatusOK, &none)
	if none.Matched != 0 {
		t.Errorf("once more: %+v", none)
	}
	var list wire.RunList
	c.do(http.MethodGet, "/api/v1/runs", "", http.StatusOK, &list)
	if len(list.Items) != 2 || list.Items[0].Status != domain.RunCanceled || list.Items[0].Reason != "not needed" || !list.Items[1].Status.Active() {
		t.Errorf("got %+v", list)
	}
}

func TestBulkCancel(t *testing.T) {
	onCall, release := holdCalls()
	c := newCaller(t, apitest.Options{OnCall: onCall})
	t.Cleanup(release) // which is before the engine is stopped
	for _, login := range []string{"ann", "bob", "cid"} {
		c.signup("noop", login, login+"-token", http.StatusCreated)
	}
	cancel := func(body string) (out wire.BulkAnswer) {
		c.do(http.MethodPost, "/api/v1/runs/cancel", body, http.StatusOK, &out)
		return out
	}
	c.refused(http.MethodPost, "/api/v1/runs/cancel", `{"reason":"all of them"}`, http.StatusUnprocessableEntity, domain.CodeInvalid)
	if dry := cancel(`{"status":"RUNNING","dry_run":true}`); dry.Matched != 3 || dry.Changed != 0 {
		t.Errorf("a dry run says %+v", dry)
	}
	if one := cancel(`{"account":"bob","source":"noop","reason":"not needed"}`); one.Changed != 1 {
		t.Errorf("got %+v", one)
	}
	if rest := cancel(`{"all":true}`); rest.Matched != 2 || rest.Changed != 2 || rest.NextCursor != "" {
		t.Errorf("got %+v", rest)
	}
	var list wire.RunList
	c.do(http.MethodGet, "/api/v1/runs?status=CANCELED", "", http.StatusOK, &list)
	if len(list.Items) != 3 || list.Items[1].Reason != "not needed" {
		t.Errorf("got %+v", list)
	}
}

func TestAccountDetail(t *testing.T) {
	c := newCaller(t, apitest.Options{})
	who := c.service.Signup(0)
	var added wire.SignupAnswer
	c.do(http.MethodPost, "/api/v1/accounts", fmt.Sprintf(`{"source":"github","login":%q,"token":%q,"start":false}`, who.Login, who.Token), http.StatusCreated, &added)
	if added.Account.ID == 0 || added.Run.ID != 0 || added.Started {
		t.Fatalf("adding an account gave %+v", added)
	}
	var d wire.AccountDetail
	c.do(http.MethodGet, "/api/v1/accounts/"+who.Login, "", http.StatusOK, &d)
	if d.LastRun != nil || len(d.Documents) != 0 || d.State != domain.AccountActive {
		t.Errorf("before it is collected: %+v", d)
	}
	c.do(http.MethodPost, "/api/v1/runs", fmt.Sprintf(`{"login":%q}`, who.Login), http.StatusCreated, nil)
	c.wait(1)
	c.do(http.MethodGet, "/api/v1/accounts/"+who.Login, "", http.StatusOK, &d)
	if d.LastRun == nil || d.LastRun.Status != domain.RunCompleted || d.Documents["commit"] == 0 || len(d.Quota) == 0 || d.Quota[0].Used == 0 {
		t.Errorf("when it is collected: %+v", d)
	}
}

func TestPurge(t *testing.T) {
	onCall, release := holdCalls()
	c := newCaller(t, apitest.Options{OnCall: onCall})
	t.Cleanup(release)
	api, err := client.New(c.service.URL, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	active := c.signup("noop", "ann", "t1", http.StatusCreated)
	p := c.refused(http.MethodPost, "/api/v1/accounts/1/purge", "", http.StatusConflict, domain.CodeConflict)
	if !strings.Contains(p.Detail, "run 1") {
		t.Errorf("the refusal does not name the active run: %s", p.Detail)
	}
	c.refused(http.MethodPost, "/api/v1/accounts/99/purge", "", http.StatusNotFound, domain.CodeNotFound)
	purged, err := api.PurgeAccount(t.Context(), "1", true)
	if err != nil || purged.Removed[state.PurgedRuns] != 1 || purged.Removed[state.PurgedJobs] == 0 {
		t.Fatalf("purging removed %+v, %v", purged, err)
	}
	release() // the calls that were under way bring nothing
	c.refused(http.MethodGet, "/api/v1/accounts/ann?source=noop", "", http.StatusNotFound, domain.CodeNotFound)
	c.refused(http.MethodGet, fmt.Sprintf("/api/v1/runs/%d", active.Run.ID), "", http.StatusNotFound, domain.CodeNotFound)
	for _, path := range []string{"/resume", "/pause"} {
		c.refused(http.MethodPost, "/api/v1/accounts/1"+path, "", http.StatusConflict, domain.CodeConflict)
	}
	var list wire.AccountList
	if c.do(http.MethodGet, "/api/v1/accounts", "", http.StatusOK, &list); len(list.Items) != 0 {
		t.Errorf("listed are %+v", list)
	}
	if c.do(http.MethodGet, "/api/v1/accounts?state=purged", "", http.StatusOK, &list); len(list.Items) != 1 || list.Items[0].Login != "purged:1" {
		t.Errorf("purged are %+v", list)
	}
	// Once more finds nothing; who signs up again begins anew.
	if again, err := api.PurgeAccount(t.Context(), "1", false); err != nil || again.Removed.Total() != 0 {
		t.Errorf("purging again removed %+v, %v", again, err)
	}
	again := c.signup("noop", "ann", "t1", http.StatusCreated)
	if again.Account.ID == 1 || again.Run.ID == active.Run.ID {
		t.Errorf("the id of a purged account or its run was used again: %+v", again)
	}
	c.wait(again.Run.ID)
}

func TestStatisticsAsDeadLetters(t *testing.T) {
	c := newCaller(t, apitest.Options{})
	for _, login := range []string{"ann", "bob", "cid"} {
		c.wait(c.signup("noop", login, login+"-token", http.StatusCreated).Run.ID)
	}
	for _, account := range []int64{1, 2, 3} {
		// As the engine leaves it when it has given up.
		run, err := c.service.State.CreateRun(t.Context(), state.RunSpec{AccountID: account, Trigger: domain.TriggerManual, Priority: domain.PriorityHigh})
		if err == nil {
			_, err = c.service.State.FailRun(t.Context(), run.ID, domain.NoStatistics+"out of memory")
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	list := func(query string) (out wire.DeadLetterList) {
		c.do(http.MethodGet, "/api/v1/dlq"+query, "", http.StatusOK, &out)
		return out
	}
	all := list("?limit=2")
	if len(all.Items) != 2 || all.Counts[wire.StatisticsWhy] != 3 || all.NextCursor == "" || all.Items[0].ID != "statistics-6" || all.Items[0].Error != "out of memory" {
		t.Fatalf("got %+v", all)
	}
	if rest := list("?limit=2&cursor=" + all.NextCursor); len(rest.Items) != 1 || rest.Items[0].ID != "statistics-4" || rest.NextCursor != "" {
		t.Errorf("the second page is %+v", rest)
	}
	for query, want := range map[string]int{"?kind=statistics": 3, "?kind=refresh": 0, "?why=STATISTICS&source=noop": 3, "?why=OTHER": 0, "?source=github": 0} {
		if got := list(query); len(got.Items) != want {
			t.Errorf("%q lists %+v", query, got)
		}
	}
	var letter wire.Letter
	c.do(http.MethodGet, "/api/v1/dlq/statistics-5", "", http.StatusOK, &letter)
	if letter.RunID != 5 || letter.Login != "bob" {
		t.Errorf("got %+v", letter)
	}
	c.refused(http.MethodGet, "/api/v1/dlq/statistics-1", "", http.StatusNotFound, domain.CodeNotFound)
	c.refused(http.MethodGet, "/api/v1/dlq/other", "", http.StatusNotFound, domain.CodeNotFound)
	c.refused(http.MethodPost, "/api/v1/dlq/discard", `{"ids":["statistics-5"]}`, http.StatusUnprocessableEntity, domain.CodeInvalid)
	var done wire.LettersAnswer
	if c.do(http.MethodPost, "/api/v1/dlq/redrive", `{"ids":["statistics-5"]}`, http.StatusOK, &done); done.Letters != 1 {
		t.Errorf("redriven are %+v", done)
	}
	c.wait(5)
	if c.do(http.MethodPost, "/api/v1/dlq/redrive", `{"why":"STATISTICS"}`, http.StatusOK, &done); done.Letters != 2 {
		t.Errorf("redriven are %+v", done)
	}
	for _, run := range []int64{4, 5, 6} {
		if r := c.wait(run); r.Status != domain.RunCompleted {
			t.Errorf("run %d is %+v", run, r)
		}
	}
	if left := list(""); len(left.Items) != 0 || left.Counts[wire.StatisticsWhy] != 0 {
		t.Errorf("left are %+v", left)
	}
}
