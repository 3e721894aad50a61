package sluice

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sluice/internal/testkit"
	"strings"
	"testing"
	"time"
)

// Patience ends what hangs: how long a test waits for something that must
// happen, however busy the machine is.
const Patience = 10 * time.Minute

// APISecret is the token of the API in these tests.
const APISecret = "api-secret-f3b1c2"

// Canary begins every other secret of these tests, so that one that is shown
// anywhere is recognised.
const Canary = "sluice-canary-"

// HookSecret is what every program is given to verify the upstream's webhooks
// with.
const HookSecret = Canary + "0a1b2c3d4e5f"

// CheckNoSecret fails the test if a text shows a credential: tokens of the
// simulated GitHub, and those that tests make up, start as real ones do.
func CheckNoSecret(t *testing.T, where, text string) {
	t.Helper()
	for _, secret := range []string{"ghp_", APISecret, Canary} {
		if i := strings.Index(text, secret); i >= 0 {
			t.Errorf("%s shows a secret: …%s…", where, text[max(0, i-60):min(len(text), i+20)])
		}
	}
}

// Answer is what a finished program left behind.
type Answer struct {
	Code     int
	Out, Err string
}

// Expect checks how a program ended and that it said something on stderr.
func (a Answer) Expect(t *testing.T, code int, says ...string) Answer {
	t.Helper()
	if a.Code != code {
		t.Errorf("exit code %d, want %d\nstdout: %s\nstderr: %s", a.Code, code, a.Out, a.Err)
	}
	for _, text := range says {
		if !strings.Contains(a.Err, text) {
			t.Errorf("stderr does not say %q:\n%s", text, a.Err)
		}
	}
	return a
}

// Run runs the program to its end.
func Run(t *testing.T, env []string, args ...string) Answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, Binary, args...)
	cmd.Env = append(Environment(), env...)
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
	CheckNoSecret(t, "stdout", out.String())
	CheckNoSecret(t, "stderr", errOut.String())
	return Answer{code, out.String(), errOut.String()}
}

// Environment leaves out settings of whoever runs the tests.
func Environment() []string {
	env := []string{"SLUICE_GITHUB_HOOK_SECRET=" + HookSecret}
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "SLUICE_") {
			env = append(env, kv)
		}
	}
	return env
}

// Seeded returns a random source whose seed is printed, and can be given with
// SLUICE_TEST_SEED.
func Seeded(t *testing.T) *rand.Rand {
	t.Helper()
	seed := testkit.Seed(t)
	return rand.New(rand.NewPCG(seed, seed))
}

// Decode reads JSON that must be one value and nothing else.
func Decode[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return v
}

// Summary is what collect and demo print.
type Summary struct {
	Accounts  int            `json:"accounts"`
	Runs      map[string]int `json:"runs"`
	Calls     int            `json:"calls"`
	Documents int            `json:"documents"`
	Results   []struct {
		Login, Status, Reason string
		Run, Calls            int
		Paused                bool
		Statistics            map[string]any
		Ledger                struct {
			Known  int `json:"pages_known"`
			Stored int `json:"pages_stored"`
			Gaps   int
		} `json:"ledger_summary"`
	} `json:"results"`
	TruthMatch *bool `json:"truth_match"`
	Violations *int  `json:"violations"`
}

// KeyFile makes a key that several machines could share.
func KeyFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sluice.key")
	if err := os.WriteFile(path, []byte(strings.Repeat("0a", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
