package domain

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Code tells errors apart for programs: each is mapped once to an HTTP status
// and once to an exit code.
type Code string

// The codes.
const (
	CodeInvalid      Code = "invalid"      // the input is wrong; the message names the fix
	CodeNotFound     Code = "not_found"    // there is no such thing
	CodeConflict     Code = "conflict"     // it clashes with what is there
	CodeIllegalMove  Code = "illegal_move" // the state machine refuses
	CodeStale        Code = "stale"        // another worker owns the job by now
	CodeUnauthorized Code = "unauthorized" // a credential is missing or wrong
	CodeUnavailable  Code = "unavailable"  // a backend cannot be reached or is full; try later
	CodeCorrupt      Code = "corrupt"      // stored data cannot be trusted; a person must act
	CodeGone         Code = "gone"         // it was there and is kept no longer; the message says how to go on
	CodeInternal     Code = "internal"     // a bug
)

// Error carries a code, a message for people and, where there is one, a cause.
type Error struct {
	Code Code
	// Message is the whole text, the cause's included.
	Message string
	cause   error
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// Errorf makes an error of a code. A %w verb sets its cause.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), cause: errors.Unwrap(err)}
}

// CodeOf returns the code of the first Error in err's chain; CodeInternal for
// an error without one, and "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return CodeInternal
}

// FailureKind says why an upstream call did not bring what was asked for. The
// retry policy is decided by kind alone.
type FailureKind string

// The kinds of failures.
const (
	FailureNone        FailureKind = ""
	FailureConnection  FailureKind = "connection"   // no answer: refused, reset, no network
	FailureTimeout     FailureKind = "timeout"      // no answer in time
	FailureServer      FailureKind = "server"       // 5xx, or an HTML page where JSON was due
	FailureMalformed   FailureKind = "malformed"    // a body that is cut off or no JSON
	FailureNotFound    FailureKind = "not_found"    // 404
	FailureGone        FailureKind = "gone"         // 410, 451, blocked: recorded, not retried
	FailureForbidden   FailureKind = "forbidden"    // a permission is missing
	FailureCredential  FailureKind = "credential"   // 401: the token is not accepted
	FailureRateLimited FailureKind = "rate_limited" // the upstream's ration is used up
	FailureInvalid     FailureKind = "invalid"      // 400, 422: the request itself is refused
	FailureLost        FailureKind = "lost"         // the worker vanished again and again
)

// failureKinds are all of them.
var failureKinds = []FailureKind{
	FailureConnection, FailureTimeout, FailureServer, FailureMalformed, FailureNotFound, FailureGone, FailureForbidden,
	FailureCredential, FailureRateLimited, FailureInvalid, FailureLost,
}

// Valid reports whether a call can fail so.
func (k FailureKind) Valid() bool { return slices.Contains(failureKinds, k) }

// FailureKindNames lists the kinds, for messages.
func FailureKindNames() string {
	names := make([]string, len(failureKinds))
	for i, k := range failureKinds {
		names[i] = string(k)
	}
	return strings.Join(names, ", ")
}

// Failure is what went wrong with one upstream call, in words fit for people.
type Failure struct {
	Kind    FailureKind
	Message string
}

// Error implements error.
func (f *Failure) Error() string { return string(f.Kind) + ": " + f.Message }
