package documenttest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/testkit"
)

// feedStore is a store with a feed.
type feedStore interface {
	document.Store
	document.Filler
	document.Feed
	document.Finder
}

var _ feedStore = (*Memory)(nil)

// feedKinds are those of the suite; issues have values of their own and show the
// title of their repository.
func feedKinds() document.Kinds {
	return kindsWithOwn(document.Column{Name: "home", Type: document.TypeText, From: document.FromContainerTitle})
}

// RunFeed checks the feed of a store, and how it reads documents by their keys.
func RunFeed(t *testing.T, f Factory) {
	many := func(t *testing.T, open func() feedStore) { feedMany(t, open, f.Few) }
	like := func(t *testing.T, open func() feedStore) { feedLikeTheModel(t, open, f.Few) }
	for name, check := range map[string]func(*testing.T, func() feedStore){
		"LikeTheModel": like, "Positions": feedPositions, "Trimmed": feedTrimmed, "PurgedOnce": feedPurgedOnce,
		"Many": many, "Find": feedFind, "WritersAtOnce": feedWriters,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			open := f.Open(t)
			check(t, func() feedStore {
				t.Helper()
				store, err := open(feedKinds())
				if err != nil {
					t.Fatalf("open: %v", err)
				}
				// Finding documents needs no feed.
				if f.Gathers && name != "Find" {
					return gathering{store.(feedStore)}
				}
				return store.(feedStore)
			})
		})
	}
}

// gathering is a store whose feed may make one of changes that nobody has read in
// between: somebody reads after each.
type gathering struct{ feedStore }

func (g gathering) Upsert(ctx context.Context, docs []document.Document) error {
	return g.read(ctx, g.feedStore.Upsert(ctx, docs))
}

func (g gathering) read(ctx context.Context, err error) error {
	if err != nil {
		return err
	}
	_, err = g.Bounds(ctx)
	return err
}

// told counts what a feed says, whatever the order within a commit.
func told(changes []document.Change) map[string]int {
	counts := map[string]int{}
	for _, c := range changes {
		counts[fmt.Sprintf("%d %s %s %s %s", c.Account, c.Kind, c.Name, c.What, c.Version.Format(time.RFC3339Nano))]++
	}
	return counts
}

// follow reads all that comes after a position, a few at a time.
func follow(t testing.TB, store document.Feed, after int64) []document.Change {
	t.Helper()
	var all []document.Change
	for {
		changes, err := store.Changes(t.Context(), after, 7)
		if err != nil {
			t.Fatalf("changes after %d: %v", after, err)
		}
		for _, c := range changes {
			if c.Position <= after || c.At.IsZero() {
				t.Fatalf("after position %d comes %+v", after, c)
			}
			after = c.Position
		}
		if len(changes) == 0 {
			return all
		}
		all = append(all, changes...)
	}
}

// feedLikeTheModel does the same to a store and to the model, at random.
func feedLikeTheModel(t *testing.T, open func() feedStore, few bool) {
	steps := testkit.Effort(120, 250)
	if few {
		steps = 100
	}
	store, model := open(), NewMemory(feedKinds())
	dice := (&fixture{TB: t}).dice()
	world := &events{dice: dice}
	after, modelAfter := int64(0), int64(0)
	for step := range steps {
		said, do := world.step()
		if err := cmp.Or(do(t.Context(), store), do(t.Context(), model)); err != nil {
			t.Fatalf("step %d, %s: %v", step, said, err)
		}
		got, want := follow(t, store, after), follow(t, model, modelAfter)
		if !maps.Equal(told(got), told(want)) {
			t.Fatalf("step %d, %s: the feed says %v, want %v", step, said, told(got), told(want))
		}
		if len(got) > 0 {
			after, modelAfter = got[len(got)-1].Position, want[len(want)-1].Position
		}
	}
}

// events makes up what happens.
type events struct{ dice *rand.Rand }

