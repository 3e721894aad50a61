package httpapi

import (
	"fmt"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/domain"
	"sluice/internal/refresh"
	"sluice/internal/stats"
	"sluice/internal/timer"
)

// enums makes the description list the values of types that know but a few. The
// types themselves know nothing of descriptions, so each has an alias here.
func enums(r huma.Registry) {
	alias := func(of, described any) { r.RegisterTypeAlias(reflect.TypeOf(of), reflect.TypeOf(described)) }
	alias(domain.RunCreated, runStatuses{})
	alias(domain.JobReady, jobStatuses{})
	alias(domain.PriorityHigh, priorities{})
	alias(domain.TriggerManual, triggers{})
	alias(domain.AccountActive, accountStates{})
	alias(domain.FailureNone, failureKinds{})
	alias(timer.Waiting, timerStatuses{})
	alias(refresh.Fresh, freshnesses{})
	alias(refresh.StatusFailed, refreshStatuses{})
	alias(refresh.ReasonStale, refreshReasons{})
	alias(stats.ByImpact, measures{})
}

// oneOf is a text that is one of some.
func oneOf[T any](values ...T) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString}
	for _, v := range values {
		s.Enum = append(s.Enum, fmt.Sprint(v))
	}
	s.PrecomputeMessages()
	return s
}

type (
	runStatuses     struct{}
	jobStatuses     struct{}
	priorities      struct{}
	triggers        struct{}
	accountStates   struct{}
	failureKinds    struct{}
	timerStatuses   struct{}
	freshnesses     struct{}
	refreshStatuses struct{}
	refreshReasons  struct{}
	measures        struct{}
)

// Schema implements huma.SchemaProvider.
func (runStatuses) Schema(huma.Registry) *huma.Schema {
	return oneOf(domain.RunCreated, domain.RunPlanning, domain.RunRunning, domain.RunFinalizing,
		domain.RunCompleted, domain.RunFailed, domain.RunCanceled)
}

// Schema implements huma.SchemaProvider.
func (jobStatuses) Schema(huma.Registry) *huma.Schema {
	return oneOf(domain.JobReady, domain.JobRunning, domain.JobPaused, domain.JobSucceeded, domain.JobFailed, domain.JobCanceled)
}

// Schema implements huma.SchemaProvider.
func (priorities) Schema(huma.Registry) *huma.Schema {
	return oneOf(domain.PriorityHigh, domain.PriorityLow)
}

// Schema implements huma.SchemaProvider.
func (triggers) Schema(huma.Registry) *huma.Schema {
	return oneOf(domain.TriggerSignup, domain.TriggerSchedule, domain.TriggerManual, domain.TriggerWebhook)
}

// Schema implements huma.SchemaProvider.
func (accountStates) Schema(huma.Registry) *huma.Schema {
	return oneOf(domain.AccountActive, domain.AccountPaused, domain.AccountDeleted, domain.AccountPurged)
}

// Schema implements huma.SchemaProvider.
func (failureKinds) Schema(huma.Registry) *huma.Schema {
	return oneOf(domain.FailureConnection, domain.FailureTimeout, domain.FailureServer, domain.FailureMalformed,
		domain.FailureNotFound, domain.FailureGone, domain.FailureForbidden, domain.FailureCredential,
		domain.FailureRateLimited, domain.FailureInvalid, domain.FailureLost)
}

// Schema implements huma.SchemaProvider.
func (timerStatuses) Schema(huma.Registry) *huma.Schema {
	return oneOf(timer.Waiting, timer.Delivering, timer.Completed, timer.Dead, timer.Canceled)
}

// Schema implements huma.SchemaProvider.
func (freshnesses) Schema(huma.Registry) *huma.Schema {
	return oneOf(refresh.Fresh, refresh.Stale, refresh.Updating, refresh.NotFound)
}

// Schema implements huma.SchemaProvider.
func (refreshStatuses) Schema(huma.Registry) *huma.Schema {
	return oneOf(refresh.StatusRetrying, refresh.StatusFailed)
}

// Schema implements huma.SchemaProvider.
func (refreshReasons) Schema(huma.Registry) *huma.Schema {
	return oneOf(refresh.ReasonCacheMiss, refresh.ReasonStale, refresh.ReasonPrefetch, refresh.ReasonUserRequest, refresh.ReasonRedrive)
}

// Schema implements huma.SchemaProvider.
func (measures) Schema(huma.Registry) *huma.Schema { return oneOf(stats.Measures()...) }
