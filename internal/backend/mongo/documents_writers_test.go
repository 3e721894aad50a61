package mongo_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"sluice/internal/backend/mongo"
	"sluice/internal/document"
	"sluice/internal/document/documenttest"
	"sluice/internal/testkit"
)

func at(version int) time.Time {
	return time.Date(2026, 5, 1, 0, 0, 0, 1000, time.UTC).Add(time.Duration(version) * time.Microsecond)
}

func pull(name string, version int) document.Document {
	return document.Document{
		Key:     document.Key{Account: 7, Kind: documenttest.KindPull, Name: name},
		Version: at(version),
		Fields:  document.Fields{Repository: 3, Number: 1, Title: fmt.Sprint(version), CreatedAt: at(0)},
		Raw:     fmt.Appendf(nil, `{"version":%d}`, version),
	}
}

// TestDocumentsSeveralProcesses lets writers with connections of their own store
// versions of the same documents that differ by microseconds, in shuffled
// order. The newest stay, whoever brings them.
func TestDocumentsSeveralProcesses(t *testing.T) {
	const writers, documents, versions = 4, 12, 15
	dice, url := seed(t), testkit.Mongo(t)
	errs := make(chan error, writers)
	for range writers {
		store, order := openDocuments(t, url), dice.Perm(versions)
		shuffle := rand.New(rand.NewPCG(dice.Uint64(), 0))
		go func() { errs <- storeVersions(t, store, order, documents, shuffle) }()
	}
	for range writers {
		if err := <-errs; err != nil {
			t.Errorf("upsert: %v", err)
		}
	}
	store := openDocuments(t, url)
	for i := range documents {
		want := pull(fmt.Sprint(i), versions-1)
		got, found, err := store.Get(t.Context(), want.Key)
		if err != nil || !found || !got.Version.Equal(want.Version) || string(got.Raw) != string(want.Raw) || got.Title != want.Title {
			t.Errorf("document %d: got %+v (%t, %v), want version %d", i, got, found, err, versions-1)
		}
	}
	n, err := store.Count(t.Context(), 7)
	if err != nil || n[documenttest.KindPull] != documents || len(n) != 1 {
		t.Errorf("counted %v (%v), want %d", n, err, documents)
	}
}

func storeVersions(t *testing.T, store *mongo.Documents, order []int, documents int, dice *rand.Rand) error {
	for _, version := range order {
		var page []document.Document
		for _, i := range dice.Perm(documents) {
			page = append(page, pull(fmt.Sprint(i), version))
		}
		if err := store.Upsert(t.Context(), page); err != nil {
			return err
		}
	}
	return nil
}

// TestDocumentsTheSameCopyAfterADeletion: a copy that is known already need not be
// written again, but it was seen.
func TestDocumentsTheSameCopyAfterADeletion(t *testing.T) {
	store := openDocuments(t, testkit.Mongo(t))
	doc := pull("1", 1)
	deleted := func() bool {
		t.Helper()
		got, found, err := store.Get(t.Context(), doc.Key)
		if err != nil || !found || string(got.Raw) != string(doc.Raw) {
			t.Fatalf("got %+v, %t, %v", got, found, err)
		}
		return got.Deleted
	}
	for i := range 2 {
		doc.SeenAt = at(2*i + 1)
		if err := store.Upsert(t.Context(), []document.Document{doc}); err != nil {
			t.Fatalf("upsert: %v", err)
		}
		if deleted() {
			t.Error("a copy that was seen after the deletion is still deleted")
		}
		gone := document.Absence{Account: 7, Repository: 3, Kind: documenttest.KindPull, NotSeenSince: at(1000), Why: document.GoneDeleted, Since: at(2*i + 2)}
		if err := store.MarkDeleted(t.Context(), []document.Absence{gone}); err != nil {
			t.Fatalf("mark: %v", err)
		}
		if !deleted() {
			t.Error("the document is not marked")
		}
	}
}

