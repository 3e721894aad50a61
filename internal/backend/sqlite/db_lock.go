package sqlite

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"sluice/internal/domain"
)

const lockName = "sluice.lock"

// folderLock keeps other processes out of a data folder. The kernel frees it
// when the process dies, however it dies.
type folderLock struct{ file *os.File }

func lockFolder(dir, holder string) (*folderLock, error) {
	path := filepath.Join(dir, lockName)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, domain.Errorf(domain.CodeUnavailable,
			"the data folder %s cannot be written (give --data-dir another, or make it writable): %w", dir, err)
	}
	if err := lockAlone(f); err != nil {
		defer func() { _ = f.Close() }()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, domain.Errorf(domain.CodeConflict,
				"the data folder %s is in use by %s; stop that process or give --data-dir another folder", dir, readHolder(f))
		}
		return nil, domain.Errorf(domain.CodeUnavailable, "lock %s: %w", path, err)
	}
	if err := writeHolder(f, holder); err != nil {
		_ = f.Close()
		return nil, domain.Errorf(domain.CodeUnavailable, "write %s: %w", path, err)
	}
	return &folderLock{file: f}, nil
}

// lockAlone takes the lock, or says that it is taken. Whoever only asks who holds the
// folder has it for an instant, together with others who ask: that is no holder.
func lockAlone(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return err
		}
		if held(f) {
			return err
		}
		runtime.Gosched()
	}
}

// held says whether somebody holds the folder.
func held(f *os.File) bool {
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); err != nil {
		return errors.Is(err, syscall.EWOULDBLOCK)
	}
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) // what is not given back goes with the file
	return false
}

func writeHolder(f *os.File, holder string) error {
	if holder == "" {
		holder = filepath.Base(os.Args[0])
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt(fmt.Appendf(nil, "process %d (%s, since %s)\n",
		os.Getpid(), holder, time.Now().Format(time.RFC3339)), 0)
	return err
}

func readHolder(f *os.File) string {
	b, err := io.ReadAll(io.NewSectionReader(f, 0, 1024))
	if line := strings.TrimSpace(string(b)); err == nil && line != "" {
		return line
	}
	return "another process"
}

// SetHolder replaces the description of this process, once it knows more about
// itself, such as the address it serves on.
func (db *DB) SetHolder(holder string) error {
	if db.reader != nil {
		return errReadAlone(db.path)
	}
	return writeHolder(db.lock.file, holder)
}

// Holder reads who holds a data folder, "" if nobody does. It is in nobody's way.
func Holder(dir string) string {
	f, err := os.Open(filepath.Join(dir, lockName))
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	if !held(f) {
		return ""
	}
	return readHolder(f)
}

func (l *folderLock) release() {
	// The lock dies with the descriptor; there is nothing to do about an error.
	_ = l.file.Close()
}
