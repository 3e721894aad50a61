package mongo_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"sluice/internal/backend/mongo"
	"sluice/internal/document"
	"sluice/internal/document/documenttest"
	"sluice/internal/testkit"
)

// changesAfter reads the whole feed.
func changesAfter(t *testing.T, store *mongo.Documents, after int64) (all []document.Change) {
	t.Helper()
	for {
		changes, err := store.Changes(t.Context(), after, 50)
		if err != nil {
			t.Fatalf("changes after %d: %v", after, err)
		}
		for _, c := range changes {
			if c.Position <= after {
				t.Fatalf("%+v comes after %d", c, after)
			}
			after = c.Position
		}
		if len(changes) == 0 {
			return all
		}
		all = append(all, changes...)
	}
}

func told(t *testing.T, changes []document.Change, want ...string) {
	t.Helper()
	var got []string
	for _, c := range changes {
		got = append(got, fmt.Sprintf("%s %s", c.What, c.Name))
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the feed tells %q, want %q", got, want)
	}
}

// TestFeedOfWritersThatAreCutOff: several processes tell of changes while all of them
// are cut off again and again. In the end nothing is missing.
func TestFeedOfWritersThatAreCutOff(t *testing.T) {
	const writers, rounds, documents = 3, 10, 8
	dice, url := seed(t), testkit.Mongo(t)
	var all sync.WaitGroup
	for w := range writers {
		store := openDocuments(t, url)
		pauses := make([]time.Duration, 4*rounds)
		for i := range pauses {
			pauses[i] = time.Duration(dice.IntN(40)) * time.Millisecond
		}
		all.Go(func() {
			for r := range rounds {
				var page []document.Document
				for i := range documents {
					d := pull(fmt.Sprint(i), r*writers+w+1)
					d.SeenAt = at(10 * (r*writers + w + 1))
					page = append(page, d)
				}
				gone := document.Absence{Account: 7, Repository: 3, Why: document.GoneDeleted, Since: at(10*(r*writers+w) + 5)}
				err := errors.New("not tried")
				// A server that is still at what was cut off may refuse a write, which is then to
				// be repeated.
				for try := 0; err != nil && try < 100; try++ {
					err = errors.Join(store.Upsert(t.Context(), page), store.MarkDeleted(t.Context(), []document.Absence{gone}))
				}
				if err != nil {
					t.Errorf("write: %v", err)
				}
				for _, pause := range pauses[4*r : 4*r+4] {
					ctx, end := context.WithTimeout(t.Context(), pause)
					_, _ = store.Bounds(ctx)
					end()
				}
			}
		})
	}
	all.Wait()
	store := openDocuments(t, url)
	last, created := map[string]document.Change{}, map[string]bool{}
	for i, c := range changesAfter(t, store, 0) {
		if c.Position != int64(i+1) {
			t.Fatalf("%+v is at place %d", c, i)
		}
		last[c.Name] = c
		created[c.Name] = created[c.Name] || c.What == document.Created
	}
	for i := range documents {
		d, _, err := store.Get(t.Context(), pull(fmt.Sprint(i), 1).Key)
		if c := last[d.Name]; err != nil || !c.Version.Equal(d.Version) || !created[d.Name] {
			t.Errorf("%s is in version %v (%v), and the feed says %+v, created %t", d.Name, d.Version, err, c, created[d.Name])
		}
	}
	if left, err := collection(t, url, "documents").CountDocuments(t.Context(), bson.D{{Key: "unfed", Value: bson.D{{Key: "$exists", Value: true}}}}); err != nil || left != 0 {
		t.Errorf("%d documents are marked (%v), and nothing changes", left, err)
	}
}

