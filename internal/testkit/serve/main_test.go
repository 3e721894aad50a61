package main_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// TestServe: the command finds all servers, its exit code is kept, and nothing
// is left in the end.
func TestServe(t *testing.T) {
	program := filepath.Join(t.TempDir(), "serve")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	const script = `
		for port in $(echo "$TESTKIT_MARIADB $TESTKIT_REDIS $TESTKIT_REDIS_CLUSTER $TESTKIT_KAFKA" | grep -oE '127\.0\.0\.1:[0-9]+'); do
			bash -c "exec 3<>/dev/tcp/127.0.0.1/${port#*:}" && echo "$port"
		done
		exit 3`
	out, err := exec.CommandContext(t.Context(), program, "sh", "-c", script).Output()
	if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != 3 { //nolint:errorlint // Output returns it as it is
		t.Fatalf("it ended with %v: %s", err, out)
	}
	addresses := regexp.MustCompile(`127\.0\.0\.1:\d+`).FindAllString(string(out), -1)
	if len(addresses) != 6 {
		t.Fatalf("six servers are to answer, and %v did", addresses)
	}
	for _, address := range addresses {
		var dialer net.Dialer
		if c, err := dialer.DialContext(t.Context(), "tcp", address); err == nil {
			_ = c.Close()
			t.Errorf("%s is still there", address)
		}
	}
}

func TestServeNeedsACommand(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "run", ".").CombinedOutput()
	if err == nil || !regexp.MustCompile("usage: serve COMMAND").Match(out) {
		t.Errorf("got %v, %s", err, out)
	}
}
