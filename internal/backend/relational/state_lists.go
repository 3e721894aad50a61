package relational

import (
	"context"
	"crypto/md5"
	"database/sql"
	"encoding/hex"
	"strings"

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
	// along restricts rows to those of the index; filter picks from them. Each
	// condition begins with AND.
	along, filter Statement
	// id is the column of the order, which is descending for the newest first.
	id     string
	newest bool
}

// query writes a query of what is along the way, from a position up to a bound;
// 0 stands for none.
func (w *walk) query(columns string, after, bound int64, filter *Statement) *Statement {
	beyond, upTo, by := " > ", " <= ", " ORDER BY "+w.id
	if w.newest {
		beyond, upTo, by = " < ", " >= ", by+" DESC"
	}
	find := &Statement{}
	find.Write("SELECT /*! STRAIGHT_JOIN */ " + columns + " FROM " + w.from + " WHERE 1 = 1").Append(&w.along)
	if after != 0 || !w.newest {
		find.Write(" AND " + w.id + beyond).Int(after)
	}
	if bound != 0 {
		find.Write(" AND " + w.id + upTo).Int(bound)
	}
	find.Append(filter)
	return find.Write(by + " LIMIT ")
}

// page reads what is picked beyond a position, up to one more than the limit,
// and up to where it looked: 0 if that was the end.
func (w *walk) page(ctx context.Context, db *DB, columns string, after int64, limit int, each func(*sql.Rows) error) (bound int64, err error) {
	if w.filter.Len() > 0 {
		// Without a filter a page ends with its limit.
		end := w.query(w.id, after, 0, &Statement{}).Int(1).Write(" OFFSET ").Int(state.WalkLimit - 1)
		if err := db.Run(ctx, end, func(r *sql.Rows) error { return r.Scan(&bound) }); err != nil {
			return 0, err
		}
	}
	return bound, db.Run(ctx, w.query(columns, after, bound, &w.filter).Int(int64(state.PageLimit(limit)+1)), each)
}

// texts writes texts with commas in between.
func texts[T ~string](s *Statement, values []T) *Statement {
	for i, v := range values {
		if i > 0 {
			s.Write(",")
		}
		s.Text(string(v))
	}
	return s
}

// ListAccounts implements state.Lists.
func (s *listStore) ListAccounts(ctx context.Context, q state.AccountList) (state.Page[domain.Account], error) {
	w := walk{from: "account a", id: "a.id"}
	if q.Source != "" {
		w.filter.Write(" AND a.source = ").Text(q.Source)
	}
	if len(q.States) > 0 {
		w.filter.Write(" AND a.state IN (")
		texts(&w.filter, q.States).Write(")")
	}
	var found []domain.Account
	bound, err := w.page(ctx, s.db, accountColumns, q.After, q.Limit, func(r *sql.Rows) error {
		a, err := scanAccount(r)
		found = append(found, a)
		return err
	})
	return state.MakePage(found, q.Limit, bound, func(a *domain.Account) int64 { return a.ID }), err
}

// ListRuns implements state.Lists. The accounts are looked up run by run: a server
// that begins with them would sort all runs.
func (s *listStore) ListRuns(ctx context.Context, q state.RunList) (state.Page[domain.Run], error) {
	const account = " JOIN account a ON a.id = r.account_id"
	w := walk{from: "run r /*! FORCE INDEX (PRIMARY) */" + account, id: "r.id", newest: true}
	switch {
	case q.AccountID != 0:
		w.from = "run r /*! FORCE INDEX (run_account) */" + account
		w.along.Write(" AND r.account_id = ").Int(q.AccountID)
	case len(q.Statuses) == 1:
		w.from = "run r /*! FORCE INDEX (run_status) */" + account
		w.along.Write(" AND r.status = ").Int(int64(q.Statuses[0]))
	}
	if len(q.Statuses) > 0 && (q.AccountID != 0 || len(q.Statuses) > 1) {
		w.filter.Write(" AND r.status IN (").Ints(numbers(q.Statuses)...).Write(")")
	}
	var found []domain.Run
	bound, err := w.page(ctx, s.db, runColumns, q.Before, q.Limit, func(r *sql.Rows) error {
		run, err := scanRun(r)
		found = append(found, run)
		return err
	})
	return state.MakePage(found, q.Limit, bound, func(r *domain.Run) int64 { return r.ID }), err
}

// ListJobs implements state.Lists.
func (s *listStore) ListJobs(ctx context.Context, q state.JobList) (state.Page[domain.Job], error) {
	return listJobs(ctx, s.db, &q, jobColumns, scanJob, func(j *domain.Job) int64 { return j.ID })
}

