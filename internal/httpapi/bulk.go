package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/access"
	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/httpapi/wire"
	"sluice/internal/state"
)

// BulkKeeper changes many jobs or runs at once; *engine.Engine is one.
type BulkKeeper interface {
	RetryJobs(ctx context.Context, q state.JobList, dry bool) (engine.Bulk, error)
	CancelJobs(ctx context.Context, q state.JobList, reason string, dry bool) (engine.Bulk, error)
	CancelRuns(ctx context.Context, q state.RunList, reason string, dry bool) (engine.Bulk, error)
}

// bulkRoutes serve changes of many things, a batch with each request.
type bulkRoutes struct {
	*common
	accountFinder
	Orchestrator BulkKeeper
}

func (s *bulkRoutes) registerBulk(api huma.API) {
	refused := []int{http.StatusNotFound, http.StatusUnprocessableEntity}
	register(s, api, operation{id: "retry-jobs", method: http.MethodPost, path: "/api/v1/jobs/retry", tag: "jobs",
		summary: "Retry the failed jobs that a filter selects, a batch at a time, and resume their runs", errors: refused}, s.retryJobs)
	register(s, api, operation{id: "cancel-jobs", method: http.MethodPost, path: "/api/v1/jobs/cancel", tag: "jobs",
		summary: "Cancel the unfinished jobs that a filter selects, with the runs they are of, a batch at a time", errors: refused}, s.cancelJobs)
	register(s, api, operation{id: "cancel-runs", method: http.MethodPost, path: "/api/v1/runs/cancel", tag: "runs",
		summary: "Cancel the active runs that a filter selects, a batch at a time", errors: refused}, s.cancelRuns)
}

// needFilter refuses to change everything without having been told so.
func needFilter(all, filtered bool) error {
	if all || filtered {
		return nil
	}
	return domain.Errorf(domain.CodeInvalid, "say which by a filter, or all of them by all: true")
}

// accountID finds the account that a filter names, 0 for none.
func (f accountFinder) accountID(ctx context.Context, ref, source string) (int64, error) {
	if ref == "" {
		return 0, nil
	}
	a, err := f.account(ctx, ref, source)
	return a.ID, err
}

// onlyCounts keeps what changes nothing out of the audit log.
func onlyCounts(ctx context.Context, dry bool) {
	if dry {
		access.Unchanged(ctx)
	}
}

func bulkAnswer(b engine.Bulk, dry bool) *body[wire.BulkAnswer] {
	return &body[wire.BulkAnswer]{wire.BulkAnswer{Bulk: b, DryRun: dry, NextCursor: cursorAt(b.Next)}}
}

func (s *bulkRoutes) retryJobs(ctx context.Context, in *body[wire.JobsRequest]) (*body[wire.BulkAnswer], error) {
	onlyCounts(ctx, in.Body.DryRun)
	q, err := s.jobs(ctx, &in.Body, "")
	if err != nil {
		return nil, err
	}
	done, err := s.Orchestrator.RetryJobs(ctx, q, in.Body.DryRun)
	return bulkAnswer(done, in.Body.DryRun), err
}

// jobs reads which jobs are meant, of those that are in a state if it is not "".
func (s *bulkRoutes) jobs(ctx context.Context, req *wire.JobsRequest, status string) (q state.JobList, err error) {
	if err := needFilter(req.All, status != "" || req.Run != 0 || req.Account != "" || req.Type != "" || req.Error != ""); err != nil {
		return q, err
	}
	q = state.JobList{RunID: req.Run, Type: req.Type, Limit: req.Limit}
	if q.ErrorKind, err = failureKind(req.Error); err != nil {
		return q, err
	}
	if q.After, err = position(req.Cursor, 0); err != nil {
		return q, err
	}
	q.AccountID, err = s.accountID(ctx, req.Account, req.Source)
	return q, err
}

func (s *bulkRoutes) cancelJobs(ctx context.Context, in *body[wire.CancelJobsRequest]) (*body[wire.BulkAnswer], error) {
	onlyCounts(ctx, in.Body.DryRun)
	q, err := s.jobs(ctx, &in.Body.JobsRequest, in.Body.Status)
	if err != nil {
		return nil, err
	}
	if in.Body.Status != "" {
		if q.Statuses, err = statuses[domain.JobStatus]([]string{in.Body.Status}); err != nil {
			return nil, err
		}
	}
	reason := reasonOr(&wire.ReasonRequest{Reason: in.Body.Reason}, "canceled on request")
	done, err := s.Orchestrator.CancelJobs(ctx, q, reason, in.Body.DryRun)
	return bulkAnswer(done, in.Body.DryRun), err
}

func (s *bulkRoutes) cancelRuns(ctx context.Context, in *body[wire.RunsRequest]) (*body[wire.BulkAnswer], error) {
	req := in.Body
	onlyCounts(ctx, req.DryRun)
	if err := needFilter(req.All, req.Account != "" || req.Status != ""); err != nil {
		return nil, err
	}
	q := state.RunList{Statuses: engine.ActiveRuns(), Limit: req.Limit}
	var err error
	if req.Status != "" {
		if q.Statuses, err = statuses[domain.RunStatus]([]string{req.Status}); err != nil {
			return nil, err
		}
	}
	if q.Before, err = position(req.Cursor, 0); err != nil {
		return nil, err
	}
	if q.AccountID, err = s.accountID(ctx, req.Account, req.Source); err != nil {
		return nil, err
	}
	reason := reasonOr(&wire.ReasonRequest{Reason: req.Reason}, "canceled on request")
	done, err := s.Orchestrator.CancelRuns(ctx, q, reason, req.DryRun)
	return bulkAnswer(done, req.DryRun), err
}

// failureKind reads why jobs failed; "" for whatever reason.
func failureKind(name string) (domain.FailureKind, error) {
	kind := domain.FailureKind(name)
	if name != "" && !kind.Valid() {
		return "", domain.Errorf(domain.CodeInvalid, "that is no reason why a job fails; the reasons are %s", domain.FailureKindNames())
	}
	return kind, nil
}