func (w *events) step() (string, func(context.Context, feedStore) error) {
	m := &model{docs: map[document.Key]*thing{}, homes: map[[2]int64]*thing{}, repositories: map[document.Key]int64{}}
	switch n := w.dice.IntN(40); {
	case n == 0:
		account := 1 + w.dice.Int64N(2)
		return fmt.Sprintf("purge %d", account), func(ctx context.Context, s feedStore) error { return purgeAll(ctx, s, account, 3) }
	case n < 4:
		docs := m.upsert(w.dice)
		docs = slices.DeleteFunc(docs, func(d document.Document) bool { return d.Kind != KindIssue })
		for i := range docs {
			docs[i].Own = document.Values{"votes": document.Integer(1), "mood": document.Text("filled")}
		}
		return fmt.Sprintf("fill %v", names(docs)), func(ctx context.Context, s feedStore) error { return s.Fill(ctx, docs) }
	case n < 26:
		docs := m.upsert(w.dice)
		for i := range docs {
			// Few contents, so that many copies bring nothing new.
			docs[i].Title, docs[i].Raw = fmt.Sprint(w.dice.IntN(2)), fmt.Appendf(nil, `{"is":%d}`, w.dice.IntN(2))
			if docs[i].Kind == KindIssue && w.dice.IntN(2) == 0 {
				docs[i].Own = document.Values{"votes": document.Integer(w.dice.Int64N(2))}
			}
		}
		return fmt.Sprintf("upsert %+v", docs), func(ctx context.Context, s feedStore) error { return s.Upsert(ctx, docs) }
	default:
		claims := []document.Absence{m.claim(w.dice), m.claim(w.dice)}
		return fmt.Sprintf("claim %+v", claims), func(ctx context.Context, s feedStore) error { return s.MarkDeleted(ctx, claims) }
	}
}

func purgeAll(ctx context.Context, s document.Writer, account int64, most int) error {
	for {
		n, err := s.Purge(ctx, account, most)
		if err != nil || n == 0 {
			return err
		}
	}
}

// feedPositions: what was never given is invalid, and a feed has a name that stays.
func feedPositions(t *testing.T, open func() feedStore) {
	store := open()
	empty, err := store.Bounds(t.Context())
	if err != nil || empty.Feed == "" || empty.Newest != 0 || empty.Oldest != 1 {
		t.Fatalf("an empty feed has %+v (%v)", empty, err)
	}
	x := &fixture{t, store}
	x.upsert(issue(1, "one", 1), issue(1, "two", 1), issue(2, "one", 1))
	x.upsert(issue(1, "one", 1), issue(1, "two", 2))
	if got := follow(t, store, 0); len(got) != 4 || got[0].Position != 1 || got[3].Position != 4 || got[3].What != document.Updated {
		t.Errorf("the feed says %+v", got)
	}
	bounds, err := open().Bounds(t.Context())
	if err != nil || bounds != (document.Bounds{Feed: empty.Feed, Oldest: 1, Newest: 4}) {
		t.Errorf("the feed has %+v (%v), and was %+v", bounds, err, empty)
	}
	if _, err := store.Changes(t.Context(), 5, 10); domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("a position ahead: %v, want code invalid", err)
	}
	if got, err := store.Changes(t.Context(), 4, 10); err != nil || len(got) != 0 {
		t.Errorf("after the newest: %v, %v", got, err)
	}
}

// feedTrimmed: who is behind what is kept is told so.
func feedTrimmed(t *testing.T, open func() feedStore) {
	store := open()
	x := &fixture{t, store}
	for i := range 6 {
		x.upsert(issue(1, "one", i+1))
	}
	all := follow(t, store, 0)
	if n, err := store.TrimChanges(t.Context(), all[0].At, 100); err != nil || n != 0 {
		t.Errorf("nothing is as old as that: %d, %v", n, err)
	}
	later := all[5].At.AddDate(1, 0, 0)
	if n, err := store.TrimChanges(t.Context(), later, 2); err != nil || n != 2 {
		t.Fatalf("trimmed %d, %v; want 2", n, err)
	}
	if b, err := store.Bounds(t.Context()); err != nil || b.Oldest != 3 || b.Newest != 6 {
		t.Errorf("the feed has %+v (%v)", b, err)
	}
	if _, err := store.Changes(t.Context(), 1, 10); domain.CodeOf(err) != domain.CodeGone {
		t.Errorf("what is trimmed: %v, want code gone", err)
	}
	if got := follow(t, store, 2); len(got) != 4 {
		t.Errorf("kept are %+v", got)
	}
	if n, err := store.TrimChanges(t.Context(), later, 100); err != nil || n != 4 {
		t.Errorf("trimmed %d, %v; want 4", n, err)
	}
	x.upsert(issue(1, "one", 9))
	if got := follow(t, store, 6); len(got) != 1 || got[0].Position != 7 {
		t.Errorf("after all was trimmed comes %+v, want position 7", got)
	}
}

