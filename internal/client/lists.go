package client

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"sluice/internal/httpapi/wire"
	"sluice/internal/stats"
	"sluice/internal/timer"
)

// Page says which part of a list is wanted: from a cursor on, and how much. Zero
// fields leave it to the service.
type Page struct {
	Cursor string
	Limit  int
}

func (p Page) values() url.Values {
	q := url.Values{}
	add(q, "cursor", p.Cursor)
	setNumber(q, "limit", int64(p.Limit))
	return q
}

func add(query url.Values, name, value string) {
	if value != "" {
		query.Set(name, value)
	}
}

func getList[T any](ctx context.Context, c *transport, path string, q url.Values) (T, error) {
	var out T
	err := c.call(ctx, http.MethodGet, api+path, q, nil, &out)
	return out, err
}

// AccountFilter selects accounts. Zero fields do not restrict.
type AccountFilter struct {
	Source string
	States []string
	// Runs asks for the newest run of each, and when the next begins.
	Runs bool
	Page
}

// Accounts lists one page of accounts in id order.
func (c accountCalls) Accounts(ctx context.Context, f AccountFilter) (wire.AccountList, error) {
	q := f.values()
	add(q, "source", f.Source)
	add(q, "state", strings.Join(f.States, ","))
	if f.Runs {
		q.Set("with", "runs")
	}
	return getList[wire.AccountList](ctx, c.transport, "/accounts", q)
}

// RunFilter selects runs. Zero fields do not restrict.
type RunFilter struct {
	// Account is an id or a login.
	Account string
	Status  []string
	Active  bool
	Page
}

// Runs lists one page of runs, newest first.
func (c runCalls) Runs(ctx context.Context, f RunFilter) (wire.RunList, error) {
	q := f.values()
	add(q, "account", f.Account)
	add(q, "status", strings.Join(f.Status, ","))
	if f.Active {
		q.Set("active", "true")
	}
	return getList[wire.RunList](ctx, c.transport, "/runs", q)
}

// JobFilter selects jobs. Zero fields do not restrict.
type JobFilter struct {
	Run int64
	// Account is an id or a login.
	Account string
	Type    string
	Status  []string
	// Error is why the last attempt failed, such as server or timeout.
	Error string
	Page
}

// Jobs lists one page of jobs in id order.
func (c runCalls) Jobs(ctx context.Context, f JobFilter) (wire.JobList, error) {
	q := f.values()
	setNumber(q, "run", f.Run)
	add(q, "account", f.Account)
	add(q, "type", f.Type)
	add(q, "status", strings.Join(f.Status, ","))
	add(q, "error", f.Error)
	return getList[wire.JobList](ctx, c.transport, "/jobs", q)
}

// RetryJobs brings a batch of failed jobs back, and their runs with them.
func (c runCalls) RetryJobs(ctx context.Context, in wire.JobsRequest) (wire.BulkAnswer, error) {
	var out wire.BulkAnswer
	err := c.call(ctx, http.MethodPost, api+"/jobs/retry", nil, in, &out)
	return out, err
}

// CancelJobs cancels a batch of unfinished jobs, with the runs that they are of.
func (c runCalls) CancelJobs(ctx context.Context, in wire.CancelJobsRequest) (wire.BulkAnswer, error) {
	var out wire.BulkAnswer
	err := c.call(ctx, http.MethodPost, api+"/jobs/cancel", nil, in, &out)
	return out, err
}

// CancelRuns ends a batch of active runs.
func (c runCalls) CancelRuns(ctx context.Context, in wire.RunsRequest) (wire.BulkAnswer, error) {
	var out wire.BulkAnswer
	err := c.call(ctx, http.MethodPost, api+"/runs/cancel", nil, in, &out)
	return out, err
}

// Quota shows one page of rations, of one owner if given, and who waits for them.
func (c operatorCalls) Quota(ctx context.Context, owner string, p Page) (wire.Quota, error) {
	q := p.values()
	add(q, "owner", owner)
	return getList[wire.Quota](ctx, c.transport, "/quota", q)
}

// Timers lists timers in the order of their ids.
func (c timerCalls) Timers(ctx context.Context, q timer.Query) (wire.TimerList, error) {
	query := Page{q.AfterID, q.Limit}.values()
	add(query, "prefix", q.Prefix)
	names := make([]string, len(q.Statuses))
	for i, status := range q.Statuses {
		names[i] = status.String()
	}
	add(query, "status", strings.Join(names, ","))
	return getList[wire.TimerList](ctx, c.transport, "/timers", query)
}

// Completions lists what has fired in the last hours.
func (c timerCalls) Completions(ctx context.Context, hours int, p Page) (wire.CompletionList, error) {
	q := p.values()
	setNumber(q, "hours", int64(hours))
	return getList[wire.CompletionList](ctx, c.transport, "/completions", q)
}

// LetterFilter selects dead letters. Zero fields do not restrict.
type LetterFilter struct {
	Kind, Why, Source, Key string
	Page
}

// DeadLetters lists what failed for good.
func (c snapshotCalls) DeadLetters(ctx context.Context, f LetterFilter) (wire.DeadLetterList, error) {
	q := f.values()
	add(q, "kind", f.Kind)
	add(q, "why", f.Why)
	add(q, "source", f.Source)
	add(q, "key", f.Key)
	return getList[wire.DeadLetterList](ctx, c.transport, "/dlq", q)
}

// Archived lists what is archived, by day. Empty strings do not restrict.
func (c snapshotCalls) Archived(ctx context.Context, source, from, to string, p Page) (wire.ArchiveList, error) {
	q := p.values()
	add(q, "source", source)
	add(q, "from", from)
	add(q, "to", to)
	return getList[wire.ArchiveList](ctx, c.transport, "/archive", q)
}

// Leaderboard ranks the accounts by a measure.
func (c accountCalls) Leaderboard(ctx context.Context, by stats.Measure, p Page) (wire.Leaderboard, error) {
	q := p.values()
	q.Set("by", string(by))
	return getList[wire.Leaderboard](ctx, c.transport, "/stats/leaderboard", q)
}

// AccountDetail shows all that is known of one account, by id or login.
func (c accountCalls) AccountDetail(ctx context.Context, account string) (wire.AccountDetail, error) {
	var out wire.AccountDetail
	err := c.call(ctx, http.MethodGet, accountPath(account, ""), nil, nil, &out)
	return out, err
}

// AddAccount stores an account, or renews its credential, without collecting it.
func (c accountCalls) AddAccount(ctx context.Context, in wire.SignupRequest) (wire.SignupAnswer, error) {
	var out wire.SignupAnswer
	in.Start = new(bool) // false
	err := c.call(ctx, http.MethodPost, api+"/accounts", nil, in, &out)
	return out, err
}

// PurgeAccount removes everything of an account, for as long as it takes.
func (c accountCalls) PurgeAccount(ctx context.Context, account string, cancel bool) (wire.PurgeAnswer, error) {
	return carryOut[wire.PurgeAnswer](ctx, c.transport, accountPath(account, "/purge"), wire.PurgeRequest{Cancel: cancel})
}
