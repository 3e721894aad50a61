package sqlite

import (
	"context"
	"encoding/json"
	"strings"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/domain"
	"sluice/internal/state"
)

// listStore implements state.Lists.
type listStore struct{ db *DB }

// walk is a way along an index in the order of ids: it is told how to go on from
// a position, and up to where a page may look.
type walk struct {
	// from is what rows are read from, with the index that is gone along.
	from string
	// along restricts rows to those of the index; filter picks from them.
	along, filter     []string
	alongArgs, picked []any
	// id is the column of the order, which is descending for the newest first.
	id     string
	newest bool
}

func (w *walk) only(condition string, args ...any) {
	w.along, w.alongArgs = append(w.along, condition), append(w.alongArgs, args...)
}

func (w *walk) pick(condition string, args ...any) {
	w.filter, w.picked = append(w.filter, condition), append(w.picked, args...)
}

// order is how rows are compared with a position, and sorted.
func (w *walk) order() (beyond, upTo, by string) {
	if w.newest {
		return " < ", " >= ", " ORDER BY " + w.id + " DESC"
	}
	return " > ", " <= ", " ORDER BY " + w.id
}

// page reads what is picked beyond a position, up to one more than the limit,
// and up to where it looked: 0 if that was the end.
func (w *walk) page(c *driver.Conn, columns string, after int64, limit int, each func(*driver.Stmt)) (bound int64, err error) {
	beyond, upTo, by := w.order()
	where, args := append([]string{"1"}, w.along...), append([]any{}, w.alongArgs...)
	if after != 0 || !w.newest {
		where, args = append(where, w.id+beyond+"?"), append(args, after)
	}
	if len(w.filter) > 0 {
		// Without a filter a page ends with its limit.
		err := Exec(c, "SELECT "+w.id+" FROM "+w.from+" WHERE "+strings.Join(where, " AND ")+by+" LIMIT 1 OFFSET ?",
			func(r *driver.Stmt) { bound = r.ColumnInt64(0) }, append(args, state.WalkLimit-1)...)
		if err != nil {
			return 0, err
		}
		if bound != 0 {
			where, args = append(where, w.id+upTo+"?"), append(args, bound)
		}
	}
	where, args = append(where, w.filter...), append(append(args, w.picked...), state.PageLimit(limit)+1)
	return bound, Exec(c, "SELECT "+columns+" FROM "+w.from+" WHERE "+strings.Join(where, " AND ")+by+" LIMIT ?", each, args...)
}

// oneOf is a condition that a column has one of some values.
func oneOf[T any](column string, values []T, bind func(T) any) (string, []any) {
	args := make([]any, len(values))
	for i, v := range values {
		args[i] = bind(v)
	}
	return column + " IN (" + strings.TrimSuffix(strings.Repeat("?,", len(values)), ",") + ")", args
}

// ListAccounts implements state.Lists.
func (s *listStore) ListAccounts(ctx context.Context, q state.AccountList) (page state.Page[domain.Account], err error) {
	w := walk{from: "account a", id: "a.id"}
	if q.Source != "" {
		w.pick("a.source = ?", q.Source)
	}
	if len(q.States) > 0 {
		condition, args := oneOf("a.state", q.States, func(s domain.AccountState) any { return string(s) })
		w.pick(condition, args...)
	}
	err = s.db.Read(ctx, func(c *driver.Conn) error {
		var found []domain.Account
		bound, err := w.page(c, accountColumns, q.After, q.Limit, func(r *driver.Stmt) { found = append(found, scanAccount(r)) })
		page = state.MakePage(found, q.Limit, bound, func(a *domain.Account) int64 { return a.ID })
		return err
	})
	return page, err
}

// ListRuns implements state.Lists.
func (s *listStore) ListRuns(ctx context.Context, q state.RunList) (page state.Page[domain.Run], err error) {
	const account = " CROSS JOIN account a ON a.id = r.account_id"
	w := walk{from: "run r" + account, id: "r.id", newest: true}
	switch {
	case q.AccountID != 0:
		w.from = "run r INDEXED BY run_account" + account
		w.only("r.account_id = ?", q.AccountID)
	case len(q.Statuses) == 1:
		w.from = "run r INDEXED BY run_status" + account
		w.only("r.status = ?", int64(q.Statuses[0]))
	}
	if len(q.Statuses) > 0 && (q.AccountID != 0 || len(q.Statuses) > 1) {
		condition, args := oneOf("r.status", q.Statuses, func(s domain.RunStatus) any { return int64(s) })
		w.pick(condition, args...)
	}
	err = s.db.Read(ctx, func(c *driver.Conn) error {
		var found []domain.Run
		bound, err := w.page(c, runColumns, q.Before, q.Limit, func(r *driver.Stmt) { found = append(found, scanRun(r)) })
		page = state.MakePage(found, q.Limit, bound, func(r *domain.Run) int64 { return r.ID })
		return err
	})
	return page, err
}

