package engine

import (
	"context"
	"errors"
	"time"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/source"
	"sluice/internal/state"
)

// shared implements source.Shared for the calls of a run.
type shared struct {
	*core
	account, run int64
}

// How many documents are copied at once, and about how many bytes of payload.
const (
	copiedAtOnce      = 500
	copiedBytesAtOnce = 8 << 20
)

// sharedFor is what a call of a run may know of other accounts; nil if that is
// nothing.
func (c *core) sharedFor(run runInfo) source.Shared {
	if c.Collected == nil || c.State.Sharing == nil {
		return nil
	}
	return &shared{c, run.AccountID, run.ID}
}

// Lead implements source.Shared.
func (s *shared) Lead(ctx context.Context, resources []string, over domain.Leader) ([]domain.Leader, error) {
	return s.State.Sharing.Lead(ctx, state.LeadQuery{Account: s.account, Run: s.run, Resources: resources, Over: over})
}

// Cursors implements source.Shared.
func (s *shared) Cursors(ctx context.Context, account int64, names []string) (map[string]time.Time, error) {
	return s.State.Sharing.CursorsOf(ctx, account, names)
}

// Pages implements source.Shared.
func (s *shared) Pages(ctx context.Context, account int64, resource string) ([]domain.Page, error) {
	return s.State.Sharing.PagesOf(ctx, account, resource)
}

// Document implements source.Shared.
func (s *shared) Document(ctx context.Context, key document.Key) (document.Document, bool, error) {
	return s.Collected.Get(ctx, key)
}

// errEnough ends a scan that has found as much as is wanted.
var errEnough = errors.New("that is enough")

// Changed implements source.Shared. Payloads are read of what has changed alone.
func (s *shared) Changed(ctx context.Context, q document.Query, since time.Time) (docs []document.Document, known bool, err error) {
	var keys []document.Key
	q.WithRaw, q.WithoutOwn = false, true
	err = s.Collected.Scan(ctx, q, func(d *document.Document) error {
		switch {
		case d.Deleted && d.GoneSince.Before(since):
		case d.Deleted, len(keys) == copiedAtOnce && !d.SeenAt.Before(since):
			return errEnough
		case !d.SeenAt.Before(since):
			keys = append(keys, d.Key)
		}
		return nil
	})
	if err != nil {
		if errors.Is(err, errEnough) {
			err = nil
		}
		return nil, false, err
	}
	for _, key := range keys {
		d, ok, err := s.Collected.Get(ctx, key)
		if err != nil || !ok || d.Deleted {
			return nil, false, err
		}
		docs = append(docs, d)
	}
	return docs, true, nil
}

// Documents implements source.Shared.
func (s *shared) Documents(ctx context.Context, q document.Query) (docs []document.Document, more bool, err error) {
	q.WithRaw = true
	bytes := 0
	err = s.Collected.Scan(ctx, q, func(d *document.Document) error {
		if len(docs) == copiedAtOnce || bytes > copiedBytesAtOnce {
			more = true
			return errEnough
		}
		docs, bytes = append(docs, *d), bytes+len(d.Raw)
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return docs, more, err
}
