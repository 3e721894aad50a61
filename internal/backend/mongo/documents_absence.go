package mongo

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"sluice/internal/document"
	"sluice/internal/domain"
)

// repository is what is known of a repository's being there, for everything in
// it: one record, however much that is, is written when a repository goes and
// when it comes back.
type repository struct {
	ID         string `bson:"_id"`
	Account    int64  `bson:"account"`
	Repository int64  `bson:"repository"`
	Presence   `bson:",inline"`
	// Unfed says that the feed may not have told everything of what lies in it.
	Unfed *unfed `bson:"unfed,omitempty"`
}

// absent is the absence of a repository, none if it was seen again.
func (p Presence) absent() document.Mark {
	return document.Presence{SeenAt: instant(p.SeenAt), Mark: p.mark()}.Absent()
}

func repositoryID(account, id int64) string {
	return strconv.FormatInt(account, 10) + ":" + strconv.FormatInt(id, 10)
}

// see notes when repositories were seen. What comes back is marked.
func (s *Documents) see(ctx context.Context, sightings []document.Sighting) error {
	for part := range slices.Chunk(sightings, callRecords) {
		records := make([]repository, len(part))
		for i, one := range part {
			records[i] = repository{ID: repositoryID(one.Account, one.Repository), Account: one.Account, Repository: one.Repository}
			records[i].SeenAt = micros(one.At)
		}
		var present []repository
		err := persist(func() (err error) {
			_, err = s.repositories.InsertMany(ctx, records, options.InsertMany().SetOrdered(false))
			present, err = duplicates(records, err)
			return err
		})
		if err != nil {
			return failure(ctx, err)
		}
		if err := s.settle(ctx, func() (bool, error) { return s.seeAgain(ctx, present) }); err != nil {
			return err
		}
	}
	return nil
}

// seeAgain notes when repositories were seen that are there; done is false if somebody
// else changed what is known of one meanwhile.
func (s *Documents) seeAgain(ctx context.Context, seen []repository) (done bool, err error) {
	if len(seen) == 0 {
		return true, nil
	}
	at := make(map[string]int64, len(seen))
	ids := make(bson.A, len(seen))
	for i := range seen {
		ids[i], at[seen[i].ID] = seen[i].ID, seen[i].SeenAt
	}
	stored, err := s.homesOf(ctx, bson.D{{Key: fieldID, Value: bson.D{{Key: "$in", Value: ids}}}})
	if err != nil {
		return false, err
	}
	var changes []driver.WriteModel
	for i := range stored {
		before := stored[i].Presence
		after := before
		if after.SeenAt = at[stored[i].ID]; after.SeenAt <= before.SeenAt {
			continue
		}
		update := bson.D{{Key: "$set", Value: bson.D{{Key: fieldSeenAt, Value: after.SeenAt}}}}
		if before.absent() != after.absent() {
			update = newMark(1).on(update)
		}
		changes = append(changes, driver.NewUpdateOneModel().SetFilter(before.unchanged(stored[i].ID)).SetUpdate(update))
	}
	if len(changes) == 0 {
		return true, nil
	}
	result, err := s.repositories.BulkWrite(ctx, changes, options.BulkWrite().SetOrdered(false))
	return err == nil && result.MatchedCount == int64(len(changes)), err
}

// homesOf reads what is known of repositories.
func (s *Documents) homesOf(ctx context.Context, filter bson.D) (all []repository, err error) {
	cursor, err := s.repositories.Find(ctx, filter, options.Find().SetBatchSize(pageRecords))
	if err != nil {
		return nil, err
	}
	return all, cursor.All(ctx, &all)
}

// MarkDeleted implements document.Writer. Like Upsert, it is to be repeated
// when it fails.
func (s *Documents) MarkDeleted(ctx context.Context, absences []document.Absence) error {
	if err := s.kinds.CheckAbsences(absences); err != nil {
		return err
	}
	for i := range absences {
		a := &absences[i]
		flag := s.flagDocuments
		switch {
		case a.Kind == "":
			flag = s.flagRepository
		case len(a.With) > 0:
			flag = s.follow
		}
		if err := s.settle(ctx, func() (bool, error) { return flag(ctx, a) }); err != nil {
			return err
		}
	}
	return nil
}

// maxTries is how often something is flagged that others change all the time.
const maxTries = 100

