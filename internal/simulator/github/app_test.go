package github

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// appWorld is a world with one app, installed on the first account.
type appWorld struct {
	*Server
	clock                 *clock
	appID, installationID int64
	key                   *rsa.PrivateKey
	login                 string
}

func newAppWorld(t *testing.T, o Options) *appWorld {
	t.Helper()
	w := &appWorld{clock: newClock()}
	o.Now = w.clock.Now
	w.Server = New(o)
	w.login = w.Logins()[0]
	var text string
	w.appID, w.installationID, text = w.InstallApp(w.login)
	w.key = parseKey(t, text)
	return w
}

func parseKey(t *testing.T, text string) *rsa.PrivateKey {
	t.Helper()
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		t.Fatal("the key is not PEM")
	}
	key, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func signed(t *testing.T, key *rsa.PrivateKey, header, claims string) string {
	t.Helper()
	enc := base64.RawURLEncoding
	text := enc.EncodeToString([]byte(header)) + "." + enc.EncodeToString([]byte(claims))
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + enc.EncodeToString(signature)
}

const rs256 = `{"alg":"RS256","typ":"JWT"}`

func (w *appWorld) claims(iat, exp time.Duration) string {
	now := w.clock.Now()
	return fmt.Sprintf(`{"iat":%d,"exp":%d,"iss":"%d"}`, now.Add(iat).Unix(), now.Add(exp).Unix(), w.appID)
}

func (w *appWorld) ask(jwt string) reply {
	return send(w.Server, http.MethodPost, jwt, fmt.Sprintf("/app/installations/%d/access_tokens", w.installationID), []byte(`{}`))
}

func (w *appWorld) mint(t *testing.T) (token string, expires time.Time) {
	t.Helper()
	r := w.ask(signed(t, w.key, rs256, w.claims(-time.Minute, 9*time.Minute)))
	if r.status != http.StatusCreated {
		t.Fatalf("no token: %d %s", r.status, r.body)
	}
	var body struct {
		Token       string
		Expires     time.Time `json:"expires_at"`
		Permissions map[string]string
	}
	r.decode(t, &body)
	if !strings.HasPrefix(body.Token, "ghs_") || len(body.Token) != 40 || body.Permissions["issues"] != "read" {
		t.Fatalf("answer %s", r.body)
	}
	return body.Token, body.Expires
}

func TestInstallationTokenExpires(t *testing.T) {
	for _, life := range []time.Duration{0, 10 * time.Minute} {
		o := plain(1, 3, 3, 3)
		o.TokenLifetime = life
		w := newAppWorld(t, o)
		if life == 0 {
			life = time.Hour
		}
		token, expires := w.mint(t)
		if want := w.clock.Now().Add(life).Truncate(time.Second); !expires.Equal(want) {
			t.Errorf("expires at %s, want %s", expires, want)
		}
		w.clock.advance(life - time.Second)
		if r := get(w.Server, token, "/users/"+w.login); r.status != http.StatusOK {
			t.Errorf("before its end: %d", r.status)
		}
		w.clock.advance(time.Second)
		if r := get(w.Server, token, "/users/"+w.login); r.status != http.StatusUnauthorized {
			t.Errorf("after its end: %d", r.status)
		}
		if fresh, _ := w.mint(t); fresh == token || get(w.Server, fresh, "/users/"+w.login).status != http.StatusOK {
			t.Error("the next token is not valid")
		}
		if a := w.Audit(); a.TokensMinted != 2 || a.ForeignAuthorization != 0 || a.ByEndpoint["access_tokens"] != 2 {
			t.Errorf("audit %+v", a)
		}
	}
}

func TestProofsAreChecked(t *testing.T) {
	w := newAppWorld(t, plain(1, 1, 1, 1))
	stranger, err := rsa.GenerateKey(rand.Reader, appKeyBits)
	if err != nil {
		t.Fatal(err)
	}
	good := w.claims(-time.Minute, 9*time.Minute)
	for name, c := range map[string]struct {
		jwt    string
		status int
		says   string
	}{
		"good":          {signed(t, w.key, rs256, good), 201, ""},
		"numeric iss":   {signed(t, w.key, rs256, strings.ReplaceAll(good, `"`+strconv.FormatInt(w.appID, 10)+`"`, strconv.FormatInt(w.appID, 10))), 201, ""},
		"exactly 10":    {signed(t, w.key, rs256, w.claims(0, 10*time.Minute)), 201, ""},
		"other key":     {signed(t, stranger, rs256, good), 401, "could not be decoded"},
		"other alg":     {signed(t, w.key, `{"alg":"none"}`, good), 401, "could not be decoded"},
		"no JWT":        {"abc", 401, "could not be decoded"},
		"nothing":       {"", 401, "could not be decoded"},
		"tampered":      {strings.Replace(signed(t, w.key, rs256, good), ".", ".A", 1), 401, "could not be decoded"},
		"user's token":  {w.Token(w.login), 401, "could not be decoded"},
		"expired":       {signed(t, w.key, rs256, w.claims(-20*time.Minute, -time.Second)), 401, "'exp'"},
		"too far":       {signed(t, w.key, rs256, w.claims(0, 10*time.Minute+time.Second)), 401, "too far in the future"},
		"from tomorrow": {signed(t, w.key, rs256, w.claims(time.Minute, 9*time.Minute)), 401, "'iat'"},
		"no times":      {signed(t, w.key, rs256, fmt.Sprintf(`{"iss":%d}`, w.appID)), 401, "'exp'"},
		"unknown app":   {signed(t, w.key, rs256, strings.Replace(good, `"iss":"`, `"iss":"9`, 1)), 404, "Integration not found"},
	} {
		r := w.ask(c.jwt)
		if r.status != c.status || (c.says != "" && !strings.Contains(r.message(t), c.says)) {
			t.Errorf("%s: %d %s", name, r.status, r.body)
		}
	}
}