// ListJobIDs implements state.Lists.
func (s *listStore) ListJobIDs(ctx context.Context, q state.JobList) (state.Page[int64], error) {
	return listJobs(ctx, s.db, &q, "id", scanID, func(id *int64) int64 { return *id })
}

func scanID(r *sql.Rows) (id int64, err error) {
	err = r.Scan(&id)
	return id, err
}

// listJobs reads a page of jobs, of each what scan makes of some columns.
func listJobs[T any](ctx context.Context, db *DB, q *state.JobList, columns string, scan func(*sql.Rows) (T, error), position func(*T) int64) (state.Page[T], error) {
	var found []T
	bound, err := jobWalk(q).page(ctx, db, columns, q.After, q.Limit, func(r *sql.Rows) error {
		one, err := scan(r)
		found = append(found, one)
		return err
	})
	return state.MakePage(found, q.Limit, bound, position), err
}

// jobWalk is the way to the jobs that are asked for.
func jobWalk(q *state.JobList) *walk {
	w, statuses := &walk{from: "job /*! FORCE INDEX (PRIMARY) */", id: "id"}, q.Statuses
	switch q.Walk() {
	case state.WalkRun:
		w.from = "job /*! FORCE INDEX (job_run) */"
		w.along.Write(" AND run_id = ").Int(q.RunID)
		if q.AccountID != 0 {
			w.filter.Write(" AND account_id = ").Int(q.AccountID)
		}
	case state.WalkAccount:
		w.from = "job /*! FORCE INDEX (job_account) */"
		w.along.Write(" AND account_id = ").Int(q.AccountID)
	case state.WalkFailed:
		w.from = "job /*! FORCE INDEX (job_failed) */"
		w.along.Write(" AND failed = 1")
		statuses = nil
	case state.WalkOpen:
		w.from = "job /*! FORCE INDEX (job_unfinished) */"
		w.along.Write(" AND done = 0")
	}
	if len(statuses) > 0 {
		w.filter.Write(" AND status IN (").Ints(numbers(statuses)...).Write(")")
	}
	if q.Type != "" {
		w.filter.Write(" AND type = ").Text(q.Type)
	}
	if q.ErrorKind != "" {
		w.filter.Write(" AND error_kind = ").Text(string(q.ErrorKind))
	}
	return w
}

// AccountsOf implements state.Lists.
func (s *listStore) AccountsOf(ctx context.Context, owners []string, most int) (out []domain.Account, err error) {
	if len(owners) == 0 {
		return nil, nil
	}
	var find Statement
	find.Write("SELECT " + accountColumns + " FROM account a /*! FORCE INDEX (account_owner) */ WHERE a.owner_md5 IN (")
	texts(&find, ownerSums(owners)).Write(") ORDER BY a.id LIMIT ").Int(int64(most))
	err = s.db.Run(ctx, &find, func(r *sql.Rows) error {
		a, err := scanAccount(r)
		out = append(out, a)
		return err
	})
	return out, err
}

// ownerSums are what owners are looked up by, as both servers compute it.
func ownerSums(owners []string) []string {
	sums := make([]string, len(owners))
	for i, owner := range owners {
		sum := md5.Sum([]byte(strings.ToValidUTF8(owner, "\uFFFD")))
		sums[i] = hex.EncodeToString(sum[:])
	}
	return sums
}

// WithoutStatistics implements state.Lists.
func (s *listStore) WithoutStatistics(ctx context.Context, most int) (out []domain.Run, err error) {
	var find Statement
	find.Write("SELECT " + runColumns + " FROM (SELECT id FROM run /*! FORCE INDEX (run_status) */ WHERE status = ").Int(int64(domain.RunFailed))
	find.Write(" ORDER BY id DESC LIMIT ").Int(state.WalkLimit).Write(") f JOIN run r ON r.id = f.id JOIN account a ON a.id = r.account_id WHERE r.reason LIKE ")
	find.Text(domain.NoStatistics + "%").Write(" AND NOT EXISTS (SELECT 1 FROM run n WHERE n.account_id = r.account_id AND n.id > r.id AND n.status = ")
	find.Int(int64(domain.RunCompleted)).Write(") ORDER BY r.id DESC LIMIT ").Int(int64(most))
	err = s.db.Run(ctx, &find, func(r *sql.Rows) error {
		run, err := scanRun(r)
		out = append(out, run)
		return err
	})
	return out, err
}
