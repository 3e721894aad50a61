// Package rate grants calls to an upstream that allows so many in every second
// and so many a day, whoever makes them. HIGH goes before LOW: LOW has a cap of
// its own, and leaves a reserve of the burst and of the day to HIGH.
//
// This is the port of whoever calls so often; quota/paced draws on rations for it.
package rate

import (
	"context"
	"time"

	"sluice/internal/domain"
)

// Limits is what an upstream allows and how it is shared.
type Limits struct {
	// Hard is what the upstream allows in any sliding second. Rate + Burst is
	// at most that.
	Hard int
	// Rate is granted a second, Burst at most at once.
	Rate, Burst int
	// LowRate and LowBurst are LOW's own cap, within the former.
	LowRate, LowBurst int
	// Reserve is how much of the burst LOW leaves to HIGH.
	Reserve int
	// Daily is what the upstream allows in a day; 0 is no limit. DailyReserve is
	// the part of it that LOW leaves to HIGH.
	Daily, DailyReserve int64
	// Zone is where the day begins at midnight; nil is UTC.
	Zone *time.Location
}

// Reason says why nothing was granted.
type Reason string

// The reasons.
const (
	ReasonRate  Reason = "rate"   // the second's calls are spent
	ReasonLow   Reason = "low"    // LOW has had its share of the second
	ReasonDaily Reason = "daily"  // the day's calls are spent, or kept for HIGH
	ReasonPause Reason = "paused" // the upstream told everybody to stay away
)

// Grant is the answer to a request for calls.
type Grant struct {
	// Calls may be made now, as many as asked for or fewer.
	Calls int
	// RetryAt is when to come back for the others, and Reason why; zero if all
	// were granted.
	RetryAt time.Time
	Reason  Reason
}

// Keeper grants calls. It is safe for concurrent use.
type Keeper interface {
	// Reserve grants up to n calls. A refusal takes nothing. An error means that
	// the count cannot be trusted now: no call may be made.
	Reserve(ctx context.Context, upstream string, p domain.Priority, n int) (Grant, error)
	// Refund gives back calls that were not made and never will be. They come back to
	// the day; a second is over too soon, and what it had may have been made in another.
	Refund(ctx context.Context, upstream string, p domain.Priority, n int) error
	// Pause grants nothing for this upstream until an instant; a later one stands.
	Pause(ctx context.Context, upstream string, until time.Time) error
	// Usage tells what was granted.
	Usage(ctx context.Context, upstream string) (Usage, error)
}

// Usage is what was granted of a day.
type Usage struct {
	Day        string    `json:"day"`
	Used       int64     `json:"used"`
	UsedLow    int64     `json:"used_low"`
	Daily      int64     `json:"daily"`
	ResetsAt   time.Time `json:"resets_at"`
	PausedTill time.Time `json:"paused_until,omitzero"`
	// PerSecond is what is granted a second at most, LowPerSecond what LOW gets.
	PerSecond    int `json:"per_second"`
	LowPerSecond int `json:"low_per_second"`
}
