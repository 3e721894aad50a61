package sqlite_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/backend/sqlite"
	"sluice/internal/backoff"
	"sluice/internal/domain"
	"sluice/internal/testkit"
)

// openToRead opens a folder for reading; a test that ends closes it.
func openToRead(t *testing.T, dir string) *sqlite.DB {
	t.Helper()
	db, err := sqlite.OpenToRead(t.Context(), dir)
	if err != nil {
		t.Fatalf("open to read: %v", err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return db
}

// contents are the files of a folder, with what is in them, their modes and when
// they were written.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		out[e.Name()] = fmt.Sprintf("%x %v %v", sha256.Sum256(data), info.Mode(), info.ModTime())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func sameContents(t *testing.T, before, after map[string]string) {
	t.Helper()
	for name, was := range before {
		if after[name] != was {
			t.Errorf("%s was %s and is %s", name, was, after[name])
		}
	}
	for name := range after {
		if _, was := before[name]; !was {
			t.Errorf("%s was made", name)
		}
	}
}

// killedWriter leaves what a process does that was killed while it wrote, and how
// many numbers it had acknowledged.
func killedWriter(t *testing.T, dir string, lines int) (acknowledged []int) {
	t.Helper()
	writer := startChild(t, "write", dir)
	if got := writer.line(); got != "open" {
		t.Fatalf("the child says %q", got)
	}
	for range lines {
		if n, err := strconv.Atoi(writer.line()); err == nil {
			acknowledged = append(acknowledged, n)
		}
	}
	writer.kill(t)
	for line := writer.line(); line != ""; line = writer.line() {
		if n, err := strconv.Atoi(line); err == nil {
			acknowledged = append(acknowledged, n)
		}
	}
	writer.wait()
	return acknowledged
}

// TestReadingChangesNothing reads folders in every state that processes leave them
// in, several at once: everything that was acknowledged is there, and no byte, mode
// or time of the folder is another afterwards.
func TestReadingChangesNothing(t *testing.T) {
	for name, prepare := range map[string]func(t *testing.T, dir string) []int{
		"closed": func(t *testing.T, dir string) []int {
			db := openIn(t, dir)
			if err := errors.Join(db.Write(t.Context(), insertNumber(7)), db.Close()); err != nil {
				t.Fatal(err)
			}
			return []int{7}
		},
		"closed by a version that leaves no log": func(t *testing.T, dir string) []int {
			db := openIn(t, dir)
			path := db.Path()
			err := errors.Join(db.Write(t.Context(), insertNumber(7)), db.Close(), os.Remove(path+"-wal"), os.Remove(path+"-shm"))
			if err != nil {
				t.Fatal(err)
			}
			return []int{7}
		},
		"killed": func(t *testing.T, dir string) []int { return killedWriter(t, dir, 200) },
		"killed, read-only": func(t *testing.T, dir string) []int {
			numbers := killedWriter(t, dir, 200)
			readOnly(t, dir)
			return numbers
		},
		"closed, read-only": func(t *testing.T, dir string) []int {
			db := openIn(t, dir)
			if err := errors.Join(db.Write(t.Context(), insertNumber(7)), db.Close()); err != nil {
				t.Fatal(err)
			}
			readOnly(t, dir)
			return []int{7}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			want := prepare(t, dir)
			before := contents(t, dir)
			var readers sync.WaitGroup
			for range 4 {
				readers.Go(func() {
					db, err := sqlite.OpenToRead(t.Context(), dir)
					if err != nil {
						t.Errorf("open: %v", err)
						return
					}
					got := numbers(t, db)
					for _, n := range want {
						if !got[n] {
							t.Errorf("number %d of %d is not there", n, len(want))
							break
						}
					}
					if err := db.Write(t.Context(), insertNumber(-1)); domain.CodeOf(err) != domain.CodeUnavailable {
						t.Errorf("a write: %v", err)
					}
					db.Erase()
					if err := db.Close(); err != nil {
						t.Errorf("close: %v", err)
					}
				})
			}
			readers.Wait()
			sameContents(t, before, contents(t, dir))
		})
	}
}

