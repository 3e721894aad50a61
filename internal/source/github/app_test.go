package github

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/source"

	sim "sluice/internal/simulator/github"
)

// appWorld is a world with an app on its first account, and a source whose
// clock is its own.
type appWorld struct {
	*world
	serverClock, localClock *clock
	src                     *Source
	login                   string
	credential              string
	installationID          int64
}

func newAppWorld(t *testing.T, opt sim.Options) *appWorld {
	t.Helper()
	w := &appWorld{serverClock: newClock(), localClock: newClock()}
	opt.Now = w.serverClock.Now
	if opt.Shape == nil {
		opt.Seed, opt.Accounts, opt.Shape = 5, 1, &sim.Shape{
			Repos: sim.Exactly(1), Commits: sim.Exactly(1), Issues: sim.Exactly(1), Pulls: sim.Exactly(1)}
	}
	w.world = newWorld(t, opt)
	w.login = w.Logins()[0]
	appID, installationID, key := w.InstallApp(w.login)
	w.installationID = installationID
	w.credential = AppCredential{AppID: appID, InstallationID: installationID, PrivateKey: key}.String()
	w.src = w.source(t, Options{Now: w.localClock.Now})
	return w
}

func (w *appWorld) advance(d time.Duration) {
	w.serverClock.advance(d)
	w.localClock.advance(d)
}

func (w *appWorld) profile(ctx context.Context) source.Result {
	return w.src.Call(ctx, source.Call{
		Run:   domain.Run{AccountID: testAccount, Login: w.login, Anchor: w.localClock.Now()},
		Job:   domain.Job{JobSpec: params{}.spec(UserProfile, userResource(w.login), "", BucketCore)},
		Token: w.credential,
	})
}

// expect makes a call and checks what it means and how many tokens were issued
// so far.
func (w *appWorld) expect(t *testing.T, what string, verdict source.Verdict, minted int) source.Result {
	t.Helper()
	res := w.profile(t.Context())
	if res.Verdict != verdict {
		t.Fatalf("%s: verdict %d, want %d (%v)", what, res.Verdict, verdict, res.Failure)
	}
	if got := w.Audit().TokensMinted; got != minted {
		t.Fatalf("%s: %d tokens minted, want %d", what, got, minted)
	}
	return res
}

