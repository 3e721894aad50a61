package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// refusedApp runs a command line that must be refused before a service is opened.
func refusedApp(t *testing.T, env map[string]string, args ...string) string {
	t.Helper()
	var messages bytes.Buffer
	app := &App{
		Out: &messages, Err: &messages, Now: time.Now, Holder: func(string) string { return "" },
		Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		Open: func(context.Context, ServiceOptions) (*Service, error) {
			t.Error("the service was opened")
			return nil, os.ErrInvalid
		},
	}
	if code := app.Run(t.Context(), args); code != exitUsage {
		t.Errorf("%v: exit code %d", args, code)
	}
	return messages.String()
}

func secretFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestWeakSecretsAreRefused: a token that can be guessed, or is not there at
// all, protects nothing.
func TestWeakSecretsAreRefused(t *testing.T) {
	dir := t.TempDir()
	up := func(more ...string) []string {
		return append([]string{"up", "--addr", "127.0.0.1:0", "--data-dir", dir}, more...)
	}
	for name, test := range map[string]struct {
		env  map[string]string
		args []string
		says string
	}{
		"one character":        {nil, up("--api-token", "@"+secretFile(t, "x\n")), "at least 16"},
		"fifteen":              {nil, up("--api-token", "@"+secretFile(t, "123456789012345")), "at least 16"},
		"in the environment":   {map[string]string{"SLUICE_API_TOKEN": "short"}, up(), "at least 16"},
		"an empty file":        {nil, up("--api-token", "@"+secretFile(t, "")), "is empty"},
		"a file of blanks":     {nil, up("--api-token", "@"+secretFile(t, " \n\n")), "is empty"},
		"an empty key":         {nil, up("--maplestory-key", "@"+secretFile(t, "")), "is empty"},
		"an empty hook secret": {nil, up("--github-hook-secret", "@"+secretFile(t, "\n")), "is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			says := refusedApp(t, test.env, test.args...)
			if !strings.Contains(says, test.says) || strings.Contains(says, "12345") {
				t.Errorf("it says %s", says)
			}
		})
	}
}

// TestWorldsHaveFolders: a demo of another world does not stumble over the
// first.
func TestWorldsHaveFolders(t *testing.T) {
	if demoFolder(1) != "demo" || demoFolder(7) == demoFolder(1) || demoFolder(7) == demoFolder(8) {
		t.Errorf("the folders are %s, %s, %s", demoFolder(1), demoFolder(7), demoFolder(8))
	}
}

// TestHelpNamesTheFile: words in backquotes are taken for a flag's value.
func TestHelpNamesTheFile(t *testing.T) {
	for _, args := range [][]string{{"collect", "--help"}, {"account", "set", "--help"}} {
		var out bytes.Buffer
		app := &App{Out: &out, Err: &out, Env: func(string) (string, bool) { return "", false }, Now: time.Now}
		if code := app.Run(t.Context(), args); code != exitOK || !strings.Contains(out.String(), "--token-file FILE ") {
			t.Errorf("%v says %d %s", args, code, out.String())
		}
	}
}
