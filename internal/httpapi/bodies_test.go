package httpapi_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"sluice/internal/access"
	"sluice/internal/domain"
	"sluice/internal/httpapi"
	"sluice/internal/httpapi/wire"
	"sluice/internal/source/github"
)

// tell sends a body to a handler.
func tell(t *testing.T, h http.Handler, method, path string, body io.Reader, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "http://localhost"+path, body)
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestMembersHaveTheirNamesOnce: what the decoder would take for another member, or
// would overwrite, is refused where it stands, and its value is not repeated.
func TestMembersHaveTheirNamesOnce(t *testing.T) {
	h := httpapi.New(newFake().deps(), httpapi.Options{})
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200)
	for _, c := range []struct{ path, body, location string }{
		{"/api/v1/runs/cancel", `{"all":true,"dry_run":true,"DRY_RUN":false}`, "body.dry_run"},
		{"/api/v1/runs/cancel", `{"all":true,"dry_run":true,"dry_run":false}`, "body.dry_run"},
		{"/api/v1/runs/cancel", `{"all":true,"Reason":"verysecret"}`, "body.reason"},
		{"/api/v1/tokens", `{"name":"a","role":"read","ROLE":"admin"}`, "body.role"},
		{"/api/v1/accounts", `{"source":"noop","login":"ann","token":"t","TOKEN":"verysecret\n"}`, "body.token"},
		{"/api/v1/accounts", `{"ſource":"noop","login":"ann","token":"t"}`, "body.source"},
		{"/api/v1/timers", `{"ID":"a","in":"1h"}`, "body.id"},
		{"/api/v1/timers", `{"id":"a","in":"1h","payload":{"verysecret key":1,"b":[{"c":1,"c":2}]}}`, "body.payload.b[0].c"},
		{"/api/v1/timers", `{"id":"a","in":"1h","payload":` + deep + `}`, "body"},
	} {
		w := tell(t, h, http.MethodPost, c.path, strings.NewReader(c.body))
		if w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), `"location":"`+c.location+`"`) {
			t.Errorf("%.80s: got %d %s, want a problem at %s", c.body, w.Code, w.Body, c.location)
		}
		if strings.Contains(w.Body.String(), "verysecret") {
			t.Errorf("%.80s: its value is repeated: %s", c.body, w.Body)
		}
	}
}

func TestBodiesAreUTF8(t *testing.T) {
	h := httpapi.New(newFake().deps(), httpapi.Options{})
	w := tell(t, h, http.MethodPost, "/api/v1/timers", strings.NewReader("{\"id\":\"a\",\"in\":\"1h\",\"payload\":\"\xff\xfe\"}"))
	if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "UTF-8") {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

// TestBrokenBodiesAreTheCallersFault: a body that breaks off, or is not encoded as it
// should be, is no bug of the service.
func TestBrokenBodiesAreTheCallersFault(t *testing.T) {
	var log bytes.Buffer
	d := newFake().deps()
	d.Log = slog.New(slog.NewTextHandler(&log, nil))
	d.Sources, d.HookSecrets = described, map[string]string{github.Name: hookSecret}
	h := httpapi.New(d, httpapi.Options{})
	broken := func() io.Reader { return io.MultiReader(strings.NewReader("{"), iotest.ErrReader(io.ErrUnexpectedEOF)) }
	for _, w := range []*httptest.ResponseRecorder{
		tell(t, h, http.MethodPost, "/api/v1/timers", broken()),
		tell(t, h, http.MethodPost, "/api/v1/hooks/github", broken(), "X-GitHub-Event", "push", "X-Hub-Signature-256", sign(hookSecret, "{")),
	} {
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), `"code":"invalid"`) {
			t.Errorf("got %d %s", w.Code, w.Body)
		}
	}
	if strings.Contains(log.String(), "level=ERROR") {
		t.Errorf("the log has %s", log.String())
	}
}

