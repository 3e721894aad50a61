//go:build race

package scripts_test

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestUnwatchedPackagesShareNothing: the race detector does not watch the
// packages that the Makefile names. A generic function that one has instances of
// would be linked from there for everybody, and what that orders between
// goroutines (an atomic.Pointer, a sync.Map) would look like a race.
func TestUnwatchedPackagesShareNothing(t *testing.T) {
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`-gcflags=(\S+)=-race=false`).FindAllStringSubmatch(string(makefile), -1)
	if len(found) == 0 {
		t.Fatal("the Makefile names none")
	}
	// With all of them, the tests have built the package already.
	list := append([]string{"list", "-race", "-export", "-f", "{{.Export}}"}, regexp.MustCompile(`-gcflags=\S+`).FindAllString(string(makefile), -1)...)
	for _, one := range found {
		pkg := one[1]
		if strings.Contains(pkg, "...") {
			t.Fatalf("the Makefile names %q, want one package", pkg)
		}
		built, err := exec.CommandContext(t.Context(), "go", append(list[:len(list):len(list)], pkg)...).Output()
		if err != nil {
			t.Fatalf("build %s: %v", pkg, err)
		}
		symbols, err := exec.CommandContext(t.Context(), "go", "tool", "nm", strings.TrimSpace(string(built))).Output()
		if err != nil || !bytes.Contains(symbols, []byte(" T "+pkg+".")) {
			t.Fatalf("%d bytes of symbols of %s, %v", len(symbols), pkg, err)
		}
		for symbol := range bytes.Lines(symbols) {
			if bytes.Contains(symbol, []byte("go.shape")) {
				t.Errorf("%s has an instance of a generic function: %s", pkg, symbol)
			}
		}
	}
}
