package httpapi

import (
	"cmp"
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
	"sluice/internal/state"
)

func (s *server) registerRuns(api huma.API) {
	const tag = "runs"
	register(s, api, operation{id: "start-run", method: http.MethodPost, path: "/api/v1/runs", tag: tag,
		summary: "Start a collection of an account", status: http.StatusCreated,
		errors: []int{http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity}}, s.startRun)
	register(s, api, operation{id: "list-runs", method: http.MethodGet, path: "/api/v1/runs", tag: tag,
		summary: "List runs, newest first", errors: []int{http.StatusNotFound, http.StatusUnprocessableEntity}}, s.listRuns)
	register(s, api, operation{id: "get-run", method: http.MethodGet, path: "/api/v1/runs/{id}", tag: tag,
		summary: "Show a run's progress and what it has stored", errors: []int{http.StatusNotFound}}, s.getRun)
	register(s, api, operation{id: "cancel-run", method: http.MethodPost, path: "/api/v1/runs/{id}/cancel", tag: tag,
		summary: "End a run", errors: []int{http.StatusNotFound, http.StatusConflict}}, s.cancelRun)
}

// numbered names a run or a job in a path.
type numbered struct {
	ID int64 `path:"id" minimum:"1"`
}

func (s *server) startRun(ctx context.Context, in *body[wire.RunRequest]) (*body[domain.Run], error) {
	req := in.Body
	if (req.AccountID == 0) == (req.Login == "") {
		return nil, domain.Errorf(domain.CodeInvalid, "name the account by account_id, or by login (and source)")
	}
	id := req.AccountID
	if id == 0 {
		a, err := s.Reader.AccountByLogin(ctx, cmp.Or(req.Source, defaultSource), req.Login)
		if err != nil {
			return nil, err
		}
		id = a.ID
	}
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
	Account string `query:"account" maxLength:"200" doc:"Only of this account: its id or its login"`
	Source  string `query:"source" maxLength:"50" default:"github" doc:"Where a login is looked up"`
	Active  bool   `query:"active" doc:"Only runs that have not ended"`
	Before  int64  `query:"before" minimum:"1" doc:"Only runs with a smaller id"`
	Limit   int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
}

func (s *server) listRuns(ctx context.Context, in *listRunsInput) (*body[wire.RunList], error) {
	// One more than asked for tells whether there is a next page.
	q := state.RunQuery{ActiveOnly: in.Active, BeforeID: in.Before, Limit: in.Limit + 1}
	if in.Account != "" {
		a, err := s.account(ctx, in.Account, in.Source)
		if err != nil {
			return nil, err
		}
		q.AccountID = a.ID
	}
	runs, err := s.Reader.Runs(ctx, q)
	if err != nil {
		return nil, err
	}
	list := wire.RunList{Runs: notNull(runs)}
	if len(runs) > in.Limit {
		list.Runs = runs[:in.Limit]
		list.NextBefore = runs[in.Limit-1].ID
	}
	return &body[wire.RunList]{list}, nil
}

type getRunInput struct {
	ID     int64 `path:"id" minimum:"1"`
	Ledger bool  `query:"ledger" doc:"Also list every resource with its pages"`
}

func (s *server) getRun(ctx context.Context, in *getRunInput) (*body[wire.RunDetail], error) {
	run, err := s.Reader.Run(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	progress, err := s.Observer.Progress(ctx, run)
	if err != nil {
		return nil, err
	}
	ledger, err := s.Reader.Ledger(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	detail := wire.RunDetail{Progress: progress, LedgerSummary: wire.Summarize(ledger)}
	if in.Ledger {
		detail.Ledger = ledger
	}
	return &body[wire.RunDetail]{detail}, nil
}

type cancelInput struct {
	ID   int64 `path:"id" minimum:"1"`
	Body *wire.ReasonRequest
}

func (s *server) cancelRun(ctx context.Context, in *cancelInput) (*body[domain.Run], error) {
	run, err := s.Orchestrator.CancelRun(ctx, in.ID, reasonOr(in.Body, "canceled on request"))
	return &body[domain.Run]{run}, err
}
