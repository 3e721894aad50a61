package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// place is where settings come from in a test.
type place struct {
	*testing.T
	env   map[string]string
	args  []string
	files []string
}

// load loads what the place says, as `sluice config show` does.
func (p place) load() (*Config, Origin, map[string]bool) {
	p.Helper()
	c, from, typed, err := p.try(false)
	if err != nil {
		p.Fatal(err)
	}
	return c, from, typed
}

// check says what is wrong, as `sluice config check` and `sluice up` do.
func (p place) check() error {
	p.Helper()
	_, _, _, err := p.try(true)
	return err
}

func (p place) try(opens bool) (*Config, Origin, map[string]bool, error) {
	p.Helper()
	c := Default()
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	RegisterGlobal(flags, &c)
	RegisterAll(flags, &c)
	if err := flags.Parse(p.args); err != nil {
		p.Fatal(err)
	}
	typed := map[string]bool{}
	flags.Visit(func(f *pflag.Flag) { typed[f.Name] = true })
	var known []string
	flags.VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	from := Origin{Flags: flags, Command: "config show", Known: known, Files: p.files, Env: func(name string) (string, bool) {
		value, set := p.env[name]
		return value, set
	}}
	return &c, from, typed, c.Load(from, opens)
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestExplain: each value with where it comes from, and no secret.
func TestExplain(t *testing.T) {
	dir := t.TempDir()
	token := write(t, filepath.Join(dir, "api.token"), "swordfish-swordfish-swordfish")
	file := write(t, filepath.Join(dir, "sluice.yaml"), "workers: 7\nlease: 20s\nfloor: 9\napi-token: \"@"+token+"\"\nstate: postgres://me:swordfish@host/db?sslmode=require&sslpassword=swordfish\nredis: redis://host\nkey-file: k\n")
	c, from, typed := place{T: t, args: []string{"--config", file, "--lease", "30s"},
		env: map[string]string{"SLUICE_FLOOR": "5", "SLUICE_WEBHOOK_SECRET": "swordfish-swordfish"}}.load()
	got := map[string]Explained{}
	for _, e := range c.Explain(from, typed) {
		if strings.Contains(e.Value, "swordfish") {
			t.Errorf("%s shows a secret: %s", e.Name, e.Value)
		}
		got[e.Name] = e
	}
	for name, want := range map[string]Explained{
		"workers":        {Value: "7", From: FromFile, Where: file},
		"lease":          {Value: "30s", From: FromFlag, Where: "--lease"},
		"floor":          {Value: "5", From: FromEnvironment, Where: "SLUICE_FLOOR"},
		"prefetch":       {Value: "-1", From: FromDefault},
		"api-token":      {Value: "@" + token, From: FromFile, Where: file},
		"webhook-secret": {Value: "********", From: FromEnvironment, Where: "SLUICE_WEBHOOK_SECRET"},
		"state":          {Value: "postgres://me:********@host/db?sslmode=require&sslpassword=********", From: FromFile, Where: file},
		"config":         {Value: file, From: FromFlag, Where: "--config"},
	} {
		e := got[name]
		if e.Value != want.Value || e.From != want.From || e.Where != want.Where {
			t.Errorf("%s is %+v, want %+v", name, e, want)
		}
	}
	if len(got) != len(Settings()) {
		t.Errorf("%d of %d settings are told", len(got), len(Settings()))
	}
}

// TestWhereAFileIsFound: the data folder comes first, then the user's, then the
// machine's; what is named comes before all of them, and nothing can be named too.
func TestWhereAFileIsFound(t *testing.T) {
	dir := t.TempDir()
	data, user, machine, named := filepath.Join(dir, "data"), filepath.Join(dir, "user.yaml"), filepath.Join(dir, "machine.yaml"), filepath.Join(dir, "named.yaml")
	write(t, named, "workers: 4\n")
	found := func(env map[string]string, args ...string) int {
		t.Helper()
		c, _, _ := place{T: t, env: env, args: args, files: []string{user, machine}}.load()
		return c.Collect.Workers
	}
	want := func(what string, got, want int) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %d workers, want %d", what, got, want)
		}
	}
	none := Default().Collect.Workers
	want("nowhere", found(nil, "--data-dir", data), none)
	write(t, machine, "workers: 3\n")
	want("the machine's", found(nil, "--data-dir", data), 3)
	write(t, user, "workers: 2\n")
	want("the user's", found(nil, "--data-dir", data), 2)
	write(t, filepath.Join(data, FileName), "workers: 1\n")
	want("the data folder's", found(nil, "--data-dir", data), 1)
	want("the data folder's, by a variable", found(map[string]string{"SLUICE_DATA_DIR": data}), 1)
	want("one that is named", found(map[string]string{"SLUICE_CONFIG": named}, "--data-dir", data), 4)
	want("none", found(map[string]string{"SLUICE_CONFIG": ""}, "--data-dir", data), none)
}

// TestTemplate: what `sluice config init` writes holds nothing, and with its marks
// taken away what holds by default.
func TestTemplate(t *testing.T) {
	dir := t.TempDir()
	whole := write(t, filepath.Join(dir, "whole.yaml"), Template())
	c, _, _ := place{T: t, args: []string{"--config", whole}}.load()
	c.File = ""
	bare := Default()
	for _, s := range Settings() {
		if s.value(c) != s.value(&bare) {
			t.Errorf("%s is %q", s.Name, s.value(c))
		}
	}
	var set strings.Builder
	for line := range strings.Lines(Template()) {
		if text, is := strings.CutPrefix(line, "#"); is && !strings.HasPrefix(text, "#") && !strings.HasPrefix(text, " ") {
			set.WriteString(text)
		}
	}
	settings, wrong, err := read(write(t, filepath.Join(dir, "set.yaml"), set.String()), names())
	if err != nil || len(wrong) > 0 || len(settings) != len(Settings())-3 {
		t.Errorf("%d settings of %d, %v, %v", len(settings), len(Settings()), wrong, err)
	}
	for _, s := range Settings() {
		if value, has := settings[s.Name]; has && value != s.Default() {
			t.Errorf("%s is %q, by default %q", s.Name, value, s.Default())
		}
	}
}

func names() (all []string) {
	for _, s := range Settings() {
		all = append(all, s.Name)
	}
	return all
}
