package state

import (
	"context"
	"maps"
	"slices"

	"sluice/internal/domain"
)

// Purges removes everything of an account, a batch at a time.
type Purges interface {
	// BeginPurge makes an account's state purged: nothing of it is collected or
	// stored any more. An account with an active run is an error of code conflict
	// that names the run. For one whose purge was begun before it changes nothing.
	BeginPurge(ctx context.Context, account int64) error
	// PurgeBatch removes up to so many rows of an account whose purge was begun,
	// and says how many of each kind: documents, jobs, runs, cursors, stored pages,
	// statistics, schedules, quota windows that no other account draws on. It is
	// empty when nothing is left.
	PurgeBatch(ctx context.Context, account int64, rows int) (Purged, error)
	// EndPurge takes the account's name, owner and credential out of its row when
	// nothing else is left. The row stays, so that whatever comes late for it
	// finds that it is purged.
	EndPurge(ctx context.Context, account int64) (domain.Account, error)
}

// Purged counts what a purge has removed, by kind.
type Purged map[string]int64

// The kinds of what is purged.
const (
	PurgedDocuments    = "documents"
	PurgedPayloads     = "payloads"     // compressed, those of a page together
	PurgedRepositories = "repositories" // when they were last seen
	PurgedCursors      = "cursors"
	PurgedPages        = "stored pages"
	PurgedJobs         = "jobs"
	PurgedRuns         = "runs" // with their summaries and what began them
	PurgedStatistics   = "statistics"
	PurgedSchedules    = "schedules"
	PurgedWindows      = "quota windows"
)

// Add counts more.
func (p Purged) Add(more Purged) {
	for kind, n := range more {
		p[kind] += n
	}
}

// Total counts everything.
func (p Purged) Total() (n int64) {
	for of := range maps.Values(p) {
		n += of
	}
	return n
}

// Kinds lists what there was something of.
func (p Purged) Kinds() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(p)), func(kind string) bool { return p[kind] == 0 })
}

// MayPurge says whether an account can be purged: it must not have an active run,
// 0 if it has none.
func MayPurge(a *domain.Account, active int64) error {
	if active != 0 {
		return domain.Errorf(domain.CodeConflict, "account %s has the active run %d; cancel it first, or purge with cancel", a.Login, active)
	}
	return nil
}

// MustBePurging refuses to remove anything of an account whose purge was not
// begun, or that has an active run, 0 if none: somebody signed it up again.
func MustBePurging(a *domain.Account, active int64) error {
	if a.State != domain.AccountPurged || active != 0 {
		return domain.Errorf(domain.CodeConflict, "account %s is %s with the active run %d; its purge was not begun, or it was signed up again", a.Login, a.State, active)
	}
	return nil
}

// PurgedReason is shown of an account while it is purged.
const PurgedReason = "everything of it was removed, or is being removed"
