package collection_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	sim "sluice/internal/simulator/github"
	"sluice/internal/testkit/sluice"
)

// TestCompare compares a folder with another Sluice and with dumps of it.
func TestCompare(t *testing.T) {
	u := sluice.NewUpstream(t, sim.Options{Seed: 3, Accounts: 2})
	ours, theirs := t.TempDir(), t.TempDir()
	sluice.Run(t, nil, u.Collect(ours)...).Expect(t, 0)
	sluice.Run(t, nil, u.Collect(theirs)...).Expect(t, 0)
	other := sluice.UpIn(t, u, theirs, nil)
	compare := func(args ...string) sluice.Answer {
		t.Helper()
		return sluice.Run(t, nil, append([]string{"compare", "github", "--data-dir", ours}, args...)...)
	}
	if a := compare(other.URL).Expect(t, 0); !strings.Contains(a.Out, "both have the same") || !strings.Contains(a.Out, "0 missing here") {
		t.Errorf("it says %s", a.Out)
	}
	dump := filepath.Join(t.TempDir(), "commits.jsonl")
	sluice.Run(t, nil, "export", "--kind", "commits", "--data-dir", ours, "--out", dump).Expect(t, 0)
	compare(dump, "--kind", "commits").Expect(t, 0)
	text, err := os.ReadFile(dump)
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.Split(strings.TrimSpace(string(text)), "\n")
	rows = append(rows[1:], strings.Replace(rows[0], `"id":"`, `"id":"0`, 1))
	if err := os.WriteFile(dump, []byte(strings.Join(rows, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	type found struct {
		Equal bool
		Kinds []struct {
			Kind                            string
			Missing, Extra, Different, Same int
			Accounts                        map[string]struct{ Missing, Extra int }
		}
		Calls struct{ Ours int }
	}
	a := compare(dump, "--kind", "commits", "-o", "json").Expect(t, 1, "do not have the same")
	got := sluice.Decode[found](t, a.Out)
	if got.Equal || len(got.Kinds) != 1 || got.Kinds[0].Missing != 1 || got.Kinds[0].Extra != 1 || got.Kinds[0].Same != len(rows)-1 || len(got.Kinds[0].Accounts) != 1 || got.Calls.Ours == 0 {
		t.Errorf("found %+v", got)
	}
	parquet := filepath.Join(t.TempDir(), "pulls.parquet")
	sluice.Run(t, nil, "export", "--kind", "pulls", "--server", other.URL, "--out", parquet).Expect(t, 0)
	compare(parquet, "--kind", "pulls").Expect(t, 0)
	compare(dump).Expect(t, 2, "--kind")
	compare("mysql://root:secret@127.0.0.1/x", "--kind", "commits").Expect(t, 2, "@FILE")
	compare("mysql://root@127.0.0.1/x", "--kind", "commits").Expect(t, 2, "--table")
	sluice.Run(t, nil, "compare", "weather", dump, "--data-dir", ours).Expect(t, 2, "there is no source")
	watching := sluice.Start(t, nil, "compare", "github", other.URL, "--data-dir", ours, "--kind", "issues", "--watch", "1s", "-o", "json")
	watching.Signal(os.Interrupt)
	_ = watching.Wait()
}
