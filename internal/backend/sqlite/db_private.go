package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// keepPrivate lets nobody but the owner read what was collected, also where an
// earlier version or a person left files open. The folder is closed too, unless
// it holds what is not ours: then it is for somebody else to decide.
func keepPrivate(dir string) error {
	path := filepath.Join(dir, FileName)
	// SQLite makes the files beside it as private as this one.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	allOurs := true
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "sluice.") {
			allOurs = false
			continue
		}
		if err := restrict(filepath.Join(dir, e.Name()), 0o600); err != nil {
			return err
		}
	}
	if !allOurs {
		return nil
	}
	return restrict(dir, 0o700)
}

// restrict takes away what is beyond a mode; what is gone needs nothing.
func restrict(path string, mode fs.FileMode) error {
	info, err := os.Stat(path)
	if err == nil && info.Mode().Perm()&^mode != 0 {
		err = os.Chmod(path, info.Mode().Perm()&mode)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Exposed lists what of a data folder others than its owner can read.
func Exposed(dir string) []string {
	var open []string
	look := func(path string) {
		if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 {
			open = append(open, path)
		}
	}
	look(dir)
	// What cannot be listed cannot be told; others find that out.
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "sluice.") {
			look(filepath.Join(dir, e.Name()))
		}
	}
	return open
}
