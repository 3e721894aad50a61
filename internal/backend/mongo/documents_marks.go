package mongo

import (
	"crypto/rand"

	"go.mongodb.org/mongo-driver/v2/bson"

	"sluice/internal/document"
)

const (
	fieldUnfed   = "unfed"
	fieldToken   = "unfed.token"
	fieldOf      = "unfed.of"
	fieldCreated = "unfed.created"
	fieldChanged = "unfed.changed"
	fieldTold    = "told"
)

// unfed is the mark of a record that the feed may not have told everything of. It is
// set in the update that changes the record, and only removed while its token is the
// one that whoever told of it has read.
type unfed struct {
	Token string `bson:"token"`
	// Of is how many records have got this token at most; 0 if that is not known.
	Of int `bson:"of,omitempty"`
	// Created says that nothing was told yet of a document, and Changed that it shows
	// something else than it did. Whether it is gone is compared with what was told.
	Created bool `bson:"created,omitempty"`
	Changed bool `bson:"changed,omitempty"`
}

// told is what the feed told last of a document's absence. It stays in the record: who
// sees such a document again marks it.
type told struct {
	// Why is "" if it was told that the document is there.
	Why   string `bson:"why"`
	Since int64  `bson:"since"`
	// Position is where the feed ended before: no two are alike.
	Position int64 `bson:"position"`
}

// newToken names a write among all that there are.
func newToken() string { return rand.Text() }

// newMark is the mark of a write to so many records at most.
func newMark(of int) unfed { return unfed{Token: newToken(), Of: of} }

// on adds the mark to an update: the feed is to look at the record.
func (u unfed) on(update bson.D) bson.D {
	set := bson.D{{Key: fieldToken, Value: u.Token}, {Key: fieldOf, Value: u.Of}}
	if u.Changed {
		set = append(set, bson.E{Key: fieldChanged, Value: true})
	}
	for i := range update {
		if fields, ok := update[i].Value.(bson.D); ok && update[i].Key == "$set" {
			update[i].Value = append(fields, set...)
			return update
		}
	}
	return append(update, bson.E{Key: "$set", Value: set})
}

// maybeGone selects records of which the feed may have told that they are gone, or
// those of which it never did. A record that was selected once always is.
func maybeGone(yes bool) bson.D {
	if yes {
		return bson.D{{Key: "$or", Value: bson.A{
			bson.D{{Key: fieldTold, Value: exists(true)}}, bson.D{{Key: fieldGoneWhy, Value: exists(true)}}, bson.D{{Key: fieldDeleted, Value: exists(true)}},
		}}}
	}
	return bson.D{{Key: fieldTold, Value: exists(false)}, {Key: fieldGoneWhy, Value: exists(false)}, {Key: fieldDeleted, Value: exists(false)}}
}

func exists(yes bool) bson.D { return bson.D{{Key: "$exists", Value: yes}} }

// held is a record as the feed has told of it, and as it is.
func (r *documentRecord) held() (before *document.Held, after document.Held) {
	after = document.Held{
		Key:     document.Key{Account: r.Account, Kind: document.Kind(r.Kind), Name: r.Name},
		Version: instant(r.Version), SeenAt: instant(r.SeenAt), Repository: r.Repository, Mark: r.mark(),
	}
	if r.Unfed != nil && r.Unfed.Created {
		return nil, after
	}
	before = &document.Held{Key: after.Key, Version: after.Version, Repository: r.Repository}
	if r.Told != nil && r.Told.Why != "" {
		since := instant(r.Told.Since)
		before.Mark = document.Mark{Why: document.Reason(r.Told.Why), Since: since, Last: since}
	}
	if r.Unfed != nil && r.Unfed.Changed {
		after.Content = 1 // another one than before
	}
	return before, after
}
