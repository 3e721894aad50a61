package main_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	sim "sluice/internal/simulator/github"
	"sluice/internal/testkit"
)

// binary is the real program, built once for all tests.
var binary string

func TestMain(m *testing.M) {
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "sluice-binary")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "sluice")
	build := exec.Command("go", "build", "-o", binary, ".")
	// The program under test is the product as it is shipped: without cgo.
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		return 1
	}
	return testkit.Main(m)
}

// upstream is a simulated GitHub that outlives the programs that call it.
type upstream struct {
	*sim.Server
	url    string
	tokens string
}

func newUpstream(t *testing.T, o sim.Options) *upstream {
	t.Helper()
	u := &upstream{Server: sim.New(o)}
	server := httptest.NewServer(u.Server)
	t.Cleanup(server.Close)
	u.url = server.URL
	u.tokens = filepath.Join(t.TempDir(), "tokens")
	var lines strings.Builder
	for _, login := range u.Logins() {
		fmt.Fprintln(&lines, login, u.Token(login))
	}
	if err := os.WriteFile(u.tokens, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return u
}

// collect is the command line that collects everybody.
func (u *upstream) collect(dir string, more ...string) []string {
	args := []string{"collect", "--data-dir", dir, "--github-url", u.url, "--token-file", u.tokens, "--floor", "0", "--output", "json"}
	return append(append(args, more...), u.Logins()...)
}

// answer is what a finished program left behind.
type answer struct {
	code        int
	out, errOut string
}

// sluice runs the program to its end.
func sluice(t *testing.T, env []string, args ...string) answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = append(cleanEnv(), env...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	if ctx.Err() != nil {
		t.Fatalf("sluice %v did not end: %s", args, errOut.String())
	}
	code := cmd.ProcessState.ExitCode()
	if err != nil && code < 0 {
		t.Fatalf("sluice %v: %v", args, err)
	}
	checkNoSecret(t, "stdout", out.String())
	checkNoSecret(t, "stderr", errOut.String())
	return answer{code, out.String(), errOut.String()}
}

// cleanEnv leaves out settings of whoever runs the tests.
func cleanEnv() []string {
	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "SLUICE_") {
			env = append(env, kv)
		}
	}
	return env
}

// seeded returns a random source whose seed is printed, and can be given with
// SLUICE_TEST_SEED.
func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("SLUICE_TEST_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("SLUICE_TEST_SEED: %v", err)
		}
	}
	t.Logf("SLUICE_TEST_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, seed))
}
