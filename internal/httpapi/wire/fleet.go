package wire

import "sluice/internal/fleet"

// ProcessList are the processes of an installation, those that answer first.
type ProcessList struct {
	Items []fleet.Process `json:"items" nullable:"false"`
}

// BackendList is what the processes work with.
type BackendList struct {
	Items []fleet.Backend `json:"items" nullable:"false"`
}
