package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/access"
	"sluice/internal/backend/sqlite"
	"sluice/internal/domain"
	"sluice/internal/httpapi"
)

// doors is the API with a token of each role.
type doors struct {
	*testing.T
	handler http.Handler
	tokens  *access.Tokens
	audit   *access.Audit
	secrets map[access.Role]string
	fake    *fake
}

func newDoors(t *testing.T, o httpapi.Options) *doors {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Dir: t.TempDir(), Holder: "a test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	store := sqlite.NewAccess(db)
	d := &doors{
		T: t, secrets: map[access.Role]string{}, fake: newFake(),
		tokens: access.NewTokens(access.TokensOptions{Store: store}), audit: access.NewAudit(access.AuditOptions{Store: store}),
	}
	deps := d.fake.deps()
	deps.Tokens, deps.Audit, deps.Refreshes, deps.Archive = d.tokens, d.audit, entities{}, ruins{}
	deps.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	d.handler = httpapi.New(deps, o)
	return d
}

// lock makes a token of each role.
func (d *doors) lock() {
	d.Helper()
	for _, role := range slices.Backward(access.Roles()) {
		_, secret, err := d.tokens.Create(d.Context(), string(role), role, 0)
		if err != nil {
			d.Fatal(err)
		}
		d.secrets[role] = secret
	}
}

// knock makes a request whose caller is gone before it is answered, so that no
// stream goes on, and returns what was answered all the same.
func (d *doors) knock(method, path, secret string) (answer *httptest.ResponseRecorder) {
	ctx, cancel := context.WithCancel(d.Context())
	cancel()
	r := httptest.NewRequestWithContext(ctx, method, "http://sluice.example"+path, strings.NewReader("{}"))
	r.Header.Set("Content-Type", "application/json")
	if secret != "" {
		r.Header.Set("Authorization", "Bearer "+secret)
	}
	answer = httptest.NewRecorder()
	// What is behind the door is not there: it may panic.
	defer func() { _ = recover() }()
	d.handler.ServeHTTP(answer, r)
	return answer
}

