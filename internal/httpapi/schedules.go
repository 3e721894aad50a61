package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
	"sluice/internal/schedule"
)

// scheduleRoutes serve when accounts are collected again, and which run goes
// first.
type scheduleRoutes struct {
	*common
	accountFinder
	Reader       AccountReader
	Orchestrator Scheduler
}

func (s *scheduleRoutes) registerSchedules(api huma.API) {
	const tag = "accounts"
	register(s, api, operation{id: "get-schedule", method: http.MethodGet, path: "/api/v1/accounts/{id}/schedule", tag: tag,
		summary: "Show when an account is collected again", errors: []int{http.StatusNotFound}}, s.getSchedule)
	register(s, api, operation{id: "set-schedule", method: http.MethodPut, path: "/api/v1/accounts/{id}/schedule", tag: tag,
		summary: "Set when an account is collected again; what is left out follows the schedule of all accounts",
		errors:  []int{http.StatusNotFound, http.StatusUnprocessableEntity}}, s.setSchedule)
	register(s, api, operation{id: "delete-account", method: http.MethodDelete, path: "/api/v1/accounts/{id}", tag: tag,
		summary: "Delete an account; what was collected stays", errors: []int{http.StatusNotFound}}, s.deleteAccount)
	register(s, api, operation{id: "set-run-priority", method: http.MethodPost, path: "/api/v1/runs/{id}/priority", tag: "runs",
		summary: "Set a run's priority: before others, or after them",
		errors:  []int{http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity}}, s.setRunPriority)
	register(s, api, operation{id: "resume-run", method: http.MethodPost, path: "/api/v1/runs/{id}/resume", tag: "runs",
		summary: "Resume a run that ended with failures, from its failed jobs",
		errors:  []int{http.StatusNotFound, http.StatusConflict}}, s.resumeRun)
}

func (s *scheduleRoutes) getSchedule(ctx context.Context, in *accountRef) (*body[wire.Schedule], error) {
	a, err := s.account(ctx, in.ID, in.Source)
	if err != nil {
		return nil, err
	}
	return s.scheduleOf(ctx, a)
}

func (s *scheduleRoutes) scheduleOf(ctx context.Context, a domain.Account) (*body[wire.Schedule], error) {
	policy, harvest, err := s.Orchestrator.Schedule(ctx, a.ID)
	if err != nil {
		return nil, err
	}
	out := wire.Schedule{AccountID: a.ID, Login: a.Login, Policy: wire.PolicyOf(policy)}
	if !harvest.At.IsZero() {
		out.Next = &harvest
	}
	return &body[wire.Schedule]{out}, nil
}

type setScheduleInput struct {
	ID     string `path:"id" maxLength:"200" doc:"The account's id or its login"`
	Source string `query:"source" maxLength:"50" doc:"Where a login is looked up; at every source unless given"`
	Body   wire.Policy
}

func (s *scheduleRoutes) setSchedule(ctx context.Context, in *setScheduleInput) (*body[wire.Schedule], error) {
	a, err := s.account(ctx, in.ID, in.Source)
	if err != nil {
		return nil, err
	}
	policy, err := in.Body.Parse()
	if err != nil {
		return nil, err
	}
	if _, err := s.Orchestrator.SetSchedule(ctx, a.ID, policy); err != nil {
		return nil, err
	}
	return s.scheduleOf(ctx, a)
}

func (s *scheduleRoutes) deleteAccount(ctx context.Context, in *accountRef) (*body[domain.Account], error) {
	a, err := s.account(ctx, in.ID, in.Source)
	if err != nil {
		return nil, err
	}
	if err := s.Orchestrator.DeleteAccount(ctx, a.ID); err != nil {
		return nil, err
	}
	a, err = s.Reader.Account(ctx, a.ID)
	return &body[domain.Account]{a}, err
}

type runPriorityInput struct {
	ID   int64 `path:"id" minimum:"1"`
	Body wire.PriorityRequest
}

func (s *scheduleRoutes) setRunPriority(ctx context.Context, in *runPriorityInput) (*body[domain.Run], error) {
	var priority domain.Priority
	if err := priority.UnmarshalText([]byte(in.Body.Priority)); err != nil {
		return nil, err
	}
	run, err := s.Orchestrator.SetRunPriority(ctx, in.ID, priority)
	return &body[domain.Run]{run}, err
}

func (s *scheduleRoutes) resumeRun(ctx context.Context, in *numbered) (*body[domain.Run], error) {
	run, err := s.Orchestrator.ResumeRun(ctx, in.ID, domain.PriorityHigh)
	return &body[domain.Run]{run}, err
}

// Scheduler plans when accounts are collected; *engine.Engine is one.
type Scheduler interface {
	Schedule(ctx context.Context, account int64) (schedule.Policy, domain.Harvest, error)
	SetSchedule(ctx context.Context, account int64, p schedule.Policy) (domain.Harvest, error)
	DeleteAccount(ctx context.Context, id int64) error
	SetRunPriority(ctx context.Context, id int64, p domain.Priority) (domain.Run, error)
	ResumeRun(ctx context.Context, id int64, p domain.Priority) (domain.Run, error)
}
