package sqlite

import (
	"context"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/state"
)

// finishItem is one Finish on its way through the writer.
type finishItem struct {
	*state.Attempt
	// documents are the outcome's; nil if there are none.
	documents *PackedDocuments
}

// Finish implements state.Jobs.
func (s *State) Finish(ctx context.Context, o state.Outcome) (state.Effect, error) {
	var pack func(context.Context, []document.Document) (*PackedDocuments, error)
	if s.docs != nil {
		pack = s.docs.Pack
	}
	return state.Offer(ctx, o, pack, func(a *state.Attempt, documents *PackedDocuments) error {
		return s.finishes.Do(ctx, &finishItem{a, documents})
	})
}

// applyFinishes commits the outcomes of a group with one statement for each
// thing there is to do, not for each outcome. What there is to do is for
// state.Commit to say.
func (s *State) applyFinishes(ctx context.Context, c *driver.Conn, items []*finishItem) error {
	g := &finishGroup{Commit: state.NewCommit(stateRows{stateReader{c}, s}), store: s, conn: c}
	if err := g.admit(items); err != nil {
		return err
	}
	return g.Take(ctx,
		g.succeed, g.moveOthers, g.CreateNext, g.writeDocuments, g.remember, g.dropResources, g.PauseAccounts, g.HoldPaused, g.settleRuns,
		g.AnswerRepeated)
}

// finishGroup is one group of outcomes being applied.
type finishGroup struct {
	*state.Commit
	store *State
	conn  *driver.Conn
	// items are those whose outcomes are applied.
	items []*finishItem
}

// admit reads the jobs and sorts out outcomes that may not be applied.
func (g *finishGroup) admit(items []*finishItem) error {
	ids := make([]int64, len(items))
	for i, item := range items {
		ids[i] = item.Outcome.Job
	}
	held := make(map[int64]*state.Held, len(items))
	err := Exec(g.conn, `SELECT id, run_id, account_id, priority, status, attempt, expected FROM job
		WHERE id IN (SELECT value FROM json_each(?))`, func(r *driver.Stmt) {
		held[r.ColumnInt64(0)] = &state.Held{
			Run: r.ColumnInt64(1), Account: r.ColumnInt64(2), Priority: domain.Priority(r.ColumnInt(3)),
			Status: domain.JobStatus(r.ColumnInt(4)), Attempt: r.ColumnInt64(5), Expected: r.ColumnInt64(6),
		}
	}, idList(ids))
	if err != nil {
		return err
	}
	for _, item := range items {
		if g.Admit(item.Attempt, held[item.Outcome.Job]) {
			g.items = append(g.items, item)
		}
	}
	return nil
}

// succeed ends the successful jobs. One prepared statement a job is faster here
// than one for all: there is no round trip to save, and rows need no parsing.
func (g *finishGroup) succeed(context.Context) error {
	for _, item := range g.items {
		o := &item.Outcome
		if o.To != domain.JobSucceeded {
			continue
		}
		err := Exec(g.conn, `UPDATE job SET status = ?, done = 1, finished_at = ?, items = ?, pages = ?,
			error = '', error_kind = '' WHERE id = ?`, nil,
			int64(domain.JobSucceeded), toMicros(o.At), o.Items, o.Pages, o.Job)
		if err != nil {
			return err
		}
	}
	return nil
}

// moveOthers handles what did not succeed: it is rare, so row by row.
func (g *finishGroup) moveOthers(context.Context) error {
	for _, item := range g.items {
		o := &item.Outcome
		if o.To == domain.JobSucceeded {
			continue
		}
		done, finished := int64(0), int64(0)
		if o.To.Ended() {
			done, finished = 1, toMicros(o.At)
		}
		failures := int64(0)
		if o.CountFailure {
			failures = 1
		}
		kind, message := "", ""
		if o.Failure != nil {
			kind, message = string(o.Failure.Kind), o.Failure.Message
		}
		err := Exec(g.conn, `UPDATE job SET status = ?, done = ?, finished_at = ?, failures = failures + ?,
			not_before = ?, error_kind = ?, error = ? WHERE id = ?`, nil,
			int64(o.To), done, finished, failures, o.NotBefore, kind, message, o.Job)
		if err != nil {
			return err
		}
	}
	return nil
}

func (g *finishGroup) writeDocuments(ctx context.Context) error {
	if g.store.docs == nil {
		return nil
	}
	var packed []*PackedDocuments
	var absences []document.Absence
	for _, item := range g.items {
		if item.documents != nil {
			packed = append(packed, item.documents)
		}
		absences = append(absences, item.Outcome.Absences...)
	}
	if len(packed)+len(absences) == 0 {
		return nil
	}
	return g.store.docs.Write(ctx, g.conn, packed, absences)
}

// remember stores cursors, pages, quota windows, owners and targets.
func (g *finishGroup) remember(context.Context) error {
	windows := state.NewestWindows{}
	for _, item := range g.items {
		windows.Add(item.Outcome.Window)
		if item.Outcome.Owner != "" {
			err := Exec(g.conn, `UPDATE account SET owner = ?1, version = version + 1 WHERE owner <> ?1 AND (source, credential_name) =
				(SELECT source, credential_name FROM account WHERE id = ?2)`, nil, item.Outcome.Owner, item.Held.Account)
			if err != nil {
				return err
			}
		}
		if item.Outcome.Target != "" {
			err := Exec(g.conn, "UPDATE account SET target = ?1, version = version + 1 WHERE id = ?2 AND target <> ?1", nil,
				string(item.Outcome.Target), item.Held.Account)
			if err != nil {
				return err
			}
		}
		for _, cur := range item.Outcome.Cursors {
			err := Exec(g.conn, `INSERT INTO cursor (account_id, resource, at) VALUES (?, ?, ?)
				ON CONFLICT (account_id, resource) DO UPDATE SET at = max(at, excluded.at)`, nil,
				cur.AccountID, cur.Resource, cur.At)
			if err != nil {
				return err
			}
		}
		for _, p := range item.Outcome.Stored {
			err := Exec(g.conn, `INSERT INTO page (account_id, key, etag, next, items) VALUES (?, ?, ?, ?, ?)
				ON CONFLICT (account_id, key) DO UPDATE SET etag = excluded.etag, next = excluded.next, items = excluded.items`, nil,
				p.AccountID, p.Key, p.ETag, p.Next, p.Items)
			if err != nil {
				return err
			}
		}
	}
	return putWindows(g.conn, windows)
}
