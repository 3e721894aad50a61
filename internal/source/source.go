// Package source is the port to an upstream API: what to ask for, how to make
// one call, and what an answer means. A source never retries, never waits and
// never touches a store, but for what it is lent to read; it says what should
// happen and the engine does it.
//
// A source is a room: its package knows the upstream, and declares whatever the
// rest of the program needs to know about it.
//
//   - source.go: a Source, which is collected in runs of many calls.
//   - records.go: Records, which are asked for by key and kept fresh.
//   - inspect.go: what a credential allows, and where people have one.
//   - shared.go: what accounts with the same credential need not collect twice.
//   - hooked.go: what follows from what an upstream tells.
//   - describe.go: what a source declares: kinds of documents and their columns,
//     rations, webhooks, and how it is opened.
//   - settings.go: what can be set about a source.
//
// The sources that there are stand in internal/sources, a line each.
package source

import (
	"context"
	"time"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/quota"
)

// Source is one upstream API.
type Source interface {
	// Name is how accounts refer to the source.
	Name() string
	// Describe returns what the source declares about itself.
	Describe() Description
	// CheckLogin refuses a login that the upstream cannot have, before any call.
	CheckLogin(login string) error
	// Plan lists the first jobs of a run. It makes no call.
	Plan(run domain.Run) ([]domain.JobSpec, error)
	// Ask says what the job's call will take from the quota.
	Ask(job domain.JobSpec, owner string) (quota.Ask, error)
	// Call makes the job's one upstream call and says what it means. It always
	// returns a Result; failures of the upstream are results, not errors. It
	// makes no second call, and none when ctx is already done.
	Call(ctx context.Context, c Call) Result
}

// Conditional is implemented by sources that can ask "only if it changed".
type Conditional interface {
	// StoredKey names the remembered page that a 304 to this job's call would
	// stand for, "" if there can be none.
	StoredKey(job domain.JobSpec) string
}

// CredentialChecker is implemented by sources that can tell before any call
// that a credential cannot work.
type CredentialChecker interface {
	// CheckCredential refuses a credential or returns it in its one spelling.
	CheckCredential(credential string) (string, error)
}

// Lendable is implemented by sources some of whose calls anybody's credential
// can make.
type Lendable interface {
	// Public reports whether the job's answer is the same for every credential.
	Public(job domain.JobSpec) bool
}

// Call is everything a source may use to make one call.
type Call struct {
	Run   domain.Run
	Job   domain.Job
	Token string
	// Since is the cursor of the job's resource, zero on a first collection.
	Since time.Time
	// Cursors are all cursors of the account by "TYPE resource", as they were
	// when the run was taken up.
	Cursors map[string]time.Time
	// Stored is the remembered page that a 304 would stand for, if any.
	Stored *domain.Page
	// Shared is what other accounts with the same credential have collected; nil if
	// nothing is known of them.
	Shared Shared
}

// Verdict is what should happen to the job.
type Verdict uint8

// The verdicts.
const (
	// Done: the page is complete.
	Done Verdict = iota + 1
	// Retry: a passing fault; try again after a backoff, at most a few times.
	Retry
	// Wait: not the job's fault (a limit was hit); try again later without
	// counting it as a failure.
	Wait
	// Fail: trying again is pointless; the job fails, the run goes on.
	Fail
	// FailRun: the root of the run cannot be collected; the run fails.
	FailRun
	// PauseAccount: the credential is not accepted; a person must renew it.
	PauseAccount
)

// Result is the meaning of one answer.
type Result struct {
	Verdict Verdict
	Failure *domain.Failure
	// RetryAfter is how long the upstream asked to back off, for Wait and
	// Retry; zero leaves it to the engine, or, with Quota.Backoff, to the
	// keeper of the quota: a limit was hit that does not say when it ends.
	RetryAfter time.Duration
	// Quota is what the answer said about the ration. Free marks a call that
	// certainly cost nothing: it never left, or was answered 304.
	Quota quota.Response
	Free  bool

	Documents []document.Document
	Next      []domain.JobSpec
	Cursors   []domain.Cursor
	Stored    []domain.Page
	// Items is how many documents the page held; Pages how many pages the
	// upstream announced for the resource, 0 if it did not.
	Items, Pages int
	// Owner, if known, names whose ration the call drew on: the same for all
	// credentials that share one.
	Owner string
	// Target, if known, is what the account turned out to be.
	Target domain.Target
	// Absences are things that the upstream no longer shows, each with the
	// evidence of a complete listing or of a look by id.
	Absences []document.Absence
	// Drop names a resource whose waiting jobs are pointless by now.
	Drop string
	// WaitsFor says what a job that makes no call waits for.
	WaitsFor string
}
