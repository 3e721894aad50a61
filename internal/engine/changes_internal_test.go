package engine

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"sluice/internal/document"
)

// oldFeed has changes to remove, and notes what it is asked.
type oldFeed struct {
	document.Feed
	left   int64
	before []time.Time
	err    error
}

func (f *oldFeed) TrimChanges(_ context.Context, before time.Time, most int) (int64, error) {
	f.before = append(f.before, before)
	n := min(f.left, int64(most))
	f.left -= n
	return n, f.err
}

func TestTrimChanges(t *testing.T) {
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	feed := &oldFeed{left: 2*trimBatch + 1}
	c := &core{Ports: Ports{Feed: feed}, cfg: Config{ChangesKept: time.Hour, Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)}}
	cr := &choreRunner{core: c}
	cr.trimChanges(t.Context())
	if feed.left != 0 || len(feed.before) != 4 || !feed.before[0].Equal(now.Add(-time.Hour)) {
		t.Errorf("%d are left after %v", feed.left, feed.before)
	}
	// Runs end often: it is not looked each time.
	cr.trimChanges(t.Context())
	if len(feed.before) != 4 {
		t.Errorf("looked again at once: %v", feed.before)
	}
	now = now.Add(trimPause)
	feed.left, feed.err = 5, errors.New("the store is away")
	cr.trimChanges(t.Context())
	if len(feed.before) != 5 {
		t.Errorf("after a failure: %d looks", len(feed.before))
	}
	now, c.cfg.ChangesKept = now.Add(time.Hour), 0
	cr.trimChanges(t.Context())
	c.cfg.ChangesKept, c.Feed = time.Hour, nil
	cr.trimChanges(t.Context())
	if len(feed.before) != 5 {
		t.Error("removed what is kept for ever")
	}
}
