package collection_test

import (
	"os"
	"path/filepath"
	"testing"

	sim "sluice/internal/simulator/github"
	"sluice/internal/testkit/sluice"
)

// TestCollectWithAStoredToken types what adding an account advises: in a folder that
// is not there yet, and without telling the token twice.
func TestCollectWithAStoredToken(t *testing.T) {
	u := sluice.NewUpstream(t, sim.Options{Seed: 3, Accounts: 2})
	login, other, dir := u.Logins()[0], u.Logins()[1], filepath.Join(t.TempDir(), "data")
	collect := func(login string) []string {
		return []string{"collect", login, "--data-dir", dir, "--github-url", u.URL, "--output", "json"}
	}
	sluice.Run(t, nil, collect(login)...).Expect(t, 2, "there is no token for "+login)
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("what was refused made the data folder (%v)", err)
	}
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte(u.Token(login)), 0o600); err != nil {
		t.Fatal(err)
	}
	sluice.Run(t, nil, "account", "add", login, "--token-file", token, "--data-dir", dir).Expect(t, 0)
	s := sluice.Decode[sluice.Summary](t, sluice.Run(t, nil, collect(login)...).Expect(t, 0).Out)
	if s.Runs["COMPLETED"] != 1 || s.Documents == 0 {
		t.Errorf("got %+v", s)
	}
	sluice.Run(t, nil, collect(other)...).Expect(t, 2, "there is no token for "+other)
}
