package redis

import "context"

// Announce tells every process that something changed. It does not wait;
// announcements that follow each other closely become one, and the last of
// them is never left out.
func (d *Dispatcher) Announce(ctx context.Context) { d.changes.Announce(ctx) }

// Changes returns a channel that has a value after something changed, or may
// have changed while nobody could tell. Several changes may be one value. The
// function ends it. Redis is subscribed to while somebody listens.
func (d *Dispatcher) Changes(ctx context.Context) (<-chan struct{}, func()) {
	return d.changes.Changes(ctx)
}
