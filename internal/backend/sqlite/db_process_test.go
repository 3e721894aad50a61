package sqlite_test

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"sluice/internal/backend/sqlite"
	"sluice/internal/domain"
	"sluice/internal/testkit"
)

func TestSecondProcessIsToldWhoHoldsTheFolder(t *testing.T) {
	dir := t.TempDir()
	first := startChild(t, "hold", dir)
	defer first.wait()
	defer first.kill(t)
	if got := first.line(); got != "open" {
		t.Fatalf("the child says %q", got)
	}
	_, err := sqlite.Open(t.Context(), sqlite.Options{Dir: dir})
	if domain.CodeOf(err) != domain.CodeConflict {
		t.Fatalf("second process: %v, want code conflict", err)
	}
	pid := strconv.Itoa(first.cmd.Process.Pid)
	for _, part := range []string{dir, "process " + pid, "the child", "--data-dir"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not name %q: %v", part, err)
		}
	}
	if got := sqlite.Holder(dir); !strings.Contains(got, pid) {
		t.Errorf("the holder is %q", got)
	}
}

// TestChildIsRefusedWhileWeHoldTheFolder is the same from the other side, and
// in one process: a second Open is refused as well.
func TestChildIsRefusedWhileWeHoldTheFolder(t *testing.T) {
	dir := t.TempDir()
	db := open(t, sqlite.Options{Dir: dir, Holder: "the parent"})
	if err := db.SetHolder("the parent on 127.0.0.1:8090"); err != nil {
		t.Fatalf("set holder: %v", err)
	}
	second := startChild(t, "hold", dir)
	said := second.line()
	second.wait()
	if !strings.Contains(said, "the parent on 127.0.0.1:8090") {
		t.Errorf("the child says %q", said)
	}
	if _, err := sqlite.Open(t.Context(), sqlite.Options{Dir: dir}); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("second open in one process: %v, want code conflict", err)
	}
}

func TestLockIsFreedByDeathAndByClose(t *testing.T) {
	dir := t.TempDir()
	holder := startChild(t, "hold", dir)
	if got := holder.line(); got != "open" {
		t.Fatalf("the child says %q", got)
	}
	holder.kill(t)
	holder.wait()
	if got := sqlite.Holder(dir); got != "" {
		t.Errorf("a dead process holds the folder: %q", got)
	}
	db := open(t, sqlite.Options{Dir: dir})
	if err := db.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	open(t, sqlite.Options{Dir: dir})
	if got := sqlite.Holder(t.TempDir()); got != "" {
		t.Errorf("an empty folder is held by %q", got)
	}
}

// TestKilledWriterLosesNothingAcknowledged kills a real process that writes in
// a loop, again and again on the same folder.
func TestKilledWriterLosesNothingAcknowledged(t *testing.T) {
	seed := testkit.Seed(t)
	dice := rand.New(rand.NewPCG(seed, 0))
	for range 5 {
		dir := t.TempDir()
		writer := startChild(t, "write", dir)
		if got := writer.line(); got != "open" {
			t.Fatalf("the child says %q", got)
		}
		var acknowledged []int
		read := func() bool {
			line := writer.line()
			n, err := strconv.Atoi(line)
			if err == nil {
				acknowledged = append(acknowledged, n)
			}
			return line != ""
		}
		for range 50 + dice.IntN(2000) {
			read()
		}
		writer.kill(t)
		for read() {
			continue
		}
		writer.wait()
		db := open(t, sqlite.Options{Dir: dir})
		stored := numbers(t, db)
		for _, n := range acknowledged {
			if !stored[n] {
				t.Fatalf("number %d was acknowledged and is gone (%d acknowledged, %d stored)", n, len(acknowledged), len(stored))
			}
		}
		if len(acknowledged) < 50 {
			t.Fatalf("only %d acknowledged", len(acknowledged))
		}
		if err := sqlite.Verify(t.Context(), db.Path()); err != nil {
			t.Errorf("verify: %v", err)
		}
	}
}
