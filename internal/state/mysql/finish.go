package mysql

import (
	"context"
	"database/sql"
	"slices"

	"sluice/internal/domain"
	"sluice/internal/mysqldb"
	"sluice/internal/state"
)

// finishItem is one Finish on its way to the server.
type finishItem struct {
	outcome state.Outcome
	effect  state.Effect
	err     error
	// documents are the rows of the outcome's documents.
	documents []mysqldb.Rows
	// fence is the job as it stood before this outcome.
	fence fence
	// repeated is set when this very outcome was committed before.
	repeated bool
}

// fence is what decides whether an outcome may be applied.
type fence struct {
	run, account int64
	priority     domain.Priority
	status       domain.JobStatus
	attempt      int64
	expected     int64
}

// Finish implements state.Jobs.
func (s *Store) Finish(ctx context.Context, o state.Outcome) (state.Effect, error) {
	switch o.To {
	case domain.JobSucceeded, domain.JobFailed, domain.JobReady, domain.JobPaused:
	default:
		return state.Effect{}, domain.Errorf(domain.CodeInvalid, "an attempt at job %d cannot leave it %s", o.Job, o.To)
	}
	item := &finishItem{outcome: o}
	if s.docs != nil && len(o.Documents) > 0 {
		rows, err := s.docs.Pack(ctx, o.Documents)
		if err != nil {
			return state.Effect{}, err
		}
		item.documents = rows
	}
	if err := s.finishes.Do(ctx, item); err != nil {
		return state.Effect{}, err
	}
	return item.effect, item.err
}

func (s *Store) applyFinishes(ctx context.Context, items []*finishItem) error {
	return apart(items, func(part []*finishItem) error {
		next := 0
		for _, item := range part {
			next += len(item.outcome.Next)
		}
		first, err := s.jobIDs.Take(ctx, next)
		if err != nil {
			return err
		}
		return s.db.Tx(ctx, func(tx *sql.Tx) error { return s.finishAll(ctx, tx, part, first) })
	}, func(item *finishItem, err error) { item.effect, item.err = state.Effect{}, err })
}

// finishAll commits the outcomes of a group with one statement for each thing
// there is to do, not for each outcome. The ids of new jobs begin with firstID.
func (s *Store) finishAll(ctx context.Context, tx *sql.Tx, items []*finishItem, firstID int64) error {
	fresh, err := checkFences(ctx, tx, items)
	if err != nil {
		return err
	}
	g := &finishGroup{store: s, tx: tx, items: fresh, runs: map[int64]*runDelta{}, firstID: firstID}
	for _, step := range []func(context.Context) error{
		g.lockFailing, g.succeed, g.moveOthers, g.createNext, g.writeDocuments, g.remember, g.dropResources,
		g.settleRuns, g.learnOwners, g.pauseAccounts, g.holdPaused, g.closeRuns, g.putWindows,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return answerRepeated(ctx, tx, items)
}

// checkFences locks the jobs and sorts out outcomes that may not be applied:
// another attempt owns the job, the state machine refuses, or it was committed
// before.
func checkFences(ctx context.Context, tx *sql.Tx, items []*finishItem) ([]*finishItem, error) {
	ids := make([]int64, len(items))
	for i, item := range items {
		item.effect, item.err, item.repeated, item.fence = state.Effect{}, nil, false, fence{}
		ids[i] = item.outcome.Job
	}
	slices.Sort(ids)
	fences := make(map[int64]*fence, len(items))
	err := lockJobs(ctx, tx, slices.Compact(ids), "id, run_id, account_id, priority, status, attempt, expected", nil, func(r *sql.Rows) error {
		var id int64
		f := &fence{}
		err := r.Scan(&id, &f.run, &f.account, &f.priority, &f.status, &f.attempt, &f.expected)
		fences[id] = f
		return err
	})
	if err != nil {
		return nil, err
	}
	fresh := make([]*finishItem, 0, len(items))
	for _, item := range items {
		f := fences[item.outcome.Job]
		if f == nil {
			item.err = domain.Errorf(domain.CodeNotFound, "there is no job %d", item.outcome.Job)
			continue
		}
		item.fence = *f
		switch {
		case f.attempt != item.outcome.Attempt:
			item.err = domain.Errorf(domain.CodeStale, "job %d belongs to attempt %d by now, not to %d", item.outcome.Job, f.attempt, item.outcome.Attempt)
		case f.status == item.outcome.To:
			item.repeated = true
		case f.status != domain.JobRunning:
			item.err = domain.Errorf(domain.CodeStale, "job %d is %s by now", item.outcome.Job, f.status)
		default:
			if _, item.err = domain.MoveJob(f.status, item.outcome.To); item.err == nil {
				fresh = append(fresh, item)
				f.status = item.outcome.To
			}
		}
	}
	return fresh, nil
}

// answerRepeated tells the finisher of a committed outcome, whose first answer
// was lost, what it brought about, as far as it still matters.
func answerRepeated(ctx context.Context, tx *sql.Tx, items []*finishItem) error {
	for _, item := range items {
		if !item.repeated {
			continue
		}
		var err error
		if item.effect.Created, err = children(ctx, tx, item.fence.run, item.outcome.Job); err != nil {
			return err
		}
		run, err := findRun(ctx, tx, item.fence.run)
		if err != nil {
			return err
		}
		failed := run.Status == domain.RunFailed && item.outcome.FailRun != ""
		if run.Status == domain.RunFinalizing || failed {
			item.effect.Closed = &run
		}
	}
	return nil
}