// TestNothingThatMayBeATokenIsRepeated sends one everywhere.
func TestNothingThatMayBeATokenIsRepeated(t *testing.T) {
	var log bytes.Buffer
	d := newFake().deps()
	d.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	h := httpapi.New(d, httpapi.Options{})
	const canary = "ghp_CANARY0123456789abcdefghijklmnop1234"
	for _, c := range []struct{ route, body, header string }{
		{"POST /api/v1/accounts", `{"source":"github","login":"` + canary + `","token":"octocat"}`, ""},
		{"POST /api/v1/accounts", `{"source":"` + canary + `","login":"octocat","token":"x"}`, ""},
		{"POST /api/v1/accounts", `{"source":"github","login":"octocat","token":"x","` + canary + `":1}`, ""},
		{"POST /api/v1/accounts", `{"source":"github","login":"octocat","token":"x","` + canary + `":1,"` + canary + `":2}`, ""},
		{"PATCH /api/v1/accounts/ann", `{"hours":"` + canary + `"}`, ""},
		{"POST /api/v1/runs", `{"login":"` + canary + `","source":"github"}`, ""},
		{"POST /api/v1/tokens", `{"name":"q","role":"read","expires_in":"` + canary[:32] + `"}`, ""},
		{"POST /api/v1/timers", `{"id":"x","at":"` + canary + `"}`, ""},
		{"PUT /api/v1/accounts/ann/schedule", `{"cron":"` + canary + `"}`, ""},
		{"PUT /api/v1/accounts/ann/schedule", `{"zone":"` + canary + `"}`, ""},
		{"POST /api/v1/timers", `{}`, "Content-Type"},
		{"GET /api/v1/events", "", "Last-Event-ID"},
		{"GET /api/v1/accounts/" + canary, "", ""}, {"GET /api/v1/timers/" + canary, "", ""}, {"GET /api/v1/" + canary, "", ""},
		{"GET /api/v1/quota/" + canary, "", ""}, {"DELETE /api/v1/tokens/" + canary, "", ""},
		{"GET /api/v1/accounts?" + canary + "=1", "", ""}, {"GET /api/v1/runs?cursor=" + canary, "", ""},
		{"GET /api/v1/runs?account=" + canary, "", ""}, {"GET /api/v1/dlq/" + canary, "", ""},
		{"GHPCANARY /api/v1/timers", "", ""},
	} {
		method, path, _ := strings.Cut(c.route, " ")
		var header []string
		if c.header != "" {
			header = []string{c.header, canary}
		}
		w := tell(t, h, method, path, strings.NewReader(c.body), header...)
		if w.Code < 400 || strings.Contains(w.Body.String(), "CANARY") {
			t.Errorf("%s %s is answered %d %s", c.route, c.body, w.Code, w.Body)
		}
	}
	if strings.Contains(log.String(), canary) {
		t.Errorf("the log has it: %s", log.String())
	}
}

// TestCursorsAreOfTheirList: what is no cursor of a list begins nothing.
func TestCursorsAreOfTheirList(t *testing.T) {
	g := newGuests(t)
	for _, path := range []string{
		"/api/v1/runs?cursor=jobs:3", "/api/v1/jobs?cursor=runs:3", "/api/v1/accounts?cursor=runs:3", "/api/v1/runs?cursor=runs:x",
		"/api/v1/timers?cursor=%27+OR+1%3D1--", "/api/v1/tokens?cursor=%27+OR+1%3D1--", "/api/v1/notifications?cursor=%27+OR+1%3D1--",
		"/api/v1/timers?cursor=runs:3", "/api/v1/tokens?cursor=timers:a",
	} {
		g.refused(http.MethodGet, path, "", http.StatusUnprocessableEntity, domain.CodeInvalid)
	}
	var names []string
	for path := "/api/v1/tokens?limit=2"; path != ""; {
		var page wire.TokenList
		g.do(http.MethodGet, path, "", http.StatusOK, &page)
		for i := range page.Items {
			names = append(names, page.Items[i].Name)
		}
		if path = ""; page.NextCursor != "" {
			if !strings.HasPrefix(page.NextCursor, "tokens:") {
				t.Errorf("the cursor is %q", page.NextCursor)
			}
			path = "/api/v1/tokens?limit=2&cursor=" + page.NextCursor
		}
	}
	if got := fmt.Sprint(names); got != "[the-admin the-operate the-read]" {
		t.Errorf("the pages have %s", got)
	}
}

