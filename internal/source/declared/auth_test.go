package declared_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"sluice/internal/domain"
	sim "sluice/internal/simulator/declared"
	"sluice/internal/source"
	"sluice/internal/source/declared"
)

// ways are credentials for which the upstream gives tokens.
var ways = map[string]struct {
	auth, token string
	given       bool
}{
	"client credentials":        {"{oauth2: {token: /oauth/token, grant: client_credentials, scope: read, params: {audience: 'https://{target}.example'}}}", "client-canary:secret-canary", true},
	"a client in the header":    {"{oauth2: {token: /oauth/token, grant: client_credentials, client: header}}", "client-canary:secret-canary", true},
	"a token at another host":   {"{oauth2: {token: 'https://login.example/oauth/token', grant: client_credentials}}", "client-canary:secret-canary", true},
	"a refresh token":           {"{header: X-Token, oauth2: {token: /oauth/token, grant: refresh_token}}", "client-canary:secret-canary:refresh-canary", true},
	"a session":                 {"{header: X-Session, session: {post: /login, body: {user: '{name}', password: '{password}'}, token: data.token, expires: {body: data.ends, as: epoch}}}", "name-canary:secret-canary", true},
	"a session of a header":     {"{header: X-Session, prefix: 'S ', session: {post: /login, body: {key: '{secret}'}, token: {header: X-Given}, lasts: 20s}}", "secret-canary", true},
	"one of several":            {"{one_of: [{if: parts == 1, type: bearer}, {if: parts == 2, oauth2: {token: /oauth/token, grant: client_credentials}}]}", "client-canary:secret-canary", true},
	"the other one of several":  {"{one_of: [{if: parts == 1, type: bearer}, {if: parts == 2, oauth2: {token: /oauth/token, grant: client_credentials}}]}", "secret-canary", false},
	"one of several, by config": {"{one_of: [{if: config.mode == 'app', header: X-App}, {type: basic}]}", "name-canary:secret-canary", false},
}

func signed(auth string) string {
	return strings.NewReplacer("auth: bearer", "auth: "+auth, "config: {", "config: {mode: '', ").Replace(head) +
		"\n  items: {get: /items, page: {type: page, param: page, size: {n: 3}, total: total}, records: data, key: id}\n"
}

// TestTokens: a token is asked for when there is none, or the last one has ended, by a
// call of its own; a collection that is given tokens is complete.
func TestTokens(t *testing.T) {
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			d := drive(t, signed(way.auth), sim.Options{Records: 40})
			d.token = way.token
			if given, err := d.src.CheckCredential(way.token); err != nil || given != way.token {
				t.Fatalf("%q, %v", given, err)
			}
			for range 2 {
				d.run()
				d.want("a collection")
			}
			a := d.upstream.Audit()
			if a.Expired > 0 || a.Anonymous > 0 {
				t.Errorf("%+v", a)
			}
			if !way.given {
				if a.Logins > 0 {
					t.Errorf("%d tokens were asked for", a.Logins)
				}
				return
			}
			// There is an hour between the runs; within one a token is asked for before its
			// end.
			if a.Logins < 2 || a.Logins > 6 {
				t.Errorf("%d tokens were asked for", a.Logins)
			}
			d.upstream.Order(sim.Order{Stream: "items", Do: "revoke", Times: 1})
			d.run()
			d.want("after the tokens were taken back")
			if b := d.upstream.Audit(); b.Faults != 1 {
				t.Errorf("%+v", b)
			}
		})
	}
}

