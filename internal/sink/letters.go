package sink

import (
	"context"
	"time"

	"sluice/internal/domain"
)

// Lettered is a target that sets batches aside which its receiver refuses, so that one
// of them does not stop the others.
type Lettered interface {
	// Letters lists what was set aside, the oldest first, up to so many.
	Letters(ctx context.Context, limit int) ([]Letter, error)
	// CountLetters counts them.
	CountLetters(ctx context.Context) (int64, error)
	// Redrive sends a letter once more, and forgets it if the receiver takes it.
	Redrive(ctx context.Context, id string) error
	// Discard forgets a letter.
	Discard(ctx context.Context, id string) error
}

// Letter is a batch that was set aside.
type Letter struct {
	ID string
	// At is when that was.
	At time.Time
	// Status is what the receiver answered, 0 if nothing, and Reason says it in words.
	Status int
	Reason string
	// Bytes is how large it is.
	Bytes int
}

// mostLetters is how many letters are dealt with at once.
const mostLetters = 1000

// Letters lists what a sink has set aside, the oldest first, up to so many.
func (s *Service) Letters(ctx context.Context, name string, limit int) ([]Letter, error) {
	target, err := s.lettered(name)
	if err != nil {
		return nil, err
	}
	return target.Letters(ctx, limit)
}

// Redrive sends letters of a sink once more, all of them if none is named, and says
// how many were taken. It ends with the first that is not.
func (s *Service) Redrive(ctx context.Context, name string, ids []string) (int, error) {
	return s.each(ctx, name, ids, Lettered.Redrive)
}

// Discard forgets letters of a sink, all of them if none is named.
func (s *Service) Discard(ctx context.Context, name string, ids []string) (int, error) {
	return s.each(ctx, name, ids, Lettered.Discard)
}

func (s *Service) each(ctx context.Context, name string, ids []string, do func(Lettered, context.Context, string) error) (int, error) {
	target, err := s.lettered(name)
	if err != nil {
		return 0, err
	}
	if len(ids) == 0 {
		letters, err := target.Letters(ctx, mostLetters)
		if err != nil {
			return 0, err
		}
		for i := range letters {
			ids = append(ids, letters[i].ID)
		}
	}
	for n, id := range ids {
		if err := do(target, ctx, id); err != nil {
			if n > 0 {
				err = domain.Errorf(domain.CodeOf(err), "%d of %d letters are dealt with; %w", n, len(ids), err)
			}
			return n, err
		}
	}
	return len(ids), nil
}

// lettered returns the target of a sink, if it sets batches aside.
func (s *Service) lettered(name string) (Lettered, error) {
	for _, r := range s.runners {
		if r.Name != name {
			continue
		}
		if target, ok := r.Target.(Lettered); ok {
			return target, nil
		}
		return nil, domain.Errorf(domain.CodeInvalid, "the sink %s has no letters: only webhooks refuse batches", name)
	}
	return nil, domain.Errorf(domain.CodeNotFound, "there is no sink %s; `sluice sink list` lists those that there are", name)
}
