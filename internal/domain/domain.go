// Package domain holds the words of Sluice: accounts, runs, jobs, cursors and
// quota windows, the two state machines that runs and jobs obey, and the
// codes by which errors are told apart. It depends on the standard library
// alone; everything else depends on it.
package domain

import (
	"strconv"
	"time"
)

// Trigger says who asked for a run.
type Trigger string

// The ways a run can be asked for. All of them enter through the orchestrator.
const (
	TriggerSignup   Trigger = "signup"
	TriggerSchedule Trigger = "schedule"
	TriggerManual   Trigger = "manual"
	TriggerWebhook  Trigger = "webhook"
)

// Valid reports whether t is one of the known triggers.
func (t Trigger) Valid() bool {
	switch t {
	case TriggerSignup, TriggerSchedule, TriggerManual, TriggerWebhook:
		return true
	}
	return false
}

// AccountState says whether an account is collected.
type AccountState string

// The states of an account.
const (
	AccountActive  AccountState = "active"
	AccountPaused  AccountState = "paused"
	AccountDeleted AccountState = "deleted"
	// AccountPurged is an account of which everything was removed, or is being
	// removed. Its row stays, so that what comes late writes nothing.
	AccountPurged AccountState = "purged"
)

// Gone reports whether nothing is collected for the account unless somebody signs
// it up again.
func (s AccountState) Gone() bool { return s == AccountDeleted || s == AccountPurged }

// PurgedLogin names an account of which nothing is left. No upstream has a login
// with a colon.
func PurgedLogin(id int64) string { return "purged:" + strconv.FormatInt(id, 10) }

// Account is one identity at one source whose data is collected.
type Account struct {
	ID     int64  `json:"id"`
	Source string `json:"source"`
	Login  string `json:"login"`
	// Target is what the login names, empty until the upstream has told.
	Target Target       `json:"target,omitempty"`
	State  AccountState `json:"state"`
	// Reason explains a state other than active, and names the remedy.
	Reason string `json:"reason,omitempty"`
	// Owner names whose ration the account's calls draw on: a salted hash,
	// never the credential itself.
	Owner string `json:"owner"`
	// Floor is what is kept of each quota window for the owner; 0 means
	// the configured floor.
	Floor int `json:"floor,omitempty"`
	// Hours is the time of day that is kept for the owner.
	Hours     Hours     `json:"hours,omitzero"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	// Version grows with every change.
	Version int64 `json:"-"`
}

// Target is what an account collects.
type Target string

// The targets.
const (
	TargetUser         Target = "user"
	TargetOrganization Target = "organization"
	TargetRepository   Target = "repository"
)

// Cursor says how far one resource of an account has been collected.
type Cursor struct {
	AccountID int64
	// Resource is a job type and what it was applied to, such as
	// "REPO_ISSUES repo:42".
	Resource string
	// At is the anchor of the last collection that stored every page.
	At time.Time
}

// Page remembers one stored upstream page, so that a later 304 can stand for
// its items and its successor.
type Page struct {
	AccountID int64
	Key       string
	ETag      string
	// Next is where the page's rel=next pointed, empty on the last page.
	Next  string
	Items int
}

// QuotaWindow is the durable form of what is known about one owner's ration.
type QuotaWindow struct {
	Owner  string `json:"owner"`
	Bucket string `json:"bucket"`
	Limit  int    `json:"limit"`
	// Remaining counts every call in flight as spent, so that a crash can
	// only leave quota unused, never overdraw it.
	Remaining int `json:"remaining"`
	// Reset is when the window ends on the local clock; zero while unknown.
	Reset time.Time `json:"reset"`
	// Started is when the first call of a window with unknown end was granted.
	Started time.Time `json:"started"`
	// ParkedUntil is set while the upstream told the owner to stay away.
	ParkedUntil time.Time `json:"parked_until"`
	// InFlight is the cost of calls of which a process that ends now would not
	// know in which window they are counted.
	InFlight int `json:"in_flight"`
	// Points is the most that any endpoint has spent of its minute.
	Points int `json:"points"`
	// Touched is when this was so; zero means that InFlight and Points are
	// not known.
	Touched time.Time `json:"touched"`
	// Seq orders snapshots of the same window; the highest is the newest.
	Seq uint64 `json:"-"`
}
