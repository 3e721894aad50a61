package mongo

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"sluice/internal/document"
)

const (
	// roundRecords and roundHomes are how many marked records are told of at a time, and
	// tellRecords how many of them have one token, and one call changes.
	roundRecords, roundHomes, tellRecords = 1000, 100, 100
	// rowEntries is how many changes a row holds.
	rowEntries = 1000
	// maxRounds is after how many rounds a turn ends that has told of something: who
	// reads that reads on, and others may write faster than is told of it.
	maxRounds = 20

	fieldToldTitle = "told_title"
)

// tellAll tells of what is marked until nothing is, or enough is told.
func (l *lease) tellAll(ctx context.Context) error {
	before := l.newest
	for n := 1; n <= maxRounds || l.newest == before; n++ {
		if more, err := l.round(ctx); err != nil || !more {
			return err
		}
	}
	return nil
}

// telling is one round: marked records, what is told of them, and what is written when
// that is done.
type telling struct {
	*lease
	// met are the documents that are marked themselves.
	met map[string]bool
	// absent are the absences of the repositories that they lie in, and renamed those
	// repositories that have another title than was told.
	absent  map[home]document.Mark
	renamed map[home]bool
	entries []newEntry
	// notes are what is written of records when they are told of, and last are updates
	// that follow when what lies in a record is told of. created are those that are
	// told to be.
	notes   map[note][]string
	last    []driver.WriteModel
	created []string
}

// newEntry is a change that is to be told.
type newEntry struct {
	account int64
	logEntry
}

// round tells of some of what is marked; more says that there was something.
func (l *lease) round(ctx context.Context) (more bool, err error) {
	marked, err := l.marked(ctx)
	if err != nil {
		return false, err
	}
	// Who is purged is looked up after its new documents are, and told before them.
	gone, err := l.ready(ctx)
	if err != nil {
		return false, err
	}
	homes, err := l.homesWhere(ctx, isMarked(), roundHomes)
	if err != nil || len(marked)+len(gone)+len(homes) == 0 {
		return false, err
	}
	t := &telling{lease: l, met: make(map[string]bool, len(marked)), absent: map[home]document.Mark{}, renamed: map[home]bool{}, notes: map[note][]string{}}
	for _, one := range gone {
		t.entries = append(t.entries, newEntry{one.Account, logEntry{What: string(document.Purged)}})
	}
	if err := t.meet(ctx, marked); err != nil {
		return false, err
	}
	for i := range marked {
		t.tellMarked(&marked[i])
	}
	rows, _, err := t.flush(ctx)
	if err != nil {
		return false, err
	}
	if err := l.forget(ctx, gone, rows); err != nil {
		return false, err
	}
	return true, t.expand(ctx, homes)
}

// shownFields are what is read of a document to tell of it.
func shownFields() bson.D {
	fields := bson.D{}
	for _, name := range []string{
		fieldAccount, fieldKind, fieldName, fieldVersion, fieldRepository, fieldTitle, fieldToldTitle,
		fieldSeenAt, fieldGoneWhy, fieldGoneAt, fieldGoneLast, fieldDeleted, fieldUnfed, fieldTold,
	} {
		fields = append(fields, bson.E{Key: name, Value: 1})
	}
	return fields
}

// marked reads marked documents, those of a token together: the last one's are left
// for the next round if they may not be all.
func (l *lease) marked(ctx context.Context) (marked []documentRecord, err error) {
	cursor, err := l.docs.Find(ctx, isMarked(), options.Find().SetSort(bson.D{{Key: fieldToken, Value: 1}}).
		SetLimit(roundRecords).SetBatchSize(roundRecords).SetProjection(shownFields()))
	if err != nil {
		return nil, failure(ctx, err)
	}
	if err := cursor.All(ctx, &marked); err != nil || len(marked) < roundRecords {
		return marked, failure(ctx, err)
	}
	last := marked[len(marked)-1].Unfed.Token
	if first := slices.IndexFunc(marked, func(r documentRecord) bool { return r.Unfed.Token == last }); first > 0 {
		marked = marked[:first]
	}
	return marked, nil
}

func (l *lease) ready(ctx context.Context) (gone []purged, err error) {
	cursor, err := l.purges.Find(ctx, isReady())
	if err != nil {
		return nil, failure(ctx, err)
	}
	return gone, failure(ctx, cursor.All(ctx, &gone))
}

func (l *lease) homesWhere(ctx context.Context, filter bson.D, limit int64) (homes []repository, err error) {
	cursor, err := l.homes.Find(ctx, filter, options.Find().SetLimit(limit).SetBatchSize(pageRecords))
	if err != nil {
		return nil, failure(ctx, err)
	}
	return homes, failure(ctx, cursor.All(ctx, &homes))
}