func TestInstallationsThatGiveNoToken(t *testing.T) {
	w := newAppWorld(t, plain(1, 1, 1, 1))
	token, _ := w.mint(t)
	proof := signed(t, w.key, rs256, w.claims(-time.Minute, 9*time.Minute))
	use := func() int { return get(w.Server, token, "/users/"+w.login).status }

	_, others, _ := w.InstallApp(w.login)
	if r := send(w.Server, http.MethodPost, proof, fmt.Sprintf("/app/installations/%d/access_tokens", others), nil); r.status != http.StatusNotFound {
		t.Errorf("another app's installation: %d", r.status)
	}
	w.SuspendInstallation(w.installationID)
	if r := w.ask(proof); r.status != http.StatusForbidden || !strings.Contains(r.message(t), "suspended") || use() != http.StatusForbidden {
		t.Errorf("suspended: %d %s, its token %d", r.status, r.body, use())
	}
	w.ResumeInstallation(w.installationID)
	if use() != http.StatusOK {
		t.Errorf("resumed: %d", use())
	}
	w.RevokeInstallationTokens(w.installationID)
	if token, _ = w.mint(t); use() != http.StatusOK {
		t.Errorf("minted after the others were revoked: %d", use())
	}
	w.RevokeInstallationTokens(w.installationID)
	if use() != http.StatusUnauthorized {
		t.Errorf("revoked: %d", use())
	}
	w.RemoveInstallation(w.installationID)
	if r := w.ask(proof); r.status != http.StatusNotFound {
		t.Errorf("removed: %d", r.status)
	}
	if w.Audit().ForeignAuthorization != 0 {
		t.Error("the installation's own tokens count as foreign")
	}
	get(w.Server, "ghs_"+strings.Repeat("0", 36), "/users/"+w.login)
	if w.Audit().ForeignAuthorization != 1 {
		t.Error("a forged token does not count as foreign")
	}
	if id, _, _ := w.InstallApp("nobody-9999"); id != 0 {
		t.Error("an app was installed on nobody")
	}
}

func TestInstallationHasItsOwnWindows(t *testing.T) {
	o := plain(1, 3, 3, 3)
	o.Limits.InstallationLimit = 4
	w := newAppWorld(t, o)
	token, _ := w.mint(t)
	w.mint(t)
	path := "/users/" + w.login
	get(w.Server, w.Token(w.login), path)
	for left := 3; left >= 0; left-- {
		if r := get(w.Server, token, path); r.status != http.StatusOK || r.remaining(t) != left || r.header.Get("X-RateLimit-Limit") != "4" || r.header.Get("X-OAuth-Scopes") != "" {
			t.Errorf("with %d to be left: %d %v", left, r.status, r.header)
		}
	}
	want := fmt.Sprintf("API rate limit exceeded for installation ID %d.", w.installationID)
	if r := get(w.Server, token, path); r.status != http.StatusForbidden || r.message(t) != want {
		t.Errorf("beyond: %d %s", r.status, r.body)
	}
	if r := get(w.Server, w.Token(w.login), path); r.remaining(t) != 4998 {
		t.Errorf("the account has %d left", r.remaining(t))
	}
	used := map[string]int{}
	for _, usage := range w.Audit().Windows {
		used[usage.Owner] += usage.Used
	}
	app, installation := fmt.Sprintf("app:%d", w.appID), fmt.Sprintf("installation:%d", w.installationID)
	if used[app] != 2 || used[installation] != 4 || used[w.login] != 2 {
		t.Errorf("used %v", used)
	}
	if limit := New(Options{}).limits.InstallationLimit; limit != 5000 {
		t.Errorf("default limit %d", limit)
	}
}

func TestViewerOfAnInstallationIsItsBot(t *testing.T) {
	w := newAppWorld(t, plain(1, 3, 3, 3))
	token, _ := w.mint(t)
	r := query(t, w.Server, token, `query($l:String!){viewer{login databaseId} user(login:$l){login}}`, map[string]any{"l": w.login})
	if bot := dig(t, r.Data, "viewer", "login"); bot != fmt.Sprintf("app-%d[bot]", w.appID) {
		t.Errorf("viewer %v", bot)
	}
	if got := dig(t, r.Data, "user", "login"); got != w.login {
		t.Errorf("user %v", got)
	}
	if r := get(w.Server, token, "/user"); r.status != http.StatusForbidden || !strings.Contains(r.message(t), "by integration") {
		t.Errorf("/user: %d %s", r.status, r.body)
	}
	own, bots := get(w.Server, w.Token(w.login), "/users/"+w.login), get(w.Server, token, "/users/"+w.login)
	if !strings.Contains(string(own.body), "total_private_repos") || strings.Contains(string(bots.body), "total_private_repos") {
		t.Error("an app sees a profile as its account does")
	}
}
