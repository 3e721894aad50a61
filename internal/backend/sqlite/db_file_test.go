package sqlite_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/backend/sqlite"
	"sluice/internal/domain"
)

// filledFolder returns a folder with a closed database of a few hundred pages.
func filledFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	db := open(t, sqlite.Options{Dir: dir})
	err := db.Write(t.Context(), func(c *driver.Conn) error {
		for range 200 {
			if err := sqlite.Exec(c, "INSERT INTO chunk (account_id, data) VALUES (1, randomblob(4000))", nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = db.Close()
	}
	if err != nil {
		t.Fatalf("fill: %v", err)
	}
	return dir
}

func TestDamagedFileIsRefused(t *testing.T) {
	for name, damage := range map[string]func([]byte) []byte{
		"garbage header": func(b []byte) []byte { return append(bytes.Repeat([]byte("garbage!"), 12), b[96:]...) },
		"garbage pages": func(b []byte) []byte {
			for i := 2 * 4096; i < len(b)-4096; i++ {
				b[i] = byte(i * 31)
			}
			return b
		},
		"truncated": func(b []byte) []byte { return b[:len(b)/2] },
		"text":      func([]byte) []byte { return []byte("this is a letter to my grandmother, not a database\n") },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filledFolder(t)
			path := filepath.Join(dir, sqlite.FileName)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatalf("read: %v", err)
			}
			broken := damage(before)
			if err := os.WriteFile(path, broken, 0o600); err != nil {
				t.Fatalf("damage: %v", err)
			}
			_, err = sqlite.Open(t.Context(), sqlite.Options{Dir: dir})
			if domain.CodeOf(err) != domain.CodeCorrupt {
				t.Fatalf("open: %v, want code corrupt", err)
			}
			for _, part := range []string{path, "backup", "aside"} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the error does not say %q: %v", part, err)
				}
			}
			after, err := os.ReadFile(path)
			if err != nil || !bytes.Equal(after, broken) {
				t.Errorf("the damaged file was touched (%v)", err)
			}
			if got := sqlite.Holder(dir); got != "" {
				t.Errorf("the folder is still held by %q", got)
			}
		})
	}
}

// readOnly makes a folder unwritable even for root, who is not stopped by
// permission bits: by a read-only bind mount where the system allows one.
func readOnly(t *testing.T, dir string) {
	t.Helper()
	if os.Geteuid() != 0 {
		if err := os.Chmod(dir, 0o500); err != nil {
			t.Fatalf("chmod: %v", err)
		}
		t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
		return
	}
	err := syscall.Mount(dir, dir, "", syscall.MS_BIND, "")
	if errors.Is(err, syscall.EPERM) {
		// A container without the right to mount: a folder where the lock
		// file should be is as unwritable as anything.
		if err := os.MkdirAll(filepath.Join(dir, "sluice.lock"), 0o700); err != nil {
			t.Fatalf("block the lock: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatalf("bind: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	if err := syscall.Mount("", dir, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatalf("remount: %v", err)
	}
}

func TestReadOnlyFolder(t *testing.T) {
	dir := t.TempDir()
	readOnly(t, dir)
	_, err := sqlite.Open(t.Context(), sqlite.Options{Dir: dir})
	if domain.CodeOf(err) != domain.CodeUnavailable {
		t.Fatalf("open: %v, want code unavailable", err)
	}
	for _, part := range []string{dir, "cannot be written", "--data-dir"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %q: %v", part, err)
		}
	}
	_, err = sqlite.Open(t.Context(), sqlite.Options{Dir: filepath.Join(dir, "sluice.lock", "below")})
	if domain.CodeOf(err) != domain.CodeUnavailable {
		t.Errorf("a folder that cannot be made: %v, want code unavailable", err)
	}
}

func TestFolderInPlaceOfTheFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, sqlite.FileName), 0o700); err != nil {
		t.Fatalf("mkdir: %v", err)
	}
	_, err := sqlite.Open(t.Context(), sqlite.Options{Dir: dir})
	if domain.CodeOf(err) != domain.CodeUnavailable || !strings.Contains(err.Error(), sqlite.FileName) {
		t.Errorf("open: %v, want code unavailable and the name of the file", err)
	}
}

