package testkit

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// kafkaOrFake returns how to run Apache Kafka, or, where it cannot be had and
// need not, kfake: most of what tests prove is the same with both.
func (k *kit) kafkaOrFake(tb testing.TB) (prog program, fake bool) {
	tb.Helper()
	prog, err := k.kafkaProgram()
	if err == nil {
		return prog, false
	}
	var missing *missingError
	if !errors.As(err, &missing) || os.Getenv("SLUICE_TEST_REQUIRE") == "all" {
		tb.Fatalf("testkit: %v", err)
	}
	if k.once("missing " + missing.server) {
		note(tb, &missingError{missing.server, missing.why + " (kfake stands in for it)"})
	}
	path, err := k.remember("program of kfake", buildFakeKafka)
	if err != nil {
		k.refuse(tb, &missingError{"a server of Kafka's protocol", missing.why + "; and " + err.Error()})
	}
	return program{
		name: "kfake",
		path: path,
		arguments: func(data string, port int) []string {
			return []string{"-port", strconv.Itoa(port), "-data", data}
		},
		answers: kafkaAnswers,
	}, true
}

// remember returns the result of something that is done once.
func (k *kit) remember(name string, make func() (string, error)) (string, error) {
	k.mu.Lock()
	known := k.shared[name]
	if known == nil {
		known = &sharedServer{}
		k.shared[name] = known
	}
	k.mu.Unlock()
	known.once.Do(func() { known.url, known.err = make() })
	return known.url, known.err
}

// buildFakeKafka builds the server that stands in for Kafka, unless it is there
// already, and returns its path.
func buildFakeKafka() (string, error) {
	root, err := repository()
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	for _, name := range []string{"internal/testkit/kfake/main.go", "go.mod"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return "", fmt.Errorf("read the source of kfake's program: %w", err)
		}
		hash.Write(text)
	}
	tools, unlock, err := lockTools("kfake")
	if err != nil {
		return "", err
	}
	defer unlock()
	built := filepath.Join(tools, fmt.Sprintf("kfake-%x", hash.Sum(nil)[:6]))
	if _, err := os.Stat(built); err == nil {
		return built, nil
	}
	// A build that is interrupted must not leave half a program behind.
	unfinished := built + ".unfinished"
	command := exec.CommandContext(context.Background(), "go", "build", "-trimpath", "-o", unfinished, "./internal/testkit/kfake")
	command.Dir = root
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build kfake: %w: %s", err, out)
	}
	if err := os.Rename(unfinished, built); err != nil {
		return "", fmt.Errorf("install kfake: %w", err)
	}
	return built, nil
}

// lockTools returns the folder of programs that tests need and bars other
// processes from making the same one until unlock is called.
func lockTools(name string) (tools string, unlock func(), err error) {
	root, err := repository()
	if err != nil {
		return "", nil, err
	}
	tools = filepath.Join(root, ".tools")
	if err := os.MkdirAll(tools, 0o755); err != nil {
		return "", nil, fmt.Errorf("make the folder for tools: %w", err)
	}
	lock, err := lockFile(filepath.Join(tools, name+".lock"), true)
	if err != nil {
		return "", nil, err
	}
	return tools, func() { _ = lock.Close() }, nil
}
