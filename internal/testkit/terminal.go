package testkit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// terminalPatience ends a test whose program never shows what it is to show.
const terminalPatience = 3 * time.Minute

// Terminal is a real terminal with a program in it: what it shows, how it folds lines
// that are too long, and what becomes of them when its size changes are tmux's doing.
type Terminal struct {
	tb             testing.TB
	program, place string
	// written tells that the program has written something; ended is closed when it
	// has ended.
	written chan struct{}
	ended   chan struct{}
}

// StartTerminal opens a terminal of a size and runs a program in it, with an
// environment. Both end with the test.
func StartTerminal(tb testing.TB, columns, lines int, env []string, command ...string) *Terminal {
	tb.Helper()
	path, err := find("tmux", "tmux")
	if err != nil {
		current.refuse(tb, err)
	}
	// The address of its socket must be short.
	place, err := os.MkdirTemp("", "terminal") //nolint:usetesting // a test's own folder has its name in its path
	if err != nil {
		tb.Fatalf("testkit: %v", err)
	}
	t := &Terminal{tb: tb, program: path, place: place, written: make(chan struct{}, 1), ended: make(chan struct{})}
	output := filepath.Join(place, "output")
	if err := errors.Join(syscall.Mkfifo(output, 0o600), os.WriteFile(filepath.Join(place, "conf"), []byte("set -g status off\n"), 0o600)); err != nil {
		tb.Fatalf("testkit: %v", err)
	}
	// It begins when its output is being read, and what it has written stays to be seen.
	script := fmt.Sprintf(`trap : INT; read _; "$0" "$@"; echo $? >%[1]s/code; %[2]s -S %[1]s/socket wait-for -S ended; cat >/dev/null`, place, path)
	t.do(env, append([]string{"-f", filepath.Join(place, "conf"), "new-session", "-d", "-s", "it",
		"-x", strconv.Itoa(columns), "-y", strconv.Itoa(lines), "sh", "-c", script}, command...)...)
	tb.Cleanup(func() {
		_ = exec.CommandContext(context.WithoutCancel(tb.Context()), path, "-S", t.socket(), "kill-server").Run() // it may have ended
		_ = os.RemoveAll(place)
	})
	reading, err := os.OpenFile(output, os.O_RDWR, 0) // whoever also writes never comes to an end
	if err != nil {
		tb.Fatalf("testkit: %v", err)
	}
	tb.Cleanup(func() { _ = reading.Close() })
	go t.listen(reading)
	go func() {
		_ = exec.CommandContext(tb.Context(), path, "-S", t.socket(), "wait-for", "ended").Run() // a server that is gone has ended too
		close(t.ended)
	}()
	t.do(nil, "pipe-pane", "-t", "it", "cat >"+output)
	t.Keys("Enter")
	return t
}

func (t *Terminal) socket() string { return filepath.Join(t.place, "socket") }

// do has the terminal do something.
func (t *Terminal) do(env []string, args ...string) string {
	t.tb.Helper()
	cmd := exec.CommandContext(t.tb.Context(), t.program, append([]string{"-S", t.socket()}, args...)...)
	cmd.Env = env
	if env == nil {
		cmd.Env = os.Environ()
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.tb.Fatalf("testkit: tmux %v: %v: %s", args, err, out)
	}
	return string(out)
}

func (t *Terminal) listen(output *os.File) {
	some := make([]byte, 4096)
	for {
		if _, err := output.Read(some); err != nil {
			return
		}
		select {
		case t.written <- struct{}{}:
		default:
		}
	}
}

// Screen is what can be seen, without blanks at the ends of lines and empty lines at
// the end.
func (t *Terminal) Screen() string {
	t.tb.Helper()
	return strings.TrimRight(t.do(nil, "capture-pane", "-p", "-t", "it"), "\n")
}

// Keys presses keys, such as q or C-c.
func (t *Terminal) Keys(keys ...string) {
	t.tb.Helper()
	t.do(nil, append([]string{"send-keys", "-t", "it"}, keys...)...)
}

// Resize gives the terminal another size.
func (t *Terminal) Resize(columns, lines int) {
	t.tb.Helper()
	t.do(nil, "resize-window", "-t", "it", "-x", strconv.Itoa(columns), "-y", strconv.Itoa(lines))
}

// Await waits until the screen shows what is wanted, and returns it.
func (t *Terminal) Await(what string, shown func(screen string) bool) string {
	t.tb.Helper()
	late := time.After(terminalPatience)
	for over := false; ; {
		screen := t.Screen()
		if shown(screen) {
			return screen
		}
		if over {
			t.tb.Fatalf("the terminal never showed %s, but:\n%s", what, screen)
		}
		select {
		case <-t.written:
		case <-t.ended:
			over = true
		case <-late:
			over = true
		}
	}
}

// Ends waits for the program's end and returns its exit code.
func (t *Terminal) Ends() int {
	t.tb.Helper()
	select {
	case <-t.ended:
	case <-time.After(terminalPatience):
		t.tb.Fatalf("the program in the terminal does not end:\n%s", t.Screen())
	}
	text, err := os.ReadFile(filepath.Join(t.place, "code"))
	if err != nil {
		t.tb.Fatalf("testkit: %v", err)
	}
	code, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.tb.Fatalf("testkit: %v", err)
	}
	return code
}