// TestFeedOfAProcessThatDied: who comes next waits for its lease, brings to an end what
// it has begun, and tells of the rest.
func TestFeedOfAProcessThatDied(t *testing.T) {
	url := testkit.Mongo(t)
	store, clock := openDocuments(t, url), time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	store.SetClock(func() time.Time { return clock })
	if err := store.Upsert(t.Context(), []document.Document{pull("1", 1)}); err != nil {
		t.Fatal(err)
	}
	placed, orphan := bson.NewObjectID(), bson.NewObjectID()
	row := func(id bson.ObjectID, name string) bson.D {
		return bson.D{
			{Key: "_id", Value: id}, {Key: "account", Value: int64(7)}, {Key: "count", Value: int64(1)}, {Key: "at", Value: clock.UnixMicro()},
			{Key: "entries", Value: bson.A{bson.D{{Key: "kind", Value: "pull"}, {Key: "name", Value: name}, {Key: "what", Value: "created"}, {Key: "version", Value: int64(5)}}}},
		}
	}
	_, failed := collection(t, url, "changes").InsertMany(t.Context(), []any{row(placed, "begun"), row(orphan, "orphan")})
	_, err := collection(t, url, "feed").UpdateOne(t.Context(), bson.D{}, bson.D{{Key: "$set", Value: bson.D{
		{Key: "holder", Value: "the dead"}, {Key: "until", Value: clock.Add(15 * time.Second).UnixMicro()},
		{Key: "placing", Value: bson.D{{Key: "newest", Value: int64(1)}, {Key: "rows", Value: bson.A{bson.D{{Key: "id", Value: placed}, {Key: "last", Value: int64(1)}}}}}},
	}}})
	if err := errors.Join(failed, err); err != nil {
		t.Fatal(err)
	}
	short, end := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer end()
	if _, err := store.Bounds(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v while another process has the lease", err)
	}
	clock = clock.Add(16 * time.Second)
	told(t, changesAfter(t, store, 0), "created begun", "created 1")
	if n, err := collection(t, url, "changes").CountDocuments(t.Context(), bson.D{}); err != nil || n != 2 {
		t.Errorf("%d rows are left (%v), want 2", n, err)
	}
}

// TestFeedOfRecordsOfAnEarlierVersion: those have no marks. That something was gone
// is told once, and again when it comes back.
func TestFeedOfRecordsOfAnEarlierVersion(t *testing.T) {
	url := testkit.Mongo(t)
	store := openDocuments(t, url)
	gone, there := pull("gone", 1), pull("there", 1)
	if err := store.Upsert(t.Context(), []document.Document{gone, there}); err != nil {
		t.Fatal(err)
	}
	absence := document.Absence{Account: 7, Repository: 3, Kind: documenttest.KindPull, NotSeenSince: at(1000), Why: document.GoneDeleted, Since: at(5)}
	there.SeenAt = at(2000)
	err := errors.Join(store.Upsert(t.Context(), []document.Document{there}), store.MarkDeleted(t.Context(), []document.Absence{absence}))
	_, failed := collection(t, url, "documents").UpdateMany(t.Context(), bson.D{},
		bson.D{{Key: "$unset", Value: bson.D{{Key: "unfed", Value: ""}, {Key: "told", Value: ""}, {Key: "content", Value: ""}}}})
	_, removed := collection(t, url, "feed").DeleteMany(t.Context(), bson.D{})
	if err := errors.Join(err, failed, removed); err != nil {
		t.Fatal(err)
	}
	store = openDocuments(t, url)
	told(t, changesAfter(t, store, 0), "deleted gone")
	gone.SeenAt = at(3000)
	if err := store.Upsert(t.Context(), []document.Document{gone}); err != nil {
		t.Fatal(err)
	}
	told(t, changesAfter(t, store, 1), "updated gone")
}

// TestFeedOfAPurgeThatIsCutOff: it is told when whoever tries again finds nothing left.
func TestFeedOfAPurgeThatIsCutOff(t *testing.T) {
	url := testkit.Mongo(t)
	store := openDocuments(t, url)
	if err := store.Upsert(t.Context(), []document.Document{pull("1", 1), pull("2", 1)}); err != nil {
		t.Fatal(err)
	}
	told(t, changesAfter(t, store, 0), "created 1", "created 2")
	if n, err := store.Purge(t.Context(), 7, 2); err != nil || n != 2 {
		t.Fatalf("purged %d, %v", n, err)
	}
	told(t, changesAfter(t, store, 2))
	if n, err := openDocuments(t, url).Purge(t.Context(), 7, 2); err != nil || n != 0 {
		t.Fatalf("purged %d, %v", n, err)
	}
	told(t, changesAfter(t, store, 0), "purged ")
}