// TestTokenRefused: a token that is refused is asked for once more; then people are
// told, without a secret.
func TestTokenRefused(t *testing.T) {
	for name, c := range map[string]struct {
		login, call int
		want        source.Verdict
		says        string
		logins      int
	}{
		"every token is refused":         {200, 401, source.PauseAccount, "does not accept the credential of acme", 2},
		"none is given":                  {400, 200, source.PauseAccount, "gives no token for the credential of acme (400 bad [token] of [token])", 1},
		"there is an outage":             {503, 200, source.Retry, "gives no token (503", 1},
		"there are too many":             {429, 200, source.Wait, "left alone where tokens are given", 1},
		"the answer is no token":         {204, 200, source.Retry, "without a token", 1},
		"a token is refused with reason": {200, 403, source.Fail, "does not allow it", 1},
	} {
		t.Run(name, func(t *testing.T) {
			logins := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.Contains(r.URL.String(), "canary") {
					t.Errorf("a secret is in the address %s", r.URL)
				}
				if r.URL.Path == "/oauth/token" {
					if logins++; c.login != 200 {
						w.WriteHeader(c.login)
						_, _ = w.Write([]byte(`{"error_description":"bad secret-canary of client-canary"}`))
						return
					}
					_, _ = w.Write([]byte(`{"access_token":"given-canary","expires_in":"3600"}`))
					return
				}
				if got := r.Header.Get("Authorization"); got != "Bearer given-canary" {
					t.Errorf("it shows %q", got)
				}
				w.WriteHeader(c.call)
				_, _ = w.Write([]byte(`{"message":"no given-canary","data":[]}`))
			}))
			t.Cleanup(server.Close)
			src, err := declared.New(load(t, signed(ways["client credentials"].auth)), declared.Options{Base: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			run := domain.Run{ID: 1, AccountID: 7, Login: "acme"}
			jobs, _ := src.Plan(run)
			var res source.Result
			for range 6 {
				res = src.Call(t.Context(), source.Call{Run: run, Job: domain.Job{JobSpec: jobs[0]}, Token: "client-canary:secret-canary"})
				if res.Verdict != source.Wait || res.Failure != nil {
					break
				}
				if len(res.Quota.Told) != 1 || c.call == 200 && !res.Quota.Told[0].Free {
					t.Errorf("asking for a token is counted: %+v", res.Quota.Told)
				}
			}
			if res.Verdict != c.want || res.Failure == nil || !strings.Contains(res.Failure.Message, c.says) || logins != c.logins {
				t.Errorf("%v %+v after %d tokens", res.Verdict, res.Failure, logins)
			}
			if strings.Contains(res.Failure.Message, "canary") {
				t.Errorf("a secret is told: %s", res.Failure.Message)
			}
		})
	}
}

// TestTokenShared: however many calls need a token at the same time, one asks for it.
func TestTokenShared(t *testing.T) {
	d := drive(t, signed(ways["a session"].auth), sim.Options{Records: 40})
	run := domain.Run{ID: 1, AccountID: 7, Login: "acme"}
	jobs, err := d.src.Plan(run)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 12 {
		all.Go(func() {
			call := source.Call{Run: run, Job: domain.Job{JobSpec: jobs[0]}, Token: ways["a session"].token}
			res := d.src.Call(t.Context(), call)
			if res.Verdict == source.Wait {
				res = d.src.Call(t.Context(), call)
			}
			if res.Verdict != source.Done {
				t.Errorf("%v %+v", res.Verdict, res.Failure)
			}
		})
	}
	all.Wait()
	if a := d.upstream.Audit(); a.Logins != 1 || a.Expired+a.Anonymous > 0 {
		t.Errorf("%+v", a)
	}
}

// TestTokenFailureShared: calls that wait for a token that is not given all know why.
func TestTokenFailureShared(t *testing.T) {
	hold := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		<-hold
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"error":"secret-canary is wrong"}`))
	}))
	t.Cleanup(server.Close)
	src, err := declared.New(load(t, signed(ways["client credentials"].auth)), declared.Options{Base: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	run := domain.Run{ID: 1, AccountID: 7, Login: "acme"}
	jobs, _ := src.Plan(run)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			res := src.Call(t.Context(), source.Call{Run: run, Job: domain.Job{JobSpec: jobs[0]}, Token: ways["client credentials"].token})
			if res.Verdict != source.PauseAccount || strings.Contains(res.Failure.Message, "canary") {
				t.Errorf("%v %+v", res.Verdict, res.Failure)
			}
		})
	}
	close(hold)
	all.Wait()
}

// TestTokenRation: a ration that names the call for tokens is drawn on by it.
func TestTokenRation(t *testing.T) {
	text := strings.Replace(signed(ways["a session"].auth), "ration: {", "ration: {logins: {per: key, calls: 5, every: 1m, match: POST /login}, ", 1)
	d := drive(t, text, sim.Options{})
	run := domain.Run{ID: 1, AccountID: 7, Login: "acme"}
	jobs, err := d.src.Plan(run)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"logins", "all"} {
		ask, err := d.src.Ask(jobs[0], "o")
		if err != nil || len(ask.Drawn.Draws) != 2 {
			t.Fatalf("%+v, %v", ask, err)
		}
		res := d.src.Call(t.Context(), source.Call{Run: run, Job: domain.Job{JobSpec: jobs[0]}, Token: ways["a session"].token})
		for j, draw := range ask.Drawn.Draws {
			if free := res.Quota.Told[j].Free; free == (draw.Ration.Name == want) {
				t.Errorf("call %d draws on %s: %v", i+1, draw.Ration.Name, !free)
			}
		}
	}
}
