package config

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

var update = flag.Bool("update", false, "write docs/settings.md anew")

// leaves calls visit with the address of every field that is no group.
func leaves(path string, v reflect.Value, visit func(path string, address any)) {
	for i := range v.NumField() {
		if !v.Type().Field(i).IsExported() {
			continue
		}
		f, name := v.Field(i), path+"."+v.Type().Field(i).Name
		if f.Kind() == reflect.Struct {
			leaves(name, f, visit)
		} else {
			visit(name, f.Addr().Interface())
		}
	}
}

// TestEveryFieldIsDeclaredOnce: a field that nobody can set is none, and two
// settings do not share one.
func TestEveryFieldIsDeclaredOnce(t *testing.T) {
	var c Config
	declared, names := map[any][]string{}, map[string]bool{}
	for _, s := range Settings() {
		declared[s.field(&c)] = append(declared[s.field(&c)], s.Name)
		if names[s.Name] {
			t.Errorf("%s is declared twice", s.Name)
		}
		names[s.Name] = true
		if s.Help == "" || s.Group == "" || (s.Own && len(s.Commands) == 0) {
			t.Errorf("%s lacks its help, its group or its commands", s.Name)
		}
	}
	fields := 0
	leaves("Config", reflect.ValueOf(&c).Elem(), func(path string, address any) {
		// Whether one account is collected at all is not for all of them.
		if path == "Config.Harvest.Policy.Off" {
			return
		}
		if path == "Config.Sources" {
			for name, field := range c.Sources {
				fields++
				if len(declared[field]) != 1 {
					t.Errorf("%s of a source is declared as %v", name, declared[field])
				}
			}
			return
		}
		fields++
		if len(declared[address]) != 1 {
			t.Errorf("%s is declared as %v", path, declared[address])
		}
	})
	if fields != len(names) {
		t.Errorf("%d fields, %d settings", fields, len(names))
	}
}

// TestDefaultsStandInOnePlace: flags show and set what Default says.
func TestDefaultsStandInOnePlace(t *testing.T) {
	var c Config
	f := pflag.NewFlagSet("test", pflag.ContinueOnError)
	for _, s := range Settings() {
		s.register(f, &c)
	}
	if !reflect.DeepEqual(c, Default()) {
		t.Errorf("flags leave %+v, want %+v", c, Default())
	}
	for _, s := range Settings() {
		if shown := strings.Trim(f.Lookup(s.Name).DefValue, "[]"); shown != s.Default() {
			t.Errorf("--%s shows %q, want %q", s.Name, shown, s.Default())
		}
	}
}

// TestSettingsAreDocumented compares docs/settings.md with the declaration; go
// test ./internal/config -update writes it anew.
func TestSettingsAreDocumented(t *testing.T) {
	const path = "../../docs/settings.md"
	want := document()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil { //nolint:gosec // a page for everybody
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the declaration says; write it anew with `go test ./internal/config -update`", path)
	}
}

// document is docs/settings.md.
func document() string {
	var text strings.Builder
	text.WriteString("# Settings\n\n" +
		"<!-- Written by `go test ./internal/config -update` from internal/config/declared.go. -->\n\n" +
		"Every setting is an environment variable (`SLUICE_…`), a key of the YAML file that `--config` names, and a flag of the\n" +
		"commands in the last column; `sluice help settings` prints the same. The command line comes before the environment, that\n" +
		"before the file, and that before the default. Everything that is wrong is told at once.\n\n" +
		"Where `--config` (`SLUICE_CONFIG`) names no file, the first that is there counts: `sluice.yaml` of the data folder, of\n" +
		"`~/.config/sluice` (`$XDG_CONFIG_HOME/sluice`), of `/etc/sluice`. `SLUICE_CONFIG=` (empty) means none. `sluice config init`\n" +
		"writes one with every setting in a comment, `sluice config show` tells what holds and where it comes from, and\n" +
		"`sluice config check` what is wrong.\n\n" +
		"One file serves every command: each takes what it uses and leaves the rest alone. A command that opens a service in its\n" +
		"own process, as there is none that runs, makes it with what the file and the environment say, whether or not it has a\n" +
		"flag for that.\n\n" +
		"A *secret* is given as `@FILE` or in the environment and is shown nowhere. A *URL* may hold a password; with one it is\n" +
		"given as `@FILE` or in the environment too. The first column is the key in the file; a flag has two dashes before it.\n")
	group := ""
	for _, s := range Settings() {
		if s.Group != group {
			group = s.Group
			fmt.Fprintf(&text, "\n## %s\n\n| Setting | Variable | Default | | Flag of |\n|---|---|---|---|---|\n", group)
		}
		byDefault, help := "", strings.ReplaceAll(s.Help, "|", `\|`)
		if value := s.Default(); value != "" {
			byDefault = "`" + value + "`"
		}
		switch s.Secrecy {
		case Secret:
			help += " (*secret*)"
		case SecretURL:
			help += " (*URL*)"
		case Public:
		}
		fmt.Fprintf(&text, "| `%s` | `%s` | %s | %s | %s |\n", s.Name, s.Env(), byDefault, help, s.commandsText())
	}
	return text.String()
}

// TestWhoUsesWhat: a flag is used, a setting of a service is used by those that
// open one, and what is a command's own by nobody else.
func TestWhoUsesWhat(t *testing.T) {
	for _, tc := range []struct {
		setting, command string
		flag, used       bool
	}{
		{"output", "sim github", true, true}, {"workers", "up", true, true}, {"workers", "timer cancel", false, true},
		{"workers", "sim github", false, false}, {"roles", "collect", false, false}, {"server", "run list", true, true},
		{"server", "up", false, false}, {"state", "run list", false, true}, {"state", "doctor", true, true},
		{"every", "account schedule", true, true}, {"every", "account list", false, false}, {"data-dir", "runner", false, false},
		{"addr", "health", true, true}, {"addr", "run list", false, false}, {"archive", "archive list", true, true},
	} {
		s, found := Find(tc.setting)
		if !found || s.FlagOf(tc.command) != tc.flag || s.UsedBy(tc.command) != tc.used {
			t.Errorf("--%s of %q: found %v, flag %v, used %v", tc.setting, tc.command, found, s.FlagOf(tc.command), s.UsedBy(tc.command))
		}
	}
	if _, found := Find("json"); found {
		t.Error("there is a setting json")
	}
}

// TestMisdeclaredSettings: a setting of a type that no flag has is named by an error
// at start, and nothing panics before that.
func TestMisdeclaredSettings(t *testing.T) {
	if found := misdeclared(Settings()); len(found) > 0 {
		t.Errorf("of the settings that there are: %v", found)
	}
	odd := Setting{Name: "ratio", Group: "odd", field: func(*Config) any { return new(float64) }}
	number := Setting{Name: "pin", Secrecy: Secret, field: func(c *Config) any { return &c.Collect.Workers }}
	found := misdeclared([]Setting{odd, number})
	if len(found) != 2 || !strings.Contains(found[0].Text, "ratio is kept as *float64") || !strings.Contains(found[1].Text, "pin is a secret and kept as *int") {
		t.Errorf("found %v", found)
	}
	var c Config
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	if odd.register(flags, &c) || flags.Lookup("ratio") != nil || odd.value(&c) != "" || odd.Default() != "" {
		t.Error("it is registered, or has a value")
	}
}