func isMinting(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/access_tokens") }

func TestManyCallsShareOneToken(t *testing.T) {
	const callers = 100
	w := newAppWorld(t, sim.Options{})
	var waiting sync.WaitGroup
	for range callers {
		waiting.Go(func() {
			if res := w.profile(t.Context()); res.Verdict != source.Done {
				t.Errorf("verdict %d: %v", res.Verdict, res.Failure)
			}
		})
	}
	waiting.Wait()
	if a := w.Audit(); a.TokensMinted != 1 || a.ByEndpoint["access_tokens"] != 1 || a.ByEndpoint["user"] != callers || a.Violations != 0 {
		t.Errorf("%d tokens in %d requests for %d calls, %d violations", a.TokensMinted, a.ByEndpoint["access_tokens"], a.ByEndpoint["user"], a.Violations)
	}
}

func TestManyCallsShareOneFailure(t *testing.T) {
	const callers = 100
	w := newAppWorld(t, sim.Options{})
	in, err := w.src.apps.installationOf(w.credential, w.localClock.Now())
	if err != nil {
		t.Fatal(err)
	}
	// All of them wait for the same minting before it fails.
	_, m, asks := in.take(w.localClock.Now())
	if !asks {
		t.Fatal("somebody else is minting")
	}
	results := make(chan source.Result, callers)
	for range callers {
		go func() { results <- w.profile(t.Context()) }()
	}
	m.failure = &source.Result{Verdict: source.Retry, Free: true, Failure: failure(domain.FailureServer, "GitHub answers 502")}
	in.settle(m, false, w.localClock.Now())
	failed := 0
	for range callers {
		// A caller that comes after the failure asks for itself, and succeeds.
		if res := <-results; res.Verdict == source.Retry && res.Free {
			failed++
		} else if res.Verdict != source.Done {
			t.Errorf("verdict %d: %v", res.Verdict, res.Failure)
		}
	}
	if n := w.Audit().TokensMinted; n > 1 || (failed < callers && n != 1) {
		t.Errorf("%d failed, %d tokens minted", failed, n)
	}
}

// TestStoppedCallLeavesTheOthersGoing stops the caller that asks for a token
// while another waits for it.
func TestStoppedCallLeavesTheOthersGoing(t *testing.T) {
	w := newAppWorld(t, sim.Options{})
	asked := make(chan struct{}, 1)
	w.src.opt.Transport = transportFunc(func(r *http.Request) (*http.Response, error) {
		if isMinting(r) && len(asked) == 0 {
			asked <- struct{}{}
			<-r.Context().Done()
			return nil, r.Context().Err()
		}
		return http.DefaultTransport.RoundTrip(r)
	})
	ctx, cancel := context.WithCancel(t.Context())
	first, second := make(chan source.Result, 1), make(chan source.Result, 1)
	go func() { first <- w.profile(ctx) }()
	for len(asked) == 0 {
		runtime.Gosched()
	}
	go func() { second <- w.profile(t.Context()) }()
	cancel()
	if res := <-first; res.Verdict != source.Wait || !res.Free {
		t.Errorf("the stopped call: %d %v", res.Verdict, res.Failure)
	}
	if res := <-second; res.Verdict != source.Done {
		t.Errorf("the other call: %d %v", res.Verdict, res.Failure)
	}
}

func TestTokenIsReplacedBeforeItEnds(t *testing.T) {
	w := newAppWorld(t, sim.Options{})
	w.expect(t, "first", source.Done, 1)
	w.advance(55*time.Minute - time.Second)
	w.expect(t, "55 minutes later, almost", source.Done, 1)
	w.advance(time.Second)
	w.expect(t, "five minutes before the end", source.Done, 2)
	w.advance(54 * time.Minute)
	w.expect(t, "the second", source.Done, 2)
	w.advance(10 * time.Hour)
	w.expect(t, "long after the end", source.Done, 3)
	if a := w.Audit(); a.ByStatus["401"] != 0 {
		t.Errorf("%d calls with a token that had ended", a.ByStatus["401"])
	}
}

func TestShortTokensAreUsedForHalfTheirLife(t *testing.T) {
	w := newAppWorld(t, sim.Options{TokenLifetime: 2 * time.Minute})
	w.expect(t, "first", source.Done, 1)
	w.advance(59 * time.Second)
	w.expect(t, "half of it", source.Done, 1)
	w.advance(2 * time.Second)
	w.expect(t, "the other half", source.Done, 2)
}

// TestFailedReplacementLeavesTheTokenInUse goes through a refresh that fails
// until the token ends.
func TestFailedReplacementLeavesTheTokenInUse(t *testing.T) {
	w := newAppWorld(t, sim.Options{})
	w.expect(t, "first", source.Done, 1)
	w.FailNext(isMinting, 2, sim.ServerError(502))
	w.advance(56 * time.Minute)
	w.expect(t, "refresh fails", source.Done, 1)
	w.expect(t, "not tried again at once", source.Done, 1)
	if n := w.Audit().ByEndpoint["access_tokens"]; n != 2 {
		t.Errorf("%d requests for a token, want 2", n)
	}
	w.advance(4 * time.Minute)
	if res := w.expect(t, "the token has ended", source.Retry, 1); res.Failure.Kind != domain.FailureServer || !res.Free {
		t.Errorf("failure %v, free %t", res.Failure, res.Free)
	}
	w.expect(t, "GitHub is back", source.Done, 2)
}

func TestWrongClockChangesNothing(t *testing.T) {
	for _, skew := range []time.Duration{time.Hour, -time.Hour, 45 * time.Second, -45 * time.Second, 24 * time.Hour} {
		t.Run(skew.String(), func(t *testing.T) {
			w := newAppWorld(t, sim.Options{})
			w.localClock.advance(skew)
			w.expect(t, "first", source.Done, 1)
			w.advance(54 * time.Minute)
			w.expect(t, "before the refresh", source.Done, 1)
			w.advance(2 * time.Minute)
			w.expect(t, "refreshed", source.Done, 2)
			w.localClock.advance(-2 * skew)
			w.advance(3 * time.Hour)
			w.expect(t, "after the clock was set", source.Done, 3)
			// At most one refused proof each time the clock proves to be wrong.
			if n := w.Audit().ByStatus["401"]; n > 2 {
				t.Errorf("%d refused proofs", n)
			}
		})
	}
}

func TestTokenRevokedEarlyIsReplacedOnce(t *testing.T) {
	w := newAppWorld(t, sim.Options{})
	w.expect(t, "first", source.Done, 1)
	w.RevokeInstallationTokens(w.installationID)
	if res := w.expect(t, "revoked", source.Retry, 1); res.Failure.Kind != domain.FailureCredential {
		t.Errorf("failure %v", res.Failure)
	}
	w.expect(t, "replaced", source.Done, 2)

	// Revoked again, long after it was accepted: that is another first time.
	w.RevokeInstallationTokens(w.installationID)
	w.expect(t, "revoked again", source.Retry, 2)
	w.FailNext(sim.PathContains("/users/"), 1, sim.BadCredentials())
	res := w.expect(t, "the replacement is refused as well", source.PauseAccount, 3)
	if res.Failure.Kind != domain.FailureCredential || !strings.Contains(res.Failure.Message, fmt.Sprint(w.installationID)) {
		t.Errorf("failure %v", res.Failure)
	}
	w.expect(t, "resumed by a person", source.Done, 4)
}

// TestLateRefusalsSpareTheNewToken lets calls with the old token be refused
// after the new one is in use.
func TestLateRefusalsSpareTheNewToken(t *testing.T) {
	w := newAppWorld(t, sim.Options{})
	w.expect(t, "first", source.Done, 1)
	in, err := w.src.apps.installationOf(w.credential, w.localClock.Now())
	if err != nil {
		t.Fatal(err)
	}
	old := in.current
	w.RevokeInstallationTokens(w.installationID)
	w.expect(t, "revoked", source.Retry, 1)
	w.expect(t, "replaced", source.Done, 2)
	if !in.refuse(old) {
		t.Error("a call with the old token pauses the account")
	}
	w.expect(t, "still in use", source.Done, 2)
}

func TestInstallationsThatAreOut(t *testing.T) {
	for name, c := range map[string]struct {
		out  func(*appWorld)
		says string
	}{
		"suspended": {func(w *appWorld) { w.SuspendInstallation(w.installationID) }, "suspended"},
		"removed":   {func(w *appWorld) { w.RemoveInstallation(w.installationID) }, "installed on the account"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newAppWorld(t, sim.Options{})
			c.out(w)
			res := w.expect(t, "before the first token", source.PauseAccount, 0)
			if res.Failure.Kind != domain.FailureCredential || !res.Free || !strings.Contains(res.Failure.Message, c.says) {
				t.Errorf("failure %v, free %t", res.Failure, res.Free)
			}
		})
	}
	w := newAppWorld(t, sim.Options{})
	w.expect(t, "first", source.Done, 1)
	w.SuspendInstallation(w.installationID)
	if res := w.expect(t, "suspended with a token in use", source.PauseAccount, 1); !strings.Contains(res.Failure.Message, "suspended") {
		t.Errorf("failure %v", res.Failure)
	}
	w.ResumeInstallation(w.installationID)
	w.expect(t, "resumed", source.Done, 1)
}

