package backup_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"sluice/internal/backend/sqlite"
	"sluice/internal/backup"
	"sluice/internal/domain"
)

// odd is the embedded database with something wrong.
type odd struct {
	sqlite.Copies
	full  bool
	knows int64
}

func (o odd) Copy(ctx context.Context, from, to string) error {
	if o.full {
		return backup.ErrNoRoom
	}
	return o.Copies.Copy(ctx, from, to)
}

func (o odd) Examine(ctx context.Context, path string) (backup.Contents, error) {
	held, err := o.Copies.Examine(ctx, path)
	if o.knows != 0 {
		held.Known = o.knows
	}
	return held, err
}

func says(t *testing.T, err error, code domain.Code, words ...string) {
	t.Helper()
	if domain.CodeOf(err) != code {
		t.Errorf("got %v", err)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("it does not say %q: %v", word, err)
		}
	}
}

// TestOnlyFilesAreRestored: what is no file is called what it is, nobody waits for
// it, and no folder is made for it.
func TestOnlyFilesAreRestored(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	must(t, syscall.Mkfifo(fifo, 0o600))
	for _, checkOnly := range []bool{false, true} {
		o := backup.RestoreOptions{Dir: filepath.Join(dir, "p", "q", "r"), CheckOnly: checkOnly}
		for file, c := range map[string]struct {
			code domain.Code
			word string
		}{
			dir:         {domain.CodeInvalid, "is a folder"},
			fifo:        {domain.CodeInvalid, "no regular file"},
			fifo + "no": {domain.CodeNotFound, "cannot be read"},
		} {
			o.File = file
			_, err := restore(t, o)
			says(t, err, c.code, c.word)
		}
		o.File = filepath.Join(dir, "text")
		write(t, o.File, "-- a dump")
		_, err := restore(t, o)
		says(t, err, domain.CodeCorrupt, "damaged")
	}
	if _, err := os.Stat(filepath.Join(dir, "p")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("folders were made for nothing: %v", err)
	}
}

// TestAFullDiskOfTheBackup is told by its own name.
func TestAFullDiskOfTheBackup(t *testing.T) {
	dir, file := folder(t, "ann"), filepath.Join(t.TempDir(), "a.backup")
	_, err := backup.Make(t.Context(), odd{full: true}, backup.Options{Dir: dir, File: file, Now: time.Now})
	says(t, err, domain.CodeUnavailable, "no room for the backup "+file)
	if strings.Contains(err.Error(), dir) || len(entries(t, filepath.Dir(file))) > 0 {
		t.Errorf("got %v and %v", err, entries(t, filepath.Dir(file)))
	}
}

// TestANewerDatabase is named by what people know, not by where it was unpacked.
func TestANewerDatabase(t *testing.T) {
	dir := folder(t, "ann")
	file := makeBackup(t, dir, false)
	_, err := backup.Make(t.Context(), odd{knows: 1}, backup.Options{Dir: dir, File: file + "2", Now: time.Now})
	says(t, err, domain.CodeConflict, filepath.Join(dir, "sluice.db")+" has schema", "knows 1 at most")
	_, err = backup.Restore(t.Context(), odd{knows: 1}, backup.RestoreOptions{File: file, CheckOnly: true, Now: time.Now})
	says(t, err, domain.CodeConflict, "the database in "+file+" has schema")
}

// TestLeftoversOfAKilledBackup are removed by the next one to that name, unless it is
// not killed but under way.
func TestLeftoversOfAKilledBackup(t *testing.T) {
	dir, to := folder(t, "ann"), t.TempDir()
	o := backup.Options{Dir: dir, File: filepath.Join(to, "a.backup"), Now: time.Now}
	parts := filepath.Join(to, ".a.backup.parts")
	must(t, os.Mkdir(parts, 0o700))
	write(t, filepath.Join(parts, "sluice.db"), "half of it")
	other, err := os.Create(filepath.Join(parts, "lock"))
	must(t, err)
	must(t, syscall.Flock(int(other.Fd()), syscall.LOCK_EX))
	_, err = backup.Make(t.Context(), sqlite.Copies{}, o)
	says(t, err, domain.CodeConflict, "is under way")
	must(t, other.Close()) // as when it is killed
	must(t, os.Chmod(parts, 0o755))
	_, err = backup.Make(t.Context(), sqlite.Copies{}, o)
	says(t, err, domain.CodeUnavailable, "only you can read")
	must(t, os.Chmod(parts, 0o700))
	_, err = backup.Make(t.Context(), sqlite.Copies{}, o)
	must(t, err)
	if found := entries(t, to); !slices.Equal(found, []string{"a.backup"}) {
		t.Errorf("there are %v", found)
	}
}

// TestNoKeyIsNotBackedUp: a key file that holds none is refused.
func TestNoKeyIsNotBackedUp(t *testing.T) {
	dir := folder(t, "ann")
	wrong := domain.Errorf(domain.CodeCorrupt, "it holds no key")
	_, err := backup.Make(t.Context(), sqlite.Copies{}, backup.Options{
		Dir: dir, File: filepath.Join(t.TempDir(), "a"), KeyFile: filepath.Join(dir, "sluice.key"), Now: time.Now,
		CheckKey: func(string) error { return wrong },
	})
	if !errors.Is(err, wrong) {
		t.Errorf("got %v", err)
	}
}

// TestAnInterruptedRestoreWithoutDatabase is no folder without data.
func TestAnInterruptedRestoreWithoutDatabase(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, backup.InProgress), "")
	_, err := backup.Make(t.Context(), sqlite.Copies{}, backup.Options{Dir: dir, File: filepath.Join(t.TempDir(), "b"), Now: time.Now})
	says(t, err, domain.CodeConflict, "was interrupted")
}
