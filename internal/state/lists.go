package state

import (
	"context"
	"slices"

	"sluice/internal/domain"
)

// Lists shows people what there is, a page at a time. Every page takes about the
// same time, however much there is and however little of it is asked for: it
// looks at WalkLimit rows at most, along an index, and picks those that were asked
// for. A page may therefore have fewer items than its limit, or none, with more
// to come: Next says so.
type Lists interface {
	// ListAccounts lists accounts in id order.
	ListAccounts(ctx context.Context, q AccountList) (Page[domain.Account], error)
	// ListRuns lists runs, newest first.
	ListRuns(ctx context.Context, q RunList) (Page[domain.Run], error)
	// ListJobs lists jobs in id order.
	ListJobs(ctx context.Context, q JobList) (Page[domain.Job], error)
	// ListJobIDs lists the ids of the same jobs, for those who only count them.
	ListJobIDs(ctx context.Context, q JobList) (Page[int64], error)
	// AccountsOf lists the accounts whose calls draw on the rations of owners, by
	// id; at most so many.
	AccountsOf(ctx context.Context, owners []string, most int) ([]domain.Account, error)
	// WithoutStatistics lists the runs that FAILED only because their statistics
	// were given up, and whose account has completed none since; newest first, at
	// most so many.
	WithoutStatistics(ctx context.Context, most int) ([]domain.Run, error)
}

// WalkLimit is how many rows a page looks at.
const WalkLimit = 5000

// Page is one page of a list.
type Page[T any] struct {
	Items []T
	// Next is the position of the next page, 0 if this is the last.
	Next int64
}

// AccountList selects accounts. Zero fields do not restrict.
type AccountList struct {
	Source string
	States []domain.AccountState
	// After is the position of the page: that of the last account before it.
	After int64
	// Limit zero means 100.
	Limit int
}

// RunList selects runs. Zero fields do not restrict.
type RunList struct {
	AccountID int64
	Statuses  []domain.RunStatus
	// Before is the position of the page: that of the last run before it.
	Before int64
	// Limit zero means 100.
	Limit int
}

// JobList selects jobs. Zero fields do not restrict.
type JobList struct {
	RunID     int64
	AccountID int64
	Type      string
	Statuses  []domain.JobStatus
	// ErrorKind is why the last attempt failed.
	ErrorKind domain.FailureKind
	// After is the position of the page: that of the last job before it.
	After int64
	// Limit zero means 100.
	Limit int
}

// Walk is what a list of jobs goes along.
type Walk int

// The walks, each in the order of ids.
const (
	WalkAll Walk = iota
	WalkRun
	WalkAccount
	// WalkFailed are jobs that FAILED.
	WalkFailed
	// WalkOpen are jobs that have not ended.
	WalkOpen
)

// Walk is the shortest way to what is asked for.
func (q *JobList) Walk() Walk {
	only := func(within []domain.JobStatus) bool {
		return len(q.Statuses) > 0 && !slices.ContainsFunc(q.Statuses, func(s domain.JobStatus) bool { return !slices.Contains(within, s) })
	}
	switch {
	case q.RunID != 0:
		return WalkRun
	case q.AccountID != 0:
		return WalkAccount
	case only([]domain.JobStatus{domain.JobFailed}):
		return WalkFailed
	case only(Unfinished()):
		return WalkOpen
	}
	return WalkAll
}

// PageLimit is how many items a page has at most.
func PageLimit(limit int) int {
	if limit <= 0 {
		return 100
	}
	return min(limit, WalkLimit)
}

// MakePage makes a page of what was found up to a bound, 0 if there was none
// because the walk came to its end: up to one more than the limit.
func MakePage[T any](found []T, limit int, bound int64, position func(*T) int64) Page[T] {
	switch limit = PageLimit(limit); {
	case len(found) > limit:
		found = found[:limit]
		return Page[T]{Items: found, Next: position(&found[limit-1])}
	default:
		return Page[T]{Items: found, Next: bound}
	}
}
