package github

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"sluice/internal/domain"
)

// testKey is made once: making one takes a while.
var testKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

func pemOf(typ string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: typ, Bytes: der}))
}

func pkcs1(key *rsa.PrivateKey) string {
	return pemOf("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key))
}

func pkcs8(t *testing.T, key any) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pemOf("PRIVATE KEY", der)
}

func testApp() AppCredential {
	return AppCredential{AppID: 11, InstallationID: 22, PrivateKey: pkcs1(testKey())}
}

func TestCredentialsSurviveTheirText(t *testing.T) {
	app := testApp()
	text := app.String()
	if !strings.HasPrefix(text, "app:{") || strings.ContainsAny(text, " \t\r\n") {
		t.Errorf("not one word: %d characters", len(text))
	}
	if back, isApp, err := ParseCredential(text); back != app || !isApp || err != nil {
		t.Errorf("came back changed (app %t, %v)", isApp, err)
	}
	if _, isApp, err := ParseCredential("ghp_plain"); isApp || err != nil {
		t.Errorf("a plain token: app %t, %v", isApp, err)
	}
	for name, key := range map[string]string{
		"PKCS#1": pkcs1(testKey()), "PKCS#8": pkcs8(t, testKey()),
		"escaped lines": strings.ReplaceAll(pkcs1(testKey()), "\n", `\n`),
		"Windows lines": strings.ReplaceAll(pkcs1(testKey()), "\n", "\r\n"),
	} {
		if _, err := (&Source{}).CheckCredential(AppCredential{AppID: 1, InstallationID: 2, PrivateKey: key}.String()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The key as its file has it, lines and blanks and all.
	pasted := "app:{\n  \"app_id\": 1,\n  \"installation_id\": 2,\n  \"private_key\": \"" + pkcs1(testKey()) + "\"\n}"
	if text, err := (&Source{}).CheckCredential(pasted); err != nil || strings.ContainsAny(text, " \t\r\n") {
		t.Errorf("a pasted key: %v", err)
	}
	if same, err := (&Source{}).CheckCredential("ghp_plain"); err != nil || same != "ghp_plain" {
		t.Errorf("a plain token: %v", err)
	}
}

func TestBadCredentialsAreRefusedWithTheReason(t *testing.T) {
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(&testKey().PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	der := x509.MarshalPKCS1PrivateKey(testKey())
	withKey := func(key string) string { return AppCredential{AppID: 1, InstallationID: 2, PrivateKey: key}.String() }
	for name, c := range map[string]struct{ credential, says string }{
		"no JSON":             {"app:hello", "JSON"},
		"empty":               {"app:", "JSON"},
		"id in words":         {`app:{"app_id":"eleven"}`, "JSON"},
		"two of them":         {testApp().String() + "{}", "JSON"},
		"no app":              {`app:{"installation_id":2,"private_key":"x"}`, "app_id"},
		"negative":            {`app:{"app_id":1,"installation_id":-2,"private_key":"x"}`, "installation_id"},
		"no key":              {`app:{"app_id":1,"installation_id":2}`, "private_key"},
		"no PEM":              {withKey("secret-but-no-pem"), "not in PEM"},
		"half of it":          {withKey(pkcs1(testKey())[:200]), "not in PEM"},
		"damaged":             {withKey(pemOf("RSA PRIVATE KEY", der[:len(der)-9])), "damaged"},
		"wrongly named":       {withKey(pemOf("PRIVATE KEY", der)), "PKCS#8"},
		"encrypted":           {withKey(pemOf("ENCRYPTED PRIVATE KEY", der)), "password"},
		"public":              {withKey(pemOf("PUBLIC KEY", public)), `"PUBLIC KEY"`},
		"of another kind":     {withKey(pkcs8(t, curve)), "not an RSA key"},
		"too small":           {withKey(pkcs1(small)), "1024 bits"},
		"encrypted as of old": {withKey("-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nAAAA\n-----END RSA PRIVATE KEY-----\n"), "password"},
		"bare DER":            {withKey(base64.StdEncoding.EncodeToString(der)), "not in PEM"},
	} {
		_, err := (&Source{}).CheckCredential(c.credential)
		if domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if body := c.credential[len(appPrefix):]; len(body) > 8 && strings.Contains(err.Error(), body[len(body)-8:]) || strings.Contains(err.Error(), "secret-but") {
			t.Errorf("%s: the error quotes the credential: %v", name, err)
		}
	}
}

func TestPrintingACredentialShowsNoKey(t *testing.T) {
	app := testApp()
	var logged bytes.Buffer
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("x", "credential", app)
	shown := logged.String() + fmt.Sprintf("%v %+v %#v %s %q %d", app, app, app, app, app, app) + fmt.Sprintf("%v", []AppCredential{app})
	if strings.Contains(shown, "PRIVATE KEY") || strings.Contains(shown, app.PrivateKey[40:60]) {
		t.Errorf("the key shows: %s", shown)
	}
	if !strings.Contains(shown, "installation 22 of app 11") {
		t.Errorf("the credential is not named: %s", shown)
	}
}

func TestFingerprintIsTheOneGitHubShows(t *testing.T) {
	der, err := x509.MarshalPKIXPublicKey(&testKey().PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(der)
	if got, want := fingerprint(testKey()), "SHA256:"+base64.StdEncoding.EncodeToString(sum[:]); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
