package main_test

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
	"syscall"
	"testing"
	"time"

	maplesim "sluice/internal/simulator/maplestory"
)

// gameAPI is a running `sluice sim maplestory`.
type gameAPI struct {
	t   *testing.T
	url string
}

func simulateGame(t *testing.T, more ...string) *gameAPI {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, append([]string{
		"sim", "maplestory", "--addr", "127.0.0.1:0", "--characters", "200", "--body-size", "5000",
		"--latency", "20ms", "--jitter", "20ms", "--change-every", "0",
	}, more...)...)
	cmd.Env = cleanEnv()
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
	return &gameAPI{t, addressIn(t, line)}
}

// ask makes a request to the simulator's own endpoints.
func (g *gameAPI) ask(method, path string, out any) {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, g.url+"/_sim/"+path, nil)
	if err != nil {
		g.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		g.t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode >= http.StatusBadRequest {
		g.t.Fatalf("%s %s: %s", method, path, response.Status)
	}
	if out == nil {
		return
	}
	if err := json.NewDecoder(response.Body).Decode(out); err != nil {
		g.t.Fatal(err)
	}
}

func (g *gameAPI) audit() (a maplesim.Audit) {
	g.t.Helper()
	g.ask(http.MethodGet, "audit", &a)
	return a
}

func (g *gameAPI) characters() (all []maplesim.Character) {
	g.t.Helper()
	g.ask(http.MethodGet, "characters", &all)
	return all
}

func (g *gameAPI) ocids() (ocids []string) {
	g.t.Helper()
	for _, c := range g.characters() {
		ocids = append(ocids, c.Ocid)
	}
	return ocids
}

// compact takes out the spaces that are for people.
func compact(t *testing.T, text json.RawMessage) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := json.Compact(&out, text); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// tells reports whether a snapshot is what the simulator says it is.
func (g *gameAPI) tells(ocid string, snapshot json.RawMessage) bool {
	g.t.Helper()
	if len(snapshot) == 0 {
		return false
	}
	var truth struct{ Hash string }
	g.ask(http.MethodGet, "truth/item-equipment/"+ocid, &truth)
	sum := sha256.Sum256(compact(g.t, snapshot))
	return hex.EncodeToString(sum[:]) == truth.Hash
}

func (g *gameAPI) isTrue(ocid string, snapshot json.RawMessage) {
	g.t.Helper()
	if !g.tells(ocid, snapshot) {
		g.t.Errorf("%s is %.200s, which is not the truth", ocid, snapshot)
	}
}

// play is a running `sluice up` that keeps the game's characters.
func (g *gameAPI) play(dir string, more ...string) *service {
	g.t.Helper()
	s := &service{dir: dir}
	s.program = start(g.t, []string{"SLUICE_MAPLESTORY_KEY=" + maplesim.DefaultKey}, append([]string{
		"up", "--addr", "127.0.0.1:0", "--data-dir", dir, "--maplestory-url", g.url, "--prefetch", "0",
	}, more...)...)
	s.url = addressIn(g.t, s.says("sluice serves http://"))
	return s
}

// answerJSON is what a reader gets.
type answerJSON struct {
	Snapshot     json.RawMessage
	Freshness    string
	UpdateQueued bool
	Status       *struct{ Code string }
}

func TestSnapshots(t *testing.T) {
	g := simulateGame(t)
	s := g.play(t.TempDir())
	ocid := g.ocids()[0]
	first := decode[answerJSON](t, s.get("/api/v1/snapshots/maplestory/"+ocid))
	if first.Freshness != "NOT_FOUND" || !first.UpdateQueued || string(first.Snapshot) != "null" {
		t.Errorf("got %+v", first)
	}
	fresh := decode[answerJSON](t, sluice(t, nil, "snapshot", "get", ocid, "--wait", "--server", s.url, "--output", "json").expect(t, 0).out)
	if fresh.Freshness != "FRESH" {
		t.Errorf("got %+v", fresh)
	}
	g.isTrue(ocid, fresh.Snapshot)
	plain := sluice(t, nil, "snapshot", "get", "item-equipment:"+ocid, "--server", s.url).expect(t, 0, "is FRESH")
	if strings.TrimSpace(plain.out) != string(compact(t, fresh.Snapshot)) {
		t.Errorf("got %.200s", plain.out)
	}
	if calls := g.audit().Calls; calls != 1 {
		t.Errorf("%d calls", calls)
	}

	g.ask(http.MethodPost, "change?key="+ocid, nil)
	asked := sluice(t, nil, "refresh", ocid, "--server", s.url).expect(t, 0)
	if !strings.Contains(asked.out, "PUBLISHED") {
		t.Errorf("got %s", asked.out)
	}
	var changed answerJSON
	for deadline := time.Now().Add(patience); !g.tells(ocid, changed.Snapshot); {
		if time.Now().After(deadline) {
			t.Fatal("the change was never seen")
		}
		changed = decode[answerJSON](t, s.get("/api/v1/snapshots/maplestory/"+ocid))
	}
	overview := sluice(t, nil, "refresh", "--server", s.url).expect(t, 0)
	for _, text := range []string{"maplestory: 1 snapshot", "calls today: 2 of 20,000,000", "breaker of the store: closed"} {
		if !strings.Contains(overview.out, text) {
			t.Errorf("it does not say %q:\n%s", text, overview.out)
		}
	}
	s.signal(syscall.SIGTERM)
	s.ends().expect(t, 0)
}