// TestKeyedChangesAreInTheAuditLogOnce: with what they are about, and without their
// replays, which change nothing.
func TestKeyedChangesAreInTheAuditLogOnce(t *testing.T) {
	g := newGuests(t)
	for _, c := range []struct{ path, body, target string }{
		{"/api/v1/tokens", `{"name":"victim","role":"admin"}`, "/api/v1/tokens victim (admin)"},
		{"/api/v1/accounts", `{"source":"noop","login":"ann","token":"t1"}`, "/api/v1/accounts noop/ann"},
		{"/api/v1/runs", `{"source":"noop","login":"ann"}`, "/api/v1/runs of account 1"},
	} {
		if c.path == "/api/v1/runs" {
			g.wait(1)
		}
		for i, want := range []string{"", "true"} {
			if status, text, replayed := g.post(c.path, "k"+c.path, c.body); status != http.StatusCreated || replayed != want {
				t.Fatalf("%s, time %d: %d %s, replayed %q", c.path, i+1, status, text, replayed)
			}
		}
		var log wire.AuditList
		g.do(http.MethodGet, "/api/v1/audit", "", http.StatusOK, &log)
		found := slices.DeleteFunc(slices.Clone(log.Items), func(e access.Entry) bool { return !strings.Contains(e.Target, c.target) })
		if len(found) != 1 || found[0].Outcome != access.Done {
			t.Errorf("of %s the log has %+v in %+v", c.target, found, log.Items)
		}
	}
}

// TestKeysEndWithTheirToken: a token that has the name of one that was revoked does not
// get its answers.
func TestKeysEndWithTheirToken(t *testing.T) {
	g := newGuests(t)
	for i := range 2 {
		g.as("the-token-of-the-settings")
		var bob wire.NewToken
		g.do(http.MethodPost, "/api/v1/tokens", `{"name":"bob","role":"operate"}`, http.StatusCreated, &bob)
		g.as(bob.Secret)
		if status, text, replayed := g.post("/api/v1/runs/cancel", "k", `{"all":true}`); status >= 300 || replayed != "" {
			t.Errorf("bob number %d: %d %s, replayed %q", i+1, status, text, replayed)
		}
		g.as("the-token-of-the-settings")
		g.do(http.MethodDelete, "/api/v1/tokens/bob", "", http.StatusNoContent, nil)
	}
}

// TestProxiesMayNamePorts: whoever a proxy names with a port is himself.
func TestProxiesMayNamePorts(t *testing.T) {
	d := newDoors(t, httpapi.Options{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
	d.lock()
	from := func(address, secret string) int {
		return ask(d.handler, http.MethodGet, "http://x/api/v1/runs", "Authorization", "Bearer "+secret, "X-Forwarded-For", address).Code
	}
	for i := range 20 {
		from("8.8.8.8:443", fmt.Sprint("sluice_guess", i))
		from("[2001:db8::5]:443", fmt.Sprint("sluice_guess", i))
	}
	for address, want := range map[string]int{
		"8.8.8.8": 429, "8.8.8.8:1": 429, "2001:db8::5": 429, "[2001:db8::5]": 429, "9.9.9.9:443": 200, "[2001:db9::1]:443": 200,
	} {
		if got := from(address, d.secrets[access.Read]); got != want {
			t.Errorf("%s is answered %d, not %d", address, got, want)
		}
	}
}