// TestReadersBesideAWriterThatIsKilled has readers of a folder on which one process
// after the other is started and killed. Each reader sees whole transactions, and
// never fewer than it saw before.
func TestReadersBesideAWriterThatIsKilled(t *testing.T) {
	seed := testkit.Seed(t)
	dice := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	killedWriter(t, dir, 1)
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for last := 0; ; {
				db, err := sqlite.OpenToRead(t.Context(), dir)
				if err != nil {
					t.Errorf("open: %v", err)
					return
				}
				for range 5 {
					seen := countTwice(t, db)
					if seen < last {
						t.Errorf("%d numbers were seen, and then %d", last, seen)
					}
					last = seen
				}
				if err := db.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	acknowledged := 0
	for range 4 {
		acknowledged += len(killedWriter(t, dir, 50+dice.IntN(300)))
	}
	close(stop)
	readers.Wait()
	if got := countTwice(t, openToRead(t, dir)); got < acknowledged {
		t.Errorf("%d were acknowledged, %d are there", acknowledged, got)
	}
}

// countTwice counts rows two times in one snapshot.
func countTwice(t *testing.T, db *sqlite.DB) (n int) {
	t.Helper()
	var first, second int
	err := db.Read(t.Context(), func(c *driver.Conn) error {
		count := func(into *int) error {
			return sqlite.Exec(c, "SELECT count(*) FROM cursor", func(r *driver.Stmt) { *into = r.ColumnInt(0) })
		}
		return errors.Join(count(&first), count(&second))
	})
	if err != nil {
		t.Errorf("read: %v", err)
	}
	if first != second {
		t.Errorf("one snapshot has %d and %d rows", first, second)
	}
	return first
}

// TestReaderSeesWhatIsWrittenAfterItOpened: each read is the newest there is, also
// of one who began when there was no service.
func TestReaderSeesWhatIsWrittenAfterItOpened(t *testing.T) {
	for name, bare := range map[string]bool{"with a log": false, "without": true} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			db := openIn(t, dir)
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			if bare {
				if err := errors.Join(os.Remove(db.Path()+"-wal"), os.Remove(db.Path()+"-shm")); err != nil {
					t.Fatal(err)
				}
			}
			reader := startChild(t, "read", dir)
			defer reader.wait()
			defer reader.kill(t)
			if got := reader.line(); got != "0" {
				t.Fatalf("the reader says %q", got)
			}
			for n := range 3 {
				writer := openIn(t, dir)
				if err := writer.Write(t.Context(), insertNumber(n+1)); err != nil {
					t.Fatal(err)
				}
				if got := reader.ask(t); got != strconv.Itoa(n+1) {
					t.Errorf("beside the writer the reader sees %q, not %d", got, n+1)
				}
				if err := writer.Close(); err != nil {
					t.Fatal(err)
				}
				if got := reader.ask(t); got != strconv.Itoa(n+1) {
					t.Errorf("after it the reader sees %q, not %d", got, n+1)
				}
			}
		})
	}
}

// TestReadersAreInNobodysWay: a folder is locked while any number ask who has it.
func TestReadersAreInNobodysWay(t *testing.T) {
	dir := t.TempDir()
	openIn(t, dir).Close()
	stop := make(chan struct{})
	var asking sync.WaitGroup
	for range 4 {
		asking.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					_ = sqlite.Holder(dir)
					// Without it four of them take all processors.
					backoff.Sleep(t.Context(), 100*time.Microsecond)
				}
			}
		})
	}
	for range 50 {
		db, err := sqlite.Open(t.Context(), sqlite.Options{Dir: dir, Holder: "the one"})
		if err != nil {
			t.Fatalf("open: %v", err)
		}
		if got := sqlite.Holder(dir); !strings.Contains(got, "the one") {
			t.Errorf("the holder is %q", got)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	asking.Wait()
	if got := sqlite.Holder(dir); got != "" {
		t.Errorf("nobody has it, but %q", got)
	}
}

// TestWhatCannotBeRead: nothing there, tables of another version, and a log whose
// index is gone are refused with what to do, and left as they are.
func TestWhatCannotBeRead(t *testing.T) {
	version := func(change string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			db := openIn(t, dir)
			err := db.Write(t.Context(), func(c *driver.Conn) error { return sqlite.Exec(c, change, nil) })
			if err = errors.Join(err, db.Close()); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, tc := range map[string]struct {
		prepare func(t *testing.T, dir string)
		code    domain.Code
		says    string
	}{
		"nothing":    {func(*testing.T, string) {}, domain.CodeNotFound, "sluice collect LOGIN"},
		"empty file": {func(t *testing.T, dir string) { write(t, filepath.Join(dir, sqlite.FileName), "") }, domain.CodeNotFound, "sluice up"},
		"older": {version("DELETE FROM goose_db_version WHERE version_id > 3"), domain.CodeConflict,
			"has schema 3, but this program needs"},
		"newer": {version("INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)"), domain.CodeConflict, "has schema 9999"},
		"damaged": {func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, sqlite.FileName), strings.Repeat("no database ", 1000))
		}, domain.CodeCorrupt, "restore it from a backup"},
		"a log without its index": {func(t *testing.T, dir string) {
			killedWriter(t, dir, 20)
			if err := os.Remove(filepath.Join(dir, sqlite.FileName+"-shm")); err != nil {
				t.Fatal(err)
			}
		}, domain.CodeUnavailable, "sluice up"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			tc.prepare(t, dir)
			before := contents(t, dir)
			db, err := sqlite.OpenToRead(t.Context(), dir)
			if err == nil {
				_ = db.Close()
			}
			if domain.CodeOf(err) != tc.code || !strings.Contains(fmt.Sprint(err), tc.says) {
				t.Errorf("got %v", err)
			}
			sameContents(t, before, contents(t, dir))
		})
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
