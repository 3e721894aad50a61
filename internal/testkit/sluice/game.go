package sluice

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	maplesim "sluice/internal/simulator/maplestory"
)

// Game is a running `sluice sim maplestory`.
type Game struct {
	T   *testing.T
	URL string
}

// SimulateGame starts the simulator of the game, as a program of its own.
func SimulateGame(t *testing.T, more ...string) *Game {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), Binary, append([]string{
		"sim", "maplestory", "--addr", "127.0.0.1:0", "--characters", "200", "--body-size", "5000",
		"--latency", "20ms", "--jitter", "20ms", "--change-every", "0",
	}, more...)...)
	cmd.Env = Environment()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.Contains(line, "200 characters") {
		t.Fatalf("the simulator says %q, %v", line, err)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return &Game{t, AddressIn(t, line)}
}

// Ask makes a request to the simulator's own endpoints.
func (g *Game) Ask(method, path string, out any) {
	g.T.Helper()
	ctx, cancel := context.WithTimeout(g.T.Context(), Patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, g.URL+"/_sim/"+path, nil)
	if err != nil {
		g.T.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		g.T.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode >= http.StatusBadRequest {
		g.T.Fatalf("%s %s: %s", method, path, response.Status)
	}
	if out == nil {
		return
	}
	if err := json.NewDecoder(response.Body).Decode(out); err != nil {
		g.T.Fatal(err)
	}
}

// Audit returns what the simulator counted.
func (g *Game) Audit() (a maplesim.Audit) {
	g.T.Helper()
	g.Ask(http.MethodGet, "audit", &a)
	return a
}

// Characters returns everybody in the game.
func (g *Game) Characters() (all []maplesim.Character) {
	g.T.Helper()
	g.Ask(http.MethodGet, "characters", &all)
	return all
}

// Ocids returns the keys of everybody in the game.
func (g *Game) Ocids() (ocids []string) {
	g.T.Helper()
	for _, c := range g.Characters() {
		ocids = append(ocids, c.Ocid)
	}
	return ocids
}

// Compact takes out the spaces that are for people.
func Compact(t *testing.T, text json.RawMessage) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := json.Compact(&out, text); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Tells reports whether a snapshot is what the simulator says it is.
func (g *Game) Tells(ocid string, snapshot json.RawMessage) bool {
	g.T.Helper()
	if len(snapshot) == 0 {
		return false
	}
	var truth struct{ Hash string }
	g.Ask(http.MethodGet, "truth/item-equipment/"+ocid, &truth)
	sum := sha256.Sum256(Compact(g.T, snapshot))
	return hex.EncodeToString(sum[:]) == truth.Hash
}

// IsTrue checks that a snapshot is what the simulator says it is.
func (g *Game) IsTrue(ocid string, snapshot json.RawMessage) {
	g.T.Helper()
	if !g.Tells(ocid, snapshot) {
		g.T.Errorf("%s is %.200s, which is not the truth", ocid, snapshot)
	}
}

// Play is a running `sluice up` that keeps the game's characters.
func (g *Game) Play(dir string, more ...string) *Service {
	g.T.Helper()
	s := &Service{Dir: dir}
	s.Program = Start(g.T, []string{"SLUICE_MAPLESTORY_KEY=" + maplesim.DefaultKey}, append([]string{
		"up", "--addr", "127.0.0.1:0", "--data-dir", dir, "--maplestory-url", g.URL, "--prefetch", "0",
	}, more...)...)
	s.URL = AddressIn(g.T, s.Says("sluice serves http://"))
	return s
}

// Holds is tells for callers that are not the test's own goroutine.
func (g *Game) Holds(ctx context.Context, ocid string, snapshot json.RawMessage) bool {
	var truth struct{ Hash string }
	var text bytes.Buffer
	if g.Get(ctx, "truth/item-equipment/"+ocid, &truth) != nil || json.Compact(&text, snapshot) != nil {
		return false
	}
	sum := sha256.Sum256(text.Bytes())
	return hex.EncodeToString(sum[:]) == truth.Hash
}

// Get is ask for those callers.
func (g *Game) Get(ctx context.Context, path string, out any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, g.URL+"/_sim/"+path, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	return json.NewDecoder(response.Body).Decode(out)
}
