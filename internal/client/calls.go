package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/httpapi/wire"
	"sluice/internal/state"
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
func (c *Client) Ready(ctx context.Context) error {
	return c.call(ctx, http.MethodGet, "/readyz", nil, nil, nil)
}

// Accounts lists all accounts.
func (c *Client) Accounts(ctx context.Context) ([]domain.Account, error) {
	var out wire.AccountList
	err := c.call(ctx, http.MethodGet, api+"/accounts", nil, nil, &out)
	return out.Accounts, err
}

// Account shows one account, by id or login.
func (c *Client) Account(ctx context.Context, account string) (domain.Account, error) {
	var out domain.Account
	err := c.call(ctx, http.MethodGet, accountPath(account, ""), nil, nil, &out)
	return out, err
}

// Signup stores an account, or renews its credential, and starts its first
// run. If a run is under way, that one is in the answer.
func (c *Client) Signup(ctx context.Context, s engine.Signup) (wire.SignupAnswer, error) {
	var out wire.SignupAnswer
	in := wire.SignupRequest{Source: s.Source, Login: s.Login, Token: s.Token}
	err := c.call(ctx, http.MethodPost, api+"/accounts", nil, in, &out)
	return out, err
}

// Pause begins no more calls for an account, named by id or login.
func (c *Client) Pause(ctx context.Context, account, reason string) (domain.Account, error) {
	var out domain.Account
	err := c.call(ctx, http.MethodPost, accountPath(account, "/pause"), nil, wire.ReasonRequest{Reason: reason}, &out)
	return out, err
}

// Resume lets a paused account go on.
func (c *Client) Resume(ctx context.Context, account string) (domain.Account, error) {
	var out domain.Account
	err := c.call(ctx, http.MethodPost, accountPath(account, "/resume"), nil, nil, &out)
	return out, err
}

// SetAccount changes what an account's owner keeps for himself.
func (c *Client) SetAccount(ctx context.Context, account string, settings wire.AccountSettings) (domain.Account, error) {
	var out domain.Account
	err := c.call(ctx, http.MethodPatch, accountPath(account, ""), nil, settings, &out)
	return out, err
}

// Statistics returns the statistics of an account's newest complete run.
func (c *Client) Statistics(ctx context.Context, account string) (json.RawMessage, error) {
	var out json.RawMessage
	err := c.call(ctx, http.MethodGet, accountPath(account, "/statistics"), nil, nil, &out)
	return out, err
}

// RunFilter selects runs. Zero fields do not restrict.
type RunFilter struct {
	// Account is an id or a login.
	Account string
	Active  bool
	Before  int64
	Limit   int
}

// Runs lists one page of runs, newest first.
func (c *Client) Runs(ctx context.Context, f RunFilter) (wire.RunList, error) {
	q := url.Values{}
	if f.Account != "" {
		q.Set("account", f.Account)
	}
	if f.Active {
		q.Set("active", "true")
	}
	setNumber(q, "before", f.Before)
	setNumber(q, "limit", int64(f.Limit))
	var out wire.RunList
	err := c.call(ctx, http.MethodGet, api+"/runs", q, nil, &out)
	return out, err
}

func setNumber(q url.Values, name string, n int64) {
	if n != 0 {
		q.Set(name, strconv.FormatInt(n, 10))
	}
}

// Run shows a run's progress; with its whole ledger if asked for.
func (c *Client) Run(ctx context.Context, id int64, ledger bool) (wire.RunDetail, error) {
	q := url.Values{}
	if ledger {
		q.Set("ledger", "true")
	}
	var out wire.RunDetail
	err := c.call(ctx, http.MethodGet, runPath(id, ""), q, nil, &out)
	return out, err
}

// StartRun begins a collection. It fails with code conflict if one is under
// way.
func (c *Client) StartRun(ctx context.Context, r wire.RunRequest) (domain.Run, error) {
	var out domain.Run
	err := c.call(ctx, http.MethodPost, api+"/runs", nil, r, &out)
	return out, err
}

// CancelRun ends a run.
func (c *Client) CancelRun(ctx context.Context, id int64, reason string) (domain.Run, error) {
	var out domain.Run
	err := c.call(ctx, http.MethodPost, runPath(id, "/cancel"), nil, wire.ReasonRequest{Reason: reason}, &out)
	return out, err
}

// Jobs lists one page of jobs in id order.
func (c *Client) Jobs(ctx context.Context, f state.JobQuery) (wire.JobList, error) {
	q := url.Values{}
	setNumber(q, "run", f.RunID)
	setNumber(q, "after", f.AfterID)
	setNumber(q, "limit", int64(f.Limit))
	names := make([]string, len(f.Statuses))
	for i, status := range f.Statuses {
		names[i] = status.String()
	}
	if len(names) > 0 {
		q.Set("status", strings.Join(names, ","))
	}
	var out wire.JobList
	err := c.call(ctx, http.MethodGet, api+"/jobs", q, nil, &out)
	return out, err
}

// Job shows a job.
func (c *Client) Job(ctx context.Context, id int64) (wire.Job, error) {
	var out wire.Job
	err := c.call(ctx, http.MethodGet, jobPath(id, ""), nil, nil, &out)
	return out, err
}

// RetryJob brings a failed job back, and its run with it.
func (c *Client) RetryJob(ctx context.Context, id int64) (wire.Job, error) {
	var out wire.Job
	err := c.call(ctx, http.MethodPost, jobPath(id, "/retry"), nil, nil, &out)
	return out, err
}

// Quota shows every ration and who waits for it.
func (c *Client) Quota(ctx context.Context) (wire.Quota, error) {
	var out wire.Quota
	err := c.call(ctx, http.MethodGet, api+"/quota", nil, nil, &out)
	return out, err
}

// Schedule shows when an account, named by id or login, is collected again.
func (c *Client) Schedule(ctx context.Context, account string) (wire.Schedule, error) {
	var out wire.Schedule
	err := c.call(ctx, http.MethodGet, accountPath(account, "/schedule"), nil, nil, &out)
	return out, err
}

// SetSchedule says when an account is collected again.
func (c *Client) SetSchedule(ctx context.Context, account string, p wire.Policy) (wire.Schedule, error) {
	var out wire.Schedule
	err := c.call(ctx, http.MethodPut, accountPath(account, "/schedule"), nil, p, &out)
	return out, err
}

// DeleteAccount collects an account no more.
func (c *Client) DeleteAccount(ctx context.Context, account string) (domain.Account, error) {
	var out domain.Account
	err := c.call(ctx, http.MethodDelete, accountPath(account, ""), nil, nil, &out)
	return out, err
}

// SetRunPriority lets a run go before others, or after them.
func (c *Client) SetRunPriority(ctx context.Context, id int64, p domain.Priority) (domain.Run, error) {
	var out domain.Run
	err := c.call(ctx, http.MethodPost, runPath(id, "/priority"), nil, wire.PriorityRequest{Priority: p.String()}, &out)
	return out, err
}

// ResumeRun lets a run that ended with failures go on.
func (c *Client) ResumeRun(ctx context.Context, id int64) (domain.Run, error) {
	var out domain.Run
	err := c.call(ctx, http.MethodPost, runPath(id, "/resume"), nil, nil, &out)
	return out, err
}
