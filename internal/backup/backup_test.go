package backup_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"sluice/internal/backend/sqlite"
	"sluice/internal/backup"
	"sluice/internal/domain"
	"sluice/internal/state"
	"sluice/internal/testkit"
)

// folder is a data folder with accounts.
func folder(t *testing.T, logins ...string) string {
	t.Helper()
	dir := t.TempDir()
	add(t, dir, logins...)
	write(t, filepath.Join(dir, "sluice.key"), "0a0b")
	write(t, filepath.Join(dir, "sluice.yaml"), "workers: 7\n")
	return dir
}

// open opens the database of a folder.
func open(t *testing.T, dir string) (*sqlite.DB, *sqlite.State) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Dir: dir, Holder: "a test"})
	must(t, err)
	store, err := sqlite.NewState(t.Context(), db, nil, time.Now)
	must(t, err)
	return db, store
}

func add(t *testing.T, dir string, logins ...string) {
	t.Helper()
	db, store := open(t, dir)
	put(t, store, logins...)
	must(t, db.Close())
}

func put(t *testing.T, store *sqlite.State, logins ...string) {
	t.Helper()
	for _, login := range logins {
		_, err := store.PutAccount(t.Context(), state.AccountSpec{Source: "github", Login: login, Name: login, Credential: state.Sealed{KeyID: "0123abcd", Data: []byte(login)}})
		must(t, err)
	}
}

func logins(t *testing.T, dir string) (names []string) {
	t.Helper()
	db, store := open(t, dir)
	all, err := store.Accounts(t.Context())
	must(t, err)
	for _, a := range all {
		names = append(names, a.Login)
	}
	must(t, db.Close())
	return names
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(text), 0o600))
}

func text(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	return string(b)
}

func makeBackup(t *testing.T, dir string, withKey bool) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "a.backup")
	o := backup.Options{Dir: dir, File: file, Program: "test", Now: time.Now}
	if withKey {
		o.KeyFile = filepath.Join(dir, "sluice.key")
	}
	_, err := backup.Make(t.Context(), sqlite.Copies{}, o)
	must(t, err)
	return file
}

func restore(t *testing.T, o backup.RestoreOptions) (backup.Restored, error) {
	t.Helper()
	o.Now = time.Now
	return backup.Restore(t.Context(), sqlite.Copies{}, o)
}

func entries(t *testing.T, dir string) (names []string) {
	t.Helper()
	found, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range found {
		names = append(names, e.Name())
	}
	return names
}

// TestBackupWhileItRuns: the copy is of one instant, the service goes on, and
// nobody else may read the file.
func TestBackupWhileItRuns(t *testing.T) {
	dir := folder(t, "ann")
	db, store := open(t, dir)
	file := makeBackup(t, dir, false)
	put(t, store, "later")
	must(t, db.Close())
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the backup has mode %v, %v", info.Mode(), err)
	}
	if found := entries(t, filepath.Dir(file)); !slices.Equal(found, []string{"a.backup"}) {
		t.Errorf("beside it there are %v", found)
	}
	to := filepath.Join(t.TempDir(), "new")
	r, err := restore(t, backup.RestoreOptions{File: file, Dir: to})
	must(t, err)
	if got := logins(t, to); !slices.Equal(got, []string{"ann"}) || r.Manifest.Counts["account"] != 1 || !slices.Equal(r.Manifest.Keys, []string{"0123abcd"}) {
		t.Errorf("it holds %v and says %+v", got, r.Manifest)
	}
	if got := text(t, filepath.Join(to, "sluice.yaml")); got != "workers: 7\n" {
		t.Errorf("the configuration is %q", got)
	}
	if _, err := os.Stat(filepath.Join(to, "sluice.key")); r.Key || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the key was in it: %v", err)
	}
}

func TestBackupWithTheKey(t *testing.T) {
	to := t.TempDir()
	r, err := restore(t, backup.RestoreOptions{File: makeBackup(t, folder(t, "ann"), true), Dir: to})
	must(t, err)
	if got := text(t, filepath.Join(to, "sluice.key")); got != "0a0b" || !r.Key || !r.Manifest.WithKey {
		t.Errorf("the key is %q", got)
	}
}

