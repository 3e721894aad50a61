package archive

import (
	"bytes"
	"context"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/refresh"
)

// rotten damages whatever is written.
type rotten struct {
	Files
	change func([]byte) []byte
}

func (s rotten) Write(ctx context.Context, key string, data []byte) error {
	return s.Files.Write(ctx, key, s.change(slices.Clone(data)))
}

// damages are what can happen to a file.
var damages = map[string]func([]byte) []byte{
	"one bit":      func(data []byte) []byte { data[len(data)/3] ^= 4; return data },
	"cut off":      func(data []byte) []byte { return data[:len(data)/2] },
	"empty":        func([]byte) []byte { return nil },
	"another file": func([]byte) []byte { return encoded([]row{{Source: "game", Key: "x", StoredAt: start.UnixMicro()}}) },
	"a value less": func(data []byte) []byte {
		var rows []row
		_ = decode(data, func(r *row) error { rows = append(rows, *r); return nil })
		return encoded(rows[1:])
	},
}

func encoded(rows []row) []byte {
	data, err := encode(rows)
	if err != nil {
		return nil
	}
	return data
}

func TestADamagedFileRemovesNothing(t *testing.T) {
	for name, change := range damages {
		t.Run(name, func(t *testing.T) {
			inEveryBucket(t, Options{}, 20, func(w *world, values []refresh.Value) {
				sound := w.files
				w.files = rotten{sound, change}
				_, err := w.Archive(w.Context(), far)
				wantCode(w, err, domain.CodeCorrupt)
				if len(w.history.rows) != len(values) {
					w.Fatalf("%d values are left of %d", len(w.history.rows), len(values))
				}
				w.files = sound
				_, err = w.Archive(w.Context(), far)
				w.ok(err)
				w.archivedOnce(values)
			})
		})
	}
}

// TestAFileDamagedLater: it is noticed by whoever reads it, and values are not
// taken to be archived because it should hold them.
func TestAFileDamagedLater(t *testing.T) {
	eachBucket(t, func(t *testing.T, open opener) {
		for name, change := range damages {
			t.Run(name, func(t *testing.T) {
				w := newWorld(t, open(t), Options{}, someValues(20)...)
				_, err := w.Archive(t.Context(), far)
				w.ok(err)
				_, err = w.Restore(t.Context(), Query{})
				w.ok(err)
				files, err := w.List(t.Context(), Query{Source: "game"})
				w.ok(err)
				bad := files[0]
				w.damage(bad.Key, change)

				checked, err := w.Verify(t.Context(), Query{})
				w.ok(err)
				if len(checked.Damaged) != 1 || checked.Damaged[0].Key != bad.Key || checked.Rows != 20-bad.Rows {
					t.Errorf("verifying found %+v", checked)
				}
				_, err = w.Archive(t.Context(), bad.Last.Add(time.Microsecond))
				wantCode(t, err, domain.CodeCorrupt)
				if len(w.history.rows) != 20 {
					t.Errorf("%d values are left of 20", len(w.history.rows))
				}
				empty := newMemory()
				w.Archiver.history = empty
				_, err = w.Restore(t.Context(), Query{Source: "game", Since: bad.First, Until: bad.Last.Add(time.Microsecond)})
				wantCode(t, err, domain.CodeCorrupt)
				if len(empty.rows) != 0 {
					t.Errorf("%d values of a damaged file were restored", len(empty.rows))
				}
				cooled, err := w.Cool(t.Context(), far)
				wantCode(t, err, domain.CodeCorrupt)
				all, err := w.List(t.Context(), Query{})
				w.ok(err)
				for _, f := range all {
					if f.Cold == (f.Key == bad.Key) {
						t.Errorf("%s did not move, or should not have", f.Key)
					}
				}
				if int(cooled.Files) != len(all)-1 {
					t.Errorf("%d files moved of %d", cooled.Files, len(all))
				}
			})
		}
	})
}

// TestASoundColdCopyIsNotWrittenOver: the move was interrupted, and the file was
// damaged since.
func TestASoundColdCopyIsNotWrittenOver(t *testing.T) {
	eachBucket(t, func(t *testing.T, open opener) {
		values := someValues(4)
		w := newWorld(t, open(t), Options{}, values...)
		_, err := w.Archive(t.Context(), far)
		w.ok(err)
		files, err := w.List(t.Context(), Query{})
		w.ok(err)
		for _, f := range files {
			data, err := w.files.Read(t.Context(), f.Key)
			w.ok(err)
			w.ok(w.files.Write(t.Context(), coldPrefix+f.name, data))
			w.damage(f.Key, damages["cut off"])
		}
		_, err = w.Cool(t.Context(), far)
		w.ok(err)
		w.archivedOnce(values)
	})
}

