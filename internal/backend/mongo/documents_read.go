package mongo

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"sluice/internal/document"
)

// A scan reads pages of so many records and, roughly, bytes. A caller that is
// slow, such as an export to a pipe, must not keep a cursor open.
const (
	pageRecords = 2000
	pageBytes   = 8 << 20
)

// Get implements document.Reader.
func (s *Documents) Get(ctx context.Context, key document.Key) (document.Document, bool, error) {
	var r documentRecord
	err := s.documents.FindOne(ctx, bson.D{{Key: fieldID, Value: identity(key)}}).Decode(&r)
	if errors.Is(err, driver.ErrNoDocuments) {
		return document.Document{}, false, nil
	}
	if err != nil {
		return document.Document{}, false, failure(ctx, err)
	}
	homes, err := s.marks(ctx, bson.D{{Key: fieldID, Value: repositoryID(r.Account, r.Repository)}})
	if err != nil {
		return document.Document{}, false, err
	}
	doc, err := s.decode(&r, homes[home{r.Account, r.Repository}])
	return doc, err == nil, err
}

// Scan implements document.Reader.
func (s *Documents) Scan(ctx context.Context, q document.Query, fn func(*document.Document) error) error {
	steps := []bson.D{conditions(q)}
	if from := q.After; from.Name != "" {
		steps = after(q, &documentRecord{Account: from.Account, Kind: string(from.Kind), Name: from.Name})
	}
	for len(steps) > 0 {
		page, whole, err := s.page(ctx, steps[0], q)
		if err != nil {
			return err
		}
		homes, err := s.gone(ctx, q.Account)
		if err != nil {
			return err
		}
		for i := range page {
			doc, err := s.decode(&page[i], homes[home{page[i].Account, page[i].Repository}])
			if err != nil {
				return err
			}
			page[i].Payload = nil
			if err := fn(&doc); err != nil {
				return err
			}
		}
		steps = steps[1:]
		if !whole {
			steps = after(q, &page[len(page)-1])
		}
	}
	return nil
}

// page reads the first records of a selection, in order. It is whole if there
// are no more.
func (s *Documents) page(ctx context.Context, filter bson.D, q document.Query) (page []documentRecord, whole bool, err error) {
	option := options.Find().SetLimit(pageRecords).SetBatchSize(pageRecords).
		SetSort(bson.D{{Key: fieldAccount, Value: 1}, {Key: fieldKind, Value: 1}, {Key: fieldName, Value: 1}})
	var without bson.D
	if !q.WithRaw {
		without = append(without, bson.E{Key: fieldPayload, Value: 0})
	}
	if q.WithoutOwn {
		without = append(without, bson.E{Key: fieldOwn, Value: 0})
	}
	if without != nil {
		option.SetProjection(without)
	}
	cursor, err := s.documents.Find(ctx, filter, option)
	if err != nil {
		return nil, false, failure(ctx, err)
	}
	// An error at the end of a page that was read is nobody's.
	defer func() { _ = cursor.Close(ctx) }()
	size := 0
	for cursor.Next(ctx) {
		var r documentRecord
		if err := cursor.Decode(&r); err != nil {
			return nil, false, failure(ctx, err)
		}
		page = append(page, r)
		if size += len(cursor.Current); size >= pageBytes {
			return page, false, nil
		}
	}
	return page, len(page) < pageRecords, failure(ctx, cursor.Err())
}

func conditions(q document.Query) bson.D {
	filter := bson.D{}
	if q.Account != 0 {
		filter = append(filter, bson.E{Key: fieldAccount, Value: q.Account})
	}
	if q.Kind != "" {
		filter = append(filter, bson.E{Key: fieldKind, Value: string(q.Kind)})
	}
	if q.Repository != 0 {
		filter = append(filter, bson.E{Key: fieldRepository, Value: q.Repository})
	}
	created := bson.D{}
	if !q.Since.IsZero() {
		created = append(created, bson.E{Key: "$gte", Value: micros(q.Since)})
	}
	if !q.Until.IsZero() {
		created = append(created, bson.E{Key: "$lt", Value: micros(q.Until)})
	}
	if len(created) > 0 {
		filter = append(filter, bson.E{Key: fieldCreatedAt, Value: created})
	}
	return filter
}

// after selects what follows a record, in steps of which each is a range of the
// index: the rest of its kind, the account's other kinds, other accounts. As
// one condition they would be searched from the first record on.
func after(q document.Query, last *documentRecord) []bson.D {
	beyond := func(value any) bson.D { return bson.D{{Key: "$gt", Value: value}} }
	inKind := q
	inKind.Account, inKind.Kind = last.Account, document.Kind(last.Kind)
	steps := []bson.D{append(conditions(inKind), bson.E{Key: fieldName, Value: beyond(last.Name)})}
	if q.Kind == "" {
		inAccount := q
		inAccount.Account = last.Account
		steps = append(steps, append(conditions(inAccount), bson.E{Key: fieldKind, Value: beyond(last.Kind)}))
	}
	if q.Account == 0 {
		steps = append(steps, append(conditions(q), bson.E{Key: fieldAccount, Value: beyond(last.Account)}))
	}
	return steps
}

// Count implements document.Reader.
func (s *Documents) Count(ctx context.Context, account int64) (map[document.Kind]int64, error) {
	cursor, err := s.documents.Aggregate(ctx, bson.A{
		bson.D{{Key: "$match", Value: bson.D{{Key: fieldAccount, Value: account}}}},
		bson.D{{Key: "$group", Value: bson.D{{Key: fieldID, Value: "$" + fieldKind}, {Key: "n", Value: bson.D{{Key: "$sum", Value: 1}}}}}},
	})
	if err != nil {
		return nil, failure(ctx, err)
	}
	var groups []struct {
		Kind document.Kind `bson:"_id"`
		N    int64         `bson:"n"`
	}
	if err := cursor.All(ctx, &groups); err != nil {
		return nil, failure(ctx, err)
	}
	counts := make(map[document.Kind]int64, len(groups))
	for _, g := range groups {
		counts[g.Kind] = g.N
	}
	return counts, nil
}