// TestRestorePutsAside: a folder with data is refused, and with --force nothing of
// it is lost.
func TestRestorePutsAside(t *testing.T) {
	file := makeBackup(t, folder(t, "ann"), false)
	dir := folder(t, "bob")
	_, err := restore(t, backup.RestoreOptions{File: file, Dir: dir})
	if domain.CodeOf(err) != domain.CodeConflict || !slices.Equal(logins(t, dir), []string{"bob"}) {
		t.Fatalf("got %v", err)
	}
	r, err := restore(t, backup.RestoreOptions{File: file, Dir: dir, Force: true})
	must(t, err)
	if got := logins(t, dir); !slices.Equal(got, []string{"ann"}) {
		t.Errorf("it holds %v", got)
	}
	if got := text(t, filepath.Join(dir, "sluice.key")); got != "0a0b" || !r.Key {
		t.Errorf("the key did not stay: %q", got)
	}
	if got := logins(t, r.Aside); !slices.Equal(got, []string{"bob"}) || text(t, filepath.Join(r.Aside, "sluice.key")) != "0a0b" {
		t.Errorf("aside there is %v", got)
	}
}

func TestAFolderInUseIsNotRestored(t *testing.T) {
	file := makeBackup(t, folder(t, "ann"), false)
	dir := folder(t, "bob")
	db, _ := open(t, dir)
	_, err := restore(t, backup.RestoreOptions{File: file, Dir: dir, Force: true})
	if domain.CodeOf(err) != domain.CodeConflict || !strings.Contains(err.Error(), "a test") {
		t.Errorf("got %v", err)
	}
	must(t, db.Close())
	if got := logins(t, dir); !slices.Equal(got, []string{"bob"}) {
		t.Errorf("it holds %v", got)
	}
}

// TestDamagedBackups: cut off anywhere, or changed anywhere, a backup is refused
// and nothing is changed.
func TestDamagedBackups(t *testing.T) {
	whole := []byte(text(t, makeBackup(t, folder(t, "ann", "bob"), true)))
	seed := testkit.Seed(t)
	random := rand.New(rand.NewPCG(seed, seed))
	target := folder(t, "old")
	before := entries(t, target)
	refused := func(t *testing.T, what string, data []byte) {
		t.Helper()
		file := filepath.Join(t.TempDir(), "x.backup")
		must(t, os.WriteFile(file, data, 0o600))
		to := filepath.Join(t.TempDir(), "new")
		if _, err := restore(t, backup.RestoreOptions{File: file, Dir: to}); domain.CodeOf(err) != domain.CodeCorrupt {
			t.Errorf("%s: got %v", what, err)
		}
		if _, err := os.Stat(to); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: a folder was made", what)
		}
		if _, err := restore(t, backup.RestoreOptions{File: file, Dir: target, Force: true}); domain.CodeOf(err) != domain.CodeCorrupt {
			t.Errorf("%s: got %v", what, err)
		}
		if after := entries(t, target); !slices.Equal(after, before) {
			t.Errorf("%s: the folder had %v and has %v", what, before, after)
		}
	}
	for range 15 {
		at := random.IntN(len(whole))
		refused(t, "cut off", whole[:at])
		changed := slices.Clone(whole)
		changed[at] ^= 1 << random.IntN(8)
		if sameContent(changed, whole) {
			continue // a bit that compression does not use, or the size of its window
		}
		refused(t, "changed", changed)
	}
	refused(t, "empty", nil)
	refused(t, "text", []byte("-- a dump"))
	// Whoever packs it anew has to tell the truth as well.
	for what, change := range map[string]func(*tar.Header, []byte) []byte{
		"a manifest that was changed": func(h *tar.Header, b []byte) []byte {
			return bytes.Replace(b, []byte(`"account": 2`), []byte(`"account": 3`), 1)
		},
		"a path that leads out": func(h *tar.Header, b []byte) []byte {
			if h.Name == "sluice.yaml" {
				h.Name = "../sluice.yaml"
			}
			return b
		},
	} {
		refused(t, what, repacked(t, whole, change))
	}
	if got := logins(t, target); !slices.Equal(got, []string{"old"}) {
		t.Errorf("the folder holds %v", got)
	}
}