// settle repeats a change until it is done: what others change meanwhile is
// looked at again.
func (s *Documents) settle(ctx context.Context, flag func() (done bool, err error)) error {
	for range maxTries {
		done := false
		err := persist(func() (err error) {
			done, err = flag()
			return err
		})
		if err != nil {
			return failure(ctx, err)
		}
		if done {
			return nil
		}
	}
	return domain.Errorf(domain.CodeUnavailable, "mongodb: what is to be flagged was changed by others %d times; try again", maxTries)
}

// flagRepository claims the absence of a repository; done is false if somebody
// else changed what is known of it meanwhile.
func (s *Documents) flagRepository(ctx context.Context, a *document.Absence) (done bool, err error) {
	r := repository{ID: repositoryID(a.Account, a.Repository), Account: a.Account, Repository: a.Repository}
	err = s.repositories.FindOne(ctx, bson.D{{Key: fieldID, Value: r.ID}}).Decode(&r)
	found := err == nil
	if err != nil && !errors.Is(err, driver.ErrNoDocuments) {
		return false, err
	}
	mark := r.mark().Claim(instant(r.SeenAt), a.Why, a.Since)
	if mark == r.mark() {
		return true, nil
	}
	if !found {
		r.GoneWhy, r.GoneAt, r.GoneLast = string(mark.Why), micros(mark.Since), micros(mark.Last)
		mark := newMark(1)
		r.Unfed = &mark
		_, err := s.repositories.InsertOne(ctx, r)
		if driver.IsDuplicateKeyError(err) {
			return false, nil
		}
		return true, err
	}
	result, err := s.repositories.UpdateOne(ctx, r.unchanged(r.ID), newMark(1).on(claim(mark)))
	return err == nil && result.MatchedCount == 1, err
}

// flagDocuments claims the absence of documents.
func (s *Documents) flagDocuments(ctx context.Context, a *document.Absence) (done bool, err error) {
	var changes []driver.WriteModel
	unfed := newMark(0)
	err = s.each(ctx, absent(a), func(r *documentRecord) {
		mark := r.mark().Claim(instant(r.SeenAt), a.Why, a.Since)
		if mark == r.mark() {
			return
		}
		changes = append(changes, driver.NewUpdateOneModel().SetFilter(r.unchanged(r.ID)).SetUpdate(unfed.on(claim(mark))))
	})
	if err != nil {
		return false, err
	}
	matched := int64(0)
	for part := range slices.Chunk(changes, callRecords) {
		result, err := s.documents.BulkWrite(ctx, part, options.BulkWrite().SetOrdered(false))
		if err != nil {
			return false, err
		}
		matched += result.MatchedCount
	}
	return matched == int64(len(changes)), nil
}

// follow lets documents go and come back with those that they belong to.
func (s *Documents) follow(ctx context.Context, a *document.Absence) (done bool, err error) {
	gone := map[int64]bool{}
	for _, kind := range a.With {
		parents := document.Absence{Account: a.Account, Repository: a.Repository, Kind: kind}
		err := s.each(ctx, goneOf(&parents), func(r *documentRecord) {
			if r.mark().Holds(instant(r.SeenAt)) {
				gone[a.NumberOf(r.Name, r.Number)] = true
			}
		})
		if err != nil {
			return false, err
		}
	}
	followers := a.Followers(gone)
	for i := range followers {
		if done, err := s.flagDocuments(ctx, &followers[i]); err != nil || !done {
			return done, err
		}
	}
	var back []driver.WriteModel
	unfed := newMark(0)
	err = s.each(ctx, goneOf(a), func(r *documentRecord) {
		if !gone[r.Number] && r.mark().Holds(instant(r.SeenAt)) && r.GoneLast < micros(a.Since) {
			seen := bson.D{{Key: "$max", Value: bson.D{{Key: fieldSeenAt, Value: micros(a.Since)}}}}
			back = append(back, driver.NewUpdateOneModel().SetFilter(bson.D{{Key: fieldID, Value: r.ID}}).SetUpdate(unfed.on(seen)))
		}
	})
	for part := range slices.Chunk(back, callRecords) {
		if err == nil {
			_, err = s.documents.BulkWrite(ctx, part, options.BulkWrite().SetOrdered(false))
		}
	}
	return err == nil, err
}

// goneOf selects the things of a kind that may be gone.
func goneOf(a *document.Absence) bson.D {
	return append(ofKind(a), bson.E{Key: fieldGoneWhy, Value: bson.D{{Key: "$gt", Value: ""}}})
}

