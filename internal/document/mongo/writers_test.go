package mongo_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"sluice/internal/document"
	"sluice/internal/document/mongo"
	"sluice/internal/testkit"
)

func seed(t *testing.T) *rand.Rand {
	t.Helper()
	n := rand.Uint64()
	if text := os.Getenv("SLUICE_TEST_SEED"); text != "" {
		var err error
		if n, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("SLUICE_TEST_SEED: %v", err)
		}
	}
	t.Logf("SLUICE_TEST_SEED=%d", n)
	return rand.New(rand.NewPCG(n, 0))
}

func at(version int) time.Time {
	return time.Date(2026, 5, 1, 0, 0, 0, 1000, time.UTC).Add(time.Duration(version) * time.Microsecond)
}

func pull(name string, version int) document.Document {
	return document.Document{
		Key:     document.Key{Account: 7, Kind: document.KindPull, Name: name},
		Version: at(version),
		Fields:  document.Fields{Repository: 3, Number: 1, Title: fmt.Sprint(version), CreatedAt: at(0)},
		Raw:     fmt.Appendf(nil, `{"version":%d}`, version),
	}
}

// TestSeveralProcesses lets writers with connections of their own store
// versions of the same documents that differ by microseconds, in shuffled
// order. The newest stay, whoever brings them.
func TestSeveralProcesses(t *testing.T) {
	const writers, documents, versions = 4, 12, 15
	dice, url := seed(t), testkit.Mongo(t)
	errs := make(chan error, writers)
	for range writers {
		store, order := open(t, url), dice.Perm(versions)
		shuffle := rand.New(rand.NewPCG(dice.Uint64(), 0))
		go func() { errs <- storeVersions(t, store, order, documents, shuffle) }()
	}
	for range writers {
		if err := <-errs; err != nil {
			t.Errorf("upsert: %v", err)
		}
	}
	store := open(t, url)
	for i := range documents {
		want := pull(fmt.Sprint(i), versions-1)
		got, found, err := store.Get(t.Context(), want.Key)
		if err != nil || !found || !got.Version.Equal(want.Version) || string(got.Raw) != string(want.Raw) || got.Title != want.Title {
			t.Errorf("document %d: got %+v (%t, %v), want version %d", i, got, found, err, versions-1)
		}
	}
	n, err := store.Count(t.Context(), 7)
	if err != nil || n[document.KindPull] != documents || len(n) != 1 {
		t.Errorf("counted %v (%v), want %d", n, err, documents)
	}
}

func storeVersions(t *testing.T, store *mongo.Store, order []int, documents int, dice *rand.Rand) error {
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

// TestTheSameCopyAfterADeletion: a copy that is known already need not be
// written again, unless the stored one was changed since.
func TestTheSameCopyAfterADeletion(t *testing.T) {
	store := open(t, testkit.Mongo(t))
	doc := pull("1", 1)
	deleted := func() bool {
		t.Helper()
		got, found, err := store.Get(t.Context(), doc.Key)
		if err != nil || !found || string(got.Raw) != string(doc.Raw) {
			t.Fatalf("got %+v, %t, %v", got, found, err)
		}
		return got.Deleted
	}
	for range 2 {
		if err := store.Upsert(t.Context(), []document.Document{doc}); err != nil {
			t.Fatalf("upsert: %v", err)
		}
		if deleted() {
			t.Error("a copy that came after the deletion is still deleted")
		}
		if err := store.MarkDeleted(t.Context(), []document.Absence{{Account: 7, Repository: 3}}); err != nil {
			t.Fatalf("mark: %v", err)
		}
		if !deleted() {
			t.Error("the document is not marked")
		}
	}
}
