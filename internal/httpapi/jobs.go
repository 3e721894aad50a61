package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
	"sluice/internal/state"
)

// jobRoutes serve jobs.
type jobRoutes struct {
	*common
	accountFinder
	Lists        ListReader
	Reader       RunReader
	Orchestrator RunKeeper
}

func (s *jobRoutes) registerJobs(api huma.API) {
	const tag = "jobs"
	register(s, api, operation{id: "list-jobs", method: http.MethodGet, path: "/api/v1/jobs", tag: tag,
		summary: "List jobs in id order", errors: []int{http.StatusUnprocessableEntity}}, s.listJobs)
	register(s, api, operation{id: "get-job", method: http.MethodGet, path: "/api/v1/jobs/{id}", tag: tag,
		summary: "Show a job", errors: []int{http.StatusNotFound}}, s.getJob)
	register(s, api, operation{id: "retry-job", method: http.MethodPost, path: "/api/v1/jobs/{id}/retry", tag: tag,
		summary: "Retry a failed job, and resume its run", errors: []int{http.StatusNotFound, http.StatusConflict}}, s.retryJob)
}

type listJobsInput struct {
	Run     int64    `query:"run" minimum:"1" doc:"Only of this run"`
	Account string   `query:"account" maxLength:"200" doc:"Only of this account: its id or its login"`
	Source  string   `query:"source" maxLength:"50" doc:"Where a login is looked up; at every source unless given"`
	Type    string   `query:"type" maxLength:"255" doc:"Only of this type, such as REPO_ISSUES"`
	Status  []string `query:"status" enum:"READY,RUNNING,PAUSED,SUCCEEDED,FAILED,CANCELED" doc:"Only in these states, separated by commas"`
	Error   string   `query:"error" maxLength:"32" doc:"Only those whose last attempt failed for this reason, such as server or timeout"`
	Cursor  string   `query:"cursor" maxLength:"100" doc:"Where an earlier page ended"`
	After   int64    `query:"after" minimum:"1" deprecated:"true" doc:"Use cursor"`
	Limit   int      `query:"limit" minimum:"1" maximum:"1000" default:"100"`
}

func (s *jobRoutes) listJobs(ctx context.Context, in *listJobsInput) (*body[wire.JobList], error) {
	q := state.JobList{RunID: in.Run, Type: in.Type, Limit: in.Limit}
	var err error
	if q.Statuses, err = statuses[domain.JobStatus](in.Status); err != nil {
		return nil, err
	}
	if q.ErrorKind, err = failureKind(in.Error); err != nil {
		return nil, err
	}
	if q.After, err = position(in.Cursor, in.After); err != nil {
		return nil, err
	}
	if q.AccountID, err = s.accountID(ctx, in.Account, in.Source); err != nil {
		return nil, err
	}
	page, err := s.Lists.ListJobs(ctx, q)
	return &body[wire.JobList]{listOf(page, wire.JobOf)}, err
}

func (s *jobRoutes) getJob(ctx context.Context, in *numbered) (*body[wire.Job], error) {
	job, err := s.Reader.Job(ctx, in.ID)
	return &body[wire.Job]{wire.JobOf(job)}, err
}

func (s *jobRoutes) retryJob(ctx context.Context, in *numbered) (*body[wire.Job], error) {
	job, err := s.Orchestrator.RetryJob(ctx, in.ID)
	return &body[wire.Job]{wire.JobOf(job)}, err
}
