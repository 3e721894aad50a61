package engine

import (
	"slices"

	"sluice/internal/domain"
)

// retryRule is what becomes of a job whose call failed for one kind of reason.
type retryRule struct {
	// retryable is whether the call is made again with a growing delay, until the
	// job's budget of attempts is used up.
	retryable bool
	// freeIfUnsent is whether a call that never left costs no attempt: the whole lane
	// waits for the upstream to be reachable.
	freeIfUnsent bool
	// mayPass is whether a job that was given up may well succeed later: a
	// harvest resumes the run with it.
	mayPass bool
}

// retryTable is the retry policy, by the kind of failure. docs/retries.md shows
// it to people. What a source says about the answer (wait as long as the
// upstream asked, pause the account, fail the run) comes before it.
var retryTable = map[domain.FailureKind]retryRule{
	domain.FailureConnection:  {retryable: true, freeIfUnsent: true, mayPass: true},
	domain.FailureTimeout:     {retryable: true, mayPass: true},
	domain.FailureServer:      {retryable: true, mayPass: true},
	domain.FailureMalformed:   {retryable: true, mayPass: true},
	domain.FailureLost:        {mayPass: true},
	domain.FailureRateLimited: {retryable: true, mayPass: true},
	domain.FailureNotFound:    {},
	domain.FailureGone:        {},
	domain.FailureForbidden:   {},
	domain.FailureInvalid:     {},
	// A token that an app was issued is taken back early: the next call has a new
	// one. For all others a source pauses the account.
	domain.FailureCredential: {retryable: true},
}

// passingFailureKinds are the kinds of failures that may pass.
func passingFailureKinds() []domain.FailureKind {
	var kinds []domain.FailureKind
	for kind, rule := range retryTable {
		if rule.mayPass {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	return kinds
}
