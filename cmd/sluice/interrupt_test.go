package main_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	sim "sluice/internal/simulator/github"
	"sluice/internal/testkit/sluice"
)

// TestInterruptedCommands interrupts commands that wait for an answer, and one that
// has had a part of it: each ends with 130 and one plain word.
func TestInterruptedCommands(t *testing.T) {
	asked := make(chan struct{}, 1)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "export") {
			fmt.Fprintln(w, "{}")
			_ = http.NewResponseController(w).Flush()
		}
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	defer service.Close()
	for _, args := range [][]string{
		{"run", "list"}, {"account", "list"}, {"quota"}, {"export", "--kind", "commits"},
		{"export", "--kind", "commits", "--out", filepath.Join(t.TempDir(), "x.jsonl")},
	} {
		t.Run(args[0], func(t *testing.T) {
			p := sluice.Start(t, nil, append(args, "--server", service.URL)...)
			<-asked
			p.Signal(os.Interrupt)
			expectInterrupted(t, p)
		})
	}
}

func expectInterrupted(t *testing.T, p *sluice.Program) {
	t.Helper()
	a := p.Ends().Expect(t, 130, "sluice: interrupted before it was done\n")
	for _, noise := range []string{"context canceled", "sqlite", "archive/tar"} {
		if strings.Contains(a.Err, noise) {
			t.Errorf("it says %s", a.Err)
		}
	}
}

// TestInterruptedKeeping interrupts a backup and a restore as soon as they have begun,
// until one was not done before: there is all of it or nothing.
func TestInterruptedKeeping(t *testing.T) {
	u := sluice.NewUpstream(t, sim.Options{Seed: 3, Accounts: 1})
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "a.backup")
	sluice.Run(t, nil, u.Collect(dir)...).Expect(t, 0)
	sluice.Run(t, nil, "backup", file, "--data-dir", dir).Expect(t, 0)
	t.Run("backup", func(t *testing.T) {
		interruptOnce(t, func(to string) (args []string, begun, whole string) {
			return []string{"backup", filepath.Join(to, "x"), "--data-dir", dir}, ".x.parts", "x"
		})
	})
	t.Run("restore", func(t *testing.T) {
		interruptOnce(t, func(to string) (args []string, begun, whole string) {
			return []string{"restore", file, "--data-dir", to}, ".restore-*", "sluice.db"
		})
	})
}

// interruptOnce starts a command that makes something in an empty folder, and
// interrupts it when a file shows that it has begun.
func interruptOnce(t *testing.T, command func(to string) (args []string, begun, whole string)) {
	t.Helper()
	there := func(pattern string) bool {
		found, err := filepath.Glob(pattern)
		return err == nil && len(found) > 0
	}
	for {
		to := t.TempDir()
		args, begun, whole := command(to)
		p := sluice.Start(t, nil, args...)
		for !there(filepath.Join(to, begun)) && !p.Ended() {
			runtime.Gosched()
		}
		_ = p.Cmd.Process.Signal(os.Interrupt) // it may have ended
		_ = p.Wait()
		done := there(filepath.Join(to, whole))
		if there(filepath.Join(to, begun)) || there(filepath.Join(to, "sluice.restoring")) {
			t.Fatalf("%v left something", args)
		}
		if done && p.Cmd.ProcessState.ExitCode() == 0 {
			continue // it was faster
		}
		expectInterrupted(t, p)
		if done {
			t.Errorf("%v was interrupted and yet is done", args)
		}
		return
	}
}
