package backup

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"sluice/internal/domain"
)

// Options says what to back up, and where to.
type Options struct {
	// Dir is the data folder, File the backup.
	Dir, File string
	// KeyFile is put in too, if it is not "".
	KeyFile string
	// CheckKey refuses a key file that holds no keys; nil is content with any.
	CheckKey func(path string) error
	// Program is the version that makes it.
	Program string
	Now     func() time.Time
}

// Make copies a data folder into a file, also while a service runs on it. The file
// is there whole or not at all, and nobody but its owner may read it.
func Make(ctx context.Context, db Database, o Options) (Manifest, error) {
	m := Manifest{Format: Format, Program: o.Program, Made: o.Now().UTC().Truncate(time.Second), WithKey: o.KeyFile != ""}
	if _, err := os.Lstat(o.File); err == nil {
		return m, domain.Errorf(domain.CodeConflict, "%s is there already; name another file, or move it away", o.File)
	}
	if err := makeable(o.Dir); err != nil {
		return m, err
	}
	// The parts lie beside the backup until it is written: that disk has room for it.
	parts, done, err := partsFolder(o.File)
	if err != nil {
		return m, err
	}
	defer done()
	if err := gather(ctx, db, o, parts, &m); err != nil {
		return m, err
	}
	if err := writeWhole(ctx, o.File, m, parts); err != nil {
		return m, unwritable(o.File, err)
	}
	return m, nil
}

func makeable(dir string) error {
	// Until a restore is done the folder holds parts of two.
	if err := NotBeingRestored(dir); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, databaseFile)); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return domain.Errorf(domain.CodeNotFound, "there is no data in %s: name the data folder with --data-dir", dir)
		}
		return domain.Errorf(domain.CodeUnavailable, "look at %s: %w", dir, err)
	}
	return nil
}

// gather copies everything into a folder and tells of it in the manifest.
func gather(ctx context.Context, db Database, o Options, parts string, m *Manifest) error {
	database := filepath.Join(parts, databaseFile)
	original := filepath.Join(o.Dir, databaseFile)
	if err := db.Copy(ctx, original, database); err != nil {
		if noRoom(err) {
			return unwritable(o.File, err)
		}
		return err
	}
	held, err := db.Examine(ctx, database)
	switch {
	case noRoom(err):
		return unwritable(o.File, err)
	case domain.CodeOf(err) == domain.CodeCorrupt:
		return domain.Errorf(domain.CodeCorrupt, "%s is damaged; it was left untouched, and no backup was made: `sluice doctor` tells more", original)
	case err != nil:
		return err
	case held.Schema > held.Known:
		return newer(original, held, "migrated it")
	}
	m.Schema, m.Counts, m.Keys = held.Schema, held.Counts, held.Keys
	if err := copyFile(filepath.Join(o.Dir, configFile), filepath.Join(parts, configFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unwritable(o.File, err)
	}
	if o.KeyFile != "" {
		err := copyKey(o, filepath.Join(parts, keyFile))
		if errors.Is(err, fs.ErrNotExist) && len(held.Keys) == 0 {
			// Nothing was sealed yet, so there is no key to keep.
			m.WithKey = false
		} else if domain.CodeOf(err) == domain.CodeCorrupt {
			return err
		} else if err != nil {
			return domain.Errorf(domain.CodeUnavailable, "key file %s: %w", o.KeyFile, err)
		}
	}
	for _, name := range []string{databaseFile, configFile, keyFile} {
		part, err := partOf(filepath.Join(parts, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return unwritable(o.File, err)
		}
		m.Parts = append(m.Parts, part)
	}
	return nil
}

// copyKey copies the key file, unless it holds no keys: a backup with such a file
// would be trusted in vain.
func copyKey(o Options, to string) error {
	if _, err := os.Stat(o.KeyFile); err != nil {
		return err
	}
	if o.CheckKey != nil {
		if err := o.CheckKey(o.KeyFile); err != nil {
			return err
		}
	}
	return copyFile(o.KeyFile, to)
}

// newer refuses a database of a program that knew more.
func newer(what string, held Contents, who string) error {
	return domain.Errorf(domain.CodeConflict, "%s has schema %d, but this program knows %d at most: use the version of the program that %s, or a newer one", what, held.Schema, held.Known, who)
}

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o600)
}

// writeWhole writes the backup under another name, and gives it its own when it is
// on the disk.
func writeWhole(ctx context.Context, path string, m Manifest, parts string) error {
	part, err := os.OpenFile(filepath.Join(parts, "backup.part"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = errors.Join(pack(ctx, part, m, parts), part.Sync(), part.Close())
	if err == nil {
		err = os.Rename(part.Name(), path)
	}
	if err != nil {
		return orCanceled(ctx, err)
	}
	return syncFolder(filepath.Dir(path))
}

func syncFolder(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
