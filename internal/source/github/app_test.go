package github

import (
	"context"
	"fmt"
	"net/http"
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

// TestRefusedReplacementPausesAtOnce: a key that GitHub no longer takes is a
// person's business, even while the last token still works.
func TestRefusedReplacementPausesAtOnce(t *testing.T) {
	w := newAppWorld(t, sim.Options{})
	w.expect(t, "first", source.Done, 1)
	w.FailNext(isMinting, 1, sim.BadCredentials())
	w.advance(56 * time.Minute)
	w.expect(t, "refresh refused", source.PauseAccount, 1)
	w.expect(t, "resumed by a person", source.Done, 2)
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
			want := 1 // the proof that found the clock to be wrong
			if skew.Abs() < time.Minute {
				want = 0
			}
			if n := w.Audit().ByStatus["401"]; n != want {
				t.Errorf("%d refused proofs, want %d", n, want)
			}
		})
	}
}

// TestClockIsSetWhileATokenIsInUse corrects a wrong clock: forwards the token
// seems to have ended, backwards it seems to last.
func TestClockIsSetWhileATokenIsInUse(t *testing.T) {
	w := newAppWorld(t, sim.Options{})
	w.expect(t, "first", source.Done, 1)
	w.localClock.advance(5 * time.Hour)
	w.expect(t, "set forwards", source.Done, 2)
	w.localClock.advance(-10 * time.Hour)
	w.expect(t, "set backwards", source.Done, 2)
	w.advance(2 * time.Hour)
	w.expect(t, "the token has ended unnoticed", source.Retry, 2)
	w.expect(t, "replaced", source.Done, 3)
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
