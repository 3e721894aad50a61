// Package wire holds the JSON shapes that the HTTP API and its client share,
// where the domain's own types do not serve.
package wire

import (
	"time"

	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/quota"
	"sluice/internal/source"
	"sluice/internal/state"
)

// SignupRequest names an account to collect and the credential to do it with.
type SignupRequest struct {
	Source string `json:"source" minLength:"1" maxLength:"50" doc:"The name of the upstream"`
	Login  string `json:"login" minLength:"1" maxLength:"200" doc:"The account's name at the upstream"`
	Token  string `json:"token,omitempty" maxLength:"16384" pattern:"^([^\\x00-\\x1f\\x7f]*|app:[\\s!-~]+)$" patternDescription:"a credential on one line, or app:{…} of an app" format:"password" writeOnly:"true" doc:"The credential; stored encrypted and never shown again. Absent where the upstream wants none, or the account has one"`
	// Set are values of the source's config.
	Set   map[string]string `json:"set,omitempty" doc:"Values of the source's config that are the account's own, and base; absent keeps those that it has. A credential goes only where it was given for: give it anew where these lead elsewhere"`
	Start *bool             `json:"start,omitempty" doc:"false adds the account without collecting it"`
	Check *bool             `json:"check,omitempty" doc:"Ask the upstream with one call what the credential allows, and refuse one that it does not accept; by default if the account is not collected at once"`
}

// DryRunRequest names an account, known or not, whose next collection is to be
// priced. Without a token a known account's own is used.
type DryRunRequest struct {
	Source string            `json:"source" minLength:"1" maxLength:"50" doc:"The name of the upstream"`
	Login  string            `json:"login" minLength:"1" maxLength:"200" doc:"The account's name at the upstream"`
	Token  string            `json:"token,omitempty" maxLength:"16384" pattern:"^([^\\x00-\\x1f\\x7f]*|app:[\\s!-~]+)$" patternDescription:"a credential on one line, or app:{…} of an app" format:"password" writeOnly:"true" doc:"The credential; it is not stored"`
	Set    map[string]string `json:"set,omitempty" doc:"Values of the source's config, where they are to be others than those of the account"`
}

// SignupAnswer is the stored account and its active run.
type SignupAnswer struct {
	Account domain.Account `json:"account"`
	// Run is absent if the account was added without collecting it.
	Run domain.Run `json:"run,omitzero"`
	// Started is false when a run was under way already: then only the
	// credential was renewed.
	Started bool `json:"started" doc:"False if the run was under way already"`
	// Credential is absent if the upstream was not asked.
	Credential *source.Allowance `json:"credential,omitempty" doc:"What the credential allows, if the upstream was asked"`
}

// AccountAnswer is an account and, if it got a new credential, what that allows.
type AccountAnswer struct {
	domain.Account
	Credential *source.Allowance `json:"credential,omitempty" doc:"What a new credential allows"`
}

// AccountSettings is what is kept for an account's owner, and what it is
// collected with. What is left out stays as it is.
type AccountSettings struct {
	Token *string           `json:"token,omitempty" minLength:"1" maxLength:"16384" pattern:"^([^\\x00-\\x1f\\x7f]+|app:[\\s!-~]+)$" patternDescription:"a credential on one line, or app:{…} of an app" format:"password" writeOnly:"true" doc:"A new credential; a paused account resumes with it"`
	Floor *int              `json:"floor,omitempty" minimum:"0" doc:"Calls of each quota window; 0 means the configured floor"`
	Hours *string           `json:"hours,omitempty" maxLength:"100" doc:"A time of day, such as 09:00-18:00 Asia/Seoul; empty for none"`
	Set   map[string]string `json:"set,omitempty" doc:"Values of the source's config that are the account's own, instead of all that it has. Where they lead to another host the credential is to be given with them"`
	Check *bool             `json:"check,omitempty" doc:"false takes a new credential without asking the upstream about it"`
}

// ReasonRequest says why something is paused or canceled.
type ReasonRequest struct {
	Reason string `json:"reason,omitempty" maxLength:"1000" doc:"Shown wherever the effect is visible"`
}

// RunRequest asks for a run, naming the account either way.
type RunRequest struct {
	AccountID int64  `json:"account_id,omitempty" minimum:"1" doc:"The account; or give source and login"`
	Source    string `json:"source,omitempty" maxLength:"50"`
	Login     string `json:"login,omitempty" maxLength:"200"`
	Priority  string `json:"priority,omitempty" enum:"HIGH,LOW" doc:"HIGH unless given"`
}

// RunDetail is a run with how far it is and whether anything is missing.
type RunDetail struct {
	engine.Progress
	LedgerSummary LedgerSummary      `json:"ledger_summary"`
	Ledger        []state.LedgerLine `json:"ledger,omitempty" doc:"Every resource, when asked for with ledger=1; of a pruned run, every type"`
}

