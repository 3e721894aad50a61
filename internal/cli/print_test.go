package cli

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"sluice/internal/access"
	"sluice/internal/domain"
)

// forged is what a caller may choose: a line of its own, the screen, the direction.
const forged = "a\n2026-11-16 09:00:00 UTC  token:ops  done\x1b[2J\u202e\u009b"

// unseen fails if a text would do something to a terminal.
func unseen(t *testing.T, what, text string, lines int) {
	t.Helper()
	if got := strings.Count(text, "\n"); got != lines || domain.PrintableLines(text) != text {
		t.Errorf("%s has %d lines, want %d: %q", what, got, lines, text)
	}
}

func TestNothingFromOutsideMovesTheCursor(t *testing.T) {
	var out bytes.Buffer
	err := table(&out, "AT\tON", func(line func(string, ...any)) {
		line("%s\t%s", "now", forged)
		line("%s\t%s", access.Role(forged), errors.New(forged))
	})
	if err != nil {
		t.Fatal(err)
	}
	unseen(t, "a table", out.String(), 3)
	out.Reset()
	say(&out, "run %d of %s: %v\n", 7, forged, errors.New(forged))
	unseen(t, "a message", out.String(), 1)
	out.Reset()
	say(&out, "%s %s\n", painted(style{on: true}.red(forged)), "x")
	if text := out.String(); strings.Count(text, "\x1b") != 2 || strings.Count(text, "\n") != 1 {
		t.Errorf("coloured: %q", text)
	}
	out.Reset()
	if err := printJSON(&out, map[string]string{"on": forged}); err != nil {
		t.Fatal(err)
	}
	unseen(t, "JSON", out.String(), 3)
	var back map[string]string
	if err := json.Unmarshal(out.Bytes(), &back); err != nil || back["on"] != forged {
		t.Errorf("JSON says %q, %v", back, err)
	}
}

func TestAuditExportHoldsNoFormula(t *testing.T) {
	entries := []access.Entry{{ID: "1", At: time.Unix(0, 0).UTC(), Actor: "=HYPERLINK(1)", Address: "@x", Action: "+a", Target: forged}}
	for format, lines := range map[string]int{"csv": 2, "jsonl": 1} {
		var out bytes.Buffer
		write, err := auditWriter(&out, format)
		if err == nil {
			err = write(entries)
		}
		if err != nil {
			t.Fatal(err)
		}
		unseen(t, format, out.String(), lines)
		if format == "jsonl" {
			continue
		}
		rows, err := csv.NewReader(&out).ReadAll()
		if err != nil || len(rows) != 2 || rows[1][2] != "'=HYPERLINK(1)" || rows[1][4] != "'@x" || rows[1][5] != "'+a" || rows[1][6] != domain.Printable(forged) {
			t.Errorf("got %q, %v", rows, err)
		}
	}
}