// sameContent says whether two compressed files hold the same bytes: some bits
// of the format carry nothing that was packed.
func sameContent(a, b []byte) bool {
	decoder, err := zstd.NewReader(nil)
	if err != nil {
		return false
	}
	defer decoder.Close()
	left, err := decoder.DecodeAll(a, nil)
	if err != nil {
		return false
	}
	right, err := decoder.DecodeAll(b, nil)
	return err == nil && bytes.Equal(left, right)
}

func repacked(t *testing.T, whole []byte, change func(*tar.Header, []byte) []byte) []byte {
	t.Helper()
	in, err := zstd.NewReader(bytes.NewReader(whole))
	must(t, err)
	defer in.Close()
	var out bytes.Buffer
	compressed, err := zstd.NewWriter(&out)
	must(t, err)
	from, to := tar.NewReader(in), tar.NewWriter(compressed)
	for {
		h, err := from.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		must(t, err)
		data, err := io.ReadAll(from)
		must(t, err)
		data = change(h, data)
		h.Size = int64(len(data))
		must(t, to.WriteHeader(h))
		_, err = to.Write(data)
		must(t, err)
	}
	must(t, errors.Join(to.Close(), compressed.Close()))
	return out.Bytes()
}

// TestAnInterruptedRestoreIsNoticed: nobody opens half of two databases, and
// repeating it helps.
func TestAnInterruptedRestoreIsNoticed(t *testing.T) {
	file := makeBackup(t, folder(t, "ann"), false)
	dir := folder(t, "bob")
	write(t, filepath.Join(dir, backup.InProgress), "")
	must(t, os.Mkdir(filepath.Join(dir, ".restore-1"), 0o700))
	_, err := sqlite.Open(t.Context(), sqlite.Options{Dir: dir})
	if domain.CodeOf(err) != domain.CodeConflict || !strings.Contains(err.Error(), "--force") {
		t.Errorf("opening says %v", err)
	}
	_, err = backup.Make(t.Context(), sqlite.Copies{}, backup.Options{Dir: dir, File: filepath.Join(t.TempDir(), "b"), Now: time.Now})
	if domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("backing up says %v", err)
	}
	_, err = restore(t, backup.RestoreOptions{File: file, Dir: dir, Force: true})
	must(t, err)
	if got := logins(t, dir); !slices.Equal(got, []string{"ann"}) {
		t.Errorf("it holds %v", got)
	}
	for _, name := range entries(t, dir) {
		if name == backup.InProgress || strings.HasPrefix(name, ".") {
			t.Errorf("%s is left", name)
		}
	}
}

func TestMakeRefuses(t *testing.T) {
	dir := folder(t, "ann")
	file := makeBackup(t, dir, false)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for what, c := range map[string]struct {
		ctx  context.Context //nolint:containedctx // a case of a table
		o    backup.Options
		code domain.Code
	}{
		"a file that is there": {t.Context(), backup.Options{Dir: dir, File: file}, domain.CodeConflict},
		"no data":              {t.Context(), backup.Options{Dir: t.TempDir(), File: file + "2"}, domain.CodeNotFound},
		"no folder for it":     {t.Context(), backup.Options{Dir: dir, File: "/nowhere/at/all"}, domain.CodeUnavailable},
		"no key":               {t.Context(), backup.Options{Dir: dir, File: file + "3", KeyFile: "/nowhere"}, domain.CodeUnavailable},
		"canceled":             {ended, backup.Options{Dir: dir, File: file + "4"}, ""},
	} {
		c.o.Now = time.Now
		_, err := backup.Make(c.ctx, sqlite.Copies{}, c.o)
		if err == nil || c.code != "" && domain.CodeOf(err) != c.code {
			t.Errorf("%s: got %v", what, err)
		}
	}
	if found := entries(t, filepath.Dir(file)); len(found) != 1 {
		t.Errorf("it left %v", found)
	}
}
