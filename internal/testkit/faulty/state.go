package faulty

import (
	"context"
	"time"

	"sluice/internal/domain"
	"sluice/internal/state"
)

// State is a state store with outages.
type State struct {
	inner state.Store
	plan  *Plan
}

var _ state.Store = (*State)(nil)

// NewState wraps a store.
func NewState(inner state.Store, plan *Plan) *State { return &State{inner: inner, plan: plan} }

// Close closes the wrapped store; that never fails by plan.
func (s *State) Close() error { return s.inner.Close() }

// PutAccount implements state.Accounts.
func (s *State) PutAccount(ctx context.Context, a state.AccountSpec) (domain.Account, error) {
	return get(ctx, s.plan, "PutAccount", func() (domain.Account, error) { return s.inner.PutAccount(ctx, a) })
}

// Account implements state.Accounts.
func (s *State) Account(ctx context.Context, id int64) (domain.Account, error) {
	return get(ctx, s.plan, "Account", func() (domain.Account, error) { return s.inner.Account(ctx, id) })
}

// AccountByLogin implements state.Accounts.
func (s *State) AccountByLogin(ctx context.Context, source string, login string) (domain.Account, error) {
	return get(ctx, s.plan, "AccountByLogin", func() (domain.Account, error) { return s.inner.AccountByLogin(ctx, source, login) })
}

// Accounts implements state.Accounts.
func (s *State) Accounts(ctx context.Context) ([]domain.Account, error) {
	return get(ctx, s.plan, "Accounts", func() ([]domain.Account, error) { return s.inner.Accounts(ctx) })
}

// SetAccountState implements state.Accounts.
func (s *State) SetAccountState(ctx context.Context, id int64, to domain.AccountState, reason string) ([]domain.JobRef, error) {
	return get(ctx, s.plan, "SetAccountState", func() ([]domain.JobRef, error) { return s.inner.SetAccountState(ctx, id, to, reason) })
}

// Credential implements state.Accounts.
func (s *State) Credential(ctx context.Context, account int64) (state.Sealed, error) {
	return get(ctx, s.plan, "Credential", func() (state.Sealed, error) { return s.inner.Credential(ctx, account) })
}

// CreateRun implements state.Runs.
func (s *State) CreateRun(ctx context.Context, r state.RunSpec) (domain.Run, error) {
	return get(ctx, s.plan, "CreateRun", func() (domain.Run, error) { return s.inner.CreateRun(ctx, r) })
}

// PlanRun implements state.Runs.
func (s *State) PlanRun(ctx context.Context, run int64, jobs []domain.JobSpec) ([]domain.JobRef, error) {
	return get(ctx, s.plan, "PlanRun", func() ([]domain.JobRef, error) { return s.inner.PlanRun(ctx, run, jobs) })
}

// Deliver implements state.Runs.
func (s *State) Deliver(ctx context.Context, d state.Delivered) (run domain.Run, made []domain.JobRef, err error) {
	made, err = get(ctx, s.plan, "Deliver", func() (made []domain.JobRef, err error) {
		run, made, err = s.inner.Deliver(ctx, d)
		return made, err
	})
	return run, made, err
}

// Run implements state.Runs.
func (s *State) Run(ctx context.Context, id int64) (domain.Run, error) {
	return get(ctx, s.plan, "Run", func() (domain.Run, error) { return s.inner.Run(ctx, id) })
}

// Runs implements state.Runs.
func (s *State) Runs(ctx context.Context, q state.RunQuery) ([]domain.Run, error) {
	return get(ctx, s.plan, "Runs", func() ([]domain.Run, error) { return s.inner.Runs(ctx, q) })
}

// FailRun implements state.Runs.
func (s *State) FailRun(ctx context.Context, run int64, reason string) (domain.Run, error) {
	return get(ctx, s.plan, "FailRun", func() (domain.Run, error) { return s.inner.FailRun(ctx, run, reason) })
}

// CancelRun implements state.Runs.
func (s *State) CancelRun(ctx context.Context, run int64, reason string) (domain.Run, error) {
	return get(ctx, s.plan, "CancelRun", func() (domain.Run, error) { return s.inner.CancelRun(ctx, run, reason) })
}

// CompleteRun implements state.Runs.
func (s *State) CompleteRun(ctx context.Context, run int64, statistics []byte) (domain.Run, error) {
	return get(ctx, s.plan, "CompleteRun", func() (domain.Run, error) { return s.inner.CompleteRun(ctx, run, statistics) })
}

// PruneRuns implements state.Runs.
func (s *State) PruneRuns(ctx context.Context, account int64, before time.Time, jobs int) (int, error) {
	return get(ctx, s.plan, "PruneRuns", func() (int, error) { return s.inner.PruneRuns(ctx, account, before, jobs) })
}

