package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	sim "sluice/internal/simulator/github"
	"sluice/internal/testkit/sluice"
)

// smallWorld has one account with next to nothing.
func smallWorld(t *testing.T) *sluice.Upstream {
	t.Helper()
	few := sim.Between(1, 3)
	return sluice.NewUpstream(t, sim.Options{Seed: 3, Accounts: 1, Shape: &sim.Shape{Repos: few, Commits: few, Issues: few, Pulls: few}})
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// sickDatabase is what doctor says of a folder's database.
func sickDatabase(t *testing.T, u *sluice.Upstream, dir string, words ...string) {
	t.Helper()
	d := sluice.Decode[doctorJSON](t, sluice.Run(t, nil, "doctor", "--data-dir", dir, "--github-url", u.URL, "-o", "json").Expect(t, 1).Out)
	f := d.find(t, "database")
	for _, word := range words {
		if f.OK || !strings.Contains(f.Detail+f.Fix, word) {
			t.Errorf("it does not say %q: %+v", word, f)
		}
	}
}

// TestKeysAndBackups: whoever restores data whose key is another, or looks at it, is
// told; a rotation with a wrong key changes nothing.
func TestKeysAndBackups(t *testing.T) {
	u := smallWorld(t)
	dir := t.TempDir()
	sluice.Run(t, nil, u.Collect(dir)...).Expect(t, 0)
	key, file := filepath.Join(dir, "sluice.key"), filepath.Join(t.TempDir(), "a.backup")
	on := func(args ...string) sluice.Answer { return sluice.Run(t, nil, append(args, "--data-dir", dir)...) }
	on("backup", "-").Expect(t, 2, "name a file")
	on("backup", file).Expect(t, 0)
	on("restore", file, "--check").Expect(t, 0)
	on("key", "rotate").Expect(t, 0)
	on("restore", file, "--check").Expect(t, 0, "warning: credentials are sealed with key")
	on("restore", file, "--force").Expect(t, 0, "warning: credentials are sealed with key", "the key file of the time of the backup")
	sickDatabase(t, u, dir, "are sealed with key", "put the key file of these data")
	foreign := strings.Repeat("0b", 32)
	put(t, key, foreign)
	on("key", "rotate").Expect(t, 1, "nothing was changed")
	if text, err := os.ReadFile(key); err != nil || string(text) != foreign {
		t.Errorf("the key file was changed: %v", err)
	}
	put(t, key, "hello")
	sickDatabase(t, u, dir, "is damaged (a line is not hexadecimal)")
	on("backup", file+"2", "--with-key").Expect(t, 1, "is damaged")
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	on("key", "rotate").Expect(t, 1, "is missing, and stored credentials were sealed")

	// A broken file in the folder does not keep anybody from saving what is there.
	put(t, filepath.Join(dir, "sluice.yaml"), ": [")
	on("run", "list").Expect(t, 2)
	on("backup", file+"3").Expect(t, 0, "are not used")
	sluice.Run(t, []string{"SLUICE_DATA_DIR=" + dir}, "restore", file, "--force").Expect(t, 0, "are not used")
}

// TestAnInterruptedRestoreIsSeenByAll: there is no database, and yet data.
func TestAnInterruptedRestoreIsSeenByAll(t *testing.T) {
	u := smallWorld(t)
	dir := t.TempDir()
	put(t, filepath.Join(dir, "sluice.restoring"), "")
	for _, args := range [][]string{{"run", "list"}, {"account", "list"}, {"key", "rotate"}, {"backup", filepath.Join(t.TempDir(), "x")}, {"export", "--kind", "commits"}} {
		sluice.Run(t, nil, append(args, "--data-dir", dir)...).Expect(t, 1, "was interrupted: repeat it")
	}
	sickDatabase(t, u, dir, "was interrupted", "--force")
}

func TestConfigInitNeedsAHome(t *testing.T) {
	sluice.Run(t, []string{"HOME=", "XDG_CONFIG_HOME="}, "config", "init").Expect(t, 2, "name a FILE")
}

// TestWatchingWhatEnded needs no service.
func TestWatchingWhatEnded(t *testing.T) {
	u := smallWorld(t)
	dir := t.TempDir()
	sluice.Run(t, nil, u.Collect(dir)...).Expect(t, 0)
	if a := sluice.Run(t, nil, "run", "watch", "1", "--data-dir", dir).Expect(t, 0); !strings.Contains(a.Out, "is COMPLETED") {
		t.Errorf("it says %s", a.Out)
	}
	sluice.Run(t, nil, "run", "watch", "--data-dir", dir).Expect(t, 1, "nothing moves there")

	// One that waits for a person says what for.
	wrong, other := filepath.Join(t.TempDir(), "token"), t.TempDir()
	put(t, wrong, "no-such-token")
	sluice.Run(t, nil, "collect", u.Logins()[0], "--token-file", wrong, "--data-dir", other, "--github-url", u.URL).Expect(t, 4)
	if a := sluice.Run(t, nil, "run", "watch", "1", "--data-dir", other).Expect(t, 0); !strings.Contains(a.Out, "does not accept the token") {
		t.Errorf("it says %s", a.Out)
	}
}

// TestDoctorOfWhatItCannotLookAt does not advise to throw data away. A link to itself
// is refused to everybody, to root as well.
func TestDoctorOfWhatItCannotLookAt(t *testing.T) {
	u := smallWorld(t)
	dir := t.TempDir()
	if err := os.Symlink("sluice.db", filepath.Join(dir, "sluice.db")); err != nil {
		t.Fatal(err)
	}
	sickDatabase(t, u, dir, "cannot be looked at", "run doctor as the user")
}
