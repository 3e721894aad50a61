package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"sluice/internal/access"
	"sluice/internal/httpapi/wire"
	sim "sluice/internal/simulator/github"
	"sluice/internal/testkit"
	"sluice/internal/testkit/sluice"
)

// TestTokensAndAudit makes and revokes tokens by commands, on a folder and on a
// service, and reads who did it.
func TestTokensAndAudit(t *testing.T) {
	u := sluice.NewUpstream(t, sim.Options{Seed: 3, Accounts: 1})
	dir := t.TempDir()
	sluice.Run(t, nil, u.Collect(dir)...).Expect(t, 0)
	folder := func(args ...string) []string { return append(args, "--data-dir", dir) }
	sluice.Run(t, nil, folder("token", "create", "reader", "--role", "read")...).Expect(t, 1, "the first token is an admin's")
	sluice.Run(t, nil, folder("token", "create", "reader", "--role", "root")...).Expect(t, 2, "role")
	sluice.Run(t, nil, folder("token", "create", "two words", "--role", "admin")...).Expect(t, 2, "name")
	admin := strings.TrimSpace(sluice.Run(t, nil, folder("token", "create", "boss", "--role", "admin")...).Expect(t, 0, "keep it now").Out)
	if !strings.HasPrefix(admin, "sluice_") || strings.Contains(admin, "\n") {
		t.Fatalf("the token is %q", admin)
	}

	// As soon as there is one, a service may be reached from elsewhere, and asks
	// everybody for one.
	open := sluice.Start(t, nil, "up", "--data-dir", dir, "--github-url", u.URL, "--addr", "0.0.0.0:0")
	open.Says("tokens travel unencrypted")
	open.Says("sluice serves ")
	open.Signal(os.Interrupt)
	open.Ends().Expect(t, 0)
	s := sluice.UpIn(t, u, dir, nil)
	on := func(token string, code int, says string, args ...string) sluice.Answer {
		t.Helper()
		return sluice.Run(t, []string{"SLUICE_API_TOKEN=" + token}, append(args, "--server", s.URL)...).Expect(t, code, says)
	}
	sluice.Run(t, nil, "run", "list", "--server", s.URL).Expect(t, 4, "needs an API token")
	on("sluice_wrong-wrong-wrong-wrong", 4, "not any more", "run", "list")
	var made wire.NewToken
	if err := json.Unmarshal([]byte(on(admin, 0, "", "token", "create", "reader", "--role", "read", "--expires-in", "1h", "-o", "json").Out), &made); err != nil {
		t.Fatal(err)
	}
	on(made.Secret, 0, "", "run", "list")
	on(made.Secret, 4, "needs the role operate", "account", "pause", u.Logins()[0])
	on(made.Secret, 4, "needs the role admin", "token", "list")
	list := on(admin, 0, "", "token", "list").Out
	for _, word := range []string{"boss", "reader", "read", "admin", made.Prefix, "EXPIRES", "LAST USED"} {
		if !strings.Contains(list, word) {
			t.Errorf("the list lacks %s:\n%s", word, list)
		}
	}
	on(admin, 0, "", "token", "revoke", "reader")
	on(made.Secret, 4, "not any more", "run", "list")
	on(admin, 1, "no token", "token", "revoke", "reader")
	s.Signal(os.Interrupt)
	s.Ends().Expect(t, 0)

	// Who has the folder needs no token.
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	sluice.Run(t, nil, folder("account", "pause", u.Logins()[0])...).Expect(t, 0)
	shown := sluice.Run(t, nil, folder("audit", "list", "--since", "1h", "--action", "pause-account")...).Expect(t, 0).Out
	for _, word := range []string{"local:" + me.Username, "token:reader", "refused (403)", "done"} {
		if !strings.Contains(shown, word) {
			t.Errorf("the log lacks %q:\n%s", word, shown)
		}
	}
	everything := ""
	for _, format := range []string{"jsonl", "csv"} {
		exported := sluice.Run(t, nil, folder("audit", "export", "--format", format)...).Expect(t, 0).Out
		for _, word := range []string{"create-token", "revoke-token", "signup", "github/" + u.Logins()[0], "local:" + me.Username, "token:boss"} {
			if !strings.Contains(exported, word) {
				t.Errorf("%s lacks %q:\n%s", format, word, exported)
			}
		}
		everything += exported
	}
	var first access.Entry
	if err := json.NewDecoder(strings.NewReader(everything)).Decode(&first); err != nil || first.Action != "pause-account" || first.Outcome != access.Done {
		t.Errorf("the newest is %+v, %v", first, err)
	}
	sluice.Run(t, nil, folder("audit", "list", "--since", "yesterday")...).Expect(t, 2, "--since")
	sluice.Run(t, nil, folder("audit", "export", "--format", "xml")...).Expect(t, 2, "--format")

	// Neither what is kept nor what was said holds a token.
	for _, name := range []string{"sluice.db", "sluice.db-wal"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		everything += string(text)
	}
	for _, secret := range []string{admin, made.Secret, u.Token(u.Logins()[0])} {
		if strings.Contains(everything+list+shown, secret) {
			t.Error("a secret is kept or shown")
		}
	}
}

