package archive

import (
	"fmt"
	"testing"
	"time"

	"sluice/internal/refresh"
	"sluice/internal/testkit"
)

// crashing runs something that crashes at its n-th call, for every n (in the
// short form for some of them, other ones each time) and both
// before and after the call took effect, until it does not crash any more.
func crashing(t *testing.T, test func(t *testing.T, c *crash)) {
	for name, late := range map[string]bool{"before": false, "after": true} {
		t.Run(name, func(t *testing.T) {
			every := testkit.Effort(3, 1)
			for n := 1 + seeded(t).IntN(every); ; n += every {
				c := &crash{left: n, late: late}
				test(t, c)
				if t.Failed() {
					t.Fatalf("with a crash at call %d", n)
				}
				if !c.happened() {
					t.Logf("crashed at every one in %d of %d calls", every, n-1)
					return
				}
			}
		})
	}
}

// crashed is the world's archive, with crashes.
func (w *world) crashed(c *crash) *Archiver {
	return &Archiver{crashingHistory{w.history, c}, crashingStorage{w.files, c}, w.o, w.busy}
}

// TestArchiveCrashes: between a crash and the repetition, the store gets values
// of earlier instants, and the size of a step changes.
func TestArchiveCrashes(t *testing.T) {
	eachBucket(t, func(t *testing.T, open opener) {
		crashing(t, func(t *testing.T, c *crash) {
			values := someValues(12)
			w := newWorld(t, open(t), Options{Page: 3, ChunkBytes: 60}, values...)
			if _, err := w.crashed(c).Archive(t.Context(), far); c.happened() != isCrash(err) {
				t.Fatal(err)
			}
			w.somewhere(values)
			late := []refresh.Value{value("game", "late", 1, start.Add(time.Minute), "1"), value("a/b=c", "late", 2, start.Add(30*time.Hour), "2")}
			w.ok(w.history.Restore(t.Context(), late))
			w.o.ChunkBytes = 100
			_, err := w.Archive(t.Context(), far)
			w.ok(err)
			w.archivedOnce(append(values, late...))
		})
	})
}

func TestColdMoveCrashes(t *testing.T) {
	eachBucket(t, func(t *testing.T, open opener) {
		crashing(t, func(t *testing.T, c *crash) {
			values := someValues(6)
			w := newWorld(t, open(t), Options{}, values...)
			_, err := w.Archive(t.Context(), far)
			w.ok(err)
			if _, err := w.crashed(c).Cool(t.Context(), far); c.happened() != isCrash(err) {
				t.Fatal(err)
			}
			w.archivedOnce(values)
			// An archiving in between finds what was put back in either place.
			_, err = w.Restore(t.Context(), Query{})
			w.ok(err)
			done, err := w.Archive(t.Context(), far)
			w.ok(err)
			if done.Files != 0 {
				t.Fatalf("archiving wrote %d files again", done.Files)
			}
			_, err = w.Cool(t.Context(), far)
			w.ok(err)
			w.archivedOnce(values)
			for o, err := range w.files.List(t.Context(), historyPrefix) {
				w.ok(err)
				t.Fatalf("%s did not move", o.Key)
			}
		})
	})
}

func TestRestoreCrashes(t *testing.T) {
	eachBucket(t, func(t *testing.T, open opener) {
		crashing(t, func(t *testing.T, c *crash) {
			values := someValues(12)
			w := newWorld(t, open(t), Options{}, values...)
			_, err := w.Archive(t.Context(), far)
			w.ok(err)
			if _, err := w.crashed(c).Restore(t.Context(), Query{}); c.happened() != isCrash(err) {
				t.Fatal(err)
			}
			n, err := w.Restore(t.Context(), Query{})
			w.ok(err)
			if n != 12 || len(w.history.rows) != 12 {
				t.Fatal(fmt.Errorf("restored %d values; there are %d", n, len(w.history.rows)))
			}
		})
	})
}
