package domain

import (
	"fmt"
	"strings"
	"time"
)

// RunStatus is the state of a run.
type RunStatus uint8

// The states of a run. FINALIZING means that all jobs have ended and
// statistics are due; COMPLETED means that statistics are in.
const (
	RunCreated RunStatus = iota + 1
	RunPlanning
	RunRunning
	RunFinalizing
	RunCompleted
	RunFailed
	RunCanceled
)

var runStatusNames = [...]string{
	RunCreated: "CREATED", RunPlanning: "PLANNING", RunRunning: "RUNNING",
	RunFinalizing: "FINALIZING", RunCompleted: "COMPLETED", RunFailed: "FAILED",
	RunCanceled: "CANCELED",
}

// String returns the name that people and APIs see.
func (s RunStatus) String() string { return enumName(runStatusNames[:], uint8(s), "run status") }

// MarshalText implements encoding.TextMarshaler.
func (s RunStatus) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *RunStatus) UnmarshalText(b []byte) error {
	n, err := enumParse(runStatusNames[:], string(b), "run status")
	*s = RunStatus(n)
	return err
}

// Active reports whether the run still holds its account's single active slot.
func (s RunStatus) Active() bool { return s >= RunCreated && s <= RunFinalizing }

var runMoves = map[RunStatus][]RunStatus{
	RunCreated:    {RunPlanning, RunFailed, RunCanceled},
	RunPlanning:   {RunRunning, RunFailed, RunCanceled},
	RunRunning:    {RunFinalizing, RunFailed, RunCanceled},
	RunFinalizing: {RunCompleted, RunFailed, RunCanceled},
	// A finished run whose failed jobs are retried runs again; its counters
	// then say which jobs are left. One that only lacks its statistics gets them.
	RunCompleted: {RunRunning},
	RunFailed:    {RunRunning, RunFinalizing},
}

// MoveRun is the only way a run changes state. It returns the new state, or
// an error of code CodeIllegalMove that leaves the run as it was.
func MoveRun(from, to RunStatus) (RunStatus, error) {
	for _, next := range runMoves[from] {
		if next == to {
			return to, nil
		}
	}
	return from, Errorf(CodeIllegalMove, "a run cannot go from %s to %s", from, to)
}

// Priority orders what is due at the same time.
type Priority uint8

// The two priorities. HIGH goes first; LOW keeps a bounded share.
const (
	PriorityLow Priority = iota + 1
	PriorityHigh
)

var priorityNames = [...]string{PriorityLow: "LOW", PriorityHigh: "HIGH"}

// String returns LOW or HIGH.
func (p Priority) String() string { return enumName(priorityNames[:], uint8(p), "priority") }

// MarshalText implements encoding.TextMarshaler.
func (p Priority) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *Priority) UnmarshalText(b []byte) error {
	n, err := enumParse(priorityNames[:], string(b), "priority")
	*p = Priority(n)
	return err
}

// Run is one collection of one account.
type Run struct {
	ID        int64     `json:"id"`
	AccountID int64     `json:"account_id"`
	Source    string    `json:"source"`
	Login     string    `json:"login"`
	Trigger   Trigger   `json:"trigger"`
	Priority  Priority  `json:"priority"`
	Status    RunStatus `json:"status"`
	// Anchor is the instant the run collects up to, taken before its first call.
	Anchor time.Time `json:"anchor"`
	// Reason explains a FAILED or CANCELED run, or why a running one waits.
	Reason     string    `json:"reason,omitempty"`
	CreatedAt  time.Time `json:"created_at"`
	FinishedAt time.Time `json:"finished_at,omitzero"`
	// Expected is what was forecast of it; zero if it was over before that.
	Expected Expectation `json:"expected,omitzero"`
	RunCounts
}

// Expectation is what was forecast of a run when first everything was found that
// it has to collect.
type Expectation struct {
	At time.Time `json:"at"`
	// Calls are all of the run, those that were made by then included.
	Calls int64     `json:"calls"`
	Ends  time.Time `json:"ends"`
}

// RunCounts says how far a run is. Known counts the jobs that have ended and
// what the others expect to take, so Done()/Known is honest progress.
type RunCounts struct {
	Known     int64 `json:"known_jobs"`
	Pending   int64 `json:"pending_jobs"`
	Succeeded int64 `json:"succeeded_jobs"`
	Failed    int64 `json:"failed_jobs"`
	Canceled  int64 `json:"canceled_jobs"`
	// Calls counts claims: upstream calls begun, repeated ones included.
	Calls int64 `json:"calls"`
	// Documents counts documents received, including ones already stored.
	Documents int64 `json:"documents"`
}

// Done counts the jobs that have ended, however they ended.
func (c RunCounts) Done() int64 { return c.Succeeded + c.Failed + c.Canceled }

func enumName(names []string, n uint8, what string) string {
	if int(n) < len(names) && names[n] != "" {
		return names[n]
	}
	return fmt.Sprintf("unknown %s %d", what, n)
}

func enumParse(names []string, s, what string) (uint8, error) {
	for i, name := range names {
		if name != "" && name == s {
			return uint8(i), nil
		}
	}
	return 0, Errorf(CodeInvalid, "%q is not a %s; there are %s", s, what, strings.TrimPrefix(strings.Join(names, ", "), ", "))
}
