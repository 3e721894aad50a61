package cli

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"sluice/internal/config"
)

var update = flag.Bool("update", false, "write docs/cli.md and the pictures of boards anew")

// shellWords splits a line as a shell does that knows quotes and remarks.
func shellWords(t *testing.T, line string) (words []string) {
	t.Helper()
	var word strings.Builder
	quote, open := rune(0), false
	end := func() {
		if open {
			words = append(words, word.String())
		}
		word.Reset()
		open = false
	}
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, open = r, true
		case r == ' ' || r == '\n':
			end()
		case r == '#' && !open:
			return words
		default:
			word.WriteRune(r)
			open = true
		}
	}
	end()
	if quote != 0 {
		t.Fatalf("%q does not end", line)
	}
	return words
}

// TestExamples: every command has some, which can be typed as they stand.
func TestExamples(t *testing.T) {
	all := commands(t)
	for path, c := range all {
		if !c.Runnable() {
			continue
		}
		if c.Example == "" {
			t.Errorf("%q has no example", path)
		}
		for line := range strings.Lines(c.Example) {
			words := shellWords(t, line)
			if !strings.HasPrefix(line, "  sluice ") {
				t.Fatalf("%q: %q is no command line", path, line)
			}
			// Flags keep what was parsed, so each line has commands of its own.
			root := commands(t)[""]
			found, rest, err := root.Find(words[1:])
			if err != nil || !strings.HasPrefix(pathOf(found), path) {
				t.Errorf("%q: %q is %q, %v", path, line, pathOf(found), err)
				continue
			}
			if err := found.ParseFlags(rest); err != nil {
				t.Errorf("%q: %v", line, err)
			} else if err := found.ValidateArgs(found.Flags().Args()); err != nil {
				t.Errorf("%q: %v", line, err)
			}
		}
	}
	for path := range examples {
		if all[path] == nil {
			t.Errorf("there are examples for %q, which is no command", path)
		}
	}
}

// helpOf is what the program says to a command line.
func helpOf(t *testing.T, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	app := &App{Out: &out, Err: &out, Env: func(string) (string, bool) { return "", false }, Now: time.Now}
	if code := app.Run(t.Context(), args); code != exitOK {
		t.Errorf("%v ends with %d", args, code)
	}
	return out.String()
}

// TestHelpSettings: every setting is there with all that is to know of it.
func TestHelpSettings(t *testing.T) {
	text := helpOf(t, "help", "settings")
	for _, s := range config.Settings() {
		entry := "\n  " + s.Name + ", " + s.Env()
		if value := s.Default(); value != "" {
			entry += ", " + value
		}
		if !strings.Contains(text, entry+"\n      "+s.Help+"\n      --"+s.Name+" of ") {
			t.Errorf("it does not tell of %s", s.Name)
		}
	}
	if !strings.Contains(helpOf(t), "sluice help settings ") {
		t.Error("nothing leads to it")
	}
}

// TestRootHelpFitsOnAScreen, with the groups of commands and the exit codes.
func TestRootHelpFitsOnAScreen(t *testing.T) {
	text := helpOf(t, "--help")
	for _, want := range []string{"\nCollect ", "\nLook ", "\nOperate ", "\nTry out ", "Exit codes: 0 ", "-o json", "--config", "--log-level", "help settings"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q: %s", want, text)
		}
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) > 40 {
		t.Errorf("it has %d lines: %s", len(lines), text)
	}
	for _, line := range lines {
		if len([]rune(line)) > 80 {
			t.Errorf("%q is too wide", line)
		}
	}
	if text != helpOf(t) || text != helpOf(t, "help") {
		t.Error("the three ways to it lead elsewhere")
	}
}

// TestReference compares docs/cli.md with the commands; go test ./internal/cli
// -update writes it anew. Every command has a man page.
func TestReference(t *testing.T) {
	const path = "../../docs/cli.md"
	root := commands(t)[""]
	want := Markdown(root)
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil { //nolint:gosec // a page for everybody
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s is not what the commands say (%v); write it anew with `go test ./internal/cli -update`", path, err)
	}
	pages := manPages(root)
	for _, name := range []string{"sluice.1", "sluice-collect.1", "sluice-key-rotate.1", "sluice-run-watch.1"} {
		if !strings.Contains(pages[name], ".SH NAME\n") || !strings.Contains(pages[name], ".SH \"EXIT STATUS\"") {
			t.Errorf("%s is %q", name, pages[name])
		}
	}
	if pages["sluice-reference.1"] != "" || len(pages) < 50 {
		t.Errorf("there are %d pages", len(pages))
	}
}

// TestHelpOfNothing: what is no command is refused, and the nearest is named.
func TestHelpOfNothing(t *testing.T) {
	for says, args := range map[string][]string{
		"unknown command \"nonsense\"; `sluice --help` lists them all\n":                         {"help", "nonsense"},
		"unknown command \"colect\"; did you mean collect?":                                      {"help", "colect"},
		"unknown command \"lost\"; did you mean list?; `sluice account --help` lists them all\n": {"help", "account", "lost"},
	} {
		var out, errOut bytes.Buffer
		app := &App{Out: &out, Err: &errOut, Env: func(string) (string, bool) { return "", false }, Now: time.Now}
		if code := app.Run(t.Context(), args); code != exitUsage || !strings.Contains(errOut.String(), says) || out.Len() > 0 {
			t.Errorf("%v ends with %d and says %q %q", args, code, out.String(), errOut.String())
		}
	}
	if text := helpOf(t, "help", "account", "ls"); !strings.Contains(text, "List accounts") {
		t.Errorf("an alias has another page: %s", text)
	}
}

// TestSettingsHaveSections: what a command can be set to is not one long list.
func TestSettingsHaveSections(t *testing.T) {
	text := helpOf(t, "up", "--help")
	for _, group := range []string{"Flags", "Service", "Servers", "API", "Collections", "Quota", "Schedule", "GitHub", "Timers", "Refresh", "MapleStory", "Global Flags"} {
		if strings.Count(text, "\n"+group+":\n") != 1 {
			t.Errorf("there is no section %s: %s", group, text)
		}
	}
	if text := helpOf(t, "timer", "cancel", "--help"); strings.Count(text, "\n  -")+strings.Count(text, "\n      --") > 8 {
		t.Errorf("it has more than what cancels a timer: %s", text)
	}
}
