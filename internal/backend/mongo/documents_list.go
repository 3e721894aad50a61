package mongo

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"sluice/internal/document"
)

var (
	_ document.Lister = (*Documents)(nil)
	_ document.Finder = (*Documents)(nil)
)

// listLooks is how many records a page of a list looks at.
const listLooks = 2000

// leastLooks is how many it looks at first: a trip costs more than these.
const leastLooks = 100

// listIndexes are what lists go along.
func (s *Documents) listIndexes() [][]string {
	indexes := [][]string{
		{fieldKind, fieldAccount, fieldName},
		{fieldKind, fieldCreatedAt, fieldAccount, fieldName},
		{fieldKind, fieldUpdatedAt, fieldAccount, fieldName},
		{fieldAccount, fieldKind, fieldCreatedAt, fieldName},
		{fieldAccount, fieldKind, fieldUpdatedAt, fieldName},
		{fieldRepository, fieldKind, fieldCreatedAt, fieldAccount, fieldName},
	}
	var labels []string
	for i := range s.kinds {
		if column := s.kinds[i].Labels; column != "" && !slices.Contains(labels, column) {
			labels = append(labels, column)
			indexes = append(indexes, []string{fieldKind, fieldOwn + "." + column, fieldCreatedAt, fieldAccount, fieldName})
		}
	}
	return indexes
}

// List implements document.Lister. The server goes along an index; what it does not
// know of, such as whether something is gone, is looked at here.
func (s *Documents) List(ctx context.Context, sel document.Selection) (page document.Page, err error) {
	if err := sel.Check(); err != nil {
		return page, err
	}
	homes, err := s.gone(ctx, sel.Account)
	if err != nil {
		return page, err
	}
	w := listWalk{store: s, s: sel, seen: sel, homes: homes, looks: listLooks}
	// The server has selected by labels, which are not read.
	w.seen.Label = ""
	if err := w.walk(ctx); err != nil {
		return page, err
	}
	page.Next = w.next
	page.Documents, err = w.read(ctx)
	return page, err
}

// listWalk is a walk along an index: what it has found, and how many records it may
// still look at.
type listWalk struct {
	store *Documents
	s     document.Selection
	seen  document.Selection
	homes map[home]document.Mark
	looks int
	found []document.Key
	next  *document.Cursor
}

func (w *listWalk) walk(ctx context.Context) error {
	steps := w.steps()
	for batch := max(3*(w.s.Limit+1), leastLooks); len(steps) > 0; batch *= 4 {
		batch = min(w.looks, batch)
		seen, last, err := w.look(ctx, steps[0], batch)
		if err != nil || len(w.found) > w.s.Limit {
			w.found = w.found[:min(len(w.found), w.s.Limit)]
			return err
		}
		w.looks -= seen
		if seen > 0 {
			w.s.After = last
		}
		if seen < batch {
			steps = steps[1:]
		} else {
			steps = w.steps()
		}
		if w.looks <= 0 && len(steps) > 0 {
			w.next = w.s.After
			return nil
		}
	}
	w.next = nil
	return nil
}

// look looks at records of a step, up to one document more than the page has.
func (w *listWalk) look(ctx context.Context, filter bson.D, batch int) (seen int, last *document.Cursor, err error) {
	sort := bson.D{}
	for _, field := range w.order() {
		sort = append(sort, bson.E{Key: field, Value: w.direction()})
	}
	cursor, err := w.store.documents.Find(ctx, filter, options.Find().SetSort(sort).SetLimit(int64(batch)).SetBatchSize(int32(batch)).
		SetProjection(bson.D{{Key: fieldPayload, Value: 0}, {Key: fieldOwn, Value: 0}}))
	if err != nil {
		return 0, nil, failure(ctx, err)
	}
	// An error at the end of what was read is nobody's.
	defer func() { _ = cursor.Close(ctx) }()
	for cursor.Next(ctx) {
		var r documentRecord
		if err := cursor.Decode(&r); err != nil {
			return seen, last, failure(ctx, err)
		}
		d, err := w.store.decode(&r, w.homes[home{r.Account, r.Repository}])
		if err != nil {
			return seen, last, err
		}
		seen++
		at := document.CursorOf(&d, w.s.Sort)
		last = &at
		if !w.seen.Selects(w.store.kinds, &d) {
			continue
		}
		if w.found = append(w.found, d.Key); len(w.found) == w.s.Limit {
			w.next = &at
		}
		if len(w.found) > w.s.Limit {
			return seen, last, nil
		}
	}
	return seen, last, failure(ctx, cursor.Err())
}