// TestEveryRouteByEveryRole goes through all routes with every role, and with none.
func TestEveryRouteByEveryRole(t *testing.T) {
	d := newDoors(t, httpapi.Options{})
	var doc struct {
		Paths map[string]map[string]struct {
			Role access.Role `json:"x-role"`
		}
	}
	if err := json.Unmarshal(ask(d.handler, http.MethodGet, "http://localhost/api/openapi.json").Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	routes := map[string]access.Role{"GET /metrics": access.Read, "GET /api/v1": access.Read, "GET /": "everybody", "GET /api/openapi.json": "everybody"}
	for path, operations := range doc.Paths {
		for method, op := range operations {
			routes[strings.ToUpper(method)+" "+path] = op.Role
		}
	}
	if len(routes) < 50 {
		t.Fatalf("there are %d routes", len(routes))
	}
	d.lock()
	fill := strings.NewReplacer("{id}", "1", "{source}", "x", "{key}", "x", "{owner}", "x", "{name}", "nobody")
	for route, needed := range routes {
		method, path, _ := strings.Cut(route, " ")
		if !httpapi.Listed(route) && !strings.Contains(path, "/hooks/") && path != "/" {
			t.Errorf("%s is not in the table of roles", route)
		}
		address := fill.Replace(path)
		for _, have := range append(access.Roles(), "") {
			got := d.knock(method, address, d.secrets[have]).Code
			switch {
			case needed == "everybody":
				if got == http.StatusForbidden || got == http.StatusUnauthorized && !strings.Contains(path, "/hooks/") {
					t.Errorf("%s is for everybody, and with the role %q it is %d", route, have, got)
				}
			case have == "" && got != http.StatusUnauthorized:
				t.Errorf("%s without a token: %d", route, got)
			case have != "" && (got == http.StatusForbidden) == have.Allows(needed), have != "" && got == http.StatusUnauthorized:
				t.Errorf("%s needs the role %s, and with %s it is %d", route, needed, have, got)
			}
		}
		// A statement of SQL only reads, whatever its method, and so does checking a file.
		if get := method == http.MethodGet || path == "/api/v1/sql" || path == "/api/v1/sources/check"; needed == access.Read && !get || needed == access.Operate && get {
			t.Errorf("%s needs the role %s", route, needed)
		}
	}
	for route, role := range httpapi.Table() {
		page := strings.HasPrefix(route, "GET /docs") || route == "GET "+httpapi.OlderDocumentPath
		if _, there := routes[strings.ReplaceAll(route, "{$}", "")]; !there && !page && route != "GET /api/v1/{$}" {
			t.Errorf("the table has %s for %s, which is no route", role, route)
		}
	}
}

// TestDoorCloses: a service without tokens lets this machine in; with the first
// token everybody needs one.
func TestDoorCloses(t *testing.T) {
	d := newDoors(t, httpapi.Options{})
	look := func(want int, header ...string) {
		t.Helper()
		if w := ask(d.handler, http.MethodGet, "http://localhost/api/v1/runs", header...); w.Code != want {
			t.Errorf("got %d %s, want %d", w.Code, w.Body, want)
		}
	}
	look(http.StatusOK)
	d.lock()
	look(http.StatusUnauthorized)
	look(http.StatusOK, "Authorization", "Bearer "+d.secrets[access.Read])
	exposed := newDoors(t, httpapi.Options{Exposed: true})
	if w := ask(exposed.handler, http.MethodGet, "http://localhost/api/v1/runs"); w.Code != http.StatusUnauthorized {
		t.Errorf("what other machines can reach is open: %d", w.Code)
	}
}

// TestSettingStaysAdmin: the token of the settings goes on beside others.
func TestSettingStaysAdmin(t *testing.T) {
	d := newDoors(t, httpapi.Options{APIToken: "the-token-of-the-settings"})
	d.lock()
	for _, secret := range []string{"the-token-of-the-settings", d.secrets[access.Admin]} {
		if w := ask(d.handler, http.MethodGet, "http://x/api/v1/tokens", "Authorization", "Bearer "+secret); w.Code != http.StatusOK {
			t.Errorf("got %d %s", w.Code, w.Body)
		}
	}
}

// TestWrongTokensAreLimited tries many from one address: it is not heard any more,
// and others are.
func TestWrongTokensAreLimited(t *testing.T) {
	d := newDoors(t, httpapi.Options{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
	d.lock()
	from := func(address, secret string) *httptest.ResponseRecorder {
		return ask(d.handler, http.MethodGet, "http://x/api/v1/runs", "Authorization", "Bearer "+secret, "X-Forwarded-For", "1.2.3.4, "+address)
	}
	tries := 0
	for ; tries < 100 && from("203.0.113.7", fmt.Sprint("sluice_guess", tries)).Code == http.StatusUnauthorized; tries++ {
	}
	w := from("203.0.113.7", d.secrets[access.Read])
	if tries != 10 || w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), `"unavailable"`) {
		t.Errorf("after %d tries: %d %v %s", tries, w.Code, w.Header(), w.Body)
	}
	if w := from("203.0.113.8", d.secrets[access.Read]); w.Code != http.StatusOK {
		t.Errorf("a right token from elsewhere: %d %s", w.Code, w.Body)
	}
	if log := d.fake.log.String(); !strings.Contains(log, "203.0.113.7") || strings.Contains(log, "sluice_guess") {
		t.Errorf("the log says %s", log)
	}
}

// TestForwardedFor is believed of proxies that are trusted, as far as they can
// know.
func TestForwardedFor(t *testing.T) {
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	for _, c := range []struct{ from, header, want string }{
		{"10.1.2.3:99", "203.0.113.7", "203.0.113.7"},
		{"10.1.2.3:99", "6.6.6.6, 203.0.113.7, 10.9.9.9", "203.0.113.7"},
		{"10.1.2.3:99", "", "10.1.2.3"},
		{"10.1.2.3:99", "nonsense", "10.1.2.3"},
		{"10.1.2.3:99", "nonsense, 203.0.113.7", "203.0.113.7"},
		{"[::1]:99", "2001:db8::1", "2001:db8::1"},
		{"192.0.2.1:99", "203.0.113.7", "192.0.2.1"},
	} {
		d := newDoors(t, httpapi.Options{TrustedProxies: trusted})
		d.lock()
		r := httptest.NewRequest(http.MethodDelete, "http://x/api/v1/tokens/nobody", nil)
		r.RemoteAddr = c.from
		r.Header.Set("Authorization", "Bearer "+d.secrets[access.Admin])
		if c.header != "" {
			r.Header.Set("X-Forwarded-For", c.header)
		}
		d.handler.ServeHTTP(httptest.NewRecorder(), r)
		entries, _, err := d.audit.Entries(t.Context(), access.Search{Limit: 1})
		if err != nil || len(entries) != 1 || entries[0].Address != c.want {
			t.Errorf("%s says %q: got %+v, %v, want %s", c.from, c.header, entries, err, c.want)
		}
	}
}

// turnstile lets everybody in until it is shut.
type turnstile struct {
	httpapi.Tokens
	shut atomic.Bool
}

func (s *turnstile) Any(context.Context) bool { return true }

func (s *turnstile) Recognise(context.Context, string) (access.Identity, error) {
	if s.shut.Load() {
		return access.Identity{}, domain.Errorf(domain.CodeUnauthorized, "revoked")
	}
	return access.Identity{Actor: "token:x", Role: access.Read}, nil
}

// TestRevokedStreamEnds revokes a token that somebody follows a run with.
func TestRevokedStreamEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, tokens := newFake(), &turnstile{}
		deps := f.deps()
		deps.Tokens = tokens
		r := &reader{t: t, done: make(chan struct{}), head: http.Header{}}
		h := httpapi.New(deps, httpapi.Options{})
		go func() {
			defer close(r.done)
			request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://x/api/v1/runs/1/events", nil)
			request.Header.Set("Authorization", "Bearer x")
			h.ServeHTTP(r, request)
		}()
		r.expect("snapshot 1 0")
		time.Sleep(time.Minute)
		r.expect(": heartbeat, : heartbeat, : heartbeat, : heartbeat")
		if r.ended(f) {
			t.Fatal("the stream has ended")
		}
		tokens.shut.Store(true)
		time.Sleep(5 * time.Second)
		f.put(runAt(1, 7, domain.RunRunning))
		time.Sleep(time.Second)
		if got := r.read(); got != "" || !r.ended(f) {
			t.Errorf("the stream goes on: %q", got)
		}
	})
}
