// Package idempotency lets a request that is sent twice be carried out once: it
// comes with a key, and who sends the key again gets the answer that was given.
//
//   - idempotency.go: the port (Store), and what it keeps (Record).
//   - rules.go: who may take a key, and what else becomes of a request.
//   - reseal.go: what becomes of answers when the key is another one.
//   - keeper.go: what the API calls: take a key, keep the answer, or give it up.
package idempotency

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"time"

	"sluice/internal/state"
)

const (
	// Lifetime is how long an answer is kept.
	Lifetime = 24 * time.Hour
	// Patience is how long a request may be carried out before another with the
	// same key may be taken for it: whoever had it is gone by then.
	Patience = 2 * time.Minute
)

// ID stands for a caller and a key of his.
type ID [sha256.Size]byte

// IDOf returns the id of a caller's key. Keys of several callers never meet.
func IDOf(caller, key string) ID { return ID(digest([]byte(caller), []byte(key))) }

// Fingerprint stands for what is asked for. It tells nothing of it, which may hold
// a secret.
type Fingerprint [sha256.Size]byte

// FingerprintOf returns the fingerprint of a request's parts.
func FingerprintOf(parts ...[]byte) Fingerprint { return Fingerprint(digest(parts...)) }

// digest keeps parts apart by their lengths.
func digest(parts ...[]byte) (sum [sha256.Size]byte) {
	hash := sha256.New()
	for _, part := range parts {
		_, _ = hash.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		_, _ = hash.Write(part)
	}
	hash.Sum(sum[:0])
	return sum
}

// Record is what is kept of a request.
type Record struct {
	ID          ID
	Fingerprint Fingerprint
	// Holder is a random number of whoever carries it out: nobody else may end it.
	Holder int64
	// Until is when that one is taken to be gone; what is answered stands until
	// Expires.
	Until, Expires time.Time
	// Answered says that Answer is the answer, sealed.
	Answered bool
	Answer   state.Sealed
}

// Store keeps records. Its instants are exact to the microsecond.
type Store interface {
	// Claim stores a record, unless one of its id stands in the way (see
	// Record.Yields): then it returns that one. Of several who claim at once, one
	// gets it.
	Claim(ctx context.Context, r Record, now time.Time) (standing Record, claimed bool, err error)
	// Finish keeps the answer of a record that its holder still has; otherwise it
	// changes nothing, and reports false.
	Finish(ctx context.Context, id ID, holder int64, answer state.Sealed, expires time.Time) (bool, error)
	// Release forgets a record that its holder still has and that is not answered.
	Release(ctx context.Context, id ID, holder int64) error
	// SealedOtherwise lists up to limit answered records above an id, in the order of
	// ids, whose answers were sealed with another key than the one named.
	SealedOtherwise(ctx context.Context, key string, above ID, limit int) ([]Record, error)
	// Reseal replaces a sealed answer, and reports false if it is not what it was any
	// more.
	Reseal(ctx context.Context, id ID, old, renewed state.Sealed) (bool, error)
	// Prune forgets at most so many records that have expired, and counts them.
	Prune(ctx context.Context, now time.Time, limit int) (int, error)
}
