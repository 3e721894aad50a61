package idempotency

import (
	"time"

	"sluice/internal/domain"
)

// Yields reports whether a record makes room for another of its id: it has
// expired, or its holder is gone without an answer and the same is asked again.
func (r *Record) Yields(to Record, now time.Time) bool {
	if !now.Before(r.Expires) {
		return true
	}
	return !r.Answered && !now.Before(r.Until) && r.Fingerprint == to.Fingerprint
}

// refusal is why a request is not carried out though its answer is not known; nil
// if it is known.
func (r *Record) refusal(of Fingerprint) error {
	switch {
	case r.Fingerprint != of:
		return domain.Errorf(domain.CodeInvalid, "this Idempotency-Key was used for another request; take a new key for each request, and the same one only to repeat it")
	case !r.Answered:
		return domain.Errorf(domain.CodeConflict, "a request with this Idempotency-Key is being carried out; ask again when it has ended")
	}
	return nil
}
