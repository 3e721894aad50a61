// Package state is the port to the only truth: accounts, runs, jobs, cursors,
// stored pages, quota windows, statistics. Everything else may vanish and is
// rebuilt from here.
//
// Every method is one transaction. Methods are safe for concurrent use; an
// error of code unavailable means that the same call may be repeated, and
// repeating a call whose answer was lost changes nothing.
package state

import (
	"context"
	"time"

	"sluice/internal/document"
	"sluice/internal/domain"
)

// Accounts keeps the accounts and their sealed credentials.
type Accounts interface {
	// PutAccount creates the account (source, login) or, if it exists,
	// replaces its credential and makes it active again. Its owner is the one
	// that an account with the same credential is known to have, else the
	// credential's name.
	PutAccount(ctx context.Context, a AccountSpec) (domain.Account, error)
	Account(ctx context.Context, id int64) (domain.Account, error)
	AccountByLogin(ctx context.Context, source, login string) (domain.Account, error)
	Accounts(ctx context.Context) ([]domain.Account, error)
	// SetAccountState pauses, resumes or deletes an account. Pausing also
	// pauses its waiting jobs; resuming makes paused jobs ready again and
	// returns them.
	SetAccountState(ctx context.Context, id int64, to domain.AccountState, reason string) ([]domain.JobRef, error)
	// ReserveForOwner sets what is kept for an account's owner.
	ReserveForOwner(ctx context.Context, id int64, floor int, hours domain.Hours) (domain.Account, error)
	// Credential returns the sealed credential and the id of its key.
	Credential(ctx context.Context, account int64) (Sealed, error)
}

// AccountSpec is what PutAccount stores.
type AccountSpec struct {
	Source, Login string
	// Name stands for the credential: the same for the same one.
	Name       string
	Credential Sealed
}

// Sealed is an encrypted secret; only the secret package can open it.
type Sealed struct {
	KeyID string
	Data  []byte
}

// Runs keeps the runs.
type Runs interface {
	// CreateRun opens a run. It fails with code conflict, and returns the
	// active run, if the account already has one; and the one that the same
	// delivery has begun for the account before, whatever became of that.
	CreateRun(ctx context.Context, r RunSpec) (domain.Run, error)
	// PlanRun moves a run through PLANNING to RUNNING and creates its first
	// jobs. Repeating it after an interruption creates nothing twice.
	PlanRun(ctx context.Context, run int64, jobs []domain.JobSpec) ([]domain.JobRef, error)
	// Deliver adds jobs to the account's run that is under way, or begins one with
	// them, and returns those it made. A delivery does so once for an account: when
	// it comes again, the error is of code conflict and the run is the one that it
	// went into. If the account's active run is another than was expected, or has
	// not come to running, or runs no more, the error is of code stale.
	Deliver(ctx context.Context, d Delivered) (domain.Run, []domain.JobRef, error)
	Run(ctx context.Context, id int64) (domain.Run, error)
	Runs(ctx context.Context, q RunQuery) ([]domain.Run, error)
	// FailRun ends a run that could not collect its root, and cancels what
	// is left of it.
	FailRun(ctx context.Context, run int64, reason string) (domain.Run, error)
	// CancelRun ends a run on request and cancels its unfinished jobs.
	CancelRun(ctx context.Context, run int64, reason string) (domain.Run, error)
	// CompleteRun stores the statistics of a FINALIZING run and completes it,
	// both or neither. For a run that is already complete it does nothing.
	CompleteRun(ctx context.Context, run int64, statistics []byte) (domain.Run, error)
	// ResumeRun lets a run that ended FAILED, or COMPLETED with failed jobs, go
	// on where it stopped: its failed jobs whose failure is of one of the kinds
	// and, if the run FAILED, those that were canceled with it, wait again with
	// a fresh retry budget (under a paused account, until that is resumed). The
	// run has the given priority from then on, as with SetRunPriority. It
	// returns the jobs of the run that wait. A run of which nothing can go on,
	// or whose account has another active run, is an error of code conflict and
	// stays as it is. For a run that is RUNNING it changes nothing. A run that
	// only lacks its statistics is FINALIZING from then on.
	ResumeRun(ctx context.Context, run int64, p domain.Priority, kinds []domain.FailureKind) ([]domain.JobRef, error)
	// SetRunPriority gives an active run another priority, and with it all its
	// jobs that have not succeeded, even those that have one from their spec;
	// later jobs get it from the job that leads to them, unless their spec has
	// one. If the run has the priority already, nothing changes. It returns the
	// jobs of the run that wait. An ended run is an error of code conflict.
	SetRunPriority(ctx context.Context, run int64, p domain.Priority) ([]domain.JobRef, error)
}

