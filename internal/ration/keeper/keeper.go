// Package keeper is the port to whatever keeps count of rations that are data: a
// call draws on several of them, and on all or on none.
//
//   - keeper.go: the port.
//   - terms.go: a ration in the numbers that are counted with.
//   - count.go, settle.go, bucket.go: the arithmetic of one count, and bulk.go that of
//     calls that count from their grant on. The scripts of the keeper on
//     Redis follow it rule by rule.
//   - dated.go, dated_settle.go, dated_count.go, skew.go: windows that the upstream dates.
//   - gate.go: who was told to stay away.
//   - store.go: what is written down, so that no restart forgets what was spent;
//     saver.go: how, while many wait for it.
//
// The upstream counts a call at some instant between its grant and its answer.
// Nobody knows which, so a call is held from its grant to its answer, and counts
// from its answer on: no window, wherever the upstream begins it, ever holds more
// than was granted. Where calls are too many for that they are taken in bulk: they
// count from their grant on, and whoever finds that some left late closes the gate for
// as long as they were late.
package keeper

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"sluice/internal/ration"
)

// Draw is what a call takes of one count.
type Draw struct {
	Ration *ration.Ration
	// Part tells the counts of a ration apart: whose it is. "" where there is one.
	Part string
	// Cost is what the call is thought to take, at least 1. What can never be had at
	// once is asked for as all that there is.
	Cost int
	// Keep, if positive, replaces what the ration keeps for its owner.
	Keep int
}

// Count names the count that is drawn on, within its group.
func (d *Draw) Count() string { return CountName(d.Ration.Name, d.Part) }

// longestPart is how long the name of a part may be that is stored as it is.
const longestPart = 120

// CountName names a ration's count of a part.
func CountName(name, part string) string {
	switch {
	case part == "":
		return name
	case len(part) > longestPart:
		sum := sha256.Sum256([]byte(part))
		part = hex.EncodeToString(sum[:])
	}
	return name + "/" + part
}

// Ask is a request for one call.
type Ask struct {
	// Group has all that a call can draw on at once. In a cluster of servers a group
	// lives in one place: a source's rations are one group where one of them is
	// everybody's, and one for each owner elsewhere.
	Group string
	// Draws are not changed once they were asked for.
	Draws []Draw
	// Gate is who waits if the upstream wants to be left alone; "" is nobody.
	Gate string
	// Low is asked for by what is not urgent.
	Low bool
	// At is the time of day if the caller has just looked at the clock that its keeper
	// goes by: Take need not look again.
	At time.Time
}

// Reason says why nothing was granted.
type Reason string

// The reasons.
const (
	ReasonSpent      Reason = "spent"      // what may be taken is taken
	ReasonKept       Reason = "kept"       // what is left is kept for the owner, or for what is urgent
	ReasonKeptAll    Reason = "kept_all"   // the owner keeps so much of every window that such a call never goes
	ReasonConcurrent Reason = "concurrent" // too many calls are under way
	ReasonParked     Reason = "parked"     // the upstream wants to be left alone
	ReasonBackoff    Reason = "backoff"    // the same, and it did not say for how long
	ReasonTrial      Reason = "trial"      // one call has gone first after a pause, the others wait for it
)

// Decision answers an Ask: a Permit, or who refuses, why, and the instant before
// which asking again is pointless.
type Decision struct {
	Granted bool
	Permit  Permit
	RetryAt time.Time
	Reason  Reason
	// Refused names the count or the gate that refuses: of several the one that
	// refuses for longest.
	Refused string
}

// Permit stands for one granted call; it is held until it is settled.
type Permit struct {
	ID uint64
	Ask
	GrantedAt time.Time
}

// Outcome is what became of a call.
type Outcome struct {
	// Answers are by draw; without them every draw took what was asked for, and
	// nothing is known.
	Answers []Answer
	// RetryAfter closes the gate for this long; Backoff closes it for a time that
	// grows with every try. One call goes first then.
	RetryAfter time.Duration
	Backoff    bool
	// Date is what the upstream's clock showed when it answered, zero if it did not say.
	Date time.Time
	// Well is set when the call was answered as it should be.
	Well bool
}

// Answer is what a call took of one count, and what the upstream told of it.
type Answer struct {
	// Free is set when it certainly took nothing.
	Free bool
	// Cost is what it took, 0 if that is as asked.
	Cost int
	// Limit, Left and Refill are what was told, 0 or not HasLeft if it was not.
	Limit, Left, Refill int
	HasLeft             bool
	// In is how long after the answer the window ends, by the upstream's clock; 0 if
	// that was not told. Window is how long such a window is, which is believed where
	// the ration does not say.
	In, Window time.Duration
	// Reset is when the window ends, on the upstream's clock: what is told of windows that
	// it dates.
	Reset time.Time
	// Exhausted is set when the call was refused since there is nothing left, whatever was
	// told, and Served when it was answered as it should be. Windows that are dated learn
	// from both.
	Exhausted, Served bool
	// Part, if Moved, is the part that the call drew on in truth.
	Part  string
	Moved bool
}

func (a *Answer) known() bool {
	return a.HasLeft || a.Limit > 0 || a.In > 0 || a.Refill > 0 || a.Window > 0
}

// Window is what is known about one count, or about a gate, whose Count begins with
// GatePrefix.
type Window struct {
	Group, Count string
	Ration, Part string
	Limit        int
	// Spent was taken and has not come back, Low of it at most by what is not urgent: how
	// much is known until some of it comes back.
	Spent, Low int
	// Available may be taken now, by what is urgent.
	Available, InFlight, Kept int
	// Reset is when something comes back, zero if nothing is taken.
	Reset time.Time
	// Untouched says that nothing was ever taken, as far as is known.
	Untouched bool
	// ParkedUntil is until when the gate is closed, and Parked why.
	ParkedUntil time.Time
	Parked      Reason
}

// Keeper grants and counts calls. It is safe for concurrent use, and so is its
// count by several processes that share a server.
type Keeper interface {
	// Reserve grants the call on all its counts, in one step, or says who refuses and
	// leaves no trace. An error means that a count cannot be trusted now: no call may
	// be made.
	Reserve(ctx context.Context, ask Ask) (Decision, error)
	// Settle ends a permit. It goes on when ctx ends. A permit that is ended twice, or
	// is not known any more, changes no count; what was told is learnt all the same.
	// One without an ID is that of a call that was granted on other counts, and took
	// something of these in truth.
	Settle(ctx context.Context, p Permit, o Outcome) error
	// Take grants up to n calls at once that count from now on: there is nothing to
	// settle. Each takes one of every count. A refusal takes nothing.
	Take(ctx context.Context, ask Ask, n int) (Grant, error)
	// Return gives back calls of Take that were not made and never will be, to counts
	// that something was taken of. A bucket that paces keeps them: its period may be over.
	Return(ctx context.Context, ask Ask, n int) error
	// Park closes a gate for some time; a longer pause stands.
	Park(ctx context.Context, group, gate string, wait time.Duration) error
	// Lift opens the gates of a group, and forgets what the upstream told of its counts:
	// one call goes first through each gate that was closed.
	Lift(ctx context.Context, group string) error
	// Look tells what is known about the counts of a group, and of these draws even if
	// nobody has asked for them yet.
	Look(ctx context.Context, group string, draws ...Draw) ([]Window, error)
}
