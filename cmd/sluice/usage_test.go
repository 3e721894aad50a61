package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
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
		"no duration":         {nil, []string{"demo", "--window", "10"}, []string{"--window", "10"}},
		"command":             {nil, []string{"colect", "octocat"}, []string{`"colect"`, "did you mean collect?"}},
		"subcommand":          {nil, []string{"run", "lst"}, []string{`"lst"`, "did you mean list?"}},
		"simulator":           {nil, []string{"sim", "githb"}, []string{"did you mean github?"}},
		"argument":            {nil, []string{"up", "now"}, []string{"takes no arguments", `"now"`}},
		"output":              {nil, []string{"run", "list", "--output", "yaml"}, []string{"--output", "text or json", "yaml"}},
		"log level":           {nil, []string{"up", "--log-level", "loud"}, []string{"--log-level", "loud"}},
		"workers":             {nil, []string{"up", "--workers", "0"}, []string{"--workers is 0", "between 1"}},
		"floor":               {nil, []string{"up", "--floor", "-1"}, []string{"--floor"}},
		"accounts":            {nil, []string{"demo", "--accounts", "0"}, []string{"--accounts is 0"}},
		"window":              {nil, []string{"demo", "--window", "10ms"}, []string{"--window", "at least 1s"}},
		"limit":               {nil, []string{"demo", "--limit", "0"}, []string{"--limit"}},
		"mutate":              {nil, []string{"demo", "--mutate=-1"}, []string{"--mutate"}},
		"id":                  {nil, []string{"run", "show", "first"}, []string{`"first"`, "sluice run list"}},
		"no id":               {nil, []string{"job", "retry"}, []string{"takes one id"}},
		"no login":            {nil, []string{"account", "pause"}, []string{"takes one login"}},
		"status":              {nil, []string{"job", "list", "--status", "BROKEN"}, []string{"--status", "BROKEN"}},
		"server":              {nil, []string{"run", "list", "--server", "localhost"}, []string{"not the address of a service"}},
		"github url":          {nil, []string{"up", "--github-url", "ftp://x", "--addr", "127.0.0.1:0"}, []string{"ftp://x"}},
		"variable":            {[]string{"SLUICE_WORKERS=x"}, []string{"up"}, []string{"SLUICE_WORKERS", `"x"`, "--workers"}},
		"variable's range":    {[]string{"SLUICE_OUTPUT=xml"}, []string{"run", "list"}, []string{"--output", "xml"}},
		"role":                {nil, []string{"up", "--roles", "boss"}, []string{"--roles", "boss", "refresh"}},
		"nothing to refresh": {nil, []string{"up", "--roles", "refresh", "--state", "mysql://x@127.0.0.1:1/x", "--redis", "redis://127.0.0.1:1"},
			[]string{"--roles refresh", "SLUICE_MAPLESTORY_KEY"}},
		"configured":         {nil, []string{"up", "--config", config}, []string{"--workers is 0"}},
		"configured by name": {[]string{"SLUICE_CONFIG=" + typo}, []string{"up"}, []string{"data-dri", "did you mean data-dir?"}},
		"no configuration":   {nil, []string{"up", "--config", "/nowhere.yaml"}, []string{"/nowhere.yaml"}},
	} {
		t.Run(name, func(t *testing.T) {
			args := append(tc.args, "--data-dir", filepath.Join(dir, "data"))
			a := sluice(t, tc.env, args...).expect(t, 2, tc.says...)
			if a.out != "" || strings.Count(a.errOut, "\n") != 1 {
				t.Errorf("want one line on stderr alone, got %q and %q", a.out, a.errOut)
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
	config := filepath.Join(dir, "sluice.yaml")
	text := "data_dir: " + data + "\noutput: json\naccounts: 3\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	a := sluice(t, nil, "run", "list", "--config", config).expect(t, 0)
	decode[struct{ Runs []any }](t, a.out)
	a = sluice(t, []string{"SLUICE_CONFIG=" + config, "SLUICE_OUTPUT=text"}, "run", "list").expect(t, 0)
	if !strings.HasPrefix(a.out, "RUN ") {
		t.Errorf("the environment does not prevail over the file: %s", a.out)
	}
	a = sluice(t, []string{"SLUICE_CONFIG=" + config, "SLUICE_OUTPUT=text"}, "run", "list", "--output", "json").expect(t, 0)
	decode[struct{ Runs []any }](t, a.out)
}

var commandLine = regexp.MustCompile(`(?m)^  ([a-z]+) {2,}\S`)

// TestHelp asks every command for help, and every command it names in turn.
func TestHelp(t *testing.T) {
	global := []string{"config", "data-dir", "server", "api-token", "github-url", "output", "log-level", "workers", "floor", "points-per-minute"}
	own := map[string][]string{
		"demo":           {"accounts", "seed", "window", "limit", "latency", "mutate", "unlimited", "exit-when-done", "addr"},
		"up":             {"addr"},
		"collect":        {"token-file"},
		"sim":            nil,
		"sim github":     {"accounts", "seed", "window", "limit", "latency", "mutate", "unlimited", "addr"},
		"account":        nil,
		"account list":   nil,
		"account pause":  {"reason"},
		"account resume": nil,
		"run":            nil,
		"run list":       {"active", "account", "limit"},
		"run show":       {"ledger"},
		"run cancel":     {"reason"},
		"job":            nil,
		"job list":       {"run", "status", "after", "limit"},
		"job show":       nil,
		"job retry":      nil,
		"doctor":         nil,
	}
	seen := map[string]bool{}
	var visit func(path []string)
	visit = func(path []string) {
		a := sluice(t, nil, append(append([]string{}, path...), "--help")...).expect(t, 0)
		if a.errOut != "" {
			t.Errorf("%v --help wrote to stderr: %s", path, a.errOut)
		}
		name := strings.Join(path, " ")
		seen[name] = true
		for _, flag := range append(own[name], global...) {
			if !regexp.MustCompile(`(?m)^ +(-\w, )?--` + flag + ` `).MatchString(a.out) {
				t.Errorf("%q --help does not explain --%s", name, flag)
			}
		}
		for _, sub := range commandLine.FindAllStringSubmatch(a.out, -1) {
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
	if a := sluice(t, nil).expect(t, 0); !strings.Contains(a.out, "collect") {
		t.Errorf("the bare program does not explain itself: %s", a.out)
	}
}

func TestVersion(t *testing.T) {
	a := sluice(t, nil, "--version").expect(t, 0)
	if !strings.HasPrefix(a.out, "sluice version ") {
		t.Errorf("got %q", a.out)
	}
}
