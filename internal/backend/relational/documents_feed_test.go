package relational_test

import (
	"errors"
	"testing"

	"sluice/internal/backend/relational"
	"sluice/internal/document"
)

var errUndone = errors.New("undone")

// TestFeedWaitsForWhatIsNotCommitted: what is committed late is told late, and not
// passed by; what is undone is never told.
func TestFeedWaitsForWhatIsNotCommitted(t *testing.T) {
	t.Parallel()
	eachServer(t, testFeedWaitsForWhatIsNotCommitted)
}

func testFeedWaitsForWhatIsNotCommitted(t *testing.T, on server) {
	store, db := openDocuments(t, on)
	docs := documentPage(3)
	tell := func(after int64, want ...string) {
		t.Helper()
		changes, err := store.Changes(t.Context(), after, 10)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i, c := range changes {
			if got = append(got, c.Name); c.Position != after+int64(i)+1 {
				t.Errorf("%+v is at place %d after %d", c, i, after)
			}
		}
		if len(got) != len(want) || len(got) > 0 && got[0] != want[0] {
			t.Errorf("after %d the feed tells of %q, want %q", after, got, want)
		}
	}
	write := func(tx *relational.Tx, doc document.Document) error {
		packed, err := store.Pack(t.Context(), []document.Document{doc})
		if err != nil {
			return err
		}
		return store.Write(t.Context(), tx, []*relational.PackedDocuments{packed}, nil)
	}
	err := db.Tx(t.Context(), func(tx *relational.Tx) error {
		if err := write(tx, docs[0]); err != nil {
			return err
		}
		upsertDocuments(t, store, docs[1:2])
		tell(0, docs[1].Name)
		tell(1)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	tell(1, docs[0].Name)
	undone := db.Tx(t.Context(), func(tx *relational.Tx) error {
		if err := write(tx, docs[2]); err != nil {
			return err
		}
		return errUndone
	})
	if !errors.Is(undone, errUndone) {
		t.Fatal(undone)
	}
	tell(2)
}