// Ledgers tells what is known and stored of each resource of a run.
type Ledgers interface {
	// PruneRuns deletes up to so many jobs of runs of an account that ended
	// before an instant, the oldest first, and returns how many. The account's
	// newest run keeps its jobs. What the ledger of a run without jobs was is
	// kept as its Summary.
	PruneRuns(ctx context.Context, account int64, before time.Time, jobs int) (int, error)
	// Summary is what is left of the ledger of a run whose jobs were deleted:
	// a line for each type, without resources. It is empty for other runs.
	Summary(ctx context.Context, run int64) ([]LedgerLine, error)
	// Outlook says what is left of a run, bucket by bucket.
	Outlook(ctx context.Context, run int64) ([]Outlook, error)
	// Expect stores what is forecast of a run, unless something is already.
	Expect(ctx context.Context, run int64, e domain.Expectation) error
	// Ledger lists the pages of each resource of a run.
	Ledger(ctx context.Context, run int64) ([]LedgerLine, error)
}

// RunSpec is what CreateRun stores.
type RunSpec struct {
	AccountID int64
	Trigger   domain.Trigger
	Priority  domain.Priority
	Anchor    time.Time
	// Delivery, if set, names what began the run: a webhook that is delivered
	// twice begins one run.
	Delivery string
}

// Delivered is what Deliver stores.
type Delivered struct {
	RunSpec
	// Into is the account's active run as it was seen, 0 if it had none.
	Into int64
	Jobs []domain.JobSpec
}

// RunQuery selects runs, newest first. Zero fields do not restrict.
type RunQuery struct {
	AccountID  int64
	ActiveOnly bool
	// Except leaves out runs that something began.
	Except domain.Trigger
	// BeforeID pages backwards; Limit zero means 100.
	BeforeID int64
	Limit    int
}

// Outlook is what one bucket has given to a run and will have to give.
type Outlook struct {
	Bucket string `json:"bucket"`
	// Done counts ended jobs; Left the calls that the others expect to take.
	Done int64 `json:"done"`
	Left int64 `json:"left"`
	// Running counts jobs whose call is being made: the run has counted it, though it
	// is among those left.
	Running int64 `json:"running"`
	// Discovering counts unfinished jobs that may still find more to do.
	Discovering int64 `json:"discovering"`
}

// Jobs keeps the jobs. Claim and Finish are the hot path: adapters merge the
// calls of concurrent workers into one transaction.
type Jobs interface {
	// Claim begins the attempt after the one that the job's row showed; what
	// is written for the job from then on must carry the new attempt. It fails
	// with code stale if another attempt was begun in between, or if the job
	// waits no more. A job that is still RUNNING is taken over from a worker
	// that vanished, and counts as lost once more: whoever claims must hold
	// the job's lease.
	Claim(ctx context.Context, c Claim) error
	// Finish commits one attempt: documents, next jobs, cursor, stored page,
	// the job's new state and the run's counters, all or nothing. It fails
	// with code stale if another attempt owns the job. Repeating a Finish that
	// was committed returns the same effect.
	Finish(ctx context.Context, o Outcome) (Effect, error)
	Job(ctx context.Context, id int64) (domain.Job, error)
	// Load reads several jobs at once, in any order; unknown ids are left out.
	Load(ctx context.Context, ids []int64) ([]domain.Job, error)
	Jobs(ctx context.Context, q JobQuery) ([]domain.Job, error)
	// RetryJob brings a failed job back with a fresh retry budget, and its
	// run with it.
	RetryJob(ctx context.Context, id int64) (domain.JobRef, error)
	// Waiting calls fn for every job that waits for a worker, in id order:
	// what dispatch is rebuilt from.
	Waiting(ctx context.Context, fn func(domain.JobRef) error) error
	// Unfinished calls fn for every job that waits for a worker or is RUNNING,
	// in id order, as they all were at one instant: what dispatch is rebuilt
	// from while others work. A job that moves on meanwhile is not missed, and
	// whoever gets it finds out.
	Unfinished(ctx context.Context, fn func(ref domain.JobRef, running bool) error) error
	// Children lists the waiting jobs that a finished job created.
	Children(ctx context.Context, parent int64) ([]domain.JobRef, error)
	// RecoverRunning makes jobs ready again whose worker is gone: all RUNNING
	// ones, as no worker of this store is alive. A job lost more than maxLost
	// times fails instead. It returns how many were recovered and which runs
	// ended with that.
	RecoverRunning(ctx context.Context, maxLost int) (recovered int, ended []domain.Run, err error)
}

