package backup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"sluice/internal/domain"
)

// partsFolder makes the folder beside a backup in which it is put together, and
// locks it. Its name is always the same: what a process that was killed has left
// there is removed by the next backup of that name, and the kernel frees the lock of
// whoever dies.
func partsFolder(file string) (path string, done func(), err error) {
	path = filepath.Join(filepath.Dir(file), "."+filepath.Base(file)+".parts")
	for {
		err := os.Mkdir(path, 0o700)
		if errors.Is(err, fs.ErrExist) {
			err = ours(path)
		}
		if err != nil {
			return "", nil, unwritable(file, err)
		}
		lock, err := lockParts(path, file)
		if errors.Is(err, fs.ErrNotExist) {
			continue // whoever had it has removed it since
		}
		if err != nil {
			return "", nil, err
		}
		// What is left of it harms nobody: the next one removes it.
		done = func() { _ = os.RemoveAll(path); _ = lock.Close() }
		if err := empty(path); err != nil {
			done()
			return "", nil, unwritable(file, err)
		}
		return path, done, nil
	}
}

// ours refuses a folder that somebody else may have put there, as in /tmp: the key
// may be put into it.
func ours(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it is made anew
	}
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || info.Mode().Perm()&0o077 != 0 || ok && int(stat.Uid) != os.Geteuid() {
		return errors.New(path + " is no folder that only you can read; remove it, or name another file")
	}
	return nil
}

const partsLock = "lock"

// lockParts locks the folder by a file in it; folders themselves cannot be locked on
// every network disk. Where nothing can, whoever makes two backups of one name at
// once finds one of them refused later.
func lockParts(path, file string) (*os.File, error) {
	lock, err := os.OpenFile(filepath.Join(path, partsLock), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err != nil {
		return nil, unwritable(file, err)
	}
	err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		_ = lock.Close() // nothing was written to it
		return nil, domain.Errorf(domain.CodeConflict, "another backup to %s is under way; wait for it, or name another file", file)
	}
	held, err := lock.Stat()
	if err == nil {
		var now fs.FileInfo
		if now, err = os.Lstat(lock.Name()); err == nil && !os.SameFile(held, now) {
			err = fs.ErrNotExist
		}
	}
	if err != nil {
		_ = lock.Close() // it is not the one that counts
		return nil, err
	}
	return lock, nil
}

// empty removes everything but the lock.
func empty(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.Name() != partsLock {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return err
}
