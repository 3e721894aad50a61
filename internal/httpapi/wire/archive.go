package wire

import "sluice/internal/archive"

// ArchiveDay is what was stored on one day, in UTC, of one source.
type ArchiveDay struct {
	Day    string `json:"day"`
	Source string `json:"source"`
	Files  int64  `json:"files"`
	// ColdFiles are those of the files that lie under cold/.
	ColdFiles int64 `json:"cold_files" doc:"Those of the files that lie under cold/"`
	Rows      int64 `json:"rows"`
	Bytes     int64 `json:"bytes"`
}

// ArchiveVerifyRequest says what is read back.
type ArchiveVerifyRequest struct {
	Days   []string `json:"days,omitempty" maxItems:"1000" doc:"Days such as 2026-10-16, in UTC; all if none is given"`
	Source string   `json:"source,omitempty" maxLength:"50"`
}

// ArchiveVerified is what reading back found.
type ArchiveVerified struct {
	Files int64 `json:"files"`
	Rows  int64 `json:"rows"`
	Bytes int64 `json:"bytes"`
	// DamagedFiles counts them all; Damaged names the first of them.
	DamagedFiles int64            `json:"damaged_files"`
	Damaged      []archive.Damage `json:"damaged" nullable:"false" doc:"The first 1,000 of them"`
}

// ArchiveRestoreRequest says what is put back.
type ArchiveRestoreRequest struct {
	Source string `json:"source,omitempty" maxLength:"50" doc:"The name of the upstream"`
	Key    string `json:"key,omitempty" maxLength:"300" doc:"One entity; needs its source"`
	From   string `json:"from,omitempty" maxLength:"10" doc:"The first day, such as 2026-10-16, in UTC"`
	To     string `json:"to,omitempty" maxLength:"10" doc:"The last day, which is included"`
}

// ArchiveRestored counts what was put back.
type ArchiveRestored struct {
	Values int64 `json:"values"`
}

// EventDone is the name of the event that ends a stream of something that takes
// long; its data is what came of it.
const EventDone = "done"
