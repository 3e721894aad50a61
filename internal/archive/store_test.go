package archive

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"sluice/internal/backend/sqlite"
	"sluice/internal/refresh"
)

// TestWithARealStore: the embedded one, whose present values stay readable.
func TestWithARealStore(t *testing.T) {
	eachBucket(t, func(t *testing.T, open opener) {
		db, err := sqlite.Open(t.Context(), sqlite.Options{Dir: t.TempDir(), Holder: "a test"})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		}()
		store, err := sqlite.NewSnapshots(db, refresh.TierOptions{})
		if err != nil {
			t.Fatal(err)
		}
		a, err := New(store, open(t), Options{Page: 7, ChunkBytes: 100})
		if err != nil {
			t.Fatal(err)
		}
		w := &world{TB: t, Archiver: a}
		const entities, versions = 10, 4
		for version := range versions {
			var batch []refresh.Refreshed
			for i := range entities {
				body := fmt.Appendf(nil, `{"level":%d}`, 10*version+i)
				batch = append(batch, refresh.Refreshed{
					Entity: refresh.Entity{Source: "game", Key: fmt.Sprint(i)}, Version: int64(version + 1),
					At: start.Add(time.Duration(version)*day + time.Duration(i)*time.Minute), Body: body, Hash: sha256.Sum256(body),
				})
			}
			_, err := store.Save(t.Context(), batch)
			w.ok(err)
		}
		before, _, err := store.Values(t.Context(), far, "", 1000)
		w.ok(err)
		done, err := w.Archive(t.Context(), far)
		w.ok(err)
		if done.Values != entities*versions || len(before) != entities*versions {
			t.Fatalf("archived %+v of %d values", done, len(before))
		}
		if left, _, err := store.Values(t.Context(), far, "", 1000); err != nil || len(left) != 0 {
			t.Fatalf("%d values are left: %v", len(left), err)
		}
		present, ok, _, err := store.Snapshot(t.Context(), refresh.Entity{Source: "game", Key: "3"})
		if err != nil || !ok || string(present.Body) != `{"level":33}` {
			t.Errorf("the present value is %q: %v", present.Body, err)
		}
		n, err := w.Restore(t.Context(), Query{})
		w.ok(err)
		after, _, err := store.Values(t.Context(), far, "", 1000)
		w.ok(err)
		if n != entities*versions {
			t.Errorf("restored %d values", n)
		}
		sameValues(t, after, before)
		done, err = w.Archive(t.Context(), far)
		w.ok(err)
		if done.Known != entities*versions || done.Files != 0 {
			t.Errorf("archiving what was restored did %+v", done)
		}
	})
}
