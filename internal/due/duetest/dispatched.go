package duetest

import (
	"context"
	"time"

	"sluice/internal/dispatch"
	"sluice/internal/domain"
	"sluice/internal/due"
)

// Dispatched shows a dispatcher as the set of its delayed entries, so that it is
// held to the same promises: an entry is pushed with its instant, leased when it
// is due, acknowledged when it is done, released to be due again.
type Dispatched struct{ dispatch.Dispatcher }

var _ due.Set = Dispatched{}

// Put implements due.Set.
func (d Dispatched) Put(ctx context.Context, entries ...due.Entry) error {
	pushed := make([]dispatch.Entry, len(entries))
	for i, e := range entries {
		pushed[i] = dispatch.Entry{ID: e.ID, Lane: "lane", Priority: domain.PriorityHigh, Class: domain.ClassChild, NotBefore: e.At}
	}
	return d.Push(ctx, pushed...)
}

// Take implements due.Set.
func (d Dispatched) Take(ctx context.Context, n int) (due.Batch, error) {
	if n < 1 {
		return due.Batch{}, domain.Errorf(domain.CodeInvalid, "lease %d entries: at least 1 is needed", n)
	}
	leases, err := d.Lease(ctx, n)
	batch := due.Batch{Now: time.Now()}
	for _, l := range leases {
		batch.Taken = append(batch.Taken, due.Taken{ID: l.ID, Token: int64(l.Token)})
	}
	return batch, err
}

// Done implements due.Set.
func (d Dispatched) Done(ctx context.Context, taken ...due.Taken) error {
	leases := make([]dispatch.Lease, len(taken))
	for i, one := range taken {
		leases[i] = lease(one)
	}
	return d.Ack(ctx, leases...)
}

// Again implements due.Set.
func (d Dispatched) Again(ctx context.Context, again ...due.Again) error {
	for _, one := range again {
		if err := d.Release(ctx, lease(one.Taken), one.At); err != nil {
			return err
		}
	}
	return nil
}

func lease(one due.Taken) dispatch.Lease {
	return dispatch.Lease{Entry: dispatch.Entry{ID: one.ID}, Token: uint64(one.Token)}
}