// Summary implements state.Runs.
func (s *State) Summary(ctx context.Context, run int64) ([]state.LedgerLine, error) {
	return get(ctx, s.plan, "Summary", func() ([]state.LedgerLine, error) { return s.inner.Summary(ctx, run) })
}

// ResumeRun implements state.Runs.
func (s *State) ResumeRun(ctx context.Context, run int64, p domain.Priority, kinds []domain.FailureKind) ([]domain.JobRef, error) {
	return get(ctx, s.plan, "ResumeRun", func() ([]domain.JobRef, error) { return s.inner.ResumeRun(ctx, run, p, kinds) })
}

// SetRunPriority implements state.Runs.
func (s *State) SetRunPriority(ctx context.Context, run int64, p domain.Priority) ([]domain.JobRef, error) {
	return get(ctx, s.plan, "SetRunPriority", func() ([]domain.JobRef, error) { return s.inner.SetRunPriority(ctx, run, p) })
}

// Ledger implements state.Runs.
func (s *State) Ledger(ctx context.Context, run int64) ([]state.LedgerLine, error) {
	return get(ctx, s.plan, "Ledger", func() ([]state.LedgerLine, error) { return s.inner.Ledger(ctx, run) })
}

// ReserveForOwner implements state.Accounts.
func (s *State) ReserveForOwner(ctx context.Context, id int64, floor int, hours domain.Hours) (domain.Account, error) {
	return get(ctx, s.plan, "ReserveForOwner", func() (domain.Account, error) { return s.inner.ReserveForOwner(ctx, id, floor, hours) })
}

// Outlook implements state.Runs.
func (s *State) Outlook(ctx context.Context, run int64) ([]state.Outlook, error) {
	return get(ctx, s.plan, "Outlook", func() ([]state.Outlook, error) { return s.inner.Outlook(ctx, run) })
}

// Expect implements state.Runs.
func (s *State) Expect(ctx context.Context, run int64, e domain.Expectation) error {
	return do(ctx, s.plan, "Expect", func() error { return s.inner.Expect(ctx, run, e) })
}

// Check implements state.Store.
func (s *State) Check(ctx context.Context) error {
	return do(ctx, s.plan, "Check", func() error { return s.inner.Check(ctx) })
}

// Claim implements state.Jobs.
func (s *State) Claim(ctx context.Context, c state.Claim) error {
	return do(ctx, s.plan, "Claim", func() error { return s.inner.Claim(ctx, c) })
}

// Finish implements state.Jobs.
func (s *State) Finish(ctx context.Context, o state.Outcome) (state.Effect, error) {
	return get(ctx, s.plan, "Finish", func() (state.Effect, error) { return s.inner.Finish(ctx, o) })
}

// Job implements state.Jobs.
func (s *State) Job(ctx context.Context, id int64) (domain.Job, error) {
	return get(ctx, s.plan, "Job", func() (domain.Job, error) { return s.inner.Job(ctx, id) })
}

// Load implements state.Jobs.
func (s *State) Load(ctx context.Context, ids []int64) ([]domain.Job, error) {
	return get(ctx, s.plan, "Load", func() ([]domain.Job, error) { return s.inner.Load(ctx, ids) })
}

// Jobs implements state.Jobs.
func (s *State) Jobs(ctx context.Context, q state.JobQuery) ([]domain.Job, error) {
	return get(ctx, s.plan, "Jobs", func() ([]domain.Job, error) { return s.inner.Jobs(ctx, q) })
}

// RetryJob implements state.Jobs.
func (s *State) RetryJob(ctx context.Context, id int64) (domain.JobRef, error) {
	return get(ctx, s.plan, "RetryJob", func() (domain.JobRef, error) { return s.inner.RetryJob(ctx, id) })
}

// Waiting implements state.Jobs.
func (s *State) Waiting(ctx context.Context, fn func(domain.JobRef) error) error {
	return do(ctx, s.plan, "Waiting", func() error { return s.inner.Waiting(ctx, fn) })
}

// Unfinished implements state.Jobs.
func (s *State) Unfinished(ctx context.Context, fn func(domain.JobRef, bool) error) error {
	return do(ctx, s.plan, "Unfinished", func() error { return s.inner.Unfinished(ctx, fn) })
}

// Children implements state.Jobs.
func (s *State) Children(ctx context.Context, parent int64) ([]domain.JobRef, error) {
	return get(ctx, s.plan, "Children", func() ([]domain.JobRef, error) { return s.inner.Children(ctx, parent) })
}

