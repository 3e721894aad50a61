// Package quota is the port to whatever keeps count of the ration an upstream
// grants. A call is made only with a permit that Reserve granted; Settle or
// Refund gives the permit back with what the upstream said.
package quota

import (
	"context"
	"time"

	"sluice/internal/ration"
	"sluice/internal/ration/keeper"
)

// LongestPark is how long an owner is parked at most, whatever the upstream says: one call
// goes first then, so that asking once in two hours is all that a longer pause costs.
const LongestPark = 2 * time.Hour

// Reason says why a reservation was refused, for people to read.
type Reason string

// The reasons for which a caller has to wait.
const (
	ReasonPrimary     Reason = "primary"     // the window's ration is spent
	ReasonFloor       Reason = "floor"       // what is left is kept for the owner
	ReasonConcurrency Reason = "concurrency" // too many calls of this owner are in flight
	ReasonPoints      Reason = "points"      // the endpoint's points per minute are spent
	ReasonRetryAfter  Reason = "retry_after" // the upstream told the owner to stay away
	ReasonHours       Reason = "hours"       // these hours are kept for the owner
	ReasonBackoff     Reason = "backoff"     // a limit was hit that does not say when it ends
	ReasonTrial       Reason = "trial"       // one call has gone first, the others wait for its answer
	ReasonShare       Reason = "share"       // what is left is kept for what is urgent
	ReasonFloorAll    Reason = "floor_all"   // the floor keeps the whole limit for the owner: nothing can ever be called
)

// Ask is a request for one call.
type Ask struct {
	Owner  string
	Bucket string
	// Endpoint groups calls that share a points-per-minute limit.
	Endpoint string
	// Cost is what the call takes from the window, at least 1.
	Cost int
	// Points is what the call takes from the minute, at least 1.
	Points int
	// Floor, if positive, replaces the bucket's floor for this owner.
	Floor int
	// Low is asked for by what is not urgent: rations may leave it a share.
	Low bool
	// Drawn, for a source that declares its rations, is what the call draws on; then
	// no bucket counts it.
	Drawn *Drawn
}

// Drawn is what a call draws on besides a bucket: rations that are data, all of them
// or none.
type Drawn struct {
	// Draws are made for whoever the ration is of: their Part is what else tells its
	// counts apart, such as a stream.
	Draws []keeper.Draw
	// Shared says that rations of the source are everybody's together. It is the same
	// for all calls of a source.
	Shared bool
	// Park is who waits if the upstream wants to be left alone, and Stream who that
	// is if it is a stream.
	Park   ration.Who
	Stream string
}

// Permit stands for one granted call. The caller holds it until the call is
// settled or refunded.
type Permit struct {
	ID uint64
	Ask
	// GrantedAt orders permits; a response is compared with the window its
	// permit was granted in.
	GrantedAt time.Time
}

// Decision answers an Ask: either Granted with a Permit, or RetryAt, the
// instant before which asking again is pointless, with the Reason.
type Decision struct {
	Granted bool
	Permit  Permit
	RetryAt time.Time
	Reason  Reason
	// Alone is set when others of the bucket do not draw on what refuses.
	Alone bool
}

// Response is what the upstream said about its ration.
type Response struct {
	// Known is false when the answer carried no rate headers or never came;
	// the call is then assumed to have been counted.
	Known     bool
	Limit     int
	Remaining int
	// Reset is the window's end on the upstream's clock.
	Reset time.Time
	// Date is the upstream's clock when it answered, zero if it did not say.
	Date time.Time
	// Cost is what the call really took, when the upstream says so; 0 means
	// as asked.
	Cost int
	// Exhausted is set when the upstream refused the call because the ration
	// is spent, whatever Remaining says.
	Exhausted bool
	// RetryAfter parks the whole owner for this long, counted from now; at most
	// for LongestPark. One call goes first then.
	RetryAfter time.Duration
	// Backoff: a limit was hit that does not say when it ends: back off
	// exponentially, one call first.
	Backoff bool
	// Succeeded is set when the call was answered as it should be. An upstream
	// without rate headers tells by nothing else that it serves again.
	Succeeded bool
	// Told is what the answer told of what was drawn on, by draw; nil if there was no
	// answer.
	Told []keeper.Answer
}

// Well reports whether the answer shows that the upstream serves the owner.
func (r Response) Well() bool {
	return (r.Known || r.Succeeded) && !r.Exhausted && r.RetryAfter <= 0 && !r.Backoff
}

// Keeper grants and counts calls. Implementations are safe for concurrent use.
type Keeper interface {
	// Reserve grants the call or says when to come back. An error means that
	// the count cannot be trusted now: no call may be made (fail closed).
	Reserve(ctx context.Context, ask Ask) (Decision, error)
	// Settle gives a permit back after its call was made or may have been
	// made.
	Settle(ctx context.Context, p Permit, r Response) error
	// Refund gives a permit back whose call certainly cost nothing: it never
	// left, or was answered 304. Rate headers, if known, are still learnt from.
	Refund(ctx context.Context, p Permit, r Response) error
	// Windows lists what is known about an owner, all owners for "".
	Windows(ctx context.Context, owner string) ([]Window, error)
	// Reset lifts whatever parks an owner and doubts what is known about its
	// windows: one call goes first in each, and its answer tells what is left. It
	// returns the buckets of the owner. An owner nothing is known about is an error of
	// code not found.
	Reset(ctx context.Context, owner string) (buckets []string, err error)
}

// Window is what is known about one owner's bucket, for display and forecast.
type Window struct {
	Owner     string `json:"owner"`
	Bucket    string `json:"bucket"`
	Limit     int    `json:"limit"`
	Available int    `json:"available"`
	InFlight  int    `json:"in_flight"`
	// Floor is what of each window is kept for the owner.
	Floor int       `json:"floor"`
	Reset time.Time `json:"reset,omitzero"`
	// ParkedUntil and Parked say until when and why nobody is served.
	ParkedUntil time.Time `json:"parked_until,omitzero"`
	Parked      Reason    `json:"parked,omitempty"`
}

// Closed fills in until when and why a window with nothing left is closed.
func (w Window) Closed() Window {
	if w.Available > 0 || w.InFlight > 0 {
		return w
	}
	w.ParkedUntil, w.Parked = w.Reset, ReasonPrimary
	if w.Floor > 0 && w.Floor >= w.Limit {
		w.Parked = ReasonFloorAll
	}
	return w
}

// Limits configures one bucket.
type Limits struct {
	// Limit is assumed until the upstream says otherwise.
	Limit int
	// Window is the assumed length of a window whose end is not known.
	Window time.Duration
	// Floor is what is kept for the owner.
	Floor int
	// PointsPerMinute bounds each endpoint (or, if PointsShared, the bucket).
	PointsPerMinute int
	PointsShared    bool
	// PointsPeriod is the "minute" of PointsPerMinute; zero means a minute.
	PointsPeriod time.Duration
}

// PeriodOf is the "minute" of a bucket's points per minute.
func PeriodOf(l Limits) time.Duration {
	if l.PointsPeriod > 0 {
		return l.PointsPeriod
	}
	return time.Minute
}

// Config configures a Keeper: the buckets by name and the calls an owner may
// have in flight over all of them.
type Config struct {
	Buckets     map[string]Limits
	Concurrency int
}
