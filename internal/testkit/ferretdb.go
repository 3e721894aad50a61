package testkit

import (
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// ferretName is what the stand-in is called.
const ferretName = "ferretdb"

// buildFerretDB builds the server of MongoDB's protocol that stands in for a
// mongod, unless it is there already, and returns its path. Test processes that
// need it at the same time wait for the first.
func buildFerretDB() (string, error) {
	root, err := repository()
	if err != nil {
		return "", err
	}
	source, tools := filepath.Join(root, "internal", "testkit", "ferretdb"), filepath.Join(root, ".tools")
	stamp, err := fingerprint(source)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(tools, 0o755); err != nil {
		return "", fmt.Errorf("make the folder for tools: %w", err)
	}
	lock, err := lockFile(filepath.Join(tools, "ferretdb.lock"), true)
	if err != nil {
		return "", err
	}
	defer func() { _ = lock.Close() }()
	built := filepath.Join(tools, "ferretdb-"+stamp)
	if _, err := os.Stat(built); err == nil {
		return built, nil
	}
	// A build that is interrupted must not leave half a program behind.
	unfinished := built + ".unfinished"
	modfile, remove, err := changeFerretDB(source)
	if err != nil {
		return "", err
	}
	defer remove()
	if _, err := goIn(source, "build", "-trimpath", "-tags", "narrowed", "-modfile", modfile, "-o", unfinished, "."); err != nil {
		return "", err
	}
	if err := os.Rename(unfinished, built); err != nil {
		return "", fmt.Errorf("install FerretDB: %w", err)
	}
	return built, nil
}

// goIn runs the go command in the module of FerretDB's program and returns what
// it writes.
func goIn(source string, args ...string) (string, error) {
	command := exec.CommandContext(context.Background(), "go", args...)
	command.Dir = source
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-mod=readonly -buildvcs=false")
	out, err := command.Output()
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			out = append(out, failed.Stderr...)
		}
		return "", fmt.Errorf("go %s: %w: %s", args[0], err, out)
	}
	return strings.TrimSpace(string(out)), nil
}

// fingerprint is short and differs when the program is another.
func fingerprint(source string) (string, error) {
	hash := sha256.New()
	for _, name := range []string{"main.go", "gate.go", narrowFile, "go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(source, name))
		if err != nil {
			return "", fmt.Errorf("read the source of FerretDB's program: %w", err)
		}
		hash.Write(text)
	}
	_, _ = fmt.Fprint(hash, ferretChanges)
	return fmt.Sprintf("%x", hash.Sum(nil)[:6]), nil
}

// ferretVersion reads the version from the program: FerretDB does not know its
// own when it is built into another.
func ferretVersion(path string) string {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return "of unknown version"
	}
	for _, module := range info.Deps {
		if module.Path == ferretModule {
			return module.Version
		}
	}
	return "of unknown version"
}