// read reads the documents that were found, in their order.
func (w *listWalk) read(ctx context.Context) ([]document.Document, error) {
	if len(w.found) == 0 {
		return nil, nil
	}
	docs, err := w.store.Find(ctx, w.found, w.s.WithRaw)
	if err != nil {
		return nil, err
	}
	docs = slices.DeleteFunc(docs, func(d document.Document) bool { return !w.s.Selects(w.store.kinds, &d) })
	slices.SortFunc(docs, func(a, b document.Document) int {
		return w.s.Compare(document.CursorOf(&a, w.s.Sort), document.CursorOf(&b, w.s.Sort))
	})
	return docs, nil
}

func (w *listWalk) direction() int {
	if w.s.Descending {
		return -1
	}
	return 1
}

// order are the fields that a list is sorted by.
func (w *listWalk) order() (fields []string) {
	switch w.s.Sort {
	case document.SortCreated:
		fields = append(fields, fieldCreatedAt)
	case document.SortUpdated:
		fields = append(fields, fieldUpdatedAt)
	}
	if w.s.Account == 0 {
		fields = append(fields, fieldAccount)
	}
	return append(fields, fieldName)
}

// steps are the ranges of an index that follow where the walk is. As one condition
// they would be searched from the first record on.
func (w *listWalk) steps() []bson.D {
	if w.s.After == nil {
		return []bson.D{w.conditions()}
	}
	beyond := "$gt"
	if w.s.Descending {
		beyond = "$lt"
	}
	fields := w.order()
	values := map[string]any{fieldAccount: w.s.After.Account, fieldName: w.s.After.Name}
	values[fieldCreatedAt], values[fieldUpdatedAt] = micros(w.s.After.At), micros(w.s.After.At)
	var steps []bson.D
	for last := len(fields) - 1; last >= 0; last-- {
		var and bson.A
		for _, field := range fields[:last] {
			and = append(and, bson.D{{Key: field, Value: values[field]}})
		}
		and = append(and, bson.D{{Key: fields[last], Value: bson.D{{Key: beyond, Value: values[fields[last]]}}}})
		steps = append(steps, append(w.conditions(), bson.E{Key: "$and", Value: and}))
	}
	return steps
}

// conditions are those that an index answers.
func (w *listWalk) conditions() bson.D {
	filter := bson.D{{Key: fieldKind, Value: string(w.s.Kind)}}
	if w.s.Account != 0 {
		filter = append(filter, bson.E{Key: fieldAccount, Value: w.s.Account})
	}
	if w.s.Repository != 0 {
		filter = append(filter, bson.E{Key: fieldRepository, Value: w.s.Repository})
	}
	if w.s.Label != "" {
		column := w.store.kinds.LabelsOf(w.s.Kind)
		if column == "" {
			column = "none" // nothing has a label
		}
		filter = append(filter, bson.E{Key: fieldOwn + "." + column, Value: w.s.Label})
	}
	created := bson.D{}
	if !w.s.CreatedFrom.IsZero() {
		created = append(created, bson.E{Key: "$gte", Value: micros(w.s.CreatedFrom)})
	}
	if !w.s.CreatedUntil.IsZero() {
		created = append(created, bson.E{Key: "$lt", Value: micros(w.s.CreatedUntil)})
	}
	if len(created) > 0 {
		filter = append(filter, bson.E{Key: fieldCreatedAt, Value: created})
	}
	updated := bson.D{}
	switch {
	case !w.s.UpdatedFrom.IsZero():
		updated = append(updated, bson.E{Key: "$gte", Value: micros(w.s.UpdatedFrom)})
	case w.s.Sort == document.SortUpdated:
		updated = append(updated, bson.E{Key: "$gt", Value: int64(0)})
	}
	if len(updated) > 0 {
		filter = append(filter, bson.E{Key: fieldUpdatedAt, Value: updated})
	}
	return filter
}

// findKeys is how many documents one call looks for.
const findKeys = 200

// Find implements document.Finder.
func (s *Documents) Find(ctx context.Context, keys []document.Key, withRaw bool) (found []document.Document, err error) {
	homes, err := s.gone(ctx, 0)
	if err != nil {
		return nil, err
	}
	option := options.Find().SetBatchSize(pageRecords)
	if !withRaw {
		option.SetProjection(bson.D{{Key: fieldPayload, Value: 0}})
	}
	for part := range slices.Chunk(keys, findKeys) {
		ids := make([]string, len(part))
		for i, key := range part {
			ids[i] = identity(key)
		}
		cursor, err := s.documents.Find(ctx, bson.D{{Key: fieldID, Value: bson.D{{Key: "$in", Value: ids}}}}, option)
		if err != nil {
			return nil, failure(ctx, err)
		}
		var records []documentRecord
		if err := cursor.All(ctx, &records); err != nil {
			return nil, failure(ctx, err)
		}
		for i := range records {
			d, err := s.decode(&records[i], homes[home{records[i].Account, records[i].Repository}])
			if err != nil {
				return nil, err
			}
			found = append(found, d)
		}
	}
	return found, nil
}
