package refresh

import (
	"context"
	"log/slog"
	"time"

	"sluice/internal/domain"
)

// DeadLetterLife is how long dead letters are kept.
const DeadLetterLife = 7 * 24 * time.Hour

// Undertaker does with dead letters what people ask for. Nothing is tried again
// by itself.
type Undertaker struct {
	Letters   DeadLetters
	Requester *Requester
	Now       func() time.Time
	Slog      *slog.Logger
}

// redriveBatch bounds what is asked for at once.
const redriveBatch = 100

// Redrive asks for what dead letters asked for once more, and forgets them. It
// returns how many. A letter is forgotten when its request is in the log: what
// is interrupted is at worst asked for twice.
func (u *Undertaker) Redrive(ctx context.Context, ids ...string) (int, error) {
	letters := make([]DeadLetter, 0, len(ids))
	for _, id := range ids {
		letter, err := u.Letters.DeadLetter(ctx, id)
		if err != nil {
			return 0, err
		}
		letters = append(letters, letter)
	}
	return u.redrive(ctx, letters)
}

// RedriveWhy is Redrive of all letters with one cause.
func (u *Undertaker) RedriveWhy(ctx context.Context, why string) (total int, err error) {
	for {
		letters, err := u.Letters.DeadLetterList(ctx, DeadLetterQuery{Why: why, Limit: redriveBatch})
		if err != nil || len(letters) == 0 {
			return total, err
		}
		n, err := u.redrive(ctx, letters)
		total += n
		if err != nil {
			return total, err
		}
	}
}

func (u *Undertaker) redrive(ctx context.Context, letters []DeadLetter) (total int, err error) {
	for len(letters) > 0 {
		part := letters[:min(len(letters), redriveBatch)]
		letters = letters[len(part):]
		entities, ids := make([]Entity, 0, len(part)), make([]string, len(part))
		for i, letter := range part {
			ids[i] = letter.ID
			if letter.Key != "" {
				entities = append(entities, letter.Entity)
			}
		}
		q := Request{Entities: unique(entities), Priority: domain.PriorityHigh, Reason: ReasonRedrive}
		if len(q.Entities) > 0 {
			if _, err := u.Requester.Request(ctx, q); err != nil {
				return total, err
			}
		}
		gone, err := u.Letters.Unbury(ctx, ids)
		if err != nil {
			return total, err
		}
		total += len(gone)
	}
	return total, nil
}

func unique(entities []Entity) []Entity {
	seen := make(map[Entity]struct{}, len(entities))
	out := entities[:0]
	for _, e := range entities {
		if _, twice := seen[e]; !twice {
			seen[e] = struct{}{}
			out = append(out, e)
		}
	}
	return out
}

// Discard forgets dead letters and returns how many were there.
func (u *Undertaker) Discard(ctx context.Context, ids ...string) (int, error) {
	gone, err := u.Letters.Unbury(ctx, ids)
	return len(gone), err
}

const (
	ageOutEvery = 6 * time.Hour
	ageOutBatch = 1000
)

// Run removes letters that are too old, until ctx ends.
func (u *Undertaker) Run(ctx context.Context) {
	for ctx.Err() == nil {
		for n := ageOutBatch; n == ageOutBatch && ctx.Err() == nil; {
			var err error
			if n, err = u.Letters.AgeOut(ctx, u.Now().Add(-DeadLetterLife), ageOutBatch); err != nil && ctx.Err() == nil {
				u.Slog.Warn("dead letters do not age out", "error", err)
			}
		}
		pause(ctx, ageOutEvery)
	}
}
