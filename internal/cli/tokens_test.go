package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func tokenApp(env map[string]string) *App {
	return &App{Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}
}

func tokenFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// appText is a credential of an app as people paste it: the key has lines.
const appText = `app:{
  "app_id": 1, "installation_id": 2,
  "private_key": "-----BEGIN RSA PRIVATE KEY-----
MIIEow{IBAAKCAQEA
-----END RSA PRIVATE KEY-----
"}
`

func TestTokens(t *testing.T) {
	for name, tc := range map[string]struct {
		env, file string
		want      map[string]string // "" is a refusal
	}{
		"environment":      {"secret-e", "", map[string]string{"ann": "secret-e", "bob": "secret-e"}},
		"one token":        {"secret-e", "secret-f\n", map[string]string{"ann": "secret-f"}},
		"per login":        {"", "Ann secret-a\n\n# a remark\n\tbob\t secret-b \r\n", map[string]string{"ann": "secret-a", "BOB": "secret-b", "eve": ""}},
		"with a remainder": {"", "secret-f\nann secret-a", map[string]string{"ann": "secret-a", "bob": "secret-f"}},
		"nothing":          {"", "", map[string]string{"ann": ""}},
		"an app":           {"", appText, map[string]string{"ann": strings.TrimSpace(appText)}},
		"an app among logins": {"", "ann secret-a\nbob\t" + appText + "# a remark\neve secret-e", map[string]string{
			"ann": "secret-a", "bob": strings.TrimSpace(appText), "eve": "secret-e"}},
		"an app in one line": {"", `bob app:{"app_id":1,"private_key":"-----BEGIN RSA PRIVATE KEY-----\n{\"a\nb"}`, map[string]string{
			"bob": `app:{"app_id":1,"private_key":"-----BEGIN RSA PRIVATE KEY-----\n{\"a\nb"}`}},
		"an app in the environment": {appText, "", map[string]string{"ann": strings.TrimSpace(appText)}},
	} {
		t.Run(name, func(t *testing.T) {
			path := ""
			if tc.file != "" {
				path = tokenFile(t, tc.file)
			}
			tokens, err := tokenApp(map[string]string{"SLUICE_GITHUB_TOKEN": tc.env}).readTokens(path)
			if err != nil {
				t.Fatal(err)
			}
			for login, want := range tc.want {
				got, err := tokens.of(login)
				if got != want || (err == nil) != (want != "") {
					t.Errorf("%s: got %q, %v; want %q", login, got, err, want)
				}
				if want == "" && !strings.Contains(err.Error(), login) {
					t.Errorf("%q does not name the login", err)
				}
			}
		})
	}
}

func TestTokenFileThatCannotBeRead(t *testing.T) {
	for name, path := range map[string]string{
		"three words": tokenFile(t, "ann secret-a secret-b\n"),
		"two for all": tokenFile(t, "secret-a\nsecret-b\n"),
		"missing":     "/nowhere/tokens",
		"empty":       tokenFile(t, ""),
		"no token":    tokenFile(t, "# none\n\n"),
	} {
		_, err := tokenApp(nil).readTokens(path)
		var exit *exitError
		if !errors.As(err, &exit) || exit.code != exitUsage || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v", name, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret-") {
			t.Errorf("%s: the error shows a token: %v", name, err)
		}
	}
}
