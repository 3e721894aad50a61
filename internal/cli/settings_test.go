package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"sluice/internal/config"
)

// commands are all that can be run, by their paths.
func commands(t *testing.T) map[string]*cobra.Command {
	t.Helper()
	app := &App{Out: io.Discard, Err: io.Discard, Env: func(string) (string, bool) { return "", false }, Now: time.Now}
	all := map[string]*cobra.Command{}
	visit(app.root(), func(c *cobra.Command) { all[pathOf(c)] = c })
	return all
}

// TestSettingsNameTheirCommands: a setting is declared for commands that there
// are, and its flag is where it is said to be and nowhere else.
func TestSettingsNameTheirCommands(t *testing.T) {
	all := commands(t)
	for _, s := range config.Settings() {
		for _, name := range s.Commands {
			if all[name] == nil {
				t.Errorf("--%s is declared for %q, which is no command", s.Name, name)
			}
		}
		if len(s.Commands) == 0 {
			if all[""].PersistentFlags().Lookup(s.Name) == nil {
				t.Errorf("--%s is not a flag of every command", s.Name)
			}
			continue
		}
		for path, c := range all {
			f := c.Flags().Lookup(s.Name)
			// Commands have flags of their own that are no settings.
			has := f != nil && config.GroupOf(f) != ""
			if want := (s.FlagOf(path) || takesEverything[path]) && acts(c); has != want {
				t.Errorf("%q has --%s: %v, want %v", path, s.Name, has, want)
			}
		}
	}
}

// TestFlagsOfOthersAreRefused: the error says where a setting belongs.
func TestFlagsOfOthersAreRefused(t *testing.T) {
	for says, args := range map[string][]string{
		"`sluice timer cancel` has no flag --workers: it is one of `sluice up`, `sluice collect`, `sluice demo`; here it is taken from SLUICE_WORKERS or the configuration file": {"timer", "cancel", "tea", "--workers", "3"},
		"`sluice sim github` has no flag --data-dir: `sluice help settings` says which commands have it\n":                                                                       {"sim", "github", "--data-dir", "x"},
		"`sluice collect` has no flag --roles: it is one of `sluice up`\n":                                                                                                       {"collect", "octocat", "--roles", "api"},
		"`sluice run` has no flag --data-dir":                            {"run", "--data-dir", "x"},
		"`sluice` has no flag --floor":                                   {"--floor", "3"},
		"unknown flag --json; did you mean -o json?":                     {"run", "list", "--json"},
		"unknown flag --frobnicate; see `sluice run list --help`":        {"run", "list", "--frobnicate"},
		"unknown flag --acount; did you mean --account?":                 {"run", "list", "--acount", "x"},
		`unknown command "lst"; did you mean list?`:                      {"run", "lst", "--data-dir", "x"},
		"`sluice health` has no flag --state":                            {"health", "--state", "mysql://x"},
		"`sluice up` has no flag --server: `sluice help settings`":       {"up", "--server", "http://127.0.0.1:1"},
		"--output is text or json, not \"yaml\"":                         {"run", "list", "-o", "yaml"},
		"`sluice account schedule` has no flag --harvest":                {"account", "schedule", "octocat", "--harvest=false"},
		"`sluice refresh` has no flag --maplestory-key: it is one of":    {"refresh", "x", "--maplestory-key", "@key"},
		"`sluice quota` has no flag --floor: it is one of `sluice up`":   {"quota", "--floor", "0"},
		"`sluice archive list` has no flag --kafka: it is one of `sluic": {"archive", "list", "--kafka", "x"},
	} {
		if said := refusedApp(t, nil, args...); !strings.Contains(said, says) || strings.Count(said, "\n") != 1 {
			t.Errorf("%v says %s", args, said)
		}
	}
}

// opened is the configuration that a command opens a service with.
func opened(t *testing.T, env map[string]string, args ...string) (found config.Config, said string) {
	t.Helper()
	var messages bytes.Buffer
	app := &App{
		Out: &messages, Err: &messages, Now: time.Now, Holder: func(string) string { return "" },
		Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		Environ: func() (lines []string) {
			for name, value := range env {
				lines = append(lines, name+"="+value)
			}
			return lines
		},
		Open: func(_ context.Context, o ServiceOptions) (*Service, error) {
			found = o.Config
			return nil, os.ErrInvalid
		},
	}
	app.Run(t.Context(), args)
	return found, messages.String()
}

