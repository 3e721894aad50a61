package main_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	sim "sluice/internal/simulator/github"
	"sluice/internal/testkit"
	"sluice/internal/testkit/sluice"
)

// TestRunWatchAndCompletion: the board of a service that runs elsewhere, and what a
// shell is offered by it. Nothing that goes wrong is an error for a shell.
func TestRunWatchAndCompletion(t *testing.T) {
	u := sluice.NewUpstream(t, sim.Options{Seed: 3, Accounts: 2, NoPollInterval: true, Latency: sim.Latency{Fixed: 10 * time.Millisecond}})
	s := sluice.Up(t, u, nil)
	first := u.Logins()[0]
	s.Signup(first, u.Token(first))
	if a := sluice.Run(t, nil, "run", "watch", "1", "--data-dir", s.Dir).Expect(t, 0); a.Out != "run 1 of "+first+" is COMPLETED\n" {
		t.Errorf("it says %q", a.Out)
	}
	sluice.Run(t, nil, "run", "watch", "--data-dir", s.Dir).Expect(t, 1, "no run is active")
	for want, args := range map[string][]string{
		"1\t" + first + ", COMPLETED\n": {"run", "show", "--data-dir", s.Dir, ""},
		first + "\tgithub, active\n":    {"stats", "--server", s.URL, first[:2]},
		"FAILED\n":                      {"job", "list", "--status", ""},
		"commits\n":                     {"export", "--kind", ""},
		"worker\n":                      {"up", "--roles", ""},
		"run\t":                         {"help", "ru"},
	} {
		offers := func() string {
			return sluice.Run(t, nil, append([]string{"__complete"}, args...)...).Expect(t, 0).Out
		}
		out := offers()
		// A service that a busy machine does not let answer within a second is not
		// waited for: then nothing is offered, and whoever types asks again.
		for late := time.Now().Add(sluice.Patience); out == ":4\n" && time.Now().Before(late); {
			out = offers()
		}
		if !strings.Contains(out, want) {
			t.Errorf("%q offers %q", args, out)
		}
	}
	for _, args := range [][]string{
		{"run", "show", "--data-dir", "/nowhere", ""}, {"run", "show", "--server", "http://127.0.0.1:1", ""}, {"stats", "--config", "/nowhere.yaml", ""},
	} {
		if a := sluice.Run(t, []string{"SLUICE_WORKERS=x"}, append([]string{"__complete"}, args...)...).Expect(t, 0); a.Out != ":4\n" {
			t.Errorf("%q offers %q", args, a.Out)
		}
	}
}

// TestWhoLooksMakesNothing, in a shared database either: it says what to do.
func TestWhoLooksMakesNothing(t *testing.T) {
	for name, url := range map[string]string{"mariadb": testkit.MariaDB(t), "postgres": testkit.Postgres(t)} {
		env := []string{"SLUICE_STATE=" + url, "SLUICE_REDIS=" + testkit.Redis(t), "SLUICE_KEY_FILE=" + sluice.KeyFile(t)}
		sluice.Run(t, env, "run", "list").Expect(t, 1, "there is no data in the database", "sluice up")
		var tables int
		if err := testkit.OpenSQL(t, url).QueryRowContext(t.Context(), "SELECT COUNT(*) FROM information_schema.tables WHERE table_name = 'account'").Scan(&tables); err != nil || tables > 0 {
			t.Errorf("%s has %d tables, %v", name, tables, err)
		}
	}
}

// TestConfigurationIsFound: `config init` writes where the next command looks.
func TestConfigurationIsFound(t *testing.T) {
	home := t.TempDir()
	env := []string{"XDG_CONFIG_HOME=" + home}
	file := filepath.Join(home, "sluice", "sluice.yaml")
	sluice.Run(t, env, "config", "init").Expect(t, 0)
	sluice.Run(t, env, "config", "init").Expect(t, 1, file+" is there already")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("it is %v, %v", info, err)
	}
	if a := sluice.Run(t, env, "config", "check").Expect(t, 0); !strings.Contains(a.Out, file) {
		t.Errorf("it says %q", a.Out)
	}
	if err := os.WriteFile(file, []byte("workers: 3\nroles: [worker]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	sluice.Run(t, env, "config", "check").Expect(t, 2, "--roles")
	type explained struct{ Name, Value, From string }
	if err := os.WriteFile(file, []byte("workers: 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	all := sluice.Decode[struct{ Settings []explained }](t, sluice.Run(t, env, "config", "show", "-o", "json", "--lease", "9s").Expect(t, 0).Out).Settings
	for _, want := range []explained{{"workers", "3", "file"}, {"lease", "9s", "flag"}, {"floor", "100", "default"}} {
		if !slices.Contains(all, want) {
			t.Errorf("there is no %+v", want)
		}
	}
	v := sluice.Decode[struct{ Version, Go, System string }](t, sluice.Run(t, env, "version", "-o", "json").Expect(t, 0).Out)
	if v.Version == "" || !strings.HasPrefix(v.Go, "go1.") || v.System == "" {
		t.Errorf("the version is %+v", v)
	}
	if a := sluice.Run(t, env, "version", "--verbose").Expect(t, 0); !strings.Contains(a.Out, "module  github.com/spf13/cobra v") {
		t.Errorf("it says %q", a.Out)
	}
}
