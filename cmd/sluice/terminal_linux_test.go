package main_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	sim "sluice/internal/simulator/github"
	"sluice/internal/testkit/sluice"
)

// pseudoTerminal opens a terminal: what is written to tty is read from master.
func pseudoTerminal(t *testing.T, columns, lines uint16) (master, tty *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = master.Close() })
	control := func(request uintptr, argument unsafe.Pointer) {
		t.Helper()
		if _, _, code := syscall.Syscall(syscall.SYS_IOCTL, master.Fd(), request, uintptr(argument)); code != 0 {
			t.Fatal(code)
		}
	}
	var unlock, number int32
	control(syscall.TIOCSPTLCK, unsafe.Pointer(&unlock))
	control(syscall.TIOCGPTN, unsafe.Pointer(&number))
	control(syscall.TIOCSWINSZ, unsafe.Pointer(&struct{ rows, columns, x, y uint16 }{rows: lines, columns: columns}))
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return master, tty
}

// onTerminal runs the program with a terminal for its messages and returns
// what that was sent.
func onTerminal(t *testing.T, env []string, args ...string) string {
	t.Helper()
	master, tty := pseudoTerminal(t, 100, 30)
	cmd := exec.CommandContext(t.Context(), sluice.Binary, args...)
	cmd.Env = append(sluice.Environment(), env...)
	cmd.Stderr = tty
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := tty.Close(); err != nil {
		t.Fatal(err)
	}
	// A terminal ends with an error once nobody holds it open any more.
	text, _ := io.ReadAll(master)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	sluice.CheckNoSecret(t, "the terminal", string(text))
	return string(text)
}

func TestProgressOnATerminal(t *testing.T) {
	u := sluice.NewUpstream(t, sim.Options{Seed: 3, Accounts: 2})
	args := func() []string { return u.Collect(t.TempDir()) }
	painted := onTerminal(t, nil, args()...)
	for _, want := range []string{"\x1b[3A", "\x1b[2K", "████████████████████", "\x1b[32m", "ended in", "2 of 2 accounts done"} {
		if !strings.Contains(painted, want) {
			t.Errorf("the terminal was not sent %q: %q", want, painted)
		}
	}
	plain := onTerminal(t, []string{"NO_COLOR=1"}, args()...)
	if !strings.Contains(plain, "████████████████████") || strings.Contains(plain, "\x1b[32m") || strings.Contains(plain, "\x1b[2m") || strings.Contains(plain, "\x1b[0m") {
		t.Errorf("against NO_COLOR the terminal was sent %q", plain)
	}
}
