package faulty

import (
	"context"

	"sluice/internal/domain"
	"sluice/internal/state"
)

// ListAccounts implements state.Lists.
func (s *State) ListAccounts(ctx context.Context, q state.AccountList) (state.Page[domain.Account], error) {
	return get(ctx, s.plan, "ListAccounts", func() (state.Page[domain.Account], error) { return s.inner.ListAccounts(ctx, q) })
}

// ListRuns implements state.Lists.
func (s *State) ListRuns(ctx context.Context, q state.RunList) (state.Page[domain.Run], error) {
	return get(ctx, s.plan, "ListRuns", func() (state.Page[domain.Run], error) { return s.inner.ListRuns(ctx, q) })
}

// ListJobs implements state.Lists.
func (s *State) ListJobs(ctx context.Context, q state.JobList) (state.Page[domain.Job], error) {
	return get(ctx, s.plan, "ListJobs", func() (state.Page[domain.Job], error) { return s.inner.ListJobs(ctx, q) })
}

// ListJobIDs implements state.Lists.
func (s *State) ListJobIDs(ctx context.Context, q state.JobList) (state.Page[int64], error) {
	return get(ctx, s.plan, "ListJobIDs", func() (state.Page[int64], error) { return s.inner.ListJobIDs(ctx, q) })
}

// AccountsOf implements state.Lists.
func (s *State) AccountsOf(ctx context.Context, owners []string, most int) ([]domain.Account, error) {
	return get(ctx, s.plan, "AccountsOf", func() ([]domain.Account, error) { return s.inner.AccountsOf(ctx, owners, most) })
}

// WithoutStatistics implements state.Lists.
func (s *State) WithoutStatistics(ctx context.Context, most int) ([]domain.Run, error) {
	return get(ctx, s.plan, "WithoutStatistics", func() ([]domain.Run, error) { return s.inner.WithoutStatistics(ctx, most) })
}

// BeginPurge implements state.Purges.
func (s *State) BeginPurge(ctx context.Context, account int64) error {
	return do(ctx, s.plan, "BeginPurge", func() error { return s.inner.BeginPurge(ctx, account) })
}

// PurgeBatch implements state.Purges.
func (s *State) PurgeBatch(ctx context.Context, account int64, rows int) (state.Purged, error) {
	return get(ctx, s.plan, "PurgeBatch", func() (state.Purged, error) { return s.inner.PurgeBatch(ctx, account, rows) })
}

// EndPurge implements state.Purges.
func (s *State) EndPurge(ctx context.Context, account int64) (domain.Account, error) {
	return get(ctx, s.plan, "EndPurge", func() (domain.Account, error) { return s.inner.EndPurge(ctx, account) })
}
