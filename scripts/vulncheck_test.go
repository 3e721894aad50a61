// Package scripts_test tries out the scripts of the build.
package scripts_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestVulncheck puts a tool in the place of govulncheck that says and does what
// a case wants.
func TestVulncheck(t *testing.T) {
	const unreachable = `govulncheck: fetching vulnerabilities: Get "https://vuln.go.dev/index/modules.json.gz": dial tcp: lookup vuln.go.dev: no such host`
	for name, test := range map[string]struct {
		says   string
		code   int
		fails  bool
		stderr string
	}{
		"nothing found": {"No vulnerabilities found.", 0, false, ""},
		"found":         {"Vulnerability #1: GO-2026-0001", 3, true, "VULNERABILITIES FOUND"},
		"found, and its text speaks of a timeout": {"Vulnerability #1: a timeout in net/http: connection refused, Forbidden", 3, true, "VULNERABILITIES FOUND"},
		"found, and it names the database":        {unreachable + "\nVulnerability #1", 3, true, "VULNERABILITIES FOUND"},
		"the database is away":                    {unreachable, 1, false, "1 check was NOT made"},
		"the database refuses":                    {"govulncheck: fetching vulnerabilities: HTTP GET /index/db.json returned unexpected status: 403 Forbidden", 1, false, "1 check was NOT made"},
		"the code does not compile":               {"govulncheck: loading packages: x.go:1:1: timeout undeclared", 1, true, "exit code 1"},
		"the tool is killed":                      {"", 137, true, "exit code 137"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			tool := filepath.Join(dir, "govulncheck")
			script := fmt.Sprintf("#!/bin/sh\ncat <<'END'\n%s\nEND\nexit %d\n", test.says, test.code)
			if err := os.WriteFile(tool, []byte(script), 0o700); err != nil { //nolint:gosec // it is to be run
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), "./vulncheck", tool, "v0.0.0")
			var out, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &stderr
			err := cmd.Run()
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			if failed := err != nil; failed != test.fails {
				t.Errorf("failed is %t, want %t; it says\n%s%s", failed, test.fails, out.String(), stderr.String())
			}
			if !strings.Contains(stderr.String(), test.stderr) || test.stderr == "" && stderr.Len() > 0 {
				t.Errorf("stderr says %q, want %q", stderr.String(), test.stderr)
			}
			if test.fails && test.says != "" && !strings.Contains(out.String(), test.says) {
				t.Errorf("what the tool said is missing: %q", out.String())
			}
		})
	}
}
