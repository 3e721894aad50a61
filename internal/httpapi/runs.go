package httpapi

import (
	"context"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/access"
	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/httpapi/wire"
	"sluice/internal/state"
)

// runRoutes serve runs.
type runRoutes struct {
	*common
	accountFinder
	Lists        ListReader
	Reader       Reader
	Observer     Observer
	Orchestrator RunKeeper
}

func (s *runRoutes) registerRuns(api huma.API) {
	const tag = "runs"
	register(s, api, operation{id: "start-run", method: http.MethodPost, path: "/api/v1/runs", tag: tag,
		summary: "Start a collection of an account", status: http.StatusCreated,
		errors: []int{http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity}}, s.startRun)
	register(s, api, operation{id: "list-runs", method: http.MethodGet, path: "/api/v1/runs", tag: tag,
		summary: "List runs, newest first", errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity}}, s.listRuns)
	register(s, api, operation{id: "get-run", method: http.MethodGet, path: "/api/v1/runs/{id}", tag: tag,
		summary: "Show a run's progress and what it has stored", errors: []int{http.StatusNotFound}}, s.getRun)
	register(s, api, operation{id: "cancel-run", method: http.MethodPost, path: "/api/v1/runs/{id}/cancel", tag: tag,
		summary: "Cancel a run", errors: []int{http.StatusNotFound, http.StatusConflict}}, s.cancelRun)
}

// numbered names a run or a job in a path.
type numbered struct {
	ID int64 `path:"id" minimum:"1"`
}

func (s *runRoutes) startRun(ctx context.Context, in *body[wire.RunRequest]) (*body[domain.Run], error) {
	req := in.Body
	if (req.AccountID == 0) == (req.Login == "") {
		return nil, domain.Errorf(domain.CodeInvalid, "name the account by account_id, or by login (and source)")
	}
	id := req.AccountID
	if id == 0 {
		a, err := s.named(ctx, req.Login, req.Source)
		if err != nil {
			return nil, err
		}
		id = a.ID
	}
	access.About(ctx, fmt.Sprintf("of account %d", id))
	priority := domain.PriorityHigh
	if req.Priority != "" {
		if err := priority.UnmarshalText([]byte(req.Priority)); err != nil {
			return nil, err
		}
	}
	run, err := s.Orchestrator.StartRun(ctx, id, domain.TriggerManual, priority)
	return &body[domain.Run]{run}, err
}

type listRunsInput struct {
	Account string   `query:"account" maxLength:"200" doc:"Only of this account: its id or its login"`
	Source  string   `query:"source" maxLength:"50" doc:"Where a login is looked up; at every source unless given"`
	Status  []string `query:"status" enum:"CREATED,PLANNING,RUNNING,FINALIZING,COMPLETED,FAILED,CANCELED" doc:"Only in these states, separated by commas"`
	Active  bool     `query:"active" doc:"Only runs that have not ended"`
	Cursor  string   `query:"cursor" maxLength:"100" doc:"Where an earlier page ended"`
	Before  int64    `query:"before" minimum:"1" deprecated:"true" doc:"Use cursor"`
	Limit   int      `query:"limit" minimum:"1" maximum:"1000" default:"100"`
}

func (s *runRoutes) listRuns(ctx context.Context, in *listRunsInput) (*body[wire.RunList], error) {
	q := state.RunList{Limit: in.Limit}
	var err error
	if q.Statuses, err = statuses[domain.RunStatus](in.Status); err != nil {
		return nil, err
	}
	if in.Active {
		q.Statuses = append(q.Statuses, engine.ActiveRuns()...)
	}
	if q.Before, err = position(in.Cursor, in.Before); err != nil {
		return nil, err
	}
	if q.AccountID, err = s.accountID(ctx, in.Account, in.Source); err != nil {
		return nil, err
	}
	page, err := s.Lists.ListRuns(ctx, q)
	return &body[wire.RunList]{listOf(page, same[domain.Run])}, err
}

type getRunInput struct {
	ID     int64 `path:"id" minimum:"1"`
	Ledger bool  `query:"ledger" doc:"Also list every resource and its pages"`
	Brief  bool  `query:"brief" doc:"Only how far it is: pages are not looked at, and ledger_summary is empty"`
}

func (s *runRoutes) getRun(ctx context.Context, in *getRunInput) (*body[wire.RunDetail], error) {
	run, err := s.Reader.Run(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	progress, err := s.Observer.Progress(ctx, run)
	if err != nil {
		return nil, err
	}
	if in.Brief {
		return &body[wire.RunDetail]{wire.RunDetail{Progress: progress}}, nil
	}
	detail, err := s.ledger(ctx, progress.Run)
	if err != nil {
		return nil, err
	}
	detail.Progress = progress
	if !in.Ledger {
		detail.Ledger = nil
	}
	return &body[wire.RunDetail]{detail}, nil
}

// ledger reads what a run has stored. Of one whose jobs were deleted, or are
// being deleted, that is the summary that was kept instead of them.
func (s *runRoutes) ledger(ctx context.Context, run domain.Run) (d wire.RunDetail, err error) {
	if !run.Status.Active() {
		if d.Ledger, err = s.Reader.Summary(ctx, run.ID); err != nil {
			return d, err
		}
	}
	if len(d.Ledger) > 0 {
		d.LedgerSummary = wire.SummarizePruned(run, d.Ledger)
		return d, nil
	}
	d.Ledger, err = s.Reader.Ledger(ctx, run.ID)
	d.LedgerSummary = wire.Summarize(run, d.Ledger)
	return d, err
}

type cancelInput struct {
	ID   int64 `path:"id" minimum:"1"`
	Body *wire.ReasonRequest
}

func (s *runRoutes) cancelRun(ctx context.Context, in *cancelInput) (*body[domain.Run], error) {
	run, err := s.Orchestrator.CancelRun(ctx, in.ID, reasonOr(in.Body, "canceled on request"))
	return &body[domain.Run]{run}, err
}
