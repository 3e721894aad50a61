package sluice

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sim "sluice/internal/simulator/github"
)

// Upstream is a simulated GitHub that outlives the programs that call it.
type Upstream struct {
	*sim.Server
	URL    string
	Tokens string
}

// NewUpstream starts a simulated GitHub and writes the file of its tokens.
func NewUpstream(t *testing.T, o sim.Options) *Upstream {
	t.Helper()
	u := &Upstream{Server: sim.New(o)}
	server := httptest.NewServer(u.Server)
	t.Cleanup(server.Close)
	u.URL = server.URL
	u.Tokens = filepath.Join(t.TempDir(), "tokens")
	var lines strings.Builder
	for _, login := range u.Logins() {
		fmt.Fprintln(&lines, login, u.Token(login))
	}
	if err := os.WriteFile(u.Tokens, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return u
}

// Collect is the command line that collects everybody. It asks for nothing beside: tests
// count the calls.
func (u *Upstream) Collect(dir string, more ...string) []string {
	args := []string{"collect", "--data-dir", dir, "--github-url", u.URL, "--token-file", u.Tokens, "--floor", "0", "--no-check", "--output", "json"}
	return append(append(args, more...), u.Logins()...)
}
