package domain

import "time"

// Leader is who collects a resource for all accounts with the same credential.
type Leader struct {
	Resource     string
	Account, Run int64
	Login        string
	// Busy says that the run with which it began to lead is active, and has calls to
	// make still.
	Busy bool
	// Anchor is the instant up to which that run collects, zero if it is not there any
	// more.
	Anchor time.Time
}
