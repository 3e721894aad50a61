package archive

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/refresh"
)

var far = start.Add(1000 * day)

// eachBucket runs a test in buckets of every kind.
func eachBucket(t *testing.T, test func(t *testing.T, open opener)) {
	for name, open := range buckets {
		t.Run(name, func(t *testing.T) { test(t, open) })
	}
}

// inEveryBucket runs a test on an archive in buckets of every kind.
func inEveryBucket(t *testing.T, o Options, n int, test func(w *world, values []refresh.Value)) {
	eachBucket(t, func(t *testing.T, open opener) {
		values := someValues(n)
		test(newWorld(t, open(t), o, values...), values)
	})
}

func TestArchiveMovesWhatIsOldEnough(t *testing.T) {
	inEveryBucket(t, Options{Page: 3, ChunkBytes: 60}, 30, func(w *world, values []refresh.Value) {
		before := start.Add(day)
		var old []refresh.Value
		for _, v := range values {
			if v.StoredAt.Before(before) {
				old = append(old, v)
			}
		}
		done, err := w.Archive(w.Context(), before)
		w.ok(err)
		if len(old) == 0 || int(done.Values) != len(old) || len(w.history.rows) != len(values)-len(old) {
			w.Fatalf("archived %d values of %d and left %d", done.Values, len(old), len(w.history.rows))
		}
		w.archivedOnce(old)
		again, err := w.Archive(w.Context(), before)
		w.ok(err)
		if again != (Result{}) {
			w.Fatalf("archiving again did %+v", again)
		}
		_, err = w.Archive(w.Context(), far)
		w.ok(err)
		w.archivedOnce(values)
	})
}

func TestNamesTellWhatIsInside(t *testing.T) {
	inEveryBucket(t, Options{}, 30, func(w *world, values []refresh.Value) {
		_, err := w.Archive(w.Context(), far)
		w.ok(err)
		files, err := w.List(w.Context(), Query{Source: "a/b=c"})
		w.ok(err)
		rows := int64(0)
		for _, f := range files {
			if f.Source != "a/b=c" || f.Cold || !strings.HasPrefix(f.Key, "history/source=a%2Fb=c/day="+f.Day+"/part-") {
				w.Errorf("file %+v", f)
			}
			if f.First.Format(time.DateOnly) != f.Day || f.Last.Format(time.DateOnly) != f.Day || f.Bytes == 0 {
				w.Errorf("file %+v", f)
			}
			rows += f.Rows
		}
		if rows != 10 {
			w.Errorf("the names tell of %d values instead of 10", rows)
		}
		since, until, err := Day("2026-10-17")
		w.ok(err)
		files, err = w.List(w.Context(), Query{Since: since, Until: until})
		w.ok(err)
		if len(files) != 2 || files[0].Day != "2026-10-17" || files[1].Day != "2026-10-17" {
			w.Errorf("the files of a day are %+v", files)
		}
	})
}

func TestTheSameValuesHaveTheSameName(t *testing.T) {
	eachBucket(t, func(t *testing.T, open opener) {
		var names []string
		for _, reversed := range []bool{false, true} {
			values := []refresh.Value{value("s", "a", 1, start, "1"), value("s", "b", 1, start, "2"), value("s", "a", 2, start.Add(time.Hour), "3")}
			if reversed {
				values[0], values[1] = values[1], values[0]
			}
			w := newWorld(t, open(t), Options{Page: 2}, values...)
			_, err := w.Archive(t.Context(), far)
			w.ok(err)
			files, err := w.List(t.Context(), Query{})
			w.ok(err)
			if len(files) != 1 {
				t.Fatalf("there are %d files", len(files))
			}
			names = append(names, files[0].Key)
		}
		if names[0] != names[1] {
			t.Errorf("the same values are in %s and %s", names[0], names[1])
		}
	})
}

// TestLongSources: file systems limit the names of folders to 255 bytes, and an
// escaped source may be longer.
func TestLongSources(t *testing.T) {
	eachBucket(t, func(t *testing.T, open opener) {
		first, second := strings.Repeat("한", 85), strings.Repeat("한", 84)+"x"
		values := []refresh.Value{value(first, "k", 1, start, "1"), value(second, "k", 1, start, "2")}
		w := newWorld(t, open(t), Options{}, values...)
		_, err := w.Archive(t.Context(), far)
		w.ok(err)
		w.archivedOnce(values)
		n, err := w.Restore(t.Context(), Query{Source: second, Key: "k"})
		w.ok(err)
		if n != 1 || len(w.history.rows) != 1 {
			t.Errorf("restored %d values", n)
		}
	})
}

// TestRestoredValuesAreArchivedOnce: what was put back goes again without being
// written again, whatever else is in the store by then.
func TestRestoredValuesAreArchivedOnce(t *testing.T) {
	inEveryBucket(t, Options{Page: 3, ChunkBytes: 60}, 30, func(w *world, values []refresh.Value) {
		_, err := w.Archive(w.Context(), far)
		w.ok(err)
		_, err = w.Restore(w.Context(), Query{Source: "game"})
		w.ok(err)
		late := value("game", "late", 1, start.Add(time.Minute), "{}")
		w.ok(w.history.Restore(w.Context(), []refresh.Value{late}))
		w.o.ChunkBytes = 1000
		done, err := w.Archive(w.Context(), far)
		w.ok(err)
		if done.Files != 1 || done.Known != 20 || done.Values != 21 {
			w.Errorf("archiving again did %+v", done)
		}
		w.archivedOnce(append(values, late))
	})
}

func TestNewRefuses(t *testing.T) {
	for _, o := range []Options{{Hour: 24}, {Hour: -1}, {After: -1}, {ChunkBytes: -1}} {
		_, err := New(newMemory(), inMemory(t), o)
		wantCode(t, err, domain.CodeInvalid)
	}
}

func TestAnEndedContextWritesNothing(t *testing.T) {
	inEveryBucket(t, Options{}, 10, func(w *world, values []refresh.Value) {
		ctx, cancel := context.WithCancel(w.Context())
		cancel()
		if err := w.files.Write(ctx, "history/x", []byte("text")); err == nil {
			w.Error("a file was written after the context ended")
		}
		for o, err := range w.files.List(w.Context(), "") {
			w.ok(err)
			w.Errorf("%s is there", o.Key)
		}
		if _, err := w.Archive(ctx, far); err == nil || len(w.history.rows) != len(values) {
			w.Error(fmt.Errorf("archiving went on: %w", err))
		}
	})
}
