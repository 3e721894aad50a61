package engine

import "context"

// requestNumberBits keeps the numbers of requests short enough to be read.
const requestNumberBits = 28

// nextRequestNumber returns a number that no other request has at the same time. The
// numbers of a process follow each other from a random one on.
func (d *delivery) nextRequestNumber() int64 {
	return d.requestNumbers.Add(1) & (1<<requestNumberBits - 1)
}

// recordIntent has an account reconciled unless the change that follows is completed:
// the returned function says so. Between the two, dispatch owes nothing that a
// dead process alone knew of. The note is this request's own: that another one
// for the same account is completed says nothing about this one. A process that
// has dispatch to itself needs none, as its next start makes up for everything.
func (d *delivery) recordIntent(ctx context.Context, account int64) (done func(), err error) {
	if !d.cfg.Shared {
		return func() {}, nil
	}
	c := chore{choreRequest, account, d.nextRequestNumber()}
	note := c.entry(d.cfg.Now().Add(d.cfg.Lease))
	if err := d.Dispatch.Push(ctx, note); err != nil {
		return nil, err
	}
	return func() {
		if err := d.Dispatch.Remove(context.WithoutCancel(ctx), note.ID); err != nil {
			// Reconciling what is right already changes nothing.
			d.cfg.Log.Warn("the note of a request could not be removed; the account is reconciled for nothing", "account", account, "chore", note.ID, "error", err)
		}
	}, nil
}