// TestOpenToOthersNeedsAToken: nothing is made before it is refused.
func TestOpenToOthersNeedsAToken(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	sluice.Run(t, nil, "up", "--data-dir", dir, "--addr", "0.0.0.0:0").Expect(t, 2, "--api-token", "sluice token create")
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the folder is there: %v", err)
	}
}

// TestTLS serves by TLS, to commands that trust its authority, and renews its
// certificate.
func TestTLS(t *testing.T) {
	u := sluice.NewUpstream(t, sim.Options{Seed: 3, Accounts: 1})
	authority := testkit.NewAuthority(t)
	own := authority.Issue(t, "service", "127.0.0.1")
	key := []string{"SLUICE_TLS_CERT=" + own.Cert, "SLUICE_TLS_KEY=" + own.Key}
	s := sluice.Start(t, key, "up", "--data-dir", t.TempDir(), "--addr", "127.0.0.1:0", "--github-url", u.URL, "--log-level", "info")
	url, _, _ := strings.Cut(s.Says("sluice serves "), "/api/v1")
	_, url, _ = strings.Cut(url, "sluice serves ")
	if !strings.HasPrefix(url, "https://127.0.0.1:") {
		t.Fatalf("it serves %s", url)
	}
	addr := "SLUICE_ADDR=" + strings.TrimPrefix(url, "https://")
	sluice.Run(t, nil, "run", "list", "--server", url, "--ca-file", authority.File).Expect(t, 0)
	sluice.Run(t, nil, "run", "list", "--server", url).Expect(t, 1, "certificate")
	sluice.Run(t, append(key, addr), "health").Expect(t, 0)
	sluice.Run(t, []string{addr}, "health", "--server", url).Expect(t, 1, "certificate")

	// A certificate from somebody else, of the same file's name.
	other := testkit.NewAuthority(t)
	renewed := other.Issue(t, "service", "127.0.0.1")
	for from, to := range map[string]string{renewed.Cert: own.Cert, renewed.Key: own.Key} {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	sluice.Run(t, nil, "run", "list", "--server", url, "--ca-file", other.File).Expect(t, 0)
	if err := os.WriteFile(own.Key, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	sluice.Run(t, nil, "run", "list", "--server", url, "--ca-file", other.File).Expect(t, 0)
	s.Says("the old one is")
	s.Signal(os.Interrupt)
	s.Ends().Expect(t, 0)
	sluice.Run(t, key, "up", "--data-dir", t.TempDir(), "--addr", "127.0.0.1:0").Expect(t, 2, "belong together")
	sluice.Run(t, key[:1], "up", "--data-dir", t.TempDir(), "--addr", "127.0.0.1:0").Expect(t, 2, "--tls-key")
}

// TestDoctorLooksAtSecrets: what others can read is named, with the command that
// mends it.
func TestDoctorLooksAtSecrets(t *testing.T) {
	u := sluice.NewUpstream(t, sim.Options{Seed: 3, Accounts: 1})
	dir := filepath.Join(t.TempDir(), "data")
	sluice.Run(t, nil, u.Collect(dir)...).Expect(t, 0)
	own := testkit.NewAuthority(t).Issue(t, "service", "sluice.example")
	token := filepath.Join(t.TempDir(), "api token")
	if err := os.WriteFile(token, []byte(strings.Repeat("x", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"doctor", "--data-dir", dir, "--github-url", u.URL, "--tls-cert", own.Cert, "--tls-key", own.Key}
	env := []string{"SLUICE_API_TOKEN=@" + token}
	for _, name := range []string{"", "sluice.db", "sluice.key", "sluice.lock"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%q is %v, %v", name, info.Mode(), err)
		}
	}
	out := sluice.Run(t, env, args...).Expect(t, 0).Out
	if !strings.Contains(out, "2 files, for their owner alone") || !strings.Contains(out, "for sluice.example") || strings.Contains(out, "chmod") {
		t.Errorf("doctor says:\n%s", out)
	}
	for _, file := range []string{token, own.Key, filepath.Join(dir, "sluice.key")} {
		if err := os.Chmod(file, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out = sluice.Run(t, env, args...).Expect(t, 0).Out
	for _, want := range []string{
		fmt.Sprintf("chmod go-rwx '%s' %s", token, own.Key), "chmod go-rwx " + filepath.Join(dir, "sluice.key"), "it ends in 0 days",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("doctor does not say %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, strings.Repeat("x", 32)) {
		t.Error("doctor shows a token")
	}
}
