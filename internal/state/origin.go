package state

import (
	"context"
	"strconv"
)

// Origin is what began a run.
type Origin struct {
	// ID is the request's.
	ID string
	// Trace is the request's span, as the W3C writes it in traceparent; "" if it
	// was not traced.
	Trace string
}

// OriginOfRun is the origin of a run that no request began.
func OriginOfRun(run int64) Origin { return Origin{ID: "run-" + strconv.FormatInt(run, 10)} }

// Origins keeps what began runs, so that whoever works on one can say so.
type Origins interface {
	// PutOrigin notes what began a run. The first note stays.
	PutOrigin(ctx context.Context, run int64, o Origin) error
	// Origin is what began a run; OriginOfRun if nothing was noted.
	Origin(ctx context.Context, run int64) (Origin, error)
}