// RecoverRunning implements state.Jobs.
func (s *State) RecoverRunning(ctx context.Context, maxLost int) (int, []domain.Run, error) {
	return getPair(ctx, s.plan, "RecoverRunning", func() (int, []domain.Run, error) { return s.inner.RecoverRunning(ctx, maxLost) })
}

// Cursors implements state.Collection.
func (s *State) Cursors(ctx context.Context, account int64) (map[string]time.Time, error) {
	return get(ctx, s.plan, "Cursors", func() (map[string]time.Time, error) { return s.inner.Cursors(ctx, account) })
}

// StoredPage implements state.Collection.
func (s *State) StoredPage(ctx context.Context, account int64, key string) (domain.Page, bool, error) {
	return getPair(ctx, s.plan, "StoredPage", func() (domain.Page, bool, error) { return s.inner.StoredPage(ctx, account, key) })
}

// QuotaWindows implements state.Quotas.
func (s *State) QuotaWindows(ctx context.Context, owner string) ([]domain.QuotaWindow, error) {
	return get(ctx, s.plan, "QuotaWindows", func() ([]domain.QuotaWindow, error) { return s.inner.QuotaWindows(ctx, owner) })
}

// PutQuotaWindow implements state.Quotas.
func (s *State) PutQuotaWindow(ctx context.Context, w domain.QuotaWindow) error {
	return do(ctx, s.plan, "PutQuotaWindow", func() error { return s.inner.PutQuotaWindow(ctx, w) })
}

// AccountStatistics implements state.Statistics.
func (s *State) AccountStatistics(ctx context.Context, account int64) ([]byte, bool, error) {
	return getPair(ctx, s.plan, "AccountStatistics", func() ([]byte, bool, error) { return s.inner.AccountStatistics(ctx, account) })
}

// AllStatistics implements state.Statistics.
func (s *State) AllStatistics(ctx context.Context, fn func(domain.Account, []byte) error) error {
	return do(ctx, s.plan, "AllStatistics", func() error { return s.inner.AllStatistics(ctx, fn) })
}

// SetSchedule implements state.Harvests.
func (s *State) SetSchedule(ctx context.Context, account int64, schedule []byte) error {
	return do(ctx, s.plan, "SetSchedule", func() error { return s.inner.SetSchedule(ctx, account, schedule) })
}

// Schedule implements state.Harvests.
func (s *State) Schedule(ctx context.Context, account int64) ([]byte, error) {
	return get(ctx, s.plan, "Schedule", func() ([]byte, error) { return s.inner.Schedule(ctx, account) })
}

// PlanHarvest implements state.Harvests.
func (s *State) PlanHarvest(ctx context.Context, h domain.Harvest) error {
	return do(ctx, s.plan, "PlanHarvest", func() error { return s.inner.PlanHarvest(ctx, h) })
}

// DropHarvest implements state.Harvests.
func (s *State) DropHarvest(ctx context.Context, account int64) error {
	return do(ctx, s.plan, "DropHarvest", func() error { return s.inner.DropHarvest(ctx, account) })
}

// Harvest implements state.Harvests.
func (s *State) Harvest(ctx context.Context, account int64) (domain.Harvest, bool, error) {
	return getPair(ctx, s.plan, "Harvest", func() (domain.Harvest, bool, error) { return s.inner.Harvest(ctx, account) })
}

// Harvests implements state.Harvests.
func (s *State) Harvests(ctx context.Context, fn func(domain.Harvest) error) error {
	return do(ctx, s.plan, "Harvests", func() error { return s.inner.Harvests(ctx, fn) })
}

// Total implements state.Totals.
func (s *State) Total(ctx context.Context) (state.Total, error) {
	return get(ctx, s.plan, "Total", func() (state.Total, error) { return s.inner.Total(ctx) })
}

// Lead implements state.Sharing.
func (s *State) Lead(ctx context.Context, q state.LeadQuery) ([]domain.Leader, error) {
	return get(ctx, s.plan, "Lead", func() ([]domain.Leader, error) { return s.inner.Lead(ctx, q) })
}

// CursorsOf implements state.Sharing.
func (s *State) CursorsOf(ctx context.Context, account int64, names []string) (map[string]time.Time, error) {
	return get(ctx, s.plan, "CursorsOf", func() (map[string]time.Time, error) { return s.inner.CursorsOf(ctx, account, names) })
}

// PagesOf implements state.Sharing.
func (s *State) PagesOf(ctx context.Context, account int64, resource string) ([]domain.Page, error) {
	return get(ctx, s.plan, "PagesOf", func() ([]domain.Page, error) { return s.inner.PagesOf(ctx, account, resource) })
}