// ListJobs implements state.Lists.
func (s *listStore) ListJobs(ctx context.Context, q state.JobList) (state.Page[domain.Job], error) {
	return jobPage(ctx, s.db, &q, jobColumns, scanJob, func(j *domain.Job) int64 { return j.ID })
}

// ListJobIDs implements state.Lists.
func (s *listStore) ListJobIDs(ctx context.Context, q state.JobList) (state.Page[int64], error) {
	return jobPage(ctx, s.db, &q, "id", func(r *driver.Stmt) int64 { return r.ColumnInt64(0) }, func(id *int64) int64 { return *id })
}

// jobPage reads a page of jobs, of each what scan makes of some columns.
func jobPage[T any](ctx context.Context, db *DB, q *state.JobList, columns string, scan func(*driver.Stmt) T, position func(*T) int64) (page state.Page[T], err error) {
	w := jobWalk(q)
	err = db.Read(ctx, func(c *driver.Conn) error {
		var found []T
		bound, err := w.page(c, columns, q.After, q.Limit, func(r *driver.Stmt) { found = append(found, scan(r)) })
		page = state.MakePage(found, q.Limit, bound, position)
		return err
	})
	return page, err
}

// jobWalk is the way to the jobs that are asked for. What an index is of stands
// in its condition as it was declared.
func jobWalk(q *state.JobList) walk {
	w, statuses := walk{from: "job", id: "id"}, q.Statuses
	switch q.Walk() {
	case state.WalkRun:
		w.from = "job INDEXED BY job_run"
		w.only("run_id = ?", q.RunID)
		if q.AccountID != 0 {
			w.pick("account_id = ?", q.AccountID)
		}
	case state.WalkAccount:
		w.from = "job INDEXED BY job_account"
		w.only("account_id = ?", q.AccountID)
	case state.WalkFailed:
		w.from = "job INDEXED BY job_failed"
		w.only("done = 1 AND status = " + statusList([]domain.JobStatus{domain.JobFailed}))
		statuses = nil
	case state.WalkOpen:
		w.from = "job INDEXED BY job_open"
		w.only("done = 0")
	}
	if len(statuses) > 0 {
		w.pick("status IN (" + statusList(statuses) + ")")
	}
	if q.Type != "" {
		w.pick("type = ?", q.Type)
	}
	if q.ErrorKind != "" {
		w.pick("error_kind = ?", string(q.ErrorKind))
	}
	return w
}

// AccountsOf implements state.Lists.
func (s *listStore) AccountsOf(ctx context.Context, owners []string, most int) (out []domain.Account, err error) {
	list, err := json.Marshal(owners)
	if err != nil || len(owners) == 0 {
		return nil, err
	}
	err = s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, "SELECT "+accountColumns+" FROM account a INDEXED BY account_owner WHERE a.owner IN (SELECT value FROM json_each(?)) ORDER BY a.id LIMIT ?",
			func(r *driver.Stmt) { out = append(out, scanAccount(r)) }, string(list), most)
	})
	return out, err
}

// WithoutStatistics implements state.Lists.
func (s *listStore) WithoutStatistics(ctx context.Context, most int) (out []domain.Run, err error) {
	err = s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, "SELECT "+runColumns+` FROM (SELECT id FROM run INDEXED BY run_status WHERE status = ?1 ORDER BY id DESC LIMIT ?2) f
			CROSS JOIN run r ON r.id = f.id CROSS JOIN account a ON a.id = r.account_id
			WHERE substr(r.reason, 1, length(?3)) = ?3 AND NOT EXISTS (SELECT 1 FROM run n INDEXED BY run_account
				WHERE n.account_id = r.account_id AND n.id > r.id AND n.status = ?4) ORDER BY f.id DESC LIMIT ?5`,
			func(r *driver.Stmt) { out = append(out, scanRun(r)) },
			int64(domain.RunFailed), state.WalkLimit, domain.NoStatistics, int64(domain.RunCompleted), most)
	})
	return out, err
}
