package httpapi

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/httpapi/wire"
	"sluice/internal/state"
)

func (s *server) registerJobs(api huma.API) {
	const tag = "jobs"
	register(s, api, operation{id: "list-jobs", method: http.MethodGet, path: "/api/v1/jobs", tag: tag,
		summary: "List jobs in id order", errors: []int{http.StatusUnprocessableEntity}}, s.listJobs)
	register(s, api, operation{id: "get-job", method: http.MethodGet, path: "/api/v1/jobs/{id}", tag: tag,
		summary: "Show a job", errors: []int{http.StatusNotFound}}, s.getJob)
	register(s, api, operation{id: "retry-job", method: http.MethodPost, path: "/api/v1/jobs/{id}/retry", tag: tag,
		summary: "Bring a failed job back, and its run with it", errors: []int{http.StatusNotFound, http.StatusConflict}}, s.retryJob)
	register(s, api, operation{id: "get-quota", method: http.MethodGet, path: "/api/v1/quota", tag: "quota",
		summary: "Show every ration and who waits for it"}, s.getQuota)
}

type listJobsInput struct {
	Run    int64    `query:"run" minimum:"1" doc:"Only of this run"`
	Status []string `query:"status" enum:"READY,ENQUEUED,RUNNING,PAUSED,SUCCEEDED,FAILED,CANCELED" doc:"Only in these states, separated by commas"`
	After  int64    `query:"after" minimum:"1" doc:"Only jobs with a larger id"`
	Limit  int      `query:"limit" minimum:"1" maximum:"1000" default:"100"`
}

func (s *server) listJobs(ctx context.Context, in *listJobsInput) (*body[wire.JobList], error) {
	q := state.JobQuery{RunID: in.Run, AfterID: in.After, Limit: in.Limit + 1}
	for _, name := range in.Status {
		var status domain.JobStatus
		if err := status.UnmarshalText([]byte(name)); err != nil {
			return nil, err
		}
		q.Statuses = append(q.Statuses, status)
	}
	jobs, err := s.Reader.Jobs(ctx, q)
	if err != nil {
		return nil, err
	}
	var list wire.JobList
	if len(jobs) > in.Limit {
		jobs = jobs[:in.Limit]
		list.NextAfter = jobs[in.Limit-1].ID
	}
	list.Jobs = make([]wire.Job, len(jobs))
	for i, job := range jobs {
		list.Jobs[i] = wire.JobOf(job)
	}
	return &body[wire.JobList]{list}, nil
}

func (s *server) getJob(ctx context.Context, in *numbered) (*body[wire.Job], error) {
	job, err := s.Reader.Job(ctx, in.ID)
	return &body[wire.Job]{wire.JobOf(job)}, err
}

func (s *server) retryJob(ctx context.Context, in *numbered) (*body[wire.Job], error) {
	job, err := s.Orchestrator.RetryJob(ctx, in.ID)
	return &body[wire.Job]{wire.JobOf(job)}, err
}

func (s *server) getQuota(ctx context.Context, _ *struct{}) (*body[wire.Quota], error) {
	windows, err := s.Quota.Windows(ctx, "")
	if err != nil {
		return nil, err
	}
	q := wire.Quota{Windows: notNull(windows), Waits: []engine.LaneWait{}}
	for lane, wait := range s.Observer.Waits() {
		q.Waits = append(q.Waits, engine.LaneWait{Lane: lane, Wait: wait})
	}
	slices.SortFunc(q.Waits, func(a, b engine.LaneWait) int { return cmp.Compare(a.Lane, b.Lane) })
	return &body[wire.Quota]{q}, nil
}
