package backup

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"

	"sluice/internal/domain"
)

// ErrNoRoom is what a Database returns when the disk it writes to is full.
var ErrNoRoom = errors.New("no space left on device")

// noRoom says whether a disk, or somebody's share of it, is full.
func noRoom(err error) bool {
	return errors.Is(err, ErrNoRoom) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// unwritable says why a backup was not written.
func unwritable(path string, err error) error {
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case noRoom(err):
		return domain.Errorf(domain.CodeUnavailable, "there is no room for the backup %s: it takes the room of the database twice while it is made; free some space, or name a file on another disk: %w", path, err)
	}
	return domain.Errorf(domain.CodeUnavailable, "write the backup %s: %w", path, err)
}

// unwritableFolder says why a backup was not unpacked or put into a folder.
func unwritableFolder(dir string, err error) error {
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case noRoom(err):
		return domain.Errorf(domain.CodeUnavailable, "there is no room in %s to unpack the backup; nothing was changed: free some space there, or name a folder on another disk (--data-dir; with --check the variable TMPDIR): %w", dir, err)
	}
	return domain.Errorf(domain.CodeUnavailable, "restore into %s: %w", dir, err)
}

// writeFailure tells what went wrong where a part is written from what is wrong
// with the backup that it is read from.
type writeFailure struct{ error }

// Unwrap implements what errors.Is asks for.
func (f writeFailure) Unwrap() error { return f.error }

// destination is a file whose errors are writeFailures.
type destination struct{ file *os.File }

// Write implements io.Writer.
func (d destination) Write(b []byte) (int, error) {
	n, err := d.file.Write(b)
	if err != nil {
		err = writeFailure{err}
	}
	return n, err
}

// openBackup opens a file to be restored. Only a regular one can be read twice, and
// opening another might wait for ever.
func openBackup(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		code := domain.CodeUnavailable
		if errors.Is(err, fs.ErrNotExist) {
			code = domain.CodeNotFound
		}
		return nil, domain.Errorf(code, "the backup cannot be read: %w", err)
	}
	switch {
	case info.IsDir():
		return nil, domain.Errorf(domain.CodeInvalid, "%s is a folder; name the backup, which is a file", path)
	case !info.Mode().IsRegular():
		return nil, domain.Errorf(domain.CodeInvalid, "%s is no regular file; copy the backup into one first", path)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, domain.Errorf(domain.CodeUnavailable, "the backup cannot be read: %w", err)
	}
	return f, nil
}
