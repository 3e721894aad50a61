// Package wire holds the JSON shapes that the HTTP API and its client share,
// where the domain's own types do not serve.
package wire

import (
	"time"

	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/quota"
	"sluice/internal/state"
)

// SignupRequest names an account to collect and the credential to do it with.
type SignupRequest struct {
	Source string `json:"source" minLength:"1" maxLength:"50" doc:"The upstream, such as github"`
	Login  string `json:"login" minLength:"1" maxLength:"200" doc:"The account's name at the upstream"`
	Token  string `json:"token" minLength:"1" maxLength:"4096" pattern:"^[!-~]+$" patternDescription:"a token without spaces" format:"password" writeOnly:"true" doc:"The credential; stored encrypted and never shown again"`
}

// SignupAnswer is the stored account and its active run.
type SignupAnswer struct {
	Account domain.Account `json:"account"`
	Run     domain.Run     `json:"run"`
	// Started is false when a run was under way already: then only the
	// credential was renewed.
	Started bool `json:"started" doc:"False if the run was under way already"`
}

// AccountList is every account.
type AccountList struct {
	Accounts []domain.Account `json:"accounts" nullable:"false"`
}

// AccountSettings is what an account's owner keeps for himself. What is left
// out stays as it is.
type AccountSettings struct {
	Floor *int    `json:"floor,omitempty" minimum:"0" doc:"Calls of each quota window; 0 is the configured floor"`
	Hours *string `json:"hours,omitempty" maxLength:"100" doc:"A time of day, such as 09:00-18:00 Asia/Seoul; empty for none"`
}

// ReasonRequest says why something is paused or canceled.
type ReasonRequest struct {
	Reason string `json:"reason,omitempty" maxLength:"1000" doc:"Shown wherever the effect is seen"`
}

// RunRequest asks for a run, naming the account either way.
type RunRequest struct {
	AccountID int64  `json:"account_id,omitempty" minimum:"1" doc:"The account; or give source and login"`
	Source    string `json:"source,omitempty" maxLength:"50"`
	Login     string `json:"login,omitempty" maxLength:"200"`
	Priority  string `json:"priority,omitempty" enum:"HIGH,LOW" doc:"HIGH unless given"`
}

// RunList is one page of runs, newest first.
type RunList struct {
	Runs []domain.Run `json:"runs" nullable:"false"`
	// NextBefore is the before of the next page; zero on the last.
	NextBefore int64 `json:"next_before,omitempty" doc:"Give it as before to get the next page"`
}

// RunDetail is a run with how far it is and whether anything is missing.
type RunDetail struct {
	engine.Progress
	LedgerSummary LedgerSummary      `json:"ledger_summary"`
	Ledger        []state.LedgerLine `json:"ledger,omitempty" doc:"Every resource, when asked for with ledger=1"`
}

// LedgerSummary adds up the pages of a run's resources.
type LedgerSummary struct {
	Resources   int `json:"resources"`
	PagesKnown  int `json:"pages_known"`
	PagesStored int `json:"pages_stored"`
	PagesFailed int `json:"pages_failed" doc:"Failed or canceled"`
	Items       int `json:"items"`
	Gaps        int `json:"gaps" doc:"Resources of which a page is not stored"`
}

// Summarize adds up a ledger.
func Summarize(lines []state.LedgerLine) LedgerSummary {
	s := LedgerSummary{Resources: len(lines)}
	for _, l := range lines {
		s.PagesKnown += l.Known
		s.PagesStored += l.Stored
		s.PagesFailed += l.Failed
		s.Items += l.Items
		if l.Stored < l.Known {
			s.Gaps++
		}
	}
	return s
}

// Job is one upstream call. What the call is made with stays inside.
type Job struct {
	ID         int64              `json:"id"`
	RunID      int64              `json:"run_id"`
	AccountID  int64              `json:"account_id"`
	ParentID   int64              `json:"parent_id,omitempty"`
	Type       string             `json:"type"`
	Resource   string             `json:"resource"`
	PageKey    string             `json:"page_key,omitempty"`
	Bucket     string             `json:"bucket"`
	Priority   domain.Priority    `json:"priority"`
	Status     domain.JobStatus   `json:"status"`
	Attempt    int64              `json:"attempt"`
	Failures   int                `json:"failures"`
	Lost       int                `json:"lost"`
	NotBefore  time.Time          `json:"not_before,omitzero"`
	Error      string             `json:"error,omitempty"`
	ErrorKind  domain.FailureKind `json:"error_kind,omitempty"`
	Items      int                `json:"items"`
	Pages      int                `json:"pages"`
	CreatedAt  time.Time          `json:"created_at"`
	FinishedAt time.Time          `json:"finished_at,omitzero"`
}

// JobOf shows a job.
func JobOf(j domain.Job) Job {
	return Job{
		ID: j.ID, RunID: j.RunID, AccountID: j.AccountID, ParentID: j.ParentID,
		Type: j.Type, Resource: j.Resource, PageKey: j.PageKey, Bucket: j.Bucket,
		Priority: j.Priority, Status: j.Status, Attempt: j.Attempt, Failures: j.Failures, Lost: j.Lost,
		NotBefore: j.NotBefore, Error: j.Error, ErrorKind: j.ErrorKind, Items: j.Items, Pages: j.Pages,
		CreatedAt: j.CreatedAt, FinishedAt: j.FinishedAt,
	}
}

// JobList is one page of jobs in id order.
type JobList struct {
	Jobs []Job `json:"jobs" nullable:"false"`
	// NextAfter is the after of the next page; zero on the last.
	NextAfter int64 `json:"next_after,omitempty" doc:"Give it as after to get the next page"`
}

// Quota is what is known about every owner's ration and who waits for it.
type Quota struct {
	Windows []quota.Window    `json:"windows" nullable:"false"`
	Waits   []engine.LaneWait `json:"waits" nullable:"false"`
}

// Problem is an error as RFC 9457 has it, with the code by which programs tell
// errors apart.
type Problem struct {
	Title  string          `json:"title"`
	Status int             `json:"status"`
	Detail string          `json:"detail,omitempty"`
	Code   domain.Code     `json:"code"`
	Errors []ProblemDetail `json:"errors,omitempty"`
}

// ProblemDetail is one of several things wrong with a request. What was sent
// is not repeated: it may be a secret.
type ProblemDetail struct {
	Message  string `json:"message"`
	Location string `json:"location,omitempty"`
}

// The names of the events in a stream.
const (
	EventProgress = "progress" // data is an engine.Progress
	EventError    = "error"    // data is a Problem; the stream ends
)

// Heartbeat is how often a stream that has nothing to say shows that it is
// alive.
const Heartbeat = 15 * time.Second