func TestSnapshotsByName(t *testing.T) {
	g := simulateGame(t)
	s := g.play(t.TempDir())
	c := g.characters()[7]
	byName := func(key string, code int, says ...string) answer {
		return sluice(t, nil, "snapshot", "get", "--name", key, "--wait", "--server", s.url).expect(t, code, says...)
	}
	g.isTrue(c.Ocid, json.RawMessage(byName(c.Name, 0, "item-equipment:"+c.Ocid+" is FRESH").out))
	byName("basic:"+c.Name, 0, "basic:"+c.Ocid+" is FRESH")
	// The name was asked for once, and each part.
	if calls := g.audit().Calls; calls != 3 {
		t.Errorf("%d calls, want 3", calls)
	}
	byName("Nobody", 1, "no character of the name Nobody")
	byName("a b", 2, "letters and digits")
}

func TestDeadLettersOfTheProgram(t *testing.T) {
	g := simulateGame(t)
	s := g.play(t.TempDir())
	a := sluice(t, nil, "snapshot", "get", "nobody", "--wait", "--server", s.url).expect(t, 0, "FAILED after 1 attempt")
	if strings.TrimSpace(a.out) != "null" {
		t.Errorf("got %s", a.out)
	}
	list := sluice(t, nil, "dlq", "list", "--server", s.url).expect(t, 0, "OPENAPI00003: 1")
	if !strings.Contains(list.out, "maplestory/item-equipment:nobody") {
		t.Errorf("got %s", list.out)
	}
	letters := decode[struct{ Letters []struct{ ID string } }](t, sluice(t, nil, "dlq", "list", "--server", s.url, "--output", "json").expect(t, 0).out)
	id := letters.Letters[0].ID
	shown := decode[struct {
		Why   string
		Tries int
	}](t, sluice(t, nil, "dlq", "show", id, "--server", s.url).expect(t, 0).out)
	if shown.Why != "OPENAPI00003" || shown.Tries != 1 {
		t.Errorf("got %+v", shown)
	}
	if again := sluice(t, nil, "dlq", "redrive", id, "--server", s.url).expect(t, 0); !strings.Contains(again.out, "1 dead letter asked for once more") {
		t.Errorf("got %s", again.out)
	}
	for deadline := time.Now().Add(patience); ; {
		text := sluice(t, nil, "dlq", "list", "--why", "OPENAPI00003", "--server", s.url, "--output", "json").expect(t, 0).out
		if found := decode[struct{ Letters []struct{ ID string } }](t, text).Letters; len(found) == 1 {
			id = found[0].ID
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("it was not asked for again")
		}
	}
	if gone := sluice(t, nil, "dlq", "discard", id, "--server", s.url).expect(t, 0); !strings.Contains(gone.out, "1 dead letter discarded") {
		t.Errorf("got %s", gone.out)
	}
	sluice(t, nil, "dlq", "show", id, "--server", s.url).expect(t, 1, "there is no dead letter")
	sluice(t, nil, "dlq", "discard", "--server", s.url).expect(t, 2, "takes dead letters' ids")
	sluice(t, nil, "dlq", "redrive", "--server", s.url).expect(t, 2, "or --why")
}

// TestSnapshotsSurviveAKill: what was accepted is carried out by the next
// process, and never faster than the key allows.
func TestSnapshotsSurviveAKill(t *testing.T) {
	g := simulateGame(t, "--per-second", "40")
	dir := t.TempDir()
	s := g.play(dir, "--maplestory-per-second", "40")
	ocids := g.ocids()
	args := append([]string{"refresh", "--priority", "low", "--server", s.url}, ocids...)
	if asked := sluice(t, nil, args...).expect(t, 0); strings.Count(asked.out, "PUBLISHED") != len(ocids) {
		t.Errorf("got %s", asked.out)
	}
	for g.audit().Calls < 30 {
		if err := s.t.Context().Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = s.wait()
	s = g.play(dir, "--maplestory-per-second", "40")
	for _, ocid := range ocids {
		text := sluice(t, nil, "snapshot", "get", ocid, "--wait", "--server", s.url, "--output", "json").expect(t, 0).out
		a := decode[answerJSON](t, text)
		if a.Freshness != "FRESH" {
			t.Fatalf("got %+v", a)
		}
		g.isTrue(ocid, a.Snapshot)
	}
	if a := g.audit(); a.Violations != 0 || a.LargestSecond > 40 {
		t.Errorf("got %+v", a)
	}
}

// TestFewCallsASecond: keys that allow little are served as well.
func TestFewCallsASecond(t *testing.T) {
	g := simulateGame(t)
	for _, perSecond := range []string{"2", "10"} {
		s := g.play(t.TempDir(), "--maplestory-per-second", perSecond)
		ocid := g.ocids()[1]
		sluice(t, nil, "snapshot", "get", ocid, "--wait", "--server", s.url).expect(t, 0, "FRESH")
	}
	sluice(t, []string{"SLUICE_MAPLESTORY_KEY=k"}, "up", "--data-dir", t.TempDir(), "--maplestory-per-second", "1").expect(t, 2, "at least 2")
}
