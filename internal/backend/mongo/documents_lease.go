package mongo

import (
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"sluice/internal/backoff"
)

const (
	// leaseTime is how long a process that has died keeps others from telling of
	// changes; one that works renews its lease with all that it writes.
	leaseTime = 15 * time.Second
	// releaseTime bounds the end of a lease whose caller has gone.
	releaseTime = 3 * time.Second

	fieldHolder  = "holder"
	fieldUntil   = "until"
	fieldPlacing = "placing"
)

// waits are the pauses of whoever waits for another process.
var waits = backoff.Delays{First: 5 * time.Millisecond, Longest: 250 * time.Millisecond, Spread: backoff.Upper}

// errLost says that another process has the lease now.
var errLost = errors.New("another process has the lease of the feed")

// sequence tells of what was marked before it was called: of all, or of some, after
// which there is something to read.
func (f *feed) sequence(ctx context.Context) error {
	arrived := f.started.Load()
	select {
	case f.turn <- struct{}{}:
		defer func() { <-f.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if f.finished.Load() > arrived {
		return nil // somebody who began later is done
	}
	run := f.started.Add(1)
	if err := f.run(ctx); err != nil {
		return err
	}
	f.finished.Store(run)
	return nil
}

// run tells of what is marked, or waits until another process has.
func (f *feed) run(ctx context.Context) error {
	for wait := waits.Series(); ; {
		if idle, err := f.idle(ctx); err != nil || idle {
			return err
		}
		l, err := f.take(ctx)
		if err != nil {
			return err
		}
		if l == nil {
			if !backoff.Sleep(ctx, wait.Next()) {
				return ctx.Err()
			}
			continue
		}
		err = l.tellAll(ctx)
		l.release(ctx, err == nil)
		if !errors.Is(err, errLost) {
			return err
		}
	}
}

// idle says that nothing is marked.
func (f *feed) idle(ctx context.Context) (bool, error) {
	for _, of := range []*driver.Collection{f.docs, f.homes, f.purges} {
		filter := isMarked()
		if of == f.purges {
			filter = isReady()
		}
		err := of.FindOne(ctx, filter, options.FindOne().SetProjection(bson.D{{Key: fieldID, Value: 1}})).Err()
		if !errors.Is(err, driver.ErrNoDocuments) {
			return false, failure(ctx, err)
		}
	}
	return true, nil
}

func isMarked() bson.D { return bson.D{{Key: fieldToken, Value: bson.D{{Key: "$gt", Value: ""}}}} }

// lease is the right to tell of changes.
type lease struct {
	*feed
	token string
	// newest is the last position that is taken.
	newest int64
}

// take takes the lease, nil if another process has it. What one that died has left is
// brought to an end.
func (f *feed) take(ctx context.Context) (*lease, error) {
	state, err := f.state(ctx)
	if err != nil {
		return nil, err
	}
	now := f.now()
	if state.Holder != "" && now.UnixMicro() < state.Until {
		return nil, nil //nolint:nilnil // nobody's fault
	}
	l := &lease{feed: f, token: newToken(), newest: state.Newest}
	filter := bson.D{{Key: fieldID, Value: feedID}, {Key: fieldHolder, Value: state.Holder}, {Key: fieldUntil, Value: state.Until}, {Key: fieldNewest, Value: state.Newest}}
	result, err := f.record.UpdateOne(ctx, filter, bson.D{{Key: "$set", Value: l.held()}})
	if err != nil {
		return nil, failure(ctx, err)
	}
	if result.MatchedCount == 0 {
		return nil, nil //nolint:nilnil // as above
	}
	if state.Holder == "" {
		return l, nil
	}
	return l, l.inherit(ctx)
}

func (l *lease) held() bson.D {
	return bson.D{{Key: fieldHolder, Value: l.token}, {Key: fieldUntil, Value: l.now().Add(leaseTime).UnixMicro()}}
}

// mine selects the record of the feed as long as the lease holds.
func (l *lease) mine(more ...bson.E) bson.D {
	return append(bson.D{{Key: fieldID, Value: feedID}, {Key: fieldHolder, Value: l.token}}, more...)
}

// set changes the record of the feed, and renews the lease.
func (l *lease) set(ctx context.Context, filter, set, unset bson.D) error {
	update := bson.D{{Key: "$set", Value: append(l.held(), set...)}}
	if unset != nil {
		update = append(update, bson.E{Key: "$unset", Value: unset})
	}
	result, err := l.record.UpdateOne(ctx, filter, update)
	if err != nil {
		return failure(ctx, err)
	}
	if result.MatchedCount == 0 {
		return errLost
	}
	return nil
}

func (l *lease) renew(ctx context.Context) error { return l.set(ctx, l.mine(), nil, nil) }

// release lets others have the lease; if something went wrong, so that they bring it
// to an end. One that cannot be released runs out.
func (l *lease) release(ctx context.Context, done bool) {
	ctx, end := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer end()
	holder := ""
	if !done {
		holder = "nobody"
	}
	_, _ = l.record.UpdateOne(ctx, l.mine(), bson.D{{Key: "$set", Value: bson.D{{Key: fieldHolder, Value: holder}, {Key: fieldUntil, Value: int64(0)}}}})
}

// inherit brings to an end what the holder before has begun: rows whose positions are
// settled get them, and those that have none are removed. Their marks are there still.
func (l *lease) inherit(ctx context.Context) error {
	// Rows and positions of one who lost the lease are refused from here on.
	state, err := l.state(ctx)
	if err != nil {
		return err
	}
	if state.Placing != nil {
		if err := l.place(ctx, state.Placing); err != nil {
			return err
		}
	}
	l.newest = max(l.newest, state.Newest)
	_, err = l.changes.DeleteMany(ctx, bson.D{{Key: fieldLast, Value: exists(false)}})
	return failure(ctx, err)
}

// commit writes rows and gives them positions.
func (l *lease) commit(ctx context.Context, rows []logRow) error {
	if len(rows) == 0 {
		return nil
	}
	if _, err := l.changes.InsertMany(ctx, rows); err != nil {
		return failure(ctx, err)
	}
	p := &placing{Newest: l.newest}
	for i := range rows {
		p.Newest += rows[i].Count
		rows[i].Last = p.Newest
		p.Rows = append(p.Rows, placed{rows[i].ID, p.Newest})
	}
	err := l.set(ctx, l.mine(bson.E{Key: fieldNewest, Value: l.newest}, bson.E{Key: fieldPlacing, Value: exists(false)}), bson.D{{Key: fieldPlacing, Value: p}}, nil)
	if err != nil {
		return err // rows without a position are removed by whoever has the lease next
	}
	return l.place(ctx, p)
}

// place gives rows the positions that are settled for them, and tells of them.
func (l *lease) place(ctx context.Context, p *placing) error {
	models := make([]driver.WriteModel, len(p.Rows))
	for i, row := range p.Rows {
		models[i] = driver.NewUpdateOneModel().SetFilter(bson.D{{Key: fieldID, Value: row.ID}}).
			SetUpdate(bson.D{{Key: "$set", Value: bson.D{{Key: fieldLast, Value: row.Last}}}})
	}
	if _, err := l.changes.BulkWrite(ctx, models); err != nil {
		return failure(ctx, err)
	}
	err := l.set(ctx, l.mine(bson.E{Key: "placing.newest", Value: p.Newest}), bson.D{{Key: fieldNewest, Value: p.Newest}}, bson.D{{Key: fieldPlacing, Value: ""}})
	if err == nil {
		l.newest = p.Newest
	}
	return err
}
