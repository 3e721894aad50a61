package mysql

import (
	"context"
	"database/sql"

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
	if err := s.calls.Do(ctx, &call{finish: item}); err != nil {
		return state.Effect{}, err
	}
	return item.effect, item.err
}

// checkFinish sorts out outcomes that may not be applied: another attempt owns
// the job, the state machine refuses, or it was committed before.
func (g *group) checkFinish(item *finishItem, f *fence) {
	item.effect, item.err, item.repeated, item.fence = state.Effect{}, nil, false, fence{}
	o := &item.outcome
	if f == nil {
		item.err = domain.Errorf(domain.CodeNotFound, "there is no job %d", o.Job)
		return
	}
	item.fence = *f
	switch {
	case f.attempt != o.Attempt:
		item.err = domain.Errorf(domain.CodeStale, "job %d belongs to attempt %d by now, not to %d", o.Job, f.attempt, o.Attempt)
	case f.status == o.To:
		item.repeated = true
	case f.status != domain.JobRunning:
		item.err = domain.Errorf(domain.CodeStale, "job %d is %s by now", o.Job, f.status)
	default:
		if _, item.err = domain.MoveJob(f.status, o.To); item.err == nil {
			g.items = append(g.items, item)
			f.status = o.To
		}
	}
}

// answerRepeated tells the finisher of a committed outcome, whose first answer
// was lost, what it brought about, as far as it still matters.
func answerRepeated(ctx context.Context, tx *sql.Tx, calls []*call) error {
	for _, c := range calls {
		item := c.finish
		if item == nil || !item.repeated {
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
