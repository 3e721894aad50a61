package notify

import (
	"fmt"
	"time"

	"sluice/internal/domain"
)

// PausedAccount is the event of an account that is paused, by its row.
func PausedAccount(a domain.Account, version int64) Event {
	return Event{
		// The version grows with every change: an account that is paused again is
		// told again.
		Key: fmt.Sprintf("account:%d:%d", a.ID, version), Kind: AccountPaused, At: a.UpdatedAt,
		Source: a.Source, Login: a.Login, Text: a.Reason,
	}
}

// EndedRun is the event of a run that ended badly, by its row.
func EndedRun(r domain.Run) Event {
	e := Event{
		// A run that is resumed and ends badly again is told again.
		Key: fmt.Sprintf("run:%d:%d", r.ID, r.FinishedAt.UnixMicro()), Kind: RunFailed, At: r.FinishedAt,
		Source: r.Source, Login: r.Login, Run: r.ID, Text: fmt.Sprintf("run %d failed: %s", r.ID, r.Reason),
	}
	if r.Status == domain.RunCompleted {
		e.Kind = RunIncomplete
		e.Text = fmt.Sprintf("run %d is complete but for %d of its %d jobs; `sluice job list --run %d --status FAILED` shows them", r.ID, r.Failed, r.Known, r.ID)
	}
	return e
}

// BuriedLetter is the event of a refresh that was given up, by its row.
func BuriedLetter(id, why, source, key string, at time.Time) Event {
	return Event{Key: "letter:" + id, Kind: DeadLetters, At: at, Source: source, Text: source + " " + key + ": " + why}
}

// GivenUpTimer is the event of a timer whose delivery was given up, by its row.
func GivenUpTimer(id, why string, at time.Time) Event {
	return Event{
		// One that is delivered again and given up again is told again.
		Key: fmt.Sprintf("timer:%s:%d", id, at.UnixMicro()), Kind: DeadLetters, At: at,
		Text: "timer " + id + " was not delivered: " + why + "; `sluice timer redeliver` tries again",
	}
}

// OpenedBreaker is the event of a breaker that opened. Several processes notice
// the same outage: they tell it once a minute.
func OpenedBreaker(part string, at time.Time) Event {
	return Event{
		Key: fmt.Sprintf("breaker:%s:%d", part, at.Unix()/60), Kind: BreakerOpen, At: at,
		Text: part + " failed too often and is left alone for a while",
	}
}

// ReachedFloor is the event of a ration that is used up, until an instant.
func ReachedFloor(owner, source, login, why string, until, at time.Time) Event {
	return Event{
		Key: fmt.Sprintf("floor:%s:%d", owner, until.Unix()), Kind: QuotaFloor, At: at, Source: source, Login: login,
		Text: why + "; calls go on at " + until.UTC().Format(time.RFC3339),
	}
}
