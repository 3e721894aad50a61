package github

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"sluice/internal/domain"
	"sluice/internal/quota"
	"sluice/internal/source"
)

// clockTolerance is how far GitHub's clock may be from the assumed one without
// a JWT being refused for it.
const clockTolerance = 30 * time.Second

// access is what a call authorises itself with: the credential itself, or a
// token that was issued for it.
type access struct {
	token string
	in    *installation // nil for a plain token
	of    *installationToken
}

// authorise turns a credential into what goes over the wire. Without one the
// Result says why, and the call it was for was never made.
func (s *Source) authorise(ctx context.Context, credential string) (access, *source.Result) {
	if !strings.HasPrefix(credential, appPrefix) {
		return access{token: credential}, nil
	}
	in, err := s.apps.installationOf(credential, s.opt.Now())
	if err != nil {
		return access{}, &source.Result{Verdict: source.PauseAccount, Free: true, Failure: failure(domain.FailureCredential, "%s", err)}
	}
	token, none := s.tokenOf(ctx, in)
	if none != nil {
		return access{}, none
	}
	return access{token: token.value, in: in, of: token}, nil
}

// answered learns from the answer to a call.
func (k access) answered(s *Source, a *answer) {
	if k.of == nil {
		return
	}
	s.apps.clock.observe(a.date, s.opt.Now())
	if a.status != http.StatusUnauthorized {
		k.of.accepted.Store(true)
	}
}

// refused is the meaning of a 401 to a token that was issued for an app: it was
// taken back before its end, which a new token may mend, or the app is out.
func (k access) refused(a *answer) source.Result {
	if k.in.refuse(k.of) {
		return source.Result{Verdict: source.Retry, Failure: failure(domain.FailureCredential,
			"GitHub no longer accepts the token it issued for %s (401 %s); a new one is asked for", k.in.name, message(a))}
	}
	return source.Result{Verdict: source.PauseAccount, Failure: failure(domain.FailureCredential,
		"GitHub accepts none of the tokens it issues for %s (401 %s); see the app's installation in GitHub's settings", k.in.name, message(a))}
}

// suspended reports whether a refusal is about the installation as a whole.
func (k access) suspended(low string) bool {
	return k.in != nil && strings.Contains(low, "installation has been suspended")
}

// mint asks GitHub for a token. It is no data call: on GitHub it takes nothing
// from the installation's quota but draws on the app's own limit, so neither is
// a permit reserved for it nor do its rate headers say anything about a window.
// If GitHub refuses the proof and its clock turns out to be another one, the
// proof is dated by GitHub's clock and sent once more.
func (s *Source) mint(ctx context.Context, in *installation) (*installationToken, *source.Result) {
	a, dated, none := s.requestToken(ctx, in)
	if none == nil && a.status == http.StatusUnauthorized && !a.date.IsZero() && a.date.Sub(dated).Abs() > clockTolerance {
		a, _, none = s.requestToken(ctx, in)
	}
	if none != nil {
		none.Failure.Message = "asking for a token of " + in.name + ": " + none.Failure.Message
		return nil, unspent(*none, time.Time{})
	}
	if a.status == http.StatusCreated || a.status == http.StatusOK {
		if token := s.readToken(a); token != nil {
			return token, nil
		}
	}
	return nil, unspent(s.mintFailure(in, a), a.date)
}

// unspent marks a failed minting: the call that it was for cost nothing.
func unspent(res source.Result, date time.Time) *source.Result {
	res.Free = true
	res.Quota = quota.Response{Date: date, RetryAfter: res.Quota.RetryAfter}
	return &res
}

// requestToken sends one proof; dated is GitHub's time as it was assumed.
func (s *Source) requestToken(ctx context.Context, in *installation) (a *answer, dated time.Time, none *source.Result) {
	dated = s.apps.clock.at(s.opt.Now())
	proof, err := signJWT(in.key, in.appID, dated)
	if err != nil {
		return nil, dated, &source.Result{Verdict: source.PauseAccount, Failure: failure(domain.FailureCredential, "%s", err)}
	}
	a, none = s.fetch(ctx, proof, request{target: in.target, query: []byte(`{}`)})
	if none == nil {
		s.apps.clock.observe(a.date, s.opt.Now())
	}
	return a, dated, none
}