func TestBadKeyIsRefusedBeforeAnyCall(t *testing.T) {
	w := newAppWorld(t, sim.Options{})
	w.credential = AppCredential{AppID: 1, InstallationID: 2, PrivateKey: "no key"}.String()
	if res := w.expect(t, "bad key", source.PauseAccount, 0); !res.Free || !strings.Contains(res.Failure.Message, "private key") {
		t.Errorf("failure %v, free %t", res.Failure, res.Free)
	}
	if n := w.Audit().Calls; n != 0 {
		t.Errorf("%d calls were made", n)
	}
}

func TestStoppedSourceMintsNothing(t *testing.T) {
	w := newAppWorld(t, sim.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if res := w.profile(ctx); res.Verdict != source.Wait || !res.Free || w.Audit().Calls != 0 {
		t.Errorf("verdict %d, free %t, %d calls", res.Verdict, res.Free, w.Audit().Calls)
	}
}

func TestWholeCollectionWithAnApp(t *testing.T) {
	for _, base := range []string{"", "/api/v3"} {
		w := newWorld(t, sim.Options{Seed: 7, Accounts: 3})
		for _, login := range w.Logins() {
			appID, installationID, key := w.InstallApp(login)
			d := w.driver(t, Options{BaseURL: base}, login)
			d.token = AppCredential{AppID: appID, InstallationID: installationID, PrivateKey: key}.String()
			d.run(time.Now())
			d.noFailures()
			d.matches(mustTruth(t, w, login, time.Time{}), true)
		}
		if a := w.Audit(); a.TokensMinted != 3 || a.Violations != 0 || a.ByStatus["401"] != 0 {
			t.Errorf("%d tokens minted, %d violations, %d times 401", a.TokensMinted, a.Violations, a.ByStatus["401"])
		}
	}
}

// TestIdleInstallationsAreForgotten keeps what is remembered in bounds.
func TestIdleInstallationsAreForgotten(t *testing.T) {
	tokens, now := newAppTokens(), newClock().Now()
	app := testApp()
	for n := range 3 * firstSweep {
		app.InstallationID = int64(n + 1)
		in, err := tokens.installationOf(app.String(), now)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			in.current = &installationToken{value: "x", expiresAt: now.Add(time.Hour)}
		}
	}
	app.InstallationID = 1
	if n := len(tokens.byCredential); n > firstSweep || tokens.byCredential[app.String()] == nil {
		t.Errorf("%d are remembered, the one in use: %t", n, tokens.byCredential[app.String()] != nil)
	}
}

type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