// meet reads the repositories that documents lie in, and finds those that have another
// title.
func (t *telling) meet(ctx context.Context, marked []documentRecord) error {
	var ids bson.A
	known := map[home]bool{}
	for i := range marked {
		r := &marked[i]
		t.met[r.ID] = true
		in := home{r.Account, r.Repository}
		if r.Repository == 0 {
			continue
		}
		if !known[in] {
			known[in] = true
			ids = append(ids, repositoryID(r.Account, r.Repository))
		}
		if t.renames(r) {
			t.renamed[in] = true
		}
	}
	if len(ids) == 0 {
		return nil
	}
	homes, err := t.homesWhere(ctx, bson.D{{Key: fieldID, Value: bson.D{{Key: "$in", Value: ids}}}}, 0)
	for i := range homes {
		t.absent[home{homes[i].Account, homes[i].Repository}] = homes[i].absent()
	}
	return err
}

// renames says whether a container has another title than was told.
func (t *telling) renames(r *documentRecord) bool {
	d := t.kinds.Of(document.Kind(r.Kind))
	return d != nil && d.Container && r.Repository != 0 && r.Title != r.ToldTitle
}

// judge adds what is to be told of a document, and what is told of its absence then;
// that is news if it was not told before.
func (t *telling) judge(r *documentRecord, absent document.Mark, renamed bool) (is told, news bool) {
	before, after := r.held()
	if what := t.kinds.Judge(before, &after, document.Mark{}, absent, renamed); what != "" {
		t.entries = append(t.entries, newEntry{r.Account, logEntry{r.Kind, r.Name, string(what), r.Version}})
	}
	d := document.Document{Key: after.Key, SeenAt: after.SeenAt}
	t.kinds.SetGone(&d, after.Mark, absent)
	is = told{Why: string(d.GoneWhy), Since: micros(d.GoneSince), Position: t.newest}
	was := told{}
	if r.Told != nil {
		was = *r.Told
	}
	return is, is.Why != was.Why || is.Since != was.Since
}

// tellMarked tells of a document that is marked. Its mark goes if it is the same
// afterwards; if there is news of its absence only if it was not seen meanwhile, either.
func (t *telling) tellMarked(r *documentRecord) {
	in := home{r.Account, r.Repository}
	if r.Unfed.Created {
		t.created = append(t.created, r.ID)
	}
	n := note{token: r.Unfed.Token, of: r.Unfed.Of}
	if is, news := t.judge(r, t.absent[in], t.renamed[in]); news {
		n = note{token: r.Unfed.Token, news: true, is: is, seen: r.SeenAt}
	}
	if !t.renames(r) {
		t.notes[n] = append(t.notes[n], r.ID)
		return
	}
	n.titled, n.title = true, r.Title
	t.last = append(t.last, driver.NewUpdateOneModel().SetFilter(append(bson.D{{Key: fieldID, Value: r.ID}}, n.filter()...)).SetUpdate(n.update()))
}

// flush gives positions to what was told, and then notes that it was. It missed
// something if a record has changed meanwhile: that stays as it is.
func (t *telling) flush(ctx context.Context) (rows []logRow, missed bool, err error) {
	rows = t.rows()
	if err := t.commit(ctx, rows); err != nil {
		return nil, false, err
	}
	notes, created := t.notes, t.created
	t.entries, t.notes, t.created = nil, map[note][]string{}, nil
	for n, ids := range notes {
		matched, err := n.write(ctx, t.docs, ids)
		if err != nil {
			return nil, false, err
		}
		missed = missed || matched < int64(len(ids))
	}
	if !missed && len(t.last) == 0 {
		return rows, false, nil
	}
	// What is marked still is created no more.
	for ids := range slices.Chunk(created, tellRecords) {
		_, err := t.docs.UpdateMany(ctx, bson.D{{Key: fieldID, Value: bson.D{{Key: "$in", Value: ids}}}, {Key: fieldCreated, Value: true}},
			bson.D{{Key: "$unset", Value: bson.D{{Key: fieldCreated, Value: ""}}}, {Key: "$set", Value: bson.D{{Key: fieldChanged, Value: true}}}})
		if err != nil {
			return nil, false, failure(ctx, err)
		}
	}
	return rows, missed, nil
}

// rows are the entries, those of each account together.
func (t *telling) rows() (rows []logRow) {
	at := t.now().UnixMicro()
	open := map[int64]int{}
	for _, e := range t.entries {
		place, there := open[e.account]
		if !there || rows[place].Count == rowEntries {
			place = len(rows)
			open[e.account] = place
			rows = append(rows, logRow{ID: bson.NewObjectID(), Account: e.account, At: at})
		}
		rows[place].Count++
		rows[place].Entries = append(rows[place].Entries, e.logEntry)
	}
	return rows
}
