package mongo

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"sluice/internal/document"
)

// expand tells of what lies in repositories that are marked, or that have another
// title. What is marked itself was told of before.
func (t *telling) expand(ctx context.Context, marked []repository) error {
	done := map[home]bool{}
	for i := range marked {
		r := &marked[i]
		in := home{r.Account, r.Repository}
		done[in] = true
		whole, err := t.inside(ctx, bson.D{{Key: fieldAccount, Value: r.Account}, {Key: fieldRepository, Value: r.Repository}}, r.absent(), t.renamed[in])
		if err != nil {
			return err
		}
		if !whole {
			continue // it is marked still
		}
		filter := bson.D{{Key: fieldID, Value: r.ID}, {Key: fieldToken, Value: r.Unfed.Token}}
		if _, err := t.homes.UpdateOne(ctx, filter, bson.D{{Key: "$unset", Value: bson.D{{Key: fieldUnfed, Value: ""}}}}); err != nil {
			return failure(ctx, err)
		}
	}
	for in := range t.renamed {
		if done[in] {
			continue
		}
		kinds := t.titled()
		filter := bson.D{{Key: fieldAccount, Value: in.account}, {Key: fieldRepository, Value: in.repository}, {Key: fieldKind, Value: bson.D{{Key: "$in", Value: kinds}}}}
		if _, err := t.inside(ctx, filter, t.absent[in], true); err != nil {
			return err
		}
	}
	for last := range slices.Chunk(t.last, tellRecords) {
		if _, err := t.docs.BulkWrite(ctx, last, options.BulkWrite().SetOrdered(false)); err != nil {
			return failure(ctx, err)
		}
	}
	return nil
}

// titled are the kinds that show the title of their container.
func (t *telling) titled() bson.A {
	kinds := bson.A{}
	for i := range t.kinds {
		if t.kinds.ShowsContainer(t.kinds[i].Kind) {
			kinds = append(kinds, string(t.kinds[i].Kind))
		}
	}
	return kinds
}

// inside tells of the documents in a repository. It is not whole if some of them have
// changed meanwhile.
func (t *telling) inside(ctx context.Context, filter bson.D, absent document.Mark, renamed bool) (whole bool, err error) {
	long, end := context.WithTimeout(ctx, longCall)
	defer end()
	cursor, err := t.docs.Find(long, filter, options.Find().SetBatchSize(roundRecords).SetProjection(shownFields()))
	if err != nil {
		return false, failure(ctx, err)
	}
	// An error at the end of what was read is nobody's.
	defer func() { _ = cursor.Close(ctx) }()
	whole = true
	flush := func() error {
		_, missed, err := t.flush(ctx)
		whole = whole && !missed
		return err
	}
	for looked := 1; cursor.Next(long); looked++ {
		var r documentRecord
		if err := cursor.Decode(&r); err != nil {
			return false, failure(ctx, err)
		}
		// What is created since is told of by itself.
		if t.met[r.ID] || r.Unfed != nil && r.Unfed.Created {
			continue
		}
		t.tellInside(&r, absent, renamed)
		if looked%roundRecords != 0 {
			continue
		}
		if err := t.renew(ctx); err != nil {
			return false, err
		}
		if err := flush(); err != nil {
			return false, err
		}
	}
	if err := cursor.Err(); err != nil {
		return false, failure(ctx, err)
	}
	err = flush()
	return whole, err
}

// tellInside tells of a document in a repository. What is told of its absence is noted
// if that is what was told before, and it was not seen meanwhile.
func (t *telling) tellInside(r *documentRecord, absent document.Mark, renamed bool) {
	// That it was changed otherwise is told of next.
	r.Unfed = nil
	is, news := t.judge(r, absent, renamed)
	if !news {
		return
	}
	n := note{news: true, is: is, seen: r.SeenAt}
	if r.Told != nil {
		n.was = r.Told.Position + 1
	}
	t.notes[n] = append(t.notes[n], r.ID)
}
