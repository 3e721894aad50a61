package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"sluice/internal/access"
	"sluice/internal/domain"
)

// TestKnownValuesAreOffered: whoever presses the tab key after a flag with known
// values is offered all of them, without a service and without data.
func TestKnownValuesAreOffered(t *testing.T) {
	for line, want := range map[string]string{
		"job list --error":      strings.ReplaceAll(domain.FailureKindNames(), ", ", " "),
		"job retry --error":     strings.ReplaceAll(domain.FailureKindNames(), ", ", " "),
		"token create a --role": string(access.Read + " " + access.Operate + " " + access.Admin),
		"export --format":       "jsonl csv parquet",
		"account list --output": "text json",
	} {
		var out, errOut bytes.Buffer
		app := &App{Out: &out, Err: &errOut, Env: func(string) (string, bool) { return "", false }, Now: time.Now}
		args := append([]string{"__complete"}, append(strings.Fields(line), "")...)
		if code := app.Run(t.Context(), args); code != exitOK {
			t.Fatalf("%s: exit %d: %s", line, code, errOut.String())
		}
		offered := strings.Fields(out.String())
		if got := strings.Join(offered[:len(offered)-1], " "); got != want {
			t.Errorf("%s is offered %q, want %q", line, got, want)
		}
	}
}
