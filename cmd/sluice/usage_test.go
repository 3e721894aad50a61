package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sluice/internal/testkit/sluice"
)

func TestWrongUsage(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "sluice.yaml")
	if err := os.WriteFile(config, []byte("workers: 0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	typo := filepath.Join(dir, "typo.yaml")
	if err := os.WriteFile(typo, []byte("data-dri: x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		env  []string
		args []string
		says []string
	}{
		"flag":                {nil, []string{"collect", "--wrokers", "3", "x"}, []string{"--wrokers", "did you mean --workers?"}},
		"flag of a command":   {nil, []string{"demo", "--acounts=3"}, []string{"--acounts", "did you mean --accounts?"}},
		"flag of the program": {nil, []string{"--data-dri", "x"}, []string{"--data-dri", "did you mean --data-dir?"}},
		"short flag":          {nil, []string{"run", "list", "-z"}, []string{"-z", "sluice run list --help"}},
		"no value":            {nil, []string{"run", "list", "--limit"}, []string{"--limit"}},
		"no number":           {nil, []string{"demo", "--accounts", "many"}, []string{"--accounts", "many"}},
		"not a duration":      {nil, []string{"demo", "--window", "10"}, []string{"--window", "10"}},
		"another's flag":      {nil, []string{"timer", "list", "--workers", "3"}, []string{"`sluice timer list` has no flag --workers", "`sluice up`", "SLUICE_WORKERS"}},
		"json":                {nil, []string{"run", "list", "--json"}, []string{"--json", "did you mean -o json?"}},
		"nothing near":        {nil, []string{"run", "list", "--frobnicate"}, []string{"unknown flag --frobnicate; see `sluice run list --help`"}},
		"command":             {nil, []string{"colect", "octocat"}, []string{`"colect"`, "did you mean collect?"}},
		"subcommand":          {nil, []string{"run", "lst"}, []string{`"lst"`, "did you mean list?"}},
		"simulator":           {nil, []string{"sim", "githb"}, []string{"did you mean github?"}},
		"argument":            {nil, []string{"up", "now"}, []string{"takes no arguments", `"now"`}},
		"output":              {nil, []string{"run", "list", "--output", "yaml"}, []string{"--output", "text or json", "yaml"}},
		"log level":           {nil, []string{"up", "--log-level", "loud"}, []string{"--log-level", "loud"}},
		"workers":             {nil, []string{"up", "--workers", "0"}, []string{"--workers is 0", "between 1"}},
		"floor":               {nil, []string{"up", "--floor", "-1"}, []string{"--floor"}},
		"floor of everything": {nil, []string{"up", "--floor", "5000"}, []string{"--floor", "5000", "lower"}},
		"accounts":            {nil, []string{"demo", "--accounts", "0"}, []string{"--accounts is 0"}},
		"window":              {nil, []string{"demo", "--window", "10ms"}, []string{"--window", "at least 1s"}},
		"limit":               {nil, []string{"demo", "--limit", "0"}, []string{"--limit"}},
		"mutate":              {nil, []string{"demo", "--mutate=-1"}, []string{"--mutate"}},
		"id":                  {nil, []string{"run", "show", "first"}, []string{`"first"`, "sluice run list"}},
		"no id":               {nil, []string{"job", "retry"}, []string{"takes one id"}},
		"no login":            {nil, []string{"account", "pause"}, []string{"takes one login"}},
		"status":              {nil, []string{"job", "list", "--status", "BROKEN"}, []string{"--status", "BROKEN"}},
		"server":              {nil, []string{"run", "list", "--server", "localhost"}, []string{"not the address of a service"}},
		"github url":          {nil, []string{"up", "--github-url", "ftp://x", "--addr", "127.0.0.1:0"}, []string{"--github-url", "base URL"}},
		"variable":            {[]string{"SLUICE_WORKERS=x"}, []string{"up"}, []string{"SLUICE_WORKERS", `"x"`, "--workers"}},
		"variable's range":    {[]string{"SLUICE_OUTPUT=xml"}, []string{"run", "list"}, []string{"--output", "xml"}},
		"role":                {nil, []string{"up", "--roles", "boss"}, []string{"--roles", "boss", "refresh"}},
		"nothing can be refreshed": {nil, []string{"up", "--roles", "refresh", "--state", "mysql://x@127.0.0.1:1/x", "--redis", "redis://127.0.0.1:1", "--key-file", "x"},
			[]string{"--roles refresh", "SLUICE_MAPLESTORY_KEY"}},
		"configured":         {nil, []string{"up", "--config", config}, []string{"--workers is 0"}},
		"configured by name": {[]string{"SLUICE_CONFIG=" + typo}, []string{"up"}, []string{"data-dri", "did you mean data-dir?"}},
		"no configuration":   {nil, []string{"up", "--config", "/nowhere.yaml"}, []string{"/nowhere.yaml"}},
	} {
		t.Run(name, func(t *testing.T) {
			args := append(tc.args, "--data-dir", filepath.Join(dir, "data"))
			a := sluice.Run(t, tc.env, args...).Expect(t, 2, tc.says...)
			if a.Out != "" || strings.Count(a.Err, "\n") != 1 {
				t.Errorf("want one line on stderr alone, got %q and %q", a.Out, a.Err)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(dir, "data")); err == nil {
		t.Error("wrong usage created the data folder")
	}
}

func TestConfigurationFile(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	// Whoever looks makes nothing; whoever sets a timer begins something.
	sluice.Run(t, nil, "run", "list", "--data-dir", data).Expect(t, 1, "there is no data in "+data, "sluice collect LOGIN")
	if made, err := os.ReadDir(data); err != nil || len(made) > 0 {
		t.Fatalf("looking made %v, %v", made, err)
	}
	sluice.Run(t, nil, "timer", "set", "tea", "--in", "1h", "--data-dir", data).Expect(t, 0)
	config := filepath.Join(dir, "sluice.yaml")
	text := "data_dir: " + data + "\noutput: json\naccounts: 3\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	a := sluice.Run(t, nil, "run", "list", "--config", config).Expect(t, 0)
	sluice.Decode[struct{ Runs []any }](t, a.Out)
	a = sluice.Run(t, []string{"SLUICE_CONFIG=" + config, "SLUICE_OUTPUT=text"}, "run", "list").Expect(t, 0)
	if !strings.HasPrefix(a.Out, "RUN ") {
		t.Errorf("the environment does not prevail over the file: %s", a.Out)
	}
	a = sluice.Run(t, []string{"SLUICE_CONFIG=" + config, "SLUICE_OUTPUT=text"}, "run", "list", "--output", "json").Expect(t, 0)
	sluice.Decode[struct{ Runs []any }](t, a.Out)
}

var commandLine = regexp.MustCompile(`(?m)^  ([a-z]+) {2,}\S`)
var firstPageLine = regexp.MustCompile(`(?m)^(?:Collect  |Look     |Operate  |Try out  | {9})([a-z]+) `)

// TestHelp asks every command for help, and every command it names in turn.
func TestHelp(t *testing.T) {
	global := []string{"config", "output", "log-level"}
	client := []string{"server", "data-dir", "api-token"}
	own := map[string][]string{
		"demo":           {"accounts", "seed", "window", "limit", "latency", "mutate", "unlimited", "exit-when-done", "addr", "data-dir", "workers", "floor"},
		"up":             {"addr", "data-dir", "api-token", "github-url", "workers", "floor", "points-per-minute", "state", "redis", "every", "maplestory-key"},
		"collect":        append([]string{"token-file", "github-url", "workers", "floor", "points-per-minute", "state"}, client...),
		"sim":            nil,
		"sim github":     {"accounts", "seed", "window", "limit", "latency", "mutate", "unlimited", "addr"},
		"account":        nil,
		"account list":   append([]string{"status"}, client...),
		"account pause":  append([]string{"reason"}, client...),
		"account resume": client,
		"run":            nil,
		"run list":       append([]string{"active", "account", "limit"}, client...),
		"run show":       append([]string{"ledger"}, client...),
		"run cancel":     append([]string{"reason"}, client...),
		"job":            nil,
		"job list":       append([]string{"run", "status", "account", "type", "error", "limit"}, client...),
		"job show":       client,
		"job retry":      client,
		"doctor":         {"data-dir", "github-url", "state"},
		"health":         {"server", "addr"},
	}
	// What is the service's is on no page of those that only speak to one.
	foreign := map[string][]string{
		"sim github": append([]string{"workers", "state"}, client...), "account list": {"workers", "state", "addr"}, "run list": {"floor", "redis"},
		"job show": {"lease", "every"}, "health": {"data-dir", "state", "api-token"}, "up": {"server", "accounts"}, "": client,
	}
	seen := map[string]bool{}
	var visit func(path []string)
	visit = func(path []string) {
		a := sluice.Run(t, nil, append(append([]string{}, path...), "--help")...).Expect(t, 0)
		if a.Err != "" {
			t.Errorf("%v --help wrote to stderr: %s", path, a.Err)
		}
		name := strings.Join(path, " ")
		seen[name] = true
		flags, lines := append(own[name], global...), commandLine
		if name == "" {
			// The first page has a line for them all.
			flags, lines = nil, firstPageLine
		}
		for _, flag := range flags {
			if !regexp.MustCompile(`(?m)^ +(-\w, )?--` + flag + ` `).MatchString(a.Out) {
				t.Errorf("%q --help does not explain --%s", name, flag)
			}
		}
		for _, flag := range foreign[name] {
			if regexp.MustCompile(`(?m)^ +(-\w, )?--` + flag + ` `).MatchString(a.Out) {
				t.Errorf("%q --help explains --%s", name, flag)
			}
		}
		for _, sub := range lines.FindAllStringSubmatch(a.Out, -1) {
			if sub[1] != "help" && len(path) < 2 {
				visit(append(append([]string{}, path...), sub[1]))
			}
		}
	}
	visit(nil)
	for name := range own {
		if !seen[name] {
			t.Errorf("help does not lead to %q", name)
		}
	}
	if a := sluice.Run(t, nil).Expect(t, 0); !strings.Contains(a.Out, "collect") {
		t.Errorf("the bare program does not explain itself: %s", a.Out)
	}
}

func TestVersion(t *testing.T) {
	a := sluice.Run(t, nil, "--version").Expect(t, 0)
	if !strings.HasPrefix(a.Out, "sluice version ") {
		t.Errorf("got %q", a.Out)
	}
}
