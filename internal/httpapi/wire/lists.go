package wire

import (
	"time"

	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/refresh"
	"sluice/internal/state"
	"sluice/internal/stats"
	"sluice/internal/timer"
)

// List is one page of any list. Who wants more gives NextCursor as cursor; a page
// may have fewer items than its limit, or none, while there is one.
type List[T any] struct {
	Items []T `json:"items" nullable:"false"`
	// NextCursor is where the next page begins; empty on the last.
	NextCursor string `json:"next_cursor,omitempty" doc:"Give it as cursor to get the next page; absent on the last"`
}

// The lists.
type (
	// AccountList is in id order.
	AccountList = List[AccountRow]
	// RunList has the newest runs first.
	RunList = List[domain.Run]
	// JobList is in id order.
	JobList = List[Job]
	// TimerList is in the order of ids.
	TimerList = List[timer.Timer]
	// CompletionList is in the order in which timers fired.
	CompletionList = List[timer.Completion]
	// CursorList is every cursor of an account, by resource.
	CursorList = List[ResourceCursor]
	// ArchiveList is by source and day.
	ArchiveList = List[ArchiveDay]
)

// AccountRow is an account in a list. Its runs are there if they are asked for.
type AccountRow struct {
	domain.Account
	LastRun *domain.Run     `json:"last_run,omitempty" doc:"Its newest run, with=runs; absent if there was none"`
	NextRun *domain.Harvest `json:"next_run,omitempty" doc:"When it is collected again, with=runs; absent while a run is under way, or if nothing is planned"`
}

// ResourceCursor is up to when a resource was collected: the next run asks for what
// came after.
type ResourceCursor struct {
	Resource string    `json:"resource"`
	At       time.Time `json:"at" doc:"What was changed until then is stored"`
}

// DeadLetterList is one page of dead letters, newest first, and how many there are
// of each cause.
type DeadLetterList struct {
	List[Letter]
	Counts map[string]int64 `json:"counts"`
}

// The kinds of dead letters.
const (
	LetterRefresh    = "refresh"
	LetterStatistics = "statistics"
)

// Letter is what failed for good: a request to refresh an entity, or the
// statistics of a run.
type Letter struct {
	ID   string `json:"id"`
	Kind string `json:"kind" enum:"refresh,statistics"`
	// Why is a short code that letters are counted by.
	Why    string    `json:"why"`
	Error  string    `json:"error,omitempty"`
	Source string    `json:"source"`
	Failed time.Time `json:"buried_at"`
	Tries  int       `json:"tries,omitempty"`
	// Key is the entity of a refresh.
	Key string `json:"key,omitempty"`
	// AccountID, Login and RunID are those of statistics.
	AccountID int64  `json:"account_id,omitempty"`
	Login     string `json:"login,omitempty"`
	RunID     int64  `json:"run_id,omitempty"`
	// Refresh is the whole request, when one letter is shown.
	Refresh *refresh.DeadLetter `json:"refresh,omitempty"`
}

// Name is what the letter is about, for people.
func (l Letter) Name() string {
	if l.Kind == LetterStatistics {
		return l.Source + ":" + l.Login
	}
	return l.Source + ":" + l.Key
}

// LetterOf shows a refresh that failed for good.
func LetterOf(l refresh.DeadLetter) Letter {
	return Letter{
		ID: l.ID, Kind: LetterRefresh, Why: l.Why, Error: l.Error, Source: l.Source, Key: l.Key, Failed: l.FailedAt, Tries: l.Tries,
	}
}

// StatisticsWhy is the cause of statistics that were given up.
const StatisticsWhy = "STATISTICS"

// Quota is one page of what is known about owners' rations, and who waits for them.
type Quota struct {
	List[QuotaWindow]
	Waits []engine.LaneWait `json:"waits" nullable:"false"`
}

// Leaderboard ranks accounts by one measure, the best first.
type Leaderboard struct {
	By stats.Measure `json:"by"`
	// Accounts is how many were compared.
	Accounts int `json:"accounts"`
	List[stats.Row]
}