// LedgerSummary adds up the pages of a run's resources.
type LedgerSummary struct {
	Resources    int `json:"resources"`
	PagesKnown   int `json:"pages_known"`
	PagesStored  int `json:"pages_stored"`
	PagesFailed  int `json:"pages_failed"`
	PagesDropped int `json:"pages_dropped" doc:"Canceled with the run, or because the upstream no longer has their resource"`
	PagesUnknown int `json:"pages_unknown" doc:"Not stored, and may hold something"`
	Items        int `json:"items"`
	Gaps         int `json:"gaps" doc:"Resources of which something is not known to be stored; 0 only if everything is proven to be stored, or if the run was pruned and no page failed"`
	// Because has no more than the first few of them.
	Because []state.Gap `json:"because,omitempty" doc:"The first gaps, and why each is one"`
	// Pruned is set when the jobs were deleted as their run ended long ago: what
	// is left are the numbers of pages and items of each type.
	Pruned bool `json:"pruned,omitempty" doc:"The jobs were deleted because the run ended long ago; its resources are no longer known"`
}

// maxBecause is how many gaps a summary explains; the ledger explains all.
const maxBecause = 5

// Summarize adds up the ledger of a run.
func Summarize(run domain.Run, lines []state.LedgerLine) LedgerSummary {
	gaps := state.Gaps(run, lines)
	s := LedgerSummary{Resources: len(lines), Gaps: len(gaps), Because: gaps[:min(len(gaps), maxBecause)]}
	for _, l := range lines {
		s.PagesKnown += l.Known
		s.PagesStored += l.Stored
		s.PagesFailed += l.Failed
		s.PagesDropped += l.Dropped
		s.PagesUnknown += l.Unknown
		s.Items += l.Items
	}
	return s
}

// SummarizePruned adds up what is left of the ledger of a run whose jobs were
// deleted, and explains its lines. All of the jobs had ended: what neither was
// stored nor failed was dropped.
func SummarizePruned(run domain.Run, lines []state.LedgerLine) LedgerSummary {
	for i := range lines {
		l := &lines[i]
		l.Dropped = l.Known - l.Stored - l.Failed
		l.Explain("", "")
	}
	s := Summarize(run, lines)
	s.Resources, s.Pruned = 0, true
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
	StartedAt  time.Time          `json:"started_at,omitzero" doc:"When its last attempt began"`
	FinishedAt time.Time          `json:"finished_at,omitzero"`
}

// JobOf shows a job.
func JobOf(j domain.Job) Job {
	return Job{
		ID: j.ID, RunID: j.RunID, AccountID: j.AccountID, ParentID: j.ParentID,
		Type: j.Type, Resource: j.Resource, PageKey: j.PageKey, Bucket: j.Bucket,
		Priority: j.Priority, Status: j.Status, Attempt: j.Attempt, Failures: j.Failures, Lost: j.Lost,
		NotBefore: j.NotBefore, Error: j.Error, ErrorKind: j.ErrorKind, Items: j.Items, Pages: j.Pages,
		CreatedAt: j.CreatedAt, StartedAt: j.StartedAt, FinishedAt: j.FinishedAt,
	}
}

// QuotaWindow is a ration with the accounts that draw on it.
type QuotaWindow struct {
	quota.Window
	// Used is what was called of the window, or is being called.
	Used   int      `json:"used"`
	Logins []string `json:"logins" nullable:"false"`
}

// Problem is an error as RFC 9457 has it, with the code by which programs tell
// errors apart.
type Problem struct {
	// Type is a path of the service that answered.
	Type   string          `json:"type,omitempty" format:"uri-reference" doc:"Leads to a page about problems of this code"`
	Title  string          `json:"title" doc:"The name of the status"`
	Status int             `json:"status" doc:"The status of the answer"`
	Detail string          `json:"detail,omitempty" doc:"What happened and what to do, for people"`
	Code   domain.Code     `json:"code" doc:"Tells programs what happened"`
	Errors []ProblemDetail `json:"errors,omitempty" nullable:"false" doc:"What is wrong with the request, if that is more than one thing"`
	// Checks are told by /readyz to those who ask for them.
	Checks []Check `json:"checks,omitempty" nullable:"false" doc:"What was looked at to find out whether the service is ready"`
}

// ProblemDetail is one of several things wrong with a request. What was sent
// is not repeated: it may be a secret.
type ProblemDetail struct {
	Message  string `json:"message"`
	Location string `json:"location,omitempty"`
}

// The names of the events in a stream.
const (
	EventSnapshot = "snapshot" // how things stand; the first event of a stream
	EventProgress = "progress" // data is an engine.Progress
	EventError    = "error"    // data is a Problem; the stream ends
)

// RunsSnapshot is how the active runs stand when somebody begins to follow all
// runs. There may be several of them, if there are many runs.
type RunsSnapshot struct {
	Runs []engine.Progress `json:"runs" nullable:"false"`
	More bool              `json:"more" doc:"Another snapshot follows with more of them"`
	// Missed is set when more happened since the event that the reader had last
	// than is told again.
	Missed bool `json:"missed" doc:"Runs that began and ended since the last event are left out; list the runs to see them"`
}

// CompletionsSnapshot is where somebody begins to follow completions.
type CompletionsSnapshot struct {
	Position int64 `json:"position" doc:"What comes after it will be sent; it is the event's id"`
	Missed   bool  `json:"missed" doc:"Completions after the position asked for are no longer kept"`
}

// Check is one of the things that the service needs.
type Check struct {
	Name   string `json:"name" doc:"What was looked at"`
	Status string `json:"status" enum:"ok,failed"`
	Error  string `json:"error,omitempty" doc:"Why it failed"`
	TookMS int64  `json:"took_ms" doc:"How long the look took"`
}

// Heartbeat is how often a stream that has nothing to say shows that it is
// alive.
const Heartbeat = 15 * time.Second