// readToken reads an issued token, nil if there is none. How long it is valid is
// reckoned by GitHub's clock and counted on the local one.
func (s *Source) readToken(a *answer) *installationToken {
	if !wellFormed(a.body) {
		return nil
	}
	now := s.opt.Now()
	body := gjson.ParseBytes(a.body)
	value := strings.Clone(body.Get("token").String())
	life := when(body.Get("expires_at")).Sub(s.apps.clock.at(now))
	if value == "" || strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r > '~' }) || life <= 0 {
		return nil
	}
	token := &installationToken{
		value: value, expiresAt: now.Add(life), refreshAt: now.Add(life - min(refreshMargin, life/2)),
		selected: body.Get("repository_selection").String() == "selected",
	}
	body.Get("permissions").ForEach(func(name, _ gjson.Result) bool {
		token.permissions = append(token.permissions, strings.Clone(name.String()))
		return true
	})
	return token
}

// mintFailure is where every answer that brings no token gets its meaning:
//
//	200, 201   without a readable token: tried again
//	401        the key is refused: the account pauses
//	403, 429   a limit: wait; else the installation is suspended: the account pauses
//	404        there is no such app or installation: the account pauses
//	3xx        not followed: the proof goes nowhere else; tried again
//	408, 5xx   tried again
//	others     the request is refused: the job fails
func (s *Source) mintFailure(in *installation, a *answer) source.Result {
	pauses := func(format string, args ...any) source.Result {
		return source.Result{Verdict: source.PauseAccount, Failure: failure(domain.FailureCredential, format, args...)}
	}
	switch code := a.status; {
	case code == http.StatusOK, code == http.StatusCreated:
		return source.Result{Verdict: source.Retry, Failure: failure(domain.FailureMalformed, "GitHub's answer holds no valid token for %s", in.name)}
	case code == http.StatusUnauthorized:
		return pauses("GitHub does not accept the private key %s for %s (401 %s); make a new one in the app's settings under private keys", in.keyName, in.name, message(a))
	case code == http.StatusNotFound:
		return pauses("GitHub has no %s (404 %s); see that the app exists and is installed on the account", in.name, message(a))
	case code == http.StatusForbidden, code == http.StatusTooManyRequests:
		if res, limited := s.mintLimited(a); limited {
			return res
		}
		return pauses("GitHub gives no token to %s (%d %s); see the app's installation in GitHub's settings", in.name, code, message(a))
	case code == http.StatusRequestTimeout:
		return s.again(a, domain.FailureTimeout)
	case code >= 500, code >= 300 && code < 400:
		return s.again(a, domain.FailureServer)
	}
	return source.Result{Verdict: source.Fail, Failure: failure(domain.FailureInvalid, "GitHub refuses to issue a token for %s (%d %s)", in.name, a.status, message(a))}
}

// mintPause is how long no token is asked for after a limit, if GitHub does not
// ask for longer. The limit is on no window that somebody counts.
const mintPause = time.Minute

// mintLimited tells a limit from a lasting refusal. The limit is the app's own:
// it parks the installation, but says nothing about its windows.
func (g *upstream) mintLimited(a *answer) (source.Result, bool) {
	said := message(a)
	low := strings.ToLower(said)
	pause := retryAfter(a, g.opt.Now())
	primary := strings.HasPrefix(low, "api rate limit exceeded")
	switch {
	case !wellFormed(a.body):
		return g.refusedInHTML(a), true
	case strings.Contains(low, "suspended"):
		return source.Result{}, false
	case isSecondary(a, low), strings.Contains(low, "login attempts"), pause > 0:
		return g.stayAway(cmp.Or(pause, mintPause), "a limit on issuing tokens", said), true
	case primary, a.header.Get("X-Ratelimit-Remaining") == "0", a.status == http.StatusTooManyRequests:
		return g.stayAway(cmp.Or(g.untilReset(a), mintPause), "a limit on issuing tokens", said), true
	}
	return source.Result{}, false
}

// untilReset is how long the window of an answer still lasts, zero if unknown.
func (g *upstream) untilReset(a *answer) time.Duration {
	rate := rateOf(a, "")
	if !rate.Known {
		return 0
	}
	return max(rate.Reset.Sub(g.serverTime(a)), 0)
}