// AccountDetail is an account with what became of it so far.
type AccountDetail struct {
	domain.Account
	// Schedule is when it is collected again.
	Schedule Schedule `json:"schedule"`
	// Quota are the rations of its owner.
	Quota []QuotaWindow `json:"quota" nullable:"false"`
	// LastRun is absent if there was none.
	LastRun *domain.Run `json:"last_run,omitempty"`
	// Documents counts what is stored, by kind.
	Documents map[string]int64 `json:"documents"`
	// WaitsFor says what keeps it from going on now; absent if nothing does.
	WaitsFor []string `json:"waits_for,omitempty"`
	// Set and CredentialFor are of sources whose address can be set.
	Set           map[string]string `json:"set,omitempty" doc:"Values of its source's config that are its own"`
	CredentialFor string            `json:"credential_for,omitempty" doc:"Where its credential was given for, and goes alone; absent where the source always is at the same address"`
}

// PurgeRequest says what may be given up for a purge.
type PurgeRequest struct {
	Cancel bool `json:"cancel,omitempty" doc:"Also cancel the account's active run; without it a purge is refused while one is active"`
}

// PurgeAnswer counts what a purge has removed, by kind.
type PurgeAnswer struct {
	AccountID int64        `json:"account_id"`
	Removed   state.Purged `json:"removed"`
}

// JobsRequest names jobs by what they have in common.
type JobsRequest struct {
	All     bool   `json:"all,omitempty" doc:"Needed if nothing else restricts it"`
	Run     int64  `json:"run,omitempty" minimum:"1" doc:"Only of this run"`
	Account string `json:"account,omitempty" maxLength:"200" doc:"Only of this account: its id or its login"`
	Source  string `json:"source,omitempty" maxLength:"50" doc:"Where a login is looked up; at every source unless given"`
	Type    string `json:"type,omitempty" maxLength:"255" doc:"Only of this type, such as REPO_ISSUES"`
	Error   string `json:"error,omitempty" maxLength:"32" doc:"Only those that failed for this reason, such as server or timeout"`
	DryRun  bool   `json:"dry_run,omitempty" doc:"Only say how many: up to 5,000 are counted with each request"`
	Cursor  string `json:"cursor,omitempty" maxLength:"100" doc:"Where an earlier answer ended"`
	Limit   int    `json:"limit,omitempty" minimum:"1" maximum:"1000" default:"1000" doc:"How many at most, before the answer; next_cursor goes on"`
}

// CancelJobsRequest names unfinished jobs by what they have in common.
type CancelJobsRequest struct {
	JobsRequest
	Status string `json:"status,omitempty" enum:"READY,RUNNING,PAUSED" doc:"Only in this state"`
	Reason string `json:"reason,omitempty" maxLength:"500" doc:"Why, for people"`
}

// RunsRequest names active runs by what they have in common.
type RunsRequest struct {
	All     bool   `json:"all,omitempty" doc:"Needed if nothing else restricts it"`
	Account string `json:"account,omitempty" maxLength:"200" doc:"Only of this account: its id or its login"`
	Source  string `json:"source,omitempty" maxLength:"50" doc:"Where a login is looked up; at every source unless given"`
	Status  string `json:"status,omitempty" enum:"CREATED,PLANNING,RUNNING,FINALIZING" doc:"Only in this state"`
	Reason  string `json:"reason,omitempty" maxLength:"1000" doc:"Shown wherever the effect is visible"`
	DryRun  bool   `json:"dry_run,omitempty" doc:"Only say how many"`
	Cursor  string `json:"cursor,omitempty" maxLength:"100" doc:"Where an earlier answer ended"`
	Limit   int    `json:"limit,omitempty" minimum:"1" maximum:"1000" default:"1000" doc:"How many at most, before the answer; next_cursor goes on"`
}

// BulkAnswer says what became of many.
type BulkAnswer struct {
	engine.Bulk
	DryRun     bool   `json:"dry_run,omitempty"`
	NextCursor string `json:"next_cursor,omitempty" doc:"There are more: ask again with this as cursor"`
}
