package refresh

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"sluice/internal/backoff"
	"sluice/internal/domain"
)

// DeadLetterLife is how long dead letters are kept.
const DeadLetterLife = 7 * 24 * time.Hour

// DeadLetterQueue does with dead letters what people ask for. Nothing is retried
// on its own.
type DeadLetterQueue struct {
	Letters   DeadLetters
	Requester *Requester
	Now       func() time.Time
	Slog      *slog.Logger
}

// redriveBatch bounds what is asked for at once.
const redriveBatch = 100

// Redrive asks for what dead letters asked for once more, and forgets them. It
// returns how many. A letter is forgotten when its request is in the log: what
// is interrupted is at worst asked for twice. What could not be read cannot be
// asked for.
func (q *DeadLetterQueue) Redrive(ctx context.Context, ids ...string) (int, error) {
	letters := make([]DeadLetter, 0, len(ids))
	for _, id := range ids {
		letter, err := q.Letters.DeadLetter(ctx, id)
		if err != nil {
			return 0, err
		}
		if letter.Source == "" || letter.Key == "" {
			return 0, domain.Errorf(domain.CodeInvalid, "dead letter %s does not name an entity that can be refreshed; discard it", id)
		}
		letters = append(letters, letter)
	}
	return q.redrive(ctx, letters)
}

// RedriveWhy is Redrive of all letters with one cause that can be asked for.
func (q *DeadLetterQueue) RedriveWhy(ctx context.Context, why string) (total int, err error) {
	query := DeadLetterQuery{Why: why, Limit: redriveBatch}
	for {
		letters, err := q.Letters.DeadLetterList(ctx, query)
		if err != nil || len(letters) == 0 {
			return total, err
		}
		// Going on behind the last one, those that stay are met once.
		last := letters[len(letters)-1]
		query.Before, query.BeforeID = last.FailedAt, last.ID
		letters = slices.DeleteFunc(letters, func(l DeadLetter) bool { return l.Source == "" || l.Key == "" })
		n, err := q.redrive(ctx, letters)
		total += n
		if err != nil {
			return total, err
		}
	}
}

func (q *DeadLetterQueue) redrive(ctx context.Context, letters []DeadLetter) (total int, err error) {
	for part := range slices.Chunk(letters, redriveBatch) {
		n, err := q.redrivePart(ctx, part)
		total += n
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

func (q *DeadLetterQueue) redrivePart(ctx context.Context, letters []DeadLetter) (int, error) {
	entities, ids := make([]Entity, len(letters)), make([]string, len(letters))
	locks := make([]Lock, len(letters))
	for i, letter := range letters {
		entities[i], ids[i], locks[i] = letter.Entity, letter.ID, letter.Lock()
	}
	// The lock of a request that was given up a moment ago, or whose release
	// failed, would pass for a request that is under way.
	if err := q.Requester.Coalescer.Release(ctx, locks...); err != nil {
		return 0, err
	}
	request := Request{Entities: unique(entities), Priority: domain.PriorityHigh, Reason: ReasonRedrive}
	if _, err := q.Requester.Request(ctx, request); err != nil {
		return 0, err
	}
	gone, err := q.Letters.RemoveDeadLetters(ctx, ids)
	return len(gone), err
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
func (q *DeadLetterQueue) Discard(ctx context.Context, ids ...string) (int, error) {
	gone, err := q.Letters.RemoveDeadLetters(ctx, ids)
	return len(gone), err
}

const (
	ageOutEvery = 6 * time.Hour
	ageOutBatch = 1000
)

// Run removes letters that are too old, until ctx ends.
func (q *DeadLetterQueue) Run(ctx context.Context) {
	for ctx.Err() == nil {
		for n := ageOutBatch; n == ageOutBatch && ctx.Err() == nil; {
			var err error
			if n, err = q.Letters.AgeOut(ctx, q.Now().Add(-DeadLetterLife), ageOutBatch); err != nil && ctx.Err() == nil {
				q.Slog.Warn("old dead letters cannot be removed", "error", err)
			}
		}
		backoff.Sleep(ctx, ageOutEvery)
	}
}
