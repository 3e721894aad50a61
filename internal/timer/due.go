package timer

import (
	"strings"
	"time"

	"sluice/internal/due"
)

// dueIDPrefix begins what timers are called among all that waits for its time.
const dueIDPrefix = "timer:"

// DueID is what the entry of a timer is called in a due set: timer:tea.
func DueID(id string) string { return dueIDPrefix + id }

// FromDueID is the inverse of DueID; ok is false for what is no timer.
func FromDueID(entry string) (id string, ok bool) { return strings.CutPrefix(entry, dueIDPrefix) }

// Ids of entries that are no timers but work that waits for its time like one,
// beside those that a due set hands out by itself.
const (
	// logID writes completions to their log.
	logID = "~log"
	// pruneID removes what is too old.
	pruneID = "~prune"
)

// isChore tells work from timers.
func isChore(entry string) bool { return strings.HasPrefix(entry, "~") }

func entryOf(id string, at time.Time) due.Entry { return due.Entry{ID: DueID(id), At: at} }
