package testkit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is another user than that of the tests, for servers which refuse to
// run as root; nil is the tests' own.
type account struct{ uid, gid uint32 }

// serverUser returns the user that PostgreSQL runs as: that of its package if
// the tests run as root, else their own.
func serverUser() (*account, error) {
	if os.Getuid() != 0 {
		return nil, nil //nolint:nilnil // nobody else is needed
	}
	found, err := user.Lookup("postgres")
	if err != nil {
		return nil, &missingError{"PostgreSQL", "it does not run as root, and there is no user postgres; run scripts/test-servers, or tests as another user"}
	}
	uid, err := strconv.ParseUint(found.Uid, 10, 32)
	gid, failure := strconv.ParseUint(found.Gid, 10, 32)
	if err = errors.Join(err, failure); err != nil {
		return nil, fmt.Errorf("the user postgres: %w", err)
	}
	return &account{uint32(uid), uint32(gid)}, nil
}

// run makes a command one of the account.
func (a *account) run(command *exec.Cmd) {
	if a == nil {
		return
	}
	if command.SysProcAttr == nil {
		command.SysProcAttr = &syscall.SysProcAttr{}
	}
	command.SysProcAttr.Credential = &syscall.Credential{Uid: a.uid, Gid: a.gid}
}

// own gives a folder of the tests to the account and lets it reach it. Folders
// of data must not be open to others.
func (a *account) own(folder string) error {
	if a == nil {
		return os.Chmod(filepath.Join(folder), 0o700)
	}
	for _, passed := range []string{filepath.Dir(folder), filepath.Dir(filepath.Dir(folder))} {
		if err := os.Chmod(passed, 0o711); err != nil {
			return fmt.Errorf("let PostgreSQL pass: %w", err)
		}
	}
	return filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, int(a.uid), int(a.gid))
	})
}
