package cli

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/internal/config"
)

// fakeHelper puts a program onto the path that prints a token, and notes what it was
// asked with.
func fakeHelper(t *testing.T, script string) (asked string) {
	t.Helper()
	dir := t.TempDir()
	asked = filepath.Join(dir, "asked")
	text := "#!/bin/sh\necho \"$@\" >> " + asked + "\n" + script + "\n"
	if err := os.WriteFile(filepath.Join(dir, "gh"), []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return asked
}

func credentialApp(env map[string]string, in string) (app *App, shown *bytes.Buffer) {
	app, shown = tokenApp(env), new(bytes.Buffer)
	app.screen = &screen{out: shown}
	app.Execute = Execute
	if in != "" {
		app.In = strings.NewReader(in)
	}
	return app, shown
}

func TestWhereATokenComesFrom(t *testing.T) {
	helper := "echo secret-gh"
	file := tokenFile(t, "secret-file\n")
	everything := map[string]string{"SLUICE_GITHUB_TOKEN": "secret-own", "GH_TOKEN": " secret-gh-variable\n", "GITHUB_TOKEN": "secret-variable", "GH_ENTERPRISE_TOKEN": "secret-enterprise"}
	without := func(names ...string) map[string]string {
		left := map[string]string{}
		for name, value := range everything {
			left[name] = value
		}
		for _, name := range names {
			delete(left, name)
		}
		return left
	}
	for name, tc := range map[string]struct {
		env    map[string]string
		flags  credentialFlags
		in     string
		url    string
		want   string
		told   string
		helped bool
	}{
		"standard input":         {env: everything, flags: credentialFlags{stdin: true}, in: "secret-in\n", want: "secret-in"},
		"standard input as file": {env: everything, flags: credentialFlags{file: "-"}, in: "secret-in\n", want: "secret-in"},
		"file":                   {env: everything, flags: credentialFlags{file: file}, want: "secret-file"},
		"the other program":      {env: everything, flags: credentialFlags{command: true}, want: "secret-gh", helped: true},
		"own variable":           {env: everything, want: "secret-own"},
		"its variable":           {env: without("SLUICE_GITHUB_TOKEN"), want: "secret-gh-variable", told: "GH_TOKEN"},
		"the other variable":     {env: without("SLUICE_GITHUB_TOKEN", "GH_TOKEN"), want: "secret-variable", told: "GITHUB_TOKEN"},
		"nothing else":           {want: "secret-gh", told: "gh auth token --hostname github.com", helped: true},
		"another server":         {env: without("SLUICE_GITHUB_TOKEN"), url: "https://github.acme.example/api/v3", want: "secret-enterprise", told: "GH_ENTERPRISE_TOKEN"},
		"another server's own":   {env: without("SLUICE_GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN"), url: "https://github.acme.example/api/v3", want: "secret-gh", told: "--hostname github.acme.example", helped: true},
	} {
		t.Run(name, func(t *testing.T) {
			asked := fakeHelper(t, helper)
			app, shown := credentialApp(tc.env, tc.in)
			o := &options{Config: config.Default()}
			if tc.url != "" {
				o.Sources = o.Sources.With("github-url", tc.url)
			}
			got, err := app.credential(t.Context(), o, tc.flags, "ann")
			if err != nil || got != tc.want {
				t.Errorf("got %q, %v; want %q", got, err, tc.want)
			}
			if !strings.Contains(shown.String(), tc.told) || strings.Contains(shown.String(), "secret-") {
				t.Errorf("it says %q", shown)
			}
			text, err := os.ReadFile(asked)
			if helped := err == nil; helped != tc.helped || strings.Contains(string(text), "secret-") {
				t.Errorf("asked with %q, %v", text, err)
			}
		})
	}
}

func TestTokensThatCannotBe(t *testing.T) {
	pemOf := func(kind string, raw []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw}))
	}
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	ecKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ecRaw, err := x509.MarshalPKCS8PrivateKey(ecKey)
	if err != nil {
		t.Fatal(err)
	}
	good := tokenFile(t, pemOf("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(rsaKey)))
	app := func(id, installation, key string) credentialFlags {
		return credentialFlags{id: id, installation: installation, key: key}
	}
	for name, tc := range map[string]struct {
		flags  credentialFlags
		in     string
		helper string
		env    map[string]string
		says   string
	}{
		"both ways":         {flags: credentialFlags{file: "x", stdin: true}, says: "--token-file and --token-stdin both say"},
		"app and token":     {flags: credentialFlags{file: "x", id: "1", installation: "2", key: good}, says: "give one of them"},
		"half an app":       {flags: app("1", "", good), says: "all of --app-id, --installation-id and --private-key-file"},
		"app id of letters": {flags: app("Iv1.abc", "2", good), says: `--app-id is "Iv1.abc"; it must be a positive number`},
		"negative":          {flags: app("1", "-2", good), says: "--installation-id"},
		"no key there":      {flags: app("1", "2", "/nowhere/key.pem"), says: "/nowhere/key.pem"},
		"a token as key":    {flags: app("1", "2", tokenFile(t, "secret-token")), says: "does not hold a key"},
		"a broken key":      {flags: app("1", "2", tokenFile(t, pemOf("RSA PRIVATE KEY", []byte("secret-no key")))), says: "cannot be used"},
		"a key of ours":     {flags: app("1", "2", tokenFile(t, pemOf("PRIVATE KEY", ecRaw))), says: "not an RSA key"},
		"a certificate":     {flags: app("1", "2", tokenFile(t, pemOf("CERTIFICATE", []byte("secret-")))), says: "not a private RSA key"},
		"a key as token":    {flags: credentialFlags{file: good}, says: "--private-key-file"},
		"not text":          {flags: credentialFlags{file: tokenFile(t, "secret-\x00\x01")}, says: "is not text"},
		"nothing in it":     {flags: credentialFlags{stdin: true}, in: "\n\n", says: "holds no token"},
		"two words":         {flags: credentialFlags{stdin: true}, in: "secret-a secret-b secret-c\n", says: "line 1"},
		"two lines":         {flags: credentialFlags{stdin: true}, in: "secret-a\nsecret-b\n", says: "line 2"},
		"no input":          {flags: credentialFlags{stdin: true}, says: "no standard input"},
		"a folder":          {flags: credentialFlags{file: t.TempDir()}, says: "--token-file"},
		"not logged in":     {flags: credentialFlags{command: true}, helper: "echo secret-complaint >&2; exit 1", says: "gh auth login"},
		"prints nothing":    {flags: credentialFlags{command: true}, helper: "true", says: "gives no token"},
		"prints a page":     {flags: credentialFlags{command: true}, helper: "echo secret- page", says: "one word"},
		"no token anywhere": {helper: "exit 4", says: "there is no token for ann"},
		"variable of words": {env: map[string]string{"GH_TOKEN": "secret- b"}, helper: "exit 4", says: "GH_TOKEN"},
		"login not in file": {flags: credentialFlags{file: tokenFile(t, "bob secret-b\n")}, env: map[string]string{"GH_TOKEN": "secret-x"}, says: "there is no token for ann"},
	} {
		t.Run(name, func(t *testing.T) {
			fakeHelper(t, tc.helper)
			app, shown := credentialApp(tc.env, tc.in)
			_, err := app.credential(t.Context(), &options{Config: config.Default()}, tc.flags, "ann")
			var exit *exitError
			if !errors.As(err, &exit) || exit.code != exitUsage || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %v, want %q", err, tc.says)
			}
			if err != nil && strings.Contains(err.Error()+shown.String(), "secret-") {
				t.Errorf("a secret shows: %v %s", err, shown)
			}
		})
	}
}

// TestAnAppByItsKey makes what the upstream's source takes for a credential.
func TestAnAppByItsKey(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	file := tokenFile(t, string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})))
	app, _ := credentialApp(nil, "")
	got, err := app.credential(t.Context(), &options{Config: config.Default()}, credentialFlags{id: "12", installation: "34", key: file}, "ann")
	if err != nil || !strings.HasPrefix(got, `app:{"app_id":12,"installation_id":34,"private_key":"-----BEGIN`) || strings.ContainsAny(got, " \n") {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestExecuteOfWhatIsNotThere(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	app, _ := credentialApp(nil, "")
	_, err := app.ask(t.Context(), &options{Config: config.Default()})
	if err == nil || !strings.Contains(err.Error(), "there is no program gh") {
		t.Errorf("got %v", err)
	}
	if _, err := Execute(context.Background(), []string{"gh"}); err == nil {
		t.Error("it ran")
	}
}