// TestDocumentsClaimsOfSeveralProcesses lets writers claim and see the same things at
// once. What was seen last is there, what was found missing last is gone.
func TestDocumentsClaimsOfSeveralProcesses(t *testing.T) {
	const writers, documents, steps = 4, 6, 12
	dice, url := seed(t), testkit.Mongo(t)
	errs := make(chan error, writers)
	for w := range writers {
		store, order := openDocuments(t, url), dice.Perm(steps)
		go func() { errs <- seeAndClaim(t, store, order, documents, w%2 == 0) }()
	}
	for range writers {
		if err := <-errs; err != nil {
			t.Errorf("%v", err)
		}
	}
	store := openDocuments(t, url)
	for i := range documents {
		got, _, err := store.Get(t.Context(), pull(fmt.Sprint(i), 1).Key)
		// The even ones were seen last, at 2 * steps; the odd ones were not.
		if want := i%2 != 0; err != nil || got.Deleted != want || !got.SeenAt.Equal(at(2*steps-2+2*(1-i%2))) {
			t.Errorf("document %d is gone: %t, seen at %v (%v), want %t", i, got.Deleted, got.SeenAt, err, want)
		}
	}
}

func seeAndClaim(t *testing.T, store *mongo.Documents, order []int, documents int, see bool) error {
	for _, step := range order {
		var page []document.Document
		gone := document.Absence{Account: 7, Repository: 3, Kind: documenttest.KindPull, NotSeenSince: at(1000), Why: document.GoneDeleted, Since: at(2*step + 1)}
		for i := range documents {
			doc := pull(fmt.Sprint(i), 1)
			doc.SeenAt = at(2 * step)
			if i%2 == 0 && step == len(order)-1 {
				doc.SeenAt = at(2 * len(order))
			}
			page = append(page, doc)
		}
		write := func() error { return store.MarkDeleted(t.Context(), []document.Absence{gone}) }
		if see || step == 0 {
			write = func() error { return store.Upsert(t.Context(), page) }
		}
		if err := write(); err != nil {
			return err
		}
	}
	// Claims made before anything was stored were about nothing.
	last := document.Absence{Account: 7, Repository: 3, Kind: documenttest.KindPull, NotSeenSince: at(1000), Why: document.GoneDeleted, Since: at(2*len(order) - 1)}
	if err := store.Upsert(t.Context(), []document.Document{pull("0", 1)}); err != nil {
		return err
	}
	return store.MarkDeleted(t.Context(), []document.Absence{last})
}

// TestDocumentsFlaggedBeforeReasons: records that only have a flag were deleted, nobody
// knows since when, until they are seen.
func TestDocumentsFlaggedBeforeReasons(t *testing.T) {
	url := testkit.Mongo(t)
	store, doc := openDocuments(t, url), pull("1", 1)
	if err := store.Upsert(t.Context(), []document.Document{doc}); err != nil {
		t.Fatal(err)
	}
	flag := bson.D{{Key: "$set", Value: bson.D{{Key: "deleted", Value: true}}}}
	if _, err := collection(t, url, "documents").UpdateMany(t.Context(), bson.D{}, flag); err != nil {
		t.Fatal(err)
	}
	want := func(gone bool) {
		t.Helper()
		got, _, err := store.Get(t.Context(), doc.Key)
		if err != nil || got.Deleted != gone || gone && (got.GoneWhy != document.GoneDeleted || !got.GoneSince.IsZero()) {
			t.Errorf("gone %t (%s, %v), %v; want %t", got.Deleted, got.GoneWhy, got.GoneSince, err, gone)
		}
	}
	want(true)
	gone := document.Absence{Account: 7, Repository: 3, Kind: documenttest.KindPull, NotSeenSince: at(1000), Why: document.GoneDeleted, Since: at(5)}
	if err := store.MarkDeleted(t.Context(), []document.Absence{gone}); err != nil {
		t.Fatal(err)
	}
	want(true)
	doc.SeenAt = at(6)
	if err := store.Upsert(t.Context(), []document.Document{doc}); err != nil {
		t.Fatal(err)
	}
	want(false)
}