// feedPurgedOnce: of an account that is purged the feed says that once.
func feedPurgedOnce(t *testing.T, open func() feedStore) {
	store := open()
	x := &fixture{t, store}
	for i := range 20 {
		x.upsert(issue(1, fmt.Sprint(i), 1))
	}
	x.upsert(issue(2, "other", 1))
	if b, err := store.Bounds(t.Context()); err != nil || b.Newest != 21 {
		t.Fatalf("the feed has %+v (%v)", b, err)
	}
	x.ok(purgeAll(t.Context(), store, 1, 10))
	x.ok(purgeAll(t.Context(), store, 1, 10))
	got := follow(t, store, 0)
	if len(got) != 2 || got[0].Account != 2 || got[1].What != document.Purged || got[1].Account != 1 || got[1].Kind != "" || got[1].Name != "" {
		t.Errorf("the feed says %+v", got)
	}
	if b, err := store.Bounds(t.Context()); err != nil || b.Newest != 22 {
		t.Errorf("the feed has %+v (%v): no position is used twice", b, err)
	}
}

// feedMany: a transaction may change more than a row of a log holds.
func feedMany(t *testing.T, open func() feedStore, few bool) {
	store, many := open(), 2500
	if few {
		many = 120
	}
	docs := make([]document.Document, many)
	for i := range docs {
		docs[i] = issue(1, fmt.Sprint(i), 1)
		docs[i].Repository = 7
	}
	x := &fixture{t, store}
	x.upsert(docs...)
	x.ok(store.MarkDeleted(t.Context(), []document.Absence{{Account: 1, Repository: 7, Why: document.GoneDeleted, Since: instant(2000)}}))
	got, err := store.Changes(t.Context(), 0, 2*many+1)
	if err != nil || len(got) != 2*many {
		t.Fatalf("%d changes (%v), want %d", len(got), err, 2*many)
	}
	counts := map[document.What]int{}
	for i, c := range got {
		counts[c.What]++
		if c.Position != int64(i+1) {
			t.Fatalf("change %d has position %d", i, c.Position)
		}
	}
	if counts[document.Created] != many || counts[document.Deleted] != many {
		t.Errorf("the feed says %v", counts)
	}
}

func feedFind(t *testing.T, open func() feedStore) {
	store := open()
	x := &fixture{t, store}
	var docs []document.Document
	var keys []document.Key
	for i := range 1200 {
		docs = append(docs, issue(1+int64(i%3), fmt.Sprint(i), 1))
		keys = append(keys, docs[i].Key, document.Key{Account: 1, Kind: KindPull, Name: fmt.Sprint("none", i)})
	}
	x.upsert(docs...)
	for _, withRaw := range []bool{true, false} {
		found, err := store.Find(t.Context(), keys, withRaw)
		if err != nil || len(found) != len(docs) {
			t.Fatalf("found %d (%v), want %d", len(found), err, len(docs))
		}
		byKey := map[document.Key]document.Document{}
		for _, d := range found {
			byKey[d.Key] = d
		}
		for _, want := range docs {
			if !withRaw {
				want.Raw = nil
			}
			if problem := difference(byKey[want.Key], want); problem != "" {
				t.Fatalf("%+v: %s", want.Key, problem)
			}
		}
	}
	if found, err := store.Find(t.Context(), nil, true); err != nil || len(found) != 0 {
		t.Errorf("of no keys: %v, %v", found, err)
	}
}

// feedWriters follows a feed while several processes write the same documents: none
// is created twice, and what it says last of each is what is there in the end.
func feedWriters(t *testing.T, open func() feedStore) {
	const writers, rounds, docs = 4, 12, 20
	var all sync.WaitGroup
	for w := range writers {
		store := open()
		all.Go(func() {
			for r := range rounds {
				batch := make([]document.Document, docs)
				for i := range batch {
					batch[i] = issue(1, fmt.Sprint((i*7+r)%(docs*2)), r*writers+w+1)
				}
				if err := store.Upsert(t.Context(), batch); err != nil {
					t.Errorf("upsert: %v", err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	reader, last, created := open(), map[string]time.Time{}, map[string]int{}
	read := func(after int64) int64 {
		for _, c := range follow(t, reader, after) {
			if c.Position != after+1 {
				t.Errorf("position %d follows %d", c.Position, after)
			}
			after = c.Position
			if c.Version.Before(last[c.Name]) {
				t.Errorf("%+v comes after version %v", c, last[c.Name])
			}
			last[c.Name] = c.Version
			if c.What == document.Created {
				created[c.Name]++
			}
		}
		return after
	}
	after := int64(0)
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		after = read(after)
	}
	for _, d := range (&fixture{t, reader}).scan(document.Query{}) {
		if !last[d.Name].Equal(d.Version) || created[d.Name] != 1 {
			t.Errorf("%s is in version %v; the feed says %v, created %d times", d.Name, d.Version, last[d.Name], created[d.Name])
		}
	}
}
