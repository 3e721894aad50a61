package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	sim "sluice/internal/simulator/github"
	"sluice/internal/testkit/sluice"
)

// diagnosis is what doctor finds.
type diagnosis struct {
	OK       bool
	Findings []struct {
		What, Detail, Fix string
		OK                bool
	}
}

// sick lists what is not well.
func (d diagnosis) sick() string {
	var names []string
	for _, f := range d.Findings {
		if !f.OK && f.Fix != "" {
			names = append(names, f.What)
		}
	}
	return strings.Join(names, ",")
}

func TestDoctor(t *testing.T) {
	u := sluice.NewUpstream(t, sim.Options{Seed: 3, Accounts: 1})
	collected := t.TempDir()
	sluice.Run(t, nil, u.Collect(collected)...).Expect(t, 0)
	database := filepath.Join(collected, "sluice.db")
	damaged := t.TempDir()
	text, err := os.ReadFile(database)
	if err != nil {
		t.Fatal(err)
	}
	for i := 4096; i < len(text); i++ {
		text[i] ^= 0x5a
	}
	if err := os.WriteFile(filepath.Join(damaged, "sluice.db"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		dir, url string
		sick     string
		says     []string
	}{
		"healthy":          {collected, u.URL, "", []string{"is sound", "answers in"}},
		"nothing yet":      {filepath.Join(t.TempDir(), "new"), u.URL, "", []string{"does not exist yet", "none yet"}},
		"damaged database": {damaged, u.URL, "database", []string{"restore it from a backup"}},
		"no folder":        {file, u.URL, "data folder", []string{"is not a folder", "--data-dir"}},
		"upstream down":    {collected, "http://127.0.0.1:1", "GitHub", []string{"connection refused", "check the network and --github-url"}},
	} {
		t.Run(name, func(t *testing.T) {
			args := []string{"doctor", "--data-dir", tc.dir, "--github-url", tc.url}
			code, says := 0, []string(nil)
			if tc.sick != "" {
				code, says = 1, []string{"1 check failed"}
			}
			a := sluice.Run(t, nil, args...).Expect(t, code, says...)
			for _, text := range tc.says {
				if !strings.Contains(a.Out, text) {
					t.Errorf("stdout does not say %q:\n%s", text, a.Out)
				}
			}
			a = sluice.Run(t, nil, append(args, "--output", "json")...).Expect(t, code, says...)
			if d := sluice.Decode[diagnosis](t, a.Out); d.OK != (tc.sick == "") || d.sick() != tc.sick || len(d.Findings) != 4 {
				t.Errorf("got %+v", d)
			}
		})
	}
	// A database that a newer version has migrated is left alone.
	newer := filepath.Join(t.TempDir(), "newer")
	if err := os.CopyFS(newer, os.DirFS(collected)); err != nil {
		t.Fatal(err)
	}
	conn, err := sqlite.OpenConn(filepath.Join(newer, "sluice.db"), sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	if err := sqlitex.ExecuteTransient(conn, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)", nil); err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	a := sluice.Run(t, nil, "doctor", "--data-dir", newer, "--github-url", u.URL).Expect(t, 1, "1 check failed")
	if !strings.Contains(a.Out, "schema 9999") || !strings.Contains(a.Out, "newer") {
		t.Errorf("of a newer database it says\n%s", a.Out)
	}
	// The damaged database is refused by whoever would work on it, too.
	sluice.Run(t, nil, u.Collect(damaged)...).Expect(t, 1, "damaged", "backup")
}

func TestDoctorWhileAServiceRuns(t *testing.T) {
	u := sluice.NewUpstream(t, sim.Options{Seed: 3, Accounts: 1})
	s := sluice.Up(t, u, nil)
	s.Completes(s.Signup(u.Logins()[0], u.Token(u.Logins()[0])))
	a := sluice.Run(t, nil, "doctor", "--data-dir", s.Dir, "--github-url", u.URL).Expect(t, 0)
	if !strings.Contains(a.Out, "in use by process") || !strings.Contains(a.Out, s.URL) {
		t.Errorf("got %s", a.Out)
	}
	s.Signal(syscall.SIGTERM)
	s.Ends().Expect(t, 0)
}