// Claim asks for one attempt at a job.
type Claim struct {
	Job int64
	// Attempt is the attempt that was seen; the claim begins the next.
	Attempt int64
	// Account is the version of the account that the claim goes by, 0 if any
	// will do: the claim is stale if its credential, its owner or what it keeps
	// for itself has changed since.
	Account int64
	At      time.Time
	// Local says that the job makes no upstream call: none is counted.
	Local bool
	// Window, if set, is stored with the claim: the call is paid for before
	// it is made.
	Window *domain.QuotaWindow
}

// Outcome is everything one attempt brought about.
type Outcome struct {
	Job     int64
	Attempt int64
	At      time.Time
	// To is the job's new state: SUCCEEDED, FAILED, READY or PAUSED.
	To domain.JobStatus
	// NotBefore delays a job that goes back to READY.
	NotBefore time.Time
	// CountFailure takes one from the retry budget.
	CountFailure bool
	Failure      *domain.Failure
	// Items and Pages fill the ledger (see domain.Job).
	Items, Pages int
	Documents    []document.Document
	Next         []domain.JobSpec
	// Cursors move with the last page of their resource. Pages are chained,
	// so every earlier one is stored by then.
	Cursors []domain.Cursor
	// Stored replaces the remembered page of the same key.
	Stored []domain.Page
	// Window, if set, is stored as with Claim.
	Window *domain.QuotaWindow
	// DropResource cancels the run's waiting jobs for this resource: the
	// upstream no longer has it.
	DropResource string
	// Owner, if set, is whose ration the calls made with the account's
	// credential turned out to draw on. Every account with it learns that.
	Owner string
	// Target, if set, is what the account turned out to be.
	Target domain.Target
	// Absences are things that the upstream no longer has.
	Absences []document.Absence
	// PauseAccount pauses the account and all its waiting jobs, with a reason.
	PauseAccount string
	// FailRun ends the run: its root could not be collected.
	FailRun string
}

// Effect is what a Finish brought about.
type Effect struct {
	Created []domain.JobRef
	// Rows are the created jobs in full, where the adapter has them at hand;
	// they spare the engine reading them. A claim finds out if they are stale.
	Rows []domain.Job
	// Canceled are waiting jobs that must not be handed out any more.
	Canceled []int64
	// Closed is the run as it moved to FINALIZING or FAILED with this very
	// outcome; nil otherwise. It is reported to one finisher only.
	Closed *domain.Run
}

// JobQuery selects jobs in id order. Zero fields do not restrict.
type JobQuery struct {
	RunID    int64
	Statuses []domain.JobStatus
	AfterID  int64
	// Limit zero means 100.
	Limit int
}

// Collection keeps what lets a later run be incremental.
type Collection interface {
	// Cursors returns all cursors of an account by resource.
	Cursors(ctx context.Context, account int64) (map[string]time.Time, error)
	StoredPage(ctx context.Context, account int64, key string) (domain.Page, bool, error)
}

// Quotas keeps the durable form of quota windows: what a keeper needs that has
// lost its own.
type Quotas interface {
	// QuotaWindows lists the windows of an owner, of all for "".
	QuotaWindows(ctx context.Context, owner string) ([]domain.QuotaWindow, error)
	PutQuotaWindow(ctx context.Context, w domain.QuotaWindow) error
}

// Statistics keeps what was computed for each account.
type Statistics interface {
	// AccountStatistics returns the newest statistics of an account.
	AccountStatistics(ctx context.Context, account int64) ([]byte, bool, error)
	// AllStatistics calls fn with the newest statistics of every account.
	AllStatistics(ctx context.Context, fn func(account domain.Account, statistics []byte) error) error
}

// Store is what an adapter offers. Whoever needs some of it takes that.
type Store interface {
	Accounts
	Runs
	Ledgers
	Jobs
	Collection
	Quotas
	Statistics
	Harvests
	Totals
	Lists
	Purges
	Sharing
	Health
}

// Health is whether a store works.
type Health interface {
	// Check proves that the store can be read and written.
	Check(ctx context.Context) error
	Close() error
}

// Parts is a store taken apart, for those who hand its parts on.
type Parts struct {
	Accounts Accounts
	Runs     Runs
	Ledgers  Ledgers
	Jobs     Jobs
	Cursors  Collection
	Windows  Quotas
	Harvests Harvests
	Lists    Lists
	Purges   Purges
	Sharing  Sharing
}

// PartsOf takes a store apart.
func PartsOf(s Store) Parts {
	return Parts{Accounts: s, Runs: s, Ledgers: s, Jobs: s, Cursors: s, Windows: s, Harvests: s, Lists: s, Purges: s, Sharing: s}
}