// each calls fn with records, of which it reads what is known of their being
// there.
func (s *Documents) each(ctx context.Context, filter bson.D, fn func(*documentRecord)) error {
	cursor, err := s.documents.Find(ctx, filter, options.Find().SetBatchSize(pageRecords).SetProjection(bson.D{
		{Key: fieldSeenAt, Value: 1}, {Key: fieldGoneWhy, Value: 1}, {Key: fieldGoneAt, Value: 1}, {Key: fieldGoneLast, Value: 1},
		{Key: fieldDeleted, Value: 1}, {Key: fieldName, Value: 1}, {Key: fieldNumber, Value: 1},
	}))
	if err != nil {
		return err
	}
	// An error at the end of what was read is nobody's.
	defer func() { _ = cursor.Close(ctx) }()
	for cursor.Next(ctx) {
		var r documentRecord
		if err := cursor.Decode(&r); err != nil {
			return err
		}
		fn(&r)
	}
	return cursor.Err()
}

// claim is the update that sets a mark of absence.
func claim(m document.Mark) bson.D {
	return bson.D{{Key: "$set", Value: bson.D{
		{Key: fieldGoneWhy, Value: string(m.Why)}, {Key: fieldGoneAt, Value: micros(m.Since)}, {Key: fieldGoneLast, Value: micros(m.Last)},
	}}}
}

// unchanged selects a record if what is known of its being there is still this.
func (p Presence) unchanged(id string) bson.D {
	filter := bson.D{{Key: fieldID, Value: id}}
	same := func(field string, value any, none bool) {
		if none {
			value = notAbove("$gt", value) // a zero is stored, or nothing
		}
		filter = append(filter, bson.E{Key: field, Value: value})
	}
	same(fieldSeenAt, p.SeenAt, p.SeenAt == 0)
	same(fieldGoneWhy, p.GoneWhy, p.GoneWhy == "")
	same(fieldGoneAt, p.GoneAt, p.GoneAt == 0)
	same(fieldGoneLast, p.GoneLast, p.GoneLast == 0)
	return filter
}

// absent selects what an absence is about and may change.
func absent(a *document.Absence) bson.D {
	at := micros(a.Since)
	filter := append(ofKind(a),
		bson.E{Key: fieldSeenAt, Value: notAbove("$gt", at)},
		bson.E{Key: "$or", Value: bson.A{
			bson.D{{Key: fieldGoneLast, Value: notAbove("$gte", at)}},
			bson.D{{Key: fieldGoneWhy, Value: string(a.Why)}, {Key: fieldGoneAt, Value: bson.D{{Key: "$gt", Value: at}}}},
		}})
	if len(a.Numbers) > 0 {
		filter = append(filter, bson.E{Key: fieldNumber, Value: bson.D{{Key: "$in", Value: a.Numbers}}})
	}
	return append(filter, bson.E{Key: "$and", Value: bson.A{bson.D{{Key: fieldSeenAt, Value: notAbove("$gte", micros(a.NotSeenSince))}}}})
}

func ofKind(a *document.Absence) bson.D {
	return bson.D{
		{Key: fieldAccount, Value: a.Account}, {Key: fieldRepository, Value: a.Repository}, {Key: fieldKind, Value: string(a.Kind)},
	}
}

// notAbove is true of values that are not above a bound, and of none at all.
func notAbove(above string, bound any) bson.D {
	return bson.D{{Key: "$not", Value: bson.D{{Key: above, Value: bound}}}}
}

// home names a repository.
type home struct{ account, repository int64 }

// gone are the repositories of an account, or of all, that are gone.
func (s *Documents) gone(ctx context.Context, account int64) (map[home]document.Mark, error) {
	filter := bson.D{{Key: fieldGoneWhy, Value: bson.D{{Key: "$gt", Value: ""}}}}
	if account != 0 {
		filter = append(filter, bson.E{Key: fieldAccount, Value: account})
	}
	return s.marks(ctx, filter)
}

// marks returns the absences that hold of some repositories.
func (s *Documents) marks(ctx context.Context, filter bson.D) (map[home]document.Mark, error) {
	all, err := s.homesOf(ctx, filter)
	if err != nil {
		return nil, failure(ctx, err)
	}
	marks := make(map[home]document.Mark, len(all))
	for i := range all {
		if m := all[i].absent(); m != (document.Mark{}) {
			marks[home{all[i].Account, all[i].Repository}] = m
		}
	}
	return marks, nil
}
