package backup

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"sluice/internal/domain"
)

// InProgress is what a data folder holds while a restore puts files into their
// places. Nobody may open a database then: it may be half of one and half of
// another.
const InProgress = "sluice.restoring"

// Interrupted says what to do about a restore that did not come to its end.
func Interrupted(dir string) error {
	return domain.Errorf(domain.CodeConflict,
		"a restore into %s was interrupted: repeat it with `sluice restore FILE --data-dir %[1]s --force`; what was there before is in its folder before-restore-…", dir)
}

// NotBeingRestored refuses a folder whose restore did not come to its end. Whoever
// opens a folder asks first: there may be no database in it, and yet data.
func NotBeingRestored(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, InProgress)); err == nil {
		return Interrupted(dir)
	}
	return nil
}

// RestoreOptions says what is restored, and where to.
type RestoreOptions struct {
	// File is the backup and Dir the data folder, which is made if it is missing.
	File, Dir string
	// Force also restores into a folder with data, which is put aside.
	Force bool
	// CheckOnly proves that the backup can be restored, and changes nothing.
	CheckOnly bool
	Now       func() time.Time
}

// Restored is what a restore has done.
type Restored struct {
	Manifest Manifest `json:"manifest"`
	// Aside is where what was in the folder is now; "" if it was empty.
	Aside string `json:"aside,omitempty"`
	// Key says whether a key file is in the folder: one of the backup, or the one
	// that was there.
	Key bool `json:"key"`
	// MissingKeys are the ids of keys that credentials of the backup are sealed with
	// and that the key file in use does not have.
	MissingKeys []string `json:"missing_keys,omitempty"`
	// Unnoted is why the audit log of what was restored has no entry of it; "" if it
	// has.
	Unnoted string `json:"unnoted,omitempty"`
}

// Restore proves a backup whole and puts it into a data folder. Until it is proved
// nothing is touched.
func Restore(ctx context.Context, db Database, o RestoreOptions) (out Restored, err error) {
	f, err := openBackup(o.File)
	if err != nil {
		return out, err
	}
	defer func() { _ = f.Close() }() // it was only read
	if o.CheckOnly {
		return check(ctx, db, f)
	}
	made := missing(o.Dir)
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return out, unwritableFolder(o.Dir, err)
	}
	release, err := db.Lock(o.Dir, "sluice restore")
	if err != nil {
		return out, err
	}
	defer func() {
		release()
		// Folders that were made for nothing go again, with the lock's file.
		if err != nil && len(made) > 0 {
			_ = os.RemoveAll(o.Dir)
			for _, dir := range made {
				_ = os.Remove(dir)
			}
		}
	}()
	old, err := present(o.Dir)
	if err != nil {
		return out, unwritableFolder(o.Dir, err)
	}
	if slices.Contains(old, databaseFile) && !o.Force {
		return out, domain.Errorf(domain.CodeConflict, "%s has data; --force puts it aside, in a folder beside the new data, or name another folder with --data-dir", o.Dir)
	}
	// Within the folder, so that files change their places by their names alone,
	// also where the folder is a volume.
	sweep(o.Dir)
	staged, err := os.MkdirTemp(o.Dir, staging)
	if err != nil {
		return out, unwritableFolder(o.Dir, err)
	}
	defer func() { _ = os.RemoveAll(staged) }() // what is left of it harms nobody
	if out.Manifest, err = prove(ctx, db, f, staged, o.Dir); err != nil {
		return out, err
	}
	if out.Aside, err = swap(o, staged, old); err != nil {
		return out, unwritableFolder(o.Dir, err)
	}
	_, none := os.Stat(filepath.Join(o.Dir, keyFile))
	out.Key = none == nil
	return out, nil
}

// missing lists the folders on the way to one that are not there, that one first.
func missing(dir string) (all []string) {
	for {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			return all
		}
		all = append(all, dir)
		dir = filepath.Dir(dir)
	}
}

// staging is what the folder of unpacked files is called.
const staging = ".restore-*"

// sweep removes what restores that were killed had unpacked: the folder is locked,
// so nobody is at it. What cannot be removed only takes room.
func sweep(dir string) {
	left, _ := filepath.Glob(filepath.Join(dir, staging))
	for _, path := range left {
		_ = os.RemoveAll(path)
	}
}

func check(ctx context.Context, db Database, f *os.File) (out Restored, err error) {
	dir, err := os.MkdirTemp("", "sluice-restore-check-*")
	if err != nil {
		return out, unwritableFolder(os.TempDir(), err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // what is left of it harms nobody
	out.Manifest, err = prove(ctx, db, f, dir, os.TempDir())
	out.Key = out.Manifest.WithKey
	return out, err
}

// prove unpacks a backup and compares it with what it says of itself. where is how
// people know the place that it is unpacked in.
func prove(ctx context.Context, db Database, f *os.File, dir, where string) (m Manifest, err error) {
	m, err = unpack(ctx, f, dir)
	if failed := (writeFailure{}); errors.As(err, &failed) {
		return m, unwritableFolder(where, failed.error)
	}
	if err != nil {
		return m, err
	}
	held, err := db.Examine(ctx, filepath.Join(dir, databaseFile))
	switch {
	case noRoom(err):
		return m, unwritableFolder(where, err)
	case domain.CodeOf(err) == domain.CodeCorrupt:
		// The file that was examined is gone when this is read.
		return m, damaged(errors.New("its database does not pass SQLite's own check"))
	case err != nil:
		return m, err
	case held.Schema > held.Known:
		return m, newer("the database in "+f.Name(), held, "made the backup ("+m.Program+")")
	case held.Schema != m.Schema || !maps.Equal(held.Counts, m.Counts):
		return m, damaged(errors.New("the database does not hold what the manifest says"))
	}
	return m, nil
}

// present lists the files of the folder that are a data folder's.
func present(dir string) (names []string, err error) {
	for _, name := range []string{databaseFile, databaseFile + "-wal", databaseFile + "-shm", configFile, keyFile} {
		_, err := os.Stat(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

// swap puts the old files aside and the new ones into their places. The key stays
// unless the backup has one. While it is at it a file says so.
func swap(o RestoreOptions, staged string, old []string) (aside string, err error) {
	marker := filepath.Join(o.Dir, InProgress)
	if err := os.WriteFile(marker, []byte("restoring "+o.File+"\n"), 0o600); err != nil {
		return "", err
	}
	if len(old) > 0 {
		aside = filepath.Join(o.Dir, "before-restore-"+o.Now().UTC().Format("20060102T150405.000Z"))
		if err := os.Mkdir(aside, 0o700); err != nil {
			return "", err
		}
	}
	if err := syncFolder(o.Dir); err != nil {
		return aside, err
	}
	for _, name := range old {
		from, to := filepath.Join(o.Dir, name), filepath.Join(aside, name)
		if name == keyFile {
			err = copyFile(from, to)
		} else {
			err = os.Rename(from, to)
		}
		if err != nil {
			return aside, err
		}
	}
	entries, err := os.ReadDir(staged)
	if err != nil {
		return aside, err
	}
	for _, e := range entries {
		if err := os.Rename(filepath.Join(staged, e.Name()), filepath.Join(o.Dir, e.Name())); err != nil {
			return aside, err
		}
	}
	if aside != "" {
		err = syncFolder(aside)
	}
	return aside, errors.Join(err, syncFolder(o.Dir), os.Remove(marker), syncFolder(o.Dir))
}
