package testkit

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// missingError says that this machine does not have a server.
type missingError struct{ server, why string }

// Error implements error.
func (e *missingError) Error() string { return fmt.Sprintf("%s cannot be had: %s", e.server, e.why) }

// find returns the path of a server's program.
func find(server, name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		// Debian keeps servers out of the PATH of people who are not root.
		if path, err = exec.LookPath("/usr/sbin/" + name); err != nil {
			return "", &missingError{server, "there is no " + name + " on PATH; run scripts/test-servers as root, or install it"}
		}
	}
	return path, nil
}

// refuse ends a test whose server cannot be had.
func (k *kit) refuse(tb testing.TB, err error) {
	tb.Helper()
	var missing *missingError
	if !errors.As(err, &missing) || os.Getenv("SLUICE_TEST_REQUIRE") == "all" {
		tb.Fatalf("testkit: %v", err)
	}
	if k.once("missing " + missing.server) {
		note(tb, missing)
	}
	tb.Skipf("testkit: %v", err)
}

// Lacks ends a test for something that this machine does not have and that is no
// server of the kit, such as a file that has to be fetched: it is skipped and
// noted, or fails where everything is required.
func Lacks(tb testing.TB, what, why string) {
	tb.Helper()
	current.refuse(tb, &missingError{what, why})
}

// note tells whoever runs all tests what did not run.
func note(tb testing.TB, missing *missingError) {
	tb.Helper()
	path := os.Getenv("SLUICE_TEST_FALLBACKS")
	if path == "" {
		return
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		tb.Fatalf("testkit: SLUICE_TEST_FALLBACKS: %v", err)
	}
	_, err = fmt.Fprintf(file, "%s: tests that need %s did not run: %s\n", testPackage(), missing.server, missing.why)
	if err = errors.Join(err, file.Close()); err != nil {
		tb.Fatalf("testkit: SLUICE_TEST_FALLBACKS: %v", err)
	}
}

// testPackage names the tests that run: their folder within the repository.
// Tests run in their package's folder.
func testPackage() string {
	folder, err := os.Getwd()
	if err != nil {
		return filepath.Base(os.Args[0])
	}
	root, err := repository()
	if err != nil {
		return folder
	}
	name, err := filepath.Rel(root, folder)
	if err != nil {
		return folder
	}
	return name
}

// repository finds the folder that holds the module's go.mod, going up from
// the tests' folder; the test kit has nested modules, which are no roots.
func repository() (string, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the repository: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(folder, "internal", "testkit", "testkit.go")); err == nil {
			return folder, nil
		}
		parent := filepath.Dir(folder)
		if parent == folder {
			return "", errors.New("find the repository: the tests do not run in one of its folders")
		}
		folder = parent
	}
}

// Repository returns the folder of the repository that the tests run in.
func Repository() (string, error) { return repository() }
