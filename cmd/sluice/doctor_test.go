package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	sim "sluice/internal/simulator/github"
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
	u := newUpstream(t, sim.Options{Seed: 3, Accounts: 1})
	collected := t.TempDir()
	sluice(t, nil, u.collect(collected)...).expect(t, 0)
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
		"healthy":          {collected, u.url, "", []string{"is sound", "answers in"}},
		"nothing yet":      {filepath.Join(t.TempDir(), "new"), u.url, "", []string{"does not exist yet", "none yet"}},
		"damaged database": {damaged, u.url, "database", []string{"restore it from a backup"}},
		"no folder":        {file, u.url, "data folder", []string{"is not a folder", "--data-dir"}},
		"upstream down":    {collected, "http://127.0.0.1:1", "GitHub", []string{"connection refused", "check the network and --github-url"}},
	} {
		t.Run(name, func(t *testing.T) {
			args := []string{"doctor", "--data-dir", tc.dir, "--github-url", tc.url}
			code, says := 0, []string(nil)
			if tc.sick != "" {
				code, says = 1, []string{"1 check failed"}
			}
			a := sluice(t, nil, args...).expect(t, code, says...)
			for _, text := range tc.says {
				if !strings.Contains(a.out, text) {
					t.Errorf("stdout does not say %q:\n%s", text, a.out)
				}
			}
			a = sluice(t, nil, append(args, "--output", "json")...).expect(t, code, says...)
			if d := decode[diagnosis](t, a.out); d.OK != (tc.sick == "") || d.sick() != tc.sick || len(d.Findings) != 4 {
				t.Errorf("got %+v", d)
			}
		})
	}
	// The damaged database is refused by whoever would work on it, too.
	sluice(t, nil, u.collect(damaged)...).expect(t, 1, "damaged", "backup")
}

func TestDoctorWhileAServiceRuns(t *testing.T) {
	u := newUpstream(t, sim.Options{Seed: 3, Accounts: 1})
	s := up(t, u, nil)
	s.completes(s.signup(u.Logins()[0], u.Token(u.Logins()[0])))
	a := sluice(t, nil, "doctor", "--data-dir", s.dir, "--github-url", u.url).expect(t, 0)
	if !strings.Contains(a.out, "in use by process") || !strings.Contains(a.out, s.url) {
		t.Errorf("got %s", a.out)
	}
	s.signal(syscall.SIGTERM)
	s.ends().expect(t, 0)
}
