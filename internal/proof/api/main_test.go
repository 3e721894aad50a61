// Package api_test proves the API by its description: linters read it, clients
// are generated from it and used, and every operation is fuzzed from it.
package api_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	sim "sluice/internal/simulator/github"
	"sluice/internal/testkit"
	"sluice/internal/testkit/sluice"
)

func TestMain(m *testing.M) { os.Exit(sluice.Main(m)) }

// start runs a service that has everything which is embedded, with simulated
// upstreams.
func start(t *testing.T) (*sluice.Service, *sluice.Upstream) {
	t.Helper()
	u := sluice.NewUpstream(t, sim.Options{Seed: 7, Accounts: 3, Shape: &sim.Shape{
		Repos: sim.Exactly(2), Commits: sim.Exactly(3), Issues: sim.Exactly(2), Pulls: sim.Exactly(1),
	}})
	game := sluice.SimulateGame(t)
	s := sluice.Up(t, u, []string{"SLUICE_API_TOKEN=" + sluice.APISecret, "SLUICE_MAPLESTORY_KEY=" + gameKey},
		"--maplestory-url", game.URL, "--prefetch", "0", "--archive", t.TempDir())
	s.Token = sluice.APISecret
	return s, u
}

// tool is the path of one of the programs that scripts/api-tools gets.
func tool(t *testing.T, name string) string {
	t.Helper()
	root, err := testkit.Repository()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, ".tools", "api", name)
	if _, err := os.Stat(path); err != nil {
		testkit.Lacks(t, "what checks the API", "there is no "+name+" in .tools/api; run scripts/api-tools, which needs npm, Python and their registries")
	}
	return path
}

// document keeps the service's description in a file.
func document(t *testing.T, s *sluice.Service) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "openapi.json")
	if err := os.WriteFile(path, []byte(s.Get("/api/openapi.json")), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// program is one that is run to its end.
type program struct {
	dir string
	env []string
}

// run runs a program, which must succeed, and returns what it said.
func (p program) run(t *testing.T, name string, args ...string) string {
	t.Helper()
	said, _ := p.both(t, name, args...)
	return said
}

// both also returns what it said to whoever looks on.
func (p program) both(t *testing.T, name string, args ...string) (said, aside string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), name, args...)
	command.Dir = p.dir
	// None of them is to tell anybody that it was run, or to look for a newer one.
	command.Env = append(os.Environ(), append([]string{
		"REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true", "NO_COLOR=1", "CGO_ENABLED=0", "PYTHONDONTWRITEBYTECODE=1",
	}, p.env...)...)
	var out, complaints bytes.Buffer
	command.Stdout, command.Stderr = &out, &complaints
	if err := command.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s\n%s", filepath.Base(name), strings.Join(args, " "), err, tail(out.String()), tail(complaints.String()))
	}
	return out.String(), complaints.String()
}

// tail is the end of a long text.
func tail(text string) string { return text[max(0, len(text)-8000):] }

// ask makes a request of any kind, for as long as its context lasts.
func ask(ctx context.Context, t *testing.T, s *sluice.Service, method, path string, header map[string]string) (status int, text string) {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, method, s.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+s.Token)
	for name, value := range header {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	// A stream has no end; what comes first is enough.
	first := make([]byte, 64<<10)
	n, err := response.Body.Read(first)
	if err != nil && err != io.EOF { //nolint:errorlint // a reader's own
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return response.StatusCode, string(first[:n])
}
