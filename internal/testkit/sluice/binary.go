// Package sluice runs the built program in tests: as a command that ends, as a
// service, as one of several machines. It is built once for all packages that
// use it.
package sluice

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"sluice/internal/testkit"
)

// Binary is the path of the program, for tests that Main runs.
var Binary string

// Main builds the program and runs a package's tests:
//
//	func TestMain(m *testing.M) { os.Exit(sluice.Main(m)) }
func Main(m *testing.M) int {
	dir, err := os.MkdirTemp("", "sluice-binary")
	if err == nil {
		defer func() { _ = os.RemoveAll(dir) }()
		Binary, err = build(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "build the program:", err)
		return 1
	}
	return testkit.Main(m)
}

// build brings the program into a folder. One package of a run builds it, and
// the others find it up to date.
func build(dir string) (string, error) {
	root, err := testkit.Repository()
	if err != nil {
		return "", err
	}
	data := filepath.Join(root, ".testdata")
	if err := os.MkdirAll(data, 0o755); err != nil {
		return "", err
	}
	lock, err := os.OpenFile(filepath.Join(data, "sluice.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return "", err
	}
	defer func() { _ = lock.Close() }()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	built := filepath.Join(data, "sluice")
	command := exec.Command("go", "build", "-trimpath", "-tags", "grpcnotrace", "-o", built, "./cmd/sluice")
	command.Dir = root
	// The program under test is the product as it is shipped: without cgo.
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	// Somebody may build another one while the tests run.
	own := filepath.Join(dir, "sluice")
	return own, copyProgram(own, built)
}

func copyProgram(to, from string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o700)
}
