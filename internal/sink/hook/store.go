package hook

import (
	"context"
	"time"

	"sluice/internal/domain"
)

// Store keeps what a receiver of webhooks does not keep itself: how far a sink is, and
// what was set aside. Every method is one transaction.
type Store interface {
	// Standing returns what was stored of a sink last; nil if nothing was.
	Standing(ctx context.Context, sink string) ([]byte, error)
	// Stand stores that, and with it a letter if there is one. A letter whose id is
	// there already replaces it.
	Stand(ctx context.Context, sink string, standing []byte, letter *Stored) error
	// Letters lists those of a sink, the oldest first, up to so many.
	Letters(ctx context.Context, sink string, limit int) ([]Stored, error)
	// CountLetters counts those of a sink.
	CountLetters(ctx context.Context, sink string) (int64, error)
	// Letter returns one; its absence is an error of code not_found.
	Letter(ctx context.Context, id string) (Stored, error)
	// Rewrite replaces the body of a letter, if it is there.
	Rewrite(ctx context.Context, id string, body []byte) error
	// Discard removes a letter, and says whether it was there.
	Discard(ctx context.Context, id string) (bool, error)
}

// Stored is a letter with all that there is of it. Its instant is exact to the
// microsecond.
type Stored struct {
	ID     string
	Sink   string
	At     time.Time
	Status int
	Reason string
	Body   []byte
}

// Only is the one letter that was found, for stores.
func Only(found []Stored, err error, id string) (Stored, error) {
	if err != nil {
		return Stored{}, err
	}
	if len(found) == 0 {
		return Stored{}, domain.Errorf(domain.CodeNotFound, "there is no letter %s", id)
	}
	return found[0], nil
}