// TestEveryByte: whatever changes in a file is noticed.
func TestEveryByte(t *testing.T) {
	values := someValues(6)
	w := newWorld(t, inMemory(t), Options{}, values...)
	_, err := w.Archive(t.Context(), far)
	w.ok(err)
	files, err := w.List(t.Context(), Query{Source: "game"})
	w.ok(err)
	f := files[0]
	data, err := w.files.Read(t.Context(), f.Key)
	w.ok(err)
	for at := range data {
		changed := bytes.Clone(data)
		changed[at] ^= 1 << (at % 8)
		_, err := readRows(f, changed, func(*row) error {
			t.Fatalf("rows were read although byte %d had changed", at)
			return nil
		})
		wantCode(t, err, domain.CodeCorrupt)
	}
}

// TestADamagedEndHidesNothing: an entity is looked for in the ends of files, and
// must not be missed because one is damaged.
func TestADamagedEndHidesNothing(t *testing.T) {
	values := someValues(6)
	w := newWorld(t, inMemory(t), Options{}, values...)
	_, err := w.Archive(t.Context(), far)
	w.ok(err)
	files, err := w.List(t.Context(), Query{Source: "game"})
	w.ok(err)
	data, err := w.files.Read(t.Context(), files[0].Key)
	w.ok(err)
	for at := range data {
		w.ok(w.bucket.Write(t.Context(), files[0].Key, slices.Concat(data[:at], []byte{data[at] ^ 1}, data[at+1:])))
		_, err := w.Restore(t.Context(), Query{Source: "game", Key: values[0].Key})
		wantCode(t, err, domain.CodeCorrupt)
	}
}

// TestUnfinishedFilesAreSwept: a writer that is killed leaves a file beside the
// one it was to become.
func TestUnfinishedFilesAreSwept(t *testing.T) {
	dir := t.TempDir()
	values := someValues(4)
	w := newWorld(t, opened(t, dir), Options{}, values...)
	_, err := w.Archive(t.Context(), far)
	w.ok(err)
	files, err := w.List(t.Context(), Query{})
	w.ok(err)
	path := func(suffix string) string { return filepath.Join(dir, filepath.FromSlash(files[0].Key)+suffix) }
	yesterday := time.Now().Add(-25 * time.Hour)
	for _, suffix := range []string{".18f0.tmp", ".18f1.tmp", ".notes"} {
		w.ok(os.WriteFile(path(suffix), []byte("PAR1"), 0o600))
		if suffix != ".18f1.tmp" {
			w.ok(os.Chtimes(path(suffix), yesterday, yesterday))
		}
	}
	w.archivedOnce(values)
	_, err = w.Cool(t.Context(), start)
	w.ok(err)
	for suffix, there := range map[string]bool{".18f0.tmp": false, ".18f1.tmp": true, ".notes": true, "": true} {
		if _, err := os.Stat(path(suffix)); (err == nil) != there {
			t.Errorf("%q: %v", suffix, err)
		}
	}
}

// moving moves files to cold/ between their being listed and being read.
type moving struct {
	Files
	w *world
}

func (s moving) List(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		for o, err := range s.Files.List(ctx, prefix) {
			if !yield(o, err) {
				return
			}
		}
		if !strings.HasPrefix(prefix, coldPrefix) {
			return
		}
		calm := *s.w.Archiver
		calm.files = s.Files
		_, err := calm.Cool(ctx, far)
		s.w.ok(err)
	}
}

// TestWhatMovesMeanwhileIsNotMissed, nor taken for damaged.
func TestWhatMovesMeanwhileIsNotMissed(t *testing.T) {
	for name, use := range map[string]func(w *world) int64{
		"verify": func(w *world) int64 {
			checked, err := w.Verify(w.Context(), Query{})
			w.ok(err)
			if len(checked.Damaged) != 0 {
				w.Errorf("verifying found %+v", checked.Damaged)
			}
			return checked.Rows
		},
		"restore": func(w *world) int64 {
			n, err := w.Restore(w.Context(), Query{})
			w.ok(err)
			return n
		},
		"restore a key": func(w *world) int64 {
			n, err := w.Restore(w.Context(), Query{Source: "game", Key: "key-0"})
			w.ok(err)
			return n
		},
	} {
		t.Run(name, func(t *testing.T) {
			inEveryBucket(t, Options{}, 20, func(w *world, values []refresh.Value) {
				_, err := w.Archive(w.Context(), far)
				w.ok(err)
				w.files = moving{w.files, w}
				want := len(values)
				if name == "restore a key" {
					want = 4
				}
				if n := use(w); int(n) != want {
					w.Errorf("%d values were found of %d", n, want)
				}
			})
		})
	}
}
