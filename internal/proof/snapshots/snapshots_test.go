package snapshots_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"sluice/internal/testkit/sluice"
)

// answerJSON is what a reader gets.
type answerJSON struct {
	Snapshot     json.RawMessage
	Freshness    string
	UpdateQueued bool
	Status       *struct{ Code string }
}

func TestSnapshots(t *testing.T) {
	g := sluice.SimulateGame(t)
	s := g.Play(t.TempDir())
	ocid := g.Ocids()[0]
	first := sluice.Decode[answerJSON](t, s.Get("/api/v1/snapshots/maplestory/"+ocid))
	if first.Freshness != "NOT_FOUND" || !first.UpdateQueued || string(first.Snapshot) != "null" {
		t.Errorf("got %+v", first)
	}
	fresh := sluice.Decode[answerJSON](t, sluice.Run(t, nil, "snapshot", "get", ocid, "--wait", "--server", s.URL, "--output", "json").Expect(t, 0).Out)
	if fresh.Freshness != "FRESH" {
		t.Errorf("got %+v", fresh)
	}
	g.IsTrue(ocid, fresh.Snapshot)
	plain := sluice.Run(t, nil, "snapshot", "get", "item-equipment:"+ocid, "--server", s.URL).Expect(t, 0, "is FRESH")
	if strings.TrimSpace(plain.Out) != string(sluice.Compact(t, fresh.Snapshot)) {
		t.Errorf("got %.200s", plain.Out)
	}
	if calls := g.Audit().Calls; calls != 1 {
		t.Errorf("%d calls", calls)
	}

	g.Ask(http.MethodPost, "change?key="+ocid, nil)
	asked := sluice.Run(t, nil, "refresh", ocid, "--server", s.URL).Expect(t, 0)
	if !strings.Contains(asked.Out, "PUBLISHED") {
		t.Errorf("got %s", asked.Out)
	}
	var changed answerJSON
	for deadline := time.Now().Add(sluice.Patience); !g.Tells(ocid, changed.Snapshot); {
		if time.Now().After(deadline) {
			t.Fatal("the change was never seen")
		}
		changed = sluice.Decode[answerJSON](t, s.Get("/api/v1/snapshots/maplestory/"+ocid))
	}
	overview := sluice.Run(t, nil, "refresh", "--server", s.URL).Expect(t, 0)
	for _, text := range []string{"maplestory: 1 snapshot", "calls today: 2 of 20,000,000", "breaker of the store: closed"} {
		if !strings.Contains(overview.Out, text) {
			t.Errorf("it does not say %q:\n%s", text, overview.Out)
		}
	}
	s.Signal(syscall.SIGTERM)
	s.Ends().Expect(t, 0)
}

func TestSnapshotsByName(t *testing.T) {
	g := sluice.SimulateGame(t)
	s := g.Play(t.TempDir())
	c := g.Characters()[7]
	byName := func(key string, code int, says ...string) sluice.Answer {
		return sluice.Run(t, nil, "snapshot", "get", "--name", key, "--wait", "--server", s.URL).Expect(t, code, says...)
	}
	g.IsTrue(c.Ocid, json.RawMessage(byName(c.Name, 0, "item-equipment:"+c.Ocid+" is FRESH").Out))
	byName("basic:"+c.Name, 0, "basic:"+c.Ocid+" is FRESH")
	// The name was asked for once, and each part.
	if calls := g.Audit().Calls; calls != 3 {
		t.Errorf("%d calls, want 3", calls)
	}
	byName("Nobody", 1, "no character of the name Nobody")
	byName("a b", 2, "letters and digits")
}

