package cli

import (
	"os"
	"syscall"
	"testing"
	"unsafe"
)

// pseudoTerminal opens one of a given size, as a terminal window does.
func pseudoTerminal(t *testing.T, columns, lines uint16) *os.File {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = master.Close() })
	window := struct{ rows, columns, x, y uint16 }{rows: lines, columns: columns}
	_, _, code := syscall.Syscall(syscall.SYS_IOCTL, master.Fd(), syscall.TIOCSWINSZ, uintptr(unsafe.Pointer(&window)))
	if code != 0 {
		t.Fatal(code)
	}
	return master
}

func TestTerminalSize(t *testing.T) {
	if got := terminalSize(pseudoTerminal(t, 132, 43)); got != (size{132, 43}) {
		t.Errorf("got %+v", got)
	}
	// A terminal that does not know its size has the usual one.
	if got := terminalSize(pseudoTerminal(t, 0, 0)); got != (size{80, 24}) {
		t.Errorf("got %+v", got)
	}
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if got := terminalSize(file); got != (size{}) {
		t.Errorf("a file has the size %+v", got)
	}
}

func TestNoColor(t *testing.T) {
	env := map[string]string{}
	a := &App{Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}
	tty := pseudoTerminal(t, 80, 24)
	if !a.style(tty).on {
		t.Error("no colours on a terminal")
	}
	env["NO_COLOR"] = "1"
	if a.style(tty).on {
		t.Error("colours against NO_COLOR")
	}
	// no-color.org: only a value that is not empty counts.
	env["NO_COLOR"] = ""
	if !a.style(tty).on {
		t.Error("an empty NO_COLOR counts")
	}
}
