package testkit

import (
	"context"
	_ "embed"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

//go:embed clockshim/clock.c
var clockSource []byte

// ServerClock is the clock of one server, which a test may set.
type ServerClock struct {
	tb   testing.TB
	path string
}

// Set moves the server's time of day: so far ahead of the real one, or behind
// it. Time goes on passing from there.
func (c *ServerClock) Set(ahead time.Duration) {
	c.tb.Helper()
	// The server has mapped the file: it is changed in place.
	f, err := os.OpenFile(c.path, os.O_WRONLY, 0)
	if err == nil {
		_, err = f.Write(binary.NativeEndian.AppendUint64(nil, uint64(ahead.Microseconds())))
		if closed := f.Close(); err == nil {
			err = closed
		}
	}
	if err != nil {
		c.tb.Fatalf("testkit: set a clock: %v", err)
	}
}

// StartRedisWithClock is StartRedis with a clock that the test may set. Tests
// run with the race detector, so there is a C compiler.
func StartRedisWithClock(tb testing.TB, args ...string) (*Server, *ServerClock) {
	tb.Helper()
	prog, err := redisProgram(args...)
	if err != nil {
		current.refuse(tb, err)
	}
	shim, err := buildClock(tb.Context())
	if err != nil {
		current.refuse(tb, err)
	}
	clock := &ServerClock{tb: tb, path: filepath.Join(tb.TempDir(), "clock")}
	if err := os.WriteFile(clock.path, make([]byte, 8), 0o600); err != nil {
		tb.Fatalf("testkit: make a clock: %v", err)
	}
	prog.environment = []string{"LD_PRELOAD=" + shim, "SLUICE_TEST_CLOCK=" + clock.path}
	server := current.serve(tb, prog, redisURL)
	current.sayRedis(tb)
	return server, clock
}

// buildClock compiles the clock once for all who have the same source.
func buildClock(ctx context.Context) (string, error) {
	tools, unlock, err := lockTools("clock")
	if err != nil {
		return "", err
	}
	defer unlock()
	hash := fnv.New64a()
	hash.Write(clockSource)
	built := filepath.Join(tools, fmt.Sprintf("clock-%x.so", hash.Sum(nil)))
	if _, err := os.Stat(built); err == nil {
		return built, nil
	}
	source := built + ".c"
	if err := os.WriteFile(source, clockSource, 0o600); err != nil {
		return "", fmt.Errorf("write the clock's source: %w", err)
	}
	defer func() { _ = os.Remove(source) }()
	out, err := exec.CommandContext(ctx, "cc", "-shared", "-fPIC", "-O2", "-Wall", "-o", built+".new", source).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("compile a clock for servers (install a C compiler): %w\n%s", err, out)
	}
	if err := os.Rename(built+".new", built); err != nil {
		return "", fmt.Errorf("keep the compiled clock: %w", err)
	}
	return built, nil
}