func TestDeadLettersOfTheProgram(t *testing.T) {
	g := sluice.SimulateGame(t)
	s := g.Play(t.TempDir())
	a := sluice.Run(t, nil, "snapshot", "get", "nobody", "--wait", "--server", s.URL).Expect(t, 0, "FAILED after 1 attempt")
	if strings.TrimSpace(a.Out) != "null" {
		t.Errorf("got %s", a.Out)
	}
	list := sluice.Run(t, nil, "dlq", "list", "--server", s.URL).Expect(t, 0, "OPENAPI00003: 1")
	if !strings.Contains(list.Out, "maplestory:item-equipment:nobody") {
		t.Errorf("got %s", list.Out)
	}
	letters := sluice.Decode[struct{ Items []struct{ ID string } }](t, sluice.Run(t, nil, "dlq", "list", "--server", s.URL, "--output", "json").Expect(t, 0).Out)
	id := letters.Items[0].ID
	shown := sluice.Decode[struct {
		Why   string
		Tries int
	}](t, sluice.Run(t, nil, "dlq", "show", id, "--server", s.URL).Expect(t, 0).Out)
	if shown.Why != "OPENAPI00003" || shown.Tries != 1 {
		t.Errorf("got %+v", shown)
	}
	if again := sluice.Run(t, nil, "dlq", "redrive", id, "--server", s.URL).Expect(t, 0); !strings.Contains(again.Out, "1 dead letter redriven") {
		t.Errorf("got %s", again.Out)
	}
	for deadline := time.Now().Add(sluice.Patience); ; {
		text := sluice.Run(t, nil, "dlq", "list", "--why", "OPENAPI00003", "--server", s.URL, "--output", "json").Expect(t, 0).Out
		if found := sluice.Decode[struct{ Items []struct{ ID string } }](t, text).Items; len(found) == 1 {
			id = found[0].ID
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("it was not asked for again")
		}
	}
	if gone := sluice.Run(t, nil, "dlq", "discard", id, "--server", s.URL).Expect(t, 0); !strings.Contains(gone.Out, "1 dead letter discarded") {
		t.Errorf("got %s", gone.Out)
	}
	sluice.Run(t, nil, "dlq", "show", id, "--server", s.URL).Expect(t, 1, "there is no dead letter")
	sluice.Run(t, nil, "dlq", "discard", "--server", s.URL).Expect(t, 2, "takes dead letters' ids")
	sluice.Run(t, nil, "dlq", "redrive", "--server", s.URL).Expect(t, 2, "or --why")
}

// TestSnapshotsSurviveAKill: what was accepted is carried out by the next
// process, and never faster than the key allows.
func TestSnapshotsSurviveAKill(t *testing.T) {
	g := sluice.SimulateGame(t, "--per-second", "40")
	dir := t.TempDir()
	s := g.Play(dir, "--maplestory-per-second", "40")
	ocids := g.Ocids()
	args := append([]string{"refresh", "--priority", "low", "--server", s.URL}, ocids...)
	if asked := sluice.Run(t, nil, args...).Expect(t, 0); strings.Count(asked.Out, "PUBLISHED") != len(ocids) {
		t.Errorf("got %s", asked.Out)
	}
	for g.Audit().Calls < 30 {
		if err := s.T.Context().Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = s.Wait()
	s = g.Play(dir, "--maplestory-per-second", "40")
	for _, ocid := range ocids {
		text := sluice.Run(t, nil, "snapshot", "get", ocid, "--wait", "--server", s.URL, "--output", "json").Expect(t, 0).Out
		a := sluice.Decode[answerJSON](t, text)
		if a.Freshness != "FRESH" {
			t.Fatalf("got %+v", a)
		}
		g.IsTrue(ocid, a.Snapshot)
	}
	if a := g.Audit(); a.Violations != 0 || a.LargestSecond > 40 {
		t.Errorf("got %+v", a)
	}
}

// TestFewCallsASecond: keys that allow little are served as well.
func TestFewCallsASecond(t *testing.T) {
	g := sluice.SimulateGame(t)
	for _, perSecond := range []string{"2", "10"} {
		s := g.Play(t.TempDir(), "--maplestory-per-second", perSecond)
		ocid := g.Ocids()[1]
		sluice.Run(t, nil, "snapshot", "get", ocid, "--wait", "--server", s.URL).Expect(t, 0, "FRESH")
	}
	sluice.Run(t, []string{"SLUICE_MAPLESTORY_KEY=k"}, "up", "--data-dir", t.TempDir(), "--maplestory-per-second", "1").Expect(t, 2, "at least 2")
}
