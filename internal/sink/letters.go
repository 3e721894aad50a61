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

// Lettered returns the target of a sink, if it sets batches aside.
func (s *Service) Lettered(name string) (Lettered, error) {
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