func TestMigrations(t *testing.T) {
	dir := t.TempDir()
	tables := func(db *sqlite.DB) (n int) {
		err := db.Read(t.Context(), func(c *driver.Conn) error {
			return sqlite.Exec(c, "SELECT count(*) FROM sqlite_schema WHERE type = 'table'", func(r *driver.Stmt) { n = r.ColumnInt(0) })
		})
		if err != nil {
			t.Fatalf("count tables: %v", err)
		}
		return n
	}
	if err := os.WriteFile(filepath.Join(dir, sqlite.FileName), nil, 0o600); err != nil {
		t.Fatalf("an empty file: %v", err)
	}
	db := open(t, sqlite.Options{Dir: dir})
	first := tables(db)
	if first < 9 {
		t.Errorf("%d tables", first)
	}
	if err := db.Write(t.Context(), insertNumber(7)); err != nil {
		t.Fatalf("write: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	db = open(t, sqlite.Options{Dir: dir})
	if again := tables(db); again != first || !numbers(t, db)[7] {
		t.Errorf("%d tables instead of %d, numbers %v", again, first, numbers(t, db))
	}
}

// TestNewerSchemaIsRefused opens what a later version of the program left.
func TestNewerSchemaIsRefused(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, sqlite.FileName)
	db := open(t, sqlite.Options{Dir: dir})
	if err := sqlite.CheckVersion(path); err != nil {
		t.Errorf("our own: %v", err)
	}
	err := db.Write(t.Context(), func(c *driver.Conn) error {
		return sqlite.Exec(c, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)", nil)
	})
	if err == nil {
		err = db.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	_, opening := sqlite.Open(t.Context(), sqlite.Options{Dir: dir})
	for what, err := range map[string]error{"open": opening, "check": sqlite.CheckVersion(path)} {
		if domain.CodeOf(err) != domain.CodeConflict || !strings.Contains(err.Error(), "schema 9999") || !strings.Contains(err.Error(), "newer") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestFilesArePrivate opens a folder that an earlier version left open to all.
func TestFilesArePrivate(t *testing.T) {
	modes := func(dir string) map[string]os.FileMode {
		out := map[string]os.FileMode{}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			info, err := e.Info()
			if err != nil {
				t.Fatal(err)
			}
			out[e.Name()] = info.Mode().Perm()
		}
		info, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		out["."] = info.Mode().Perm()
		return out
	}
	for name, foreign := range map[string]bool{"ours alone": false, "with a file of others": true} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			files := map[string]bool{sqlite.FileName: true, "sluice.key": true, "notes.txt": foreign}
			for file, made := range files {
				if !made {
					continue
				}
				if err := os.WriteFile(filepath.Join(dir, file), nil, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			db := open(t, sqlite.Options{Dir: dir})
			if err := db.Write(t.Context(), insertNumber(1)); err != nil {
				t.Fatal(err)
			}
			for file, mode := range modes(dir) {
				want := os.FileMode(0o600)
				switch {
				case file == "notes.txt":
					want = 0o644
				case file == "." && foreign:
					want = 0o755
				case file == ".":
					want = 0o700
				}
				if mode != want {
					t.Errorf("%s has mode %v, want %v", file, mode, want)
				}
			}
			if exposed := sqlite.Exposed(dir); len(exposed) != map[bool]int{true: 1}[foreign] {
				t.Errorf("exposed: %v", exposed)
			}
		})
	}
}

func TestFoldersWithOddNames(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"50%41", "why?", "a#b", "with space & ünï", "deep/er/still", "colon:here"} {
		db := open(t, sqlite.Options{Dir: name})
		if err := db.Write(t.Context(), insertNumber(1)); err != nil {
			t.Errorf("%q: %v", name, err)
		}
		entries, err := os.ReadDir(name)
		if err != nil || len(entries) < 2 {
			t.Errorf("%q: the files are elsewhere (%v, %v)", name, entries, err)
		}
	}
}