// TestOneFileForAll: a command takes from the file and the environment what it
// opens a service with, though it has no flag for it, and nothing that is not its
// own.
func TestOneFileForAll(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sluice.yaml")
	if err := os.WriteFile(file, []byte("workers: 3\nroles: [api]\naccounts: 5\nevery: 6h\nfloor: 7\nserver: ''\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"SLUICE_WEBHOOK_ALLOW_PRIVATE": "true", "SLUICE_MAX_CONNECTIONS": "none", "SLUICE_HARVEST": "?"}
	c, said := opened(t, env, "timer", "list", "--config", file, "--data-dir", t.TempDir())
	if c.Collect.Workers != 3 || c.Quota.Floor != 7 || !c.Timers.AllowPrivate {
		t.Errorf("it opens a service with %+v: %s", c, said)
	}
	if len(c.Service.Roles) != len(config.AllRoles()) || c.Harvest.Policy.Every != "" || c.HTTP.Connections != config.Default().HTTP.Connections {
		t.Errorf("it takes what is another command's: %+v", c)
	}
	// What it uses must be right, wherever it was set.
	if c, said = opened(t, map[string]string{"SLUICE_WORKERS": "many"}, "timer", "list", "--data-dir", t.TempDir()); c.Service.DataDir != "" || !strings.Contains(said, "SLUICE_WORKERS") {
		t.Errorf("it says %s", said)
	}
	if c, said = opened(t, map[string]string{"SLUICE_API_TOKEN": "0123456789abcdef0"}, "timer", "list", "--data-dir", t.TempDir()); c.HTTP.Token != "0123456789abcdef0" {
		t.Errorf("the token is %q: %s", c.HTTP.Token, said)
	}
}

// TestUnknownVariables: what is mistyped has no effect, and is named.
func TestUnknownVariables(t *testing.T) {
	env := map[string]string{
		"SLUICE_WORKRES": "3", "SLUICE_XYZZY": "1", "SLUICE_GITHUB_TOKEN": "x", "SLUICE_TEST_SEED": "1", "SLUICE_ACCOUNTS": "3", "HOME": "/", "SLUICE_LEASE": "20s",
	}
	_, said := opened(t, env, "run", "list", "--data-dir", t.TempDir())
	for _, want := range []string{
		"sluice: warning: there is no setting SLUICE_WORKRES; did you mean SLUICE_WORKERS?\n", "sluice: warning: there is no setting SLUICE_XYZZY\n",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("it does not say %q: %s", want, said)
		}
	}
	if strings.Count(said, "warning") != 2 {
		t.Errorf("it says %s", said)
	}
}

// TestLookingMakesNothing: a folder without data says what to do, and stays as it
// is.
func TestLookingMakesNothing(t *testing.T) {
	for path, c := range commands(t) {
		s, _ := config.Find("server")
		if !s.FlagOf(path) || !acts(c) || path == "health" || path == "collect" || path == "timer set" || path == "account add" || path == "token create" || path == "source add" || path == "source list" || path == "source show" {
			continue
		}
		example, _, _ := strings.Cut(strings.TrimSpace(examples[path]), "\n")
		words := shellWords(t, example)
		if path == "account set" {
			words = []string{"sluice", "account", "set", "octocat", "--keep", "1"}
		}
		empty := t.TempDir()
		said := &bytes.Buffer{}
		app := &App{
			Out: said, Err: said, Now: time.Now, Env: func(string) (string, bool) { return "", false },
			Holder: func(string) string { return "" }, HasData: func(string) bool { return false },
			Open: func(context.Context, ServiceOptions) (*Service, error) {
				t.Errorf("%q opened a service", path)
				return nil, os.ErrInvalid
			},
		}
		want := exitFailed
		if path == "compare" {
			want = exitUsage // 1 means that there are differences
		}
		for _, dir := range []string{empty, filepath.Join(empty, "none")} {
			said.Reset()
			if code := app.Run(t.Context(), append(slices.Clone(words[1:]), "--data-dir", dir)); code != want || !strings.Contains(said.String(), "there is no data") || !strings.Contains(said.String(), "--server") {
				t.Errorf("%q ends with %d: %s", path, code, said)
			}
		}
		if made, err := os.ReadDir(empty); err != nil || len(made) > 0 {
			t.Errorf("%q made %v, %v", path, made, err)
		}
	}
}

// TestUpTellsEveryMistake makes several at once.
func TestUpTellsEveryMistake(t *testing.T) {
	says := refusedApp(t, map[string]string{"SLUICE_ROLES": "boss", "SLUICE_LEASE": "soon"},
		"up", "--workers", "0", "--max-connections=-1", "--redis", "redis://127.0.0.1:1")
	for _, one := range []string{"6 settings are wrong", "--roles", "SLUICE_LEASE", "--workers is 0", "--max-connections is -1", "--redis needs --state", "--key-file"} {
		if !strings.Contains(says, one) {
			t.Errorf("it does not say %q: %s", one, says)
		}
	}
}
