package github

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/source"
)

const issuedToken = "ghs_issuedissuedissued"

func TestEveryAnswerToMintingHasItsMeaning(t *testing.T) {
	reset := map[string]string{"X-RateLimit-Limit": "5000", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": fmt.Sprint(testNow.Add(7 * time.Minute).Unix())}
	for name, c := range map[string]struct {
		reply   reply
		verdict source.Verdict
		kind    domain.FailureKind
		says    string
		wait    time.Duration
	}{
		"201 malformed":   {reply{status: 201, body: `{"token":`}, source.Retry, domain.FailureMalformed, "no valid token", 0},
		"201 no token":    {reply{status: 201, body: `{"expires_at":"2026-09-01T13:00:00Z"}`}, source.Retry, domain.FailureMalformed, "no valid token", 0},
		"201 no end":      {reply{status: 201, body: `{"token":"ghs_x"}`}, source.Retry, domain.FailureMalformed, "no valid token", 0},
		"201 ended":       {reply{status: 201, body: `{"token":"ghs_x","expires_at":"2026-09-01T12:00:00Z"}`}, source.Retry, domain.FailureMalformed, "no valid token", 0},
		"201 line break":  {reply{status: 201, body: `{"token":"ghs_x\nX: y","expires_at":"2026-09-01T13:00:00Z"}`}, source.Retry, domain.FailureMalformed, "no valid token", 0},
		"401":             {reply{status: 401, body: `{"message":"A JSON web token could not be decoded"}`}, source.PauseAccount, domain.FailureCredential, fingerprint(testKey()), 0},
		"403 suspended":   {reply{status: 403, body: `{"message":"This installation has been suspended"}`, header: reset}, source.PauseAccount, domain.FailureCredential, "suspended", 0},
		"403 other":       {reply{status: 403, body: `{"message":"Resource not accessible"}`}, source.PauseAccount, domain.FailureCredential, "not accessible", 0},
		"404":             {reply{status: 404, body: `{"message":"Integration not found"}`}, source.PauseAccount, domain.FailureCredential, "installation 22 of app 11", 0},
		"403 secondary":   {reply{status: 403, body: secondary, header: map[string]string{"Retry-After": "17"}}, source.Wait, domain.FailureRateLimited, "", 17 * time.Second},
		"403 primary":     {reply{status: 403, body: primary, header: reset}, source.Wait, domain.FailureRateLimited, "", 7 * time.Minute},
		"429":             {reply{status: 429, body: `{}`}, source.Wait, domain.FailureRateLimited, "", time.Minute},
		"403 bad logins":  {reply{status: 403, body: `{"message":"Maximum number of login attempts exceeded."}`}, source.Wait, domain.FailureRateLimited, "", time.Minute},
		"403 HTML":        {reply{status: 403, body: html}, source.Retry, domain.FailureServer, "HTML", 0},
		"500":             {reply{status: 500, body: `{"message":"Server Error"}`}, source.Retry, domain.FailureServer, "Server Error", 0},
		"502 HTML":        {reply{status: 502, body: html}, source.Retry, domain.FailureServer, "HTML", 0},
		"503 with a time": {reply{status: 503, header: map[string]string{"Retry-After": "5"}}, source.Retry, domain.FailureServer, "503", 5 * time.Second},
		"408":             {reply{status: 408}, source.Retry, domain.FailureTimeout, "408", 0},
		"422":             {reply{status: 422, body: `{"message":"Unprocessable"}`}, source.Fail, domain.FailureInvalid, "Unprocessable", 0},
		"302":             {reply{status: 302, header: map[string]string{"Location": "https://evil.example.com/"}}, source.Retry, domain.FailureServer, "302", 0},
	} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int32
			src := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				calls.Add(1)
				c.reply.ServeHTTP(w, r)
			}), Options{})
			call := callOf(jobOf(RepoIssues))
			call.Token = testApp().String()
			got := src.Call(t.Context(), call)
			if got.Verdict != c.verdict || kindOf(got.Failure) != c.kind || !strings.Contains(got.Failure.Message, c.says) {
				t.Errorf("verdict %d, want %d (%v)", got.Verdict, c.verdict, got.Failure)
			}
			if got.RetryAfter != c.wait || !got.Free || got.Quota.Known || got.Quota.Exhausted {
				t.Errorf("wait %s, want %s; free %t, quota %+v", got.RetryAfter, c.wait, got.Free, got.Quota)
			}
			if calls.Load() != 1 {
				t.Errorf("%d calls", calls.Load())
			}
		})
	}
}

// TestMintingStaysAtHome checks the request, and that nothing that GitHub says
// makes it go elsewhere.
func TestMintingStaysAtHome(t *testing.T) {
	var foreign atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { foreign.Add(1) }))
	t.Cleanup(other.Close)
	var seen *http.Request
	src := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = r
		w.Header().Set("Location", other.URL+r.URL.Path)
		w.WriteHeader(http.StatusTemporaryRedirect)
	}), Options{})
	call := callOf(jobOf(RepoIssues))
	call.Token = testApp().String()
	if res := src.Call(t.Context(), call); res.Verdict != source.Retry {
		t.Errorf("verdict %d (%v)", res.Verdict, res.Failure)
	}
	if foreign.Load() != 0 {
		t.Error("another host was asked for a token")
	}
	if seen.Method != http.MethodPost || seen.URL.Path != "/app/installations/22/access_tokens" || seen.ContentLength != 2 ||
		!strings.HasPrefix(seen.Header.Get("Authorization"), "Bearer eyJ") || seen.UserAgent() == "" {
		t.Errorf("asked with %s %s %v", seen.Method, seen.URL, seen.ContentLength)
	}
}

// TestNoSecretOfAnAppShows lets GitHub echo whatever it was sent.
func TestNoSecretOfAnAppShows(t *testing.T) {
	app := testApp()
	for _, status := range []int{200, 400, 401, 403, 404, 422, 429, 500} {
		for _, mints := range []bool{false, true} {
			sent := make(chan string, 4)
			src := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				secret := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
				sent <- secret
				w.Header().Set("Date", testNow.Format(http.TimeFormat))
				if isMinting(r) && mints {
					w.WriteHeader(http.StatusCreated)
					fmt.Fprintf(w, `{"token":%q,"expires_at":"2026-09-01T13:00:00Z"}`, issuedToken)
					return
				}
				w.WriteHeader(status)
				fmt.Fprintf(w, `{"message":"you sent %s","errors":[{"message":"you sent %s"}]}`, secret, secret)
			}), Options{})
			call := callOf(jobOf(CommitStats))
			call.Token = app.String()
			res := src.Call(t.Context(), call)
			close(sent)
			shown := fmt.Sprintf("%+v %+v", res, res.Failure)
			for secret := range sent {
				if strings.Contains(shown, secret) || strings.Contains(shown, secret[:20]) {
					t.Errorf("%d, mints %t: %s", status, mints, shown)
				}
			}
			if strings.Contains(shown, "PRIVATE KEY") || strings.Contains(shown, app.PrivateKey[40:60]) {
				t.Errorf("%d, mints %t: the key shows: %s", status, mints, shown)
			}
		}
	}
}
