package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/httpapi/wire"
)

const api = "/api/v1"

func runPath(id int64, rest string) string {
	return api + "/runs/" + strconv.FormatInt(id, 10) + rest
}

func jobPath(id int64, rest string) string {
	return api + "/jobs/" + strconv.FormatInt(id, 10) + rest
}

// accountPath names an account by id or login.
func accountPath(account, rest string) string {
	return api + "/accounts/" + url.PathEscape(account) + rest
}

// Ready reports whether the service takes requests, and why not.
func (c operatorCalls) Ready(ctx context.Context) error {
	return c.call(ctx, http.MethodGet, "/readyz", nil, nil, nil)
}

// Account shows one account, by id or login.
func (c accountCalls) Account(ctx context.Context, account string) (domain.Account, error) {
	var out domain.Account
	err := c.call(ctx, http.MethodGet, accountPath(account, ""), nil, nil, &out)
	return out, err
}

// Cursors lists up to when each resource of an account is collected.
func (c accountCalls) Cursors(ctx context.Context, account string) (wire.CursorList, error) {
	var out wire.CursorList
	err := c.call(ctx, http.MethodGet, accountPath(account, "/cursors"), nil, nil, &out)
	return out, err
}

// Signup stores an account, or renews its credential, and starts its first
// run. If a run is under way, that one is in the answer.
func (c accountCalls) Signup(ctx context.Context, s engine.Signup) (wire.SignupAnswer, error) {
	var out wire.SignupAnswer
	in := wire.SignupRequest{Source: s.Source, Login: s.Login, Token: s.Token, Set: s.Set}
	err := c.call(ctx, http.MethodPost, api+"/accounts", nil, in, &out)
	return out, err
}

// CheckedSignup is Signup, after the upstream was asked what the credential allows.
func (c accountCalls) CheckedSignup(ctx context.Context, s engine.Signup) (wire.SignupAnswer, error) {
	var out wire.SignupAnswer
	checked := true
	in := wire.SignupRequest{Source: s.Source, Login: s.Login, Token: s.Token, Set: s.Set, Check: &checked}
	err := c.call(ctx, http.MethodPost, api+"/accounts", nil, in, &out)
	return out, err
}

// Pause begins no more calls for an account, named by id or login.
func (c accountCalls) Pause(ctx context.Context, account, reason string) (domain.Account, error) {
	var out domain.Account
	err := c.call(ctx, http.MethodPost, accountPath(account, "/pause"), nil, wire.ReasonRequest{Reason: reason}, &out)
	return out, err
}

// Resume lets a paused account go on.
func (c accountCalls) Resume(ctx context.Context, account string) (domain.Account, error) {
	var out domain.Account
	err := c.call(ctx, http.MethodPost, accountPath(account, "/resume"), nil, nil, &out)
	return out, err
}

// SetAccount changes what is kept for an account's owner, or its credential.
func (c accountCalls) SetAccount(ctx context.Context, account string, settings wire.AccountSettings) (wire.AccountAnswer, error) {
	var out wire.AccountAnswer
	err := c.call(ctx, http.MethodPatch, accountPath(account, ""), nil, settings, &out)
	return out, err
}

// Statistics returns the statistics of an account's newest complete run.
func (c accountCalls) Statistics(ctx context.Context, account string) (json.RawMessage, error) {
	var out json.RawMessage
	err := c.call(ctx, http.MethodGet, accountPath(account, "/statistics"), nil, nil, &out)
	return out, err
}

func setNumber(q url.Values, name string, n int64) {
	if n != 0 {
		q.Set(name, strconv.FormatInt(n, 10))
	}
}

// Run shows a run's progress; with its whole ledger if asked for.
func (c runCalls) Run(ctx context.Context, id int64, ledger bool) (wire.RunDetail, error) {
	q := url.Values{}
	if ledger {
		q.Set("ledger", "true")
	}
	var out wire.RunDetail
	err := c.call(ctx, http.MethodGet, runPath(id, ""), q, nil, &out)
	return out, err
}

