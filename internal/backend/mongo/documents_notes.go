package mongo

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
)

// note is what is written of records that were told of, and when: those that have just
// that in common are written together.
type note struct {
	// token is that of the mark that goes, "" if there is none, and of how many records
	// have it at most.
	token string
	of    int
	// news says that what is told of the absence is, if the record was last seen when it
	// was read. was is the position of what was told before and 1; 0 if nothing was.
	news bool
	is   told
	seen int64
	was  int64
	// title is what was told to all that lies in the record, if it is titled.
	titled bool
	title  string
}

// filter selects records of which the note is still true.
func (n *note) filter() (filter bson.D) {
	if n.token != "" {
		filter = append(filter, bson.E{Key: fieldToken, Value: n.token})
	}
	if !n.news {
		return filter
	}
	seen := bson.E{Key: fieldSeenAt, Value: n.seen}
	if n.seen == 0 {
		seen.Value = notAbove("$gt", n.seen) // a zero is stored, or nothing
	}
	filter = append(filter, seen)
	switch {
	case n.token != "":
	case n.was == 0:
		filter = append(filter, bson.E{Key: fieldTold, Value: exists(false)})
	default:
		filter = append(filter, bson.E{Key: "told.position", Value: n.was - 1})
	}
	return filter
}

func (n *note) update() (update bson.D) {
	set := bson.D{}
	if n.news {
		set = append(set, bson.E{Key: fieldTold, Value: n.is})
	}
	if n.titled {
		set = append(set, bson.E{Key: fieldToldTitle, Value: n.title})
	}
	if len(set) > 0 {
		update = append(update, bson.E{Key: "$set", Value: set})
	}
	if n.token != "" {
		update = append(update, bson.E{Key: "$unset", Value: bson.D{{Key: fieldUnfed, Value: ""}}})
	}
	return update
}

// write writes it, and returns for how many records. Where all were read that have a
// token, it names them.
func (n *note) write(ctx context.Context, docs *driver.Collection, ids []string) (matched int64, err error) {
	for part := range slices.Chunk(ids, tellRecords) {
		filter := n.filter()
		if n.of == 0 || len(ids) != n.of {
			filter = append(bson.D{{Key: fieldID, Value: bson.D{{Key: "$in", Value: part}}}}, filter...)
		}
		result, err := docs.UpdateMany(ctx, filter, n.update())
		if err != nil {
			return matched, failure(ctx, err)
		}
		matched += result.MatchedCount
	}
	return matched, nil
}
