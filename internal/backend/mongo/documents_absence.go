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
}

func repositoryID(account, id int64) string {
	return strconv.FormatInt(account, 10) + ":" + strconv.FormatInt(id, 10)
}

// see notes when repositories were seen.
func (s *Documents) see(ctx context.Context, sightings []document.Sighting) error {
	models := make([]driver.WriteModel, len(sightings))
	for i, one := range sightings {
		models[i] = driver.NewUpdateOneModel().SetUpsert(true).
			SetFilter(bson.D{{Key: fieldID, Value: repositoryID(one.Account, one.Repository)}}).
			SetUpdate(bson.D{
				{Key: "$max", Value: bson.D{{Key: fieldSeenAt, Value: micros(one.At)}}},
				{Key: "$set", Value: bson.D{{Key: fieldAccount, Value: one.Account}, {Key: fieldRepository, Value: one.Repository}}},
			})
	}
	for part := range slices.Chunk(models, callRecords) {
		write := func() error {
			_, err := s.repositories.BulkWrite(ctx, part, options.BulkWrite().SetOrdered(false))
			return err
		}
		err := persist(write)
		if driver.IsDuplicateKeyError(err) {
			err = write() // another process inserted it first
		}
		if err != nil {
			return failure(ctx, err)
		}
	}
	return nil
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
		if a.Kind == "" {
			flag = s.flagRepository
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
		_, err := s.repositories.InsertOne(ctx, r)
		if driver.IsDuplicateKeyError(err) {
			return false, nil
		}
		return true, err
	}
	result, err := s.repositories.UpdateOne(ctx, r.unchanged(r.ID), claim(mark))
	return err == nil && result.MatchedCount == 1, err
}

// flagDocuments claims the absence of documents.
func (s *Documents) flagDocuments(ctx context.Context, a *document.Absence) (done bool, err error) {
	var changes []driver.WriteModel
	err = s.each(ctx, absent(a), func(r *documentRecord) {
		if mark := r.mark().Claim(instant(r.SeenAt), a.Why, a.Since); mark != r.mark() {
			changes = append(changes, driver.NewUpdateOneModel().SetFilter(r.unchanged(r.ID)).SetUpdate(claim(mark)))
		}
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

// each calls fn with records, of which it reads what is known of their being
// there.
func (s *Documents) each(ctx context.Context, filter bson.D, fn func(*documentRecord)) error {
	cursor, err := s.documents.Find(ctx, filter, options.Find().SetBatchSize(pageRecords).SetProjection(bson.D{
		{Key: fieldSeenAt, Value: 1}, {Key: fieldGoneWhy, Value: 1}, {Key: fieldGoneAt, Value: 1}, {Key: fieldGoneLast, Value: 1},
		{Key: fieldDeleted, Value: 1},
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

// claim is the update that sets a mark.
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
	cursor, err := s.repositories.Find(ctx, filter, options.Find().SetBatchSize(pageRecords))
	if err != nil {
		return nil, failure(ctx, err)
	}
	var all []repository
	if err := cursor.All(ctx, &all); err != nil {
		return nil, failure(ctx, err)
	}
	marks := make(map[home]document.Mark, len(all))
	for i := range all {
		if m := all[i].mark(); m.Holds(instant(all[i].SeenAt)) {
			marks[home{all[i].Account, all[i].Repository}] = m
		}
	}
	return marks, nil
}