// RunProgress shows how far a run is, and nothing of its pages.
func (c runCalls) RunProgress(ctx context.Context, id int64) (engine.Progress, error) {
	var out wire.RunDetail
	err := c.call(ctx, http.MethodGet, runPath(id, ""), url.Values{"brief": {"true"}}, nil, &out)
	return out.Progress, err
}

// StartRun begins a collection. It fails with code conflict if one is under
// way.
func (c runCalls) StartRun(ctx context.Context, r wire.RunRequest) (domain.Run, error) {
	var out domain.Run
	err := c.call(ctx, http.MethodPost, api+"/runs", nil, r, &out)
	return out, err
}

// CancelRun ends a run.
func (c runCalls) CancelRun(ctx context.Context, id int64, reason string) (domain.Run, error) {
	var out domain.Run
	err := c.call(ctx, http.MethodPost, runPath(id, "/cancel"), nil, wire.ReasonRequest{Reason: reason}, &out)
	return out, err
}

// Job shows a job.
func (c runCalls) Job(ctx context.Context, id int64) (wire.Job, error) {
	var out wire.Job
	err := c.call(ctx, http.MethodGet, jobPath(id, ""), nil, nil, &out)
	return out, err
}

// RetryJob brings a failed job back, and its run with it.
func (c runCalls) RetryJob(ctx context.Context, id int64) (wire.Job, error) {
	var out wire.Job
	err := c.call(ctx, http.MethodPost, jobPath(id, "/retry"), nil, nil, &out)
	return out, err
}

// ResetQuota lifts what parks an owner, given by name or by one of its logins,
// and shows what is known of its rations then.
func (c operatorCalls) ResetQuota(ctx context.Context, owner string) (wire.Quota, error) {
	var out wire.Quota
	err := c.call(ctx, http.MethodPost, api+"/quota/"+url.PathEscape(owner)+"/reset", nil, nil, &out)
	return out, err
}

// DryRun finds out what the next collection of an account would take.
func (c accountCalls) DryRun(ctx context.Context, r wire.DryRunRequest) (engine.DryRun, error) {
	var out engine.DryRun
	err := c.call(ctx, http.MethodPost, api+"/dry-runs", nil, r, &out)
	return out, err
}

// Schedule shows when an account, named by id or login, is collected again.
func (c accountCalls) Schedule(ctx context.Context, account string) (wire.Schedule, error) {
	var out wire.Schedule
	err := c.call(ctx, http.MethodGet, accountPath(account, "/schedule"), nil, nil, &out)
	return out, err
}

// SetSchedule says when an account is collected again.
func (c accountCalls) SetSchedule(ctx context.Context, account string, p wire.Policy) (wire.Schedule, error) {
	var out wire.Schedule
	err := c.call(ctx, http.MethodPut, accountPath(account, "/schedule"), nil, p, &out)
	return out, err
}

// DeleteAccount collects an account no more.
func (c accountCalls) DeleteAccount(ctx context.Context, account string) (domain.Account, error) {
	var out domain.Account
	err := c.call(ctx, http.MethodDelete, accountPath(account, ""), nil, nil, &out)
	return out, err
}

// SetRunPriority lets a run go before others, or after them.
func (c runCalls) SetRunPriority(ctx context.Context, id int64, p domain.Priority) (domain.Run, error) {
	var out domain.Run
	err := c.call(ctx, http.MethodPost, runPath(id, "/priority"), nil, wire.PriorityRequest{Priority: p.String()}, &out)
	return out, err
}

// ResumeRun lets a run that ended with failures go on.
func (c runCalls) ResumeRun(ctx context.Context, id int64) (domain.Run, error) {
	var out domain.Run
	err := c.call(ctx, http.MethodPost, runPath(id, "/resume"), nil, nil, &out)
	return out, err
}
