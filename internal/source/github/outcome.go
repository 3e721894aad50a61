package github

import (
	"net/http"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/quota"
	"sluice/internal/source"
)

// understand is where every answer gets its meaning:
//
//	200        the page; HTML or a body that is no JSON is tried again
//	301, 302 … one more job at the new address, on the same host only; a
//	           redirect elsewhere, or of GraphQL, is not followed, and tried
//	           again
//	304        the remembered page stands for it, free of charge with a token
//	400, 422   the request is refused: the job fails
//	401        the token is refused: the account pauses; an app's token is
//	           first replaced
//	403, 429   see refused
//	404        an unknown login fails the run; a repository is looked at by
//	           its id, and flagged as gone if that finds nothing either
//	408, 5xx   tried again, with a smaller page
//	409        an empty repository: done, with nothing
//	410        gone: recorded, not tried again
//	451        a blocked repository: flagged as such
func (s *Source) understand(c *call, op operation, a *answer) source.Result {
	c.heavy = a.status == http.StatusBadGateway || a.status == http.StatusGatewayTimeout
	switch code := a.status; {
	case code == http.StatusOK:
		return s.readPage(c, op, a)
	case code == http.StatusNotModified:
		return s.unchanged(c, op)
	case code == http.StatusMovedPermanently, code == http.StatusFound,
		code == http.StatusTemporaryRedirect, code == http.StatusPermanentRedirect:
		return s.moved(c, a)
	case code == http.StatusUnauthorized && c.access.of != nil:
		return c.access.refused(a)
	case code == http.StatusUnauthorized:
		return source.Result{Verdict: source.PauseAccount, Failure: failure(domain.FailureCredential,
			"GitHub does not accept the token of %s (401 %s); make a new one in GitHub's settings under developer settings and give it with SLUICE_GITHUB_TOKEN or --token-file",
			c.Run.Login, message(a))}
	case code == http.StatusForbidden, code == http.StatusTooManyRequests:
		return s.refused(c, a)
	case code == http.StatusNotFound:
		return s.notFound(c, a)
	case code == http.StatusConflict && strings.Contains(strings.ToLower(message(a)), "empty"):
		return source.Result{Verdict: source.Done, Cursors: []domain.Cursor{c.cursor(c.Job.Type)}}
	case code == http.StatusUnavailableForLegalReasons:
		return s.blocked(c, a)
	case (code == http.StatusGone || code == http.StatusNoContent) && c.beside():
		return c.switchedOff()
	case code == http.StatusGone:
		return withdrawn(c, a)
	case code == http.StatusUnprocessableEntity:
		return s.unprocessable(c, a)
	case code == http.StatusRequestTimeout:
		return s.again(a, domain.FailureTimeout)
	case code >= 500 || code == http.StatusConflict || code < 300:
		return s.again(a, domain.FailureServer)
	}
	return source.Result{Verdict: source.Fail, Failure: failure(domain.FailureInvalid, "GitHub refuses the request (%d %s)", a.status, message(a))}
}

// readPage hands a 200 to the job's own reader. No reader trusts a body that is
// not well formed.
func (s *Source) readPage(c *call, op operation, a *answer) source.Result {
	if looksLikeHTML(a) {
		return s.again(a, domain.FailureServer)
	}
	if !op.list && !wellFormed(a.body) {
		return source.Result{Verdict: source.Retry, Failure: failure(domain.FailureMalformed, "GitHub's answer is not valid JSON (%d bytes)", len(a.body))}
	}
	return op.read(s, c, a)
}

// again is a passing fault on GitHub's side.
func (g *upstream) again(a *answer, kind domain.FailureKind) source.Result {
	said := message(a)
	if looksLikeHTML(a) {
		said = "with an HTML page"
	}
	return source.Result{
		Verdict: source.Retry, RetryAfter: retryAfter(a, g.opt.Now()),
		Failure: failure(kind, "GitHub answers %d %s", a.status, said),
	}
}

// unchanged lets the remembered page stand for a 304.
func (s *Source) unchanged(c *call, op operation) source.Result {
	if (c.Stored == nil && !c.p.Bridge) || op.on304 == nil {
		return source.Result{Verdict: source.Retry, Free: c.Token != "", Failure: failure(domain.FailureMalformed, "GitHub answers 304 to a call that named no page")}
	}
	res := op.on304(s, c)
	// Without a token even a 304 is counted.
	res.Free = c.Token != ""
	if c.Stored != nil {
		res.Items = c.Stored.Items
	}
	return res
}

// moved follows a redirect with a job of its own, once, and never to another
// host: the token is for this one. What is listed at another address need not be
// all: to outsiders GitHub shows an organisation's public members there. A query of
// GraphQL, which has one address, is asked again.
func (s *Source) moved(c *call, a *answer) source.Result {
	if c.Job.Bucket == BucketGraphQL {
		return source.Result{Verdict: source.Retry, Failure: failure(domain.FailureServer, "GitHub answers %d to a query, which is not followed", a.status)}
	}
	location := a.header.Get("Location")
	target, same := s.targetOf(location)
	switch {
	case target == "":
		return source.Result{Verdict: source.Fail, Failure: failure(domain.FailureInvalid, "GitHub answers %d without saying where to", a.status)}
	case !same:
		return source.Result{Verdict: source.Retry, Failure: failure(domain.FailureServer, "GitHub answers %d to another host; it is not followed, since the token is for %s alone", a.status, s.rest.Host)}
	case c.p.Moved:
		return source.Result{Verdict: source.Fail, Failure: failure(domain.FailureInvalid, "GitHub redirects again and again (%d)", a.status)}
	}
	p := c.p
	p.URL, p.Moved, p.Partial = target, true, true
	spec := p.spec(c.Job.Type, c.Job.Resource, c.Job.PageKey+"#moved", c.Job.Bucket)
	return source.Result{Verdict: source.Done, Next: []domain.JobSpec{spec}}
}

// refused tells the kinds of 403 and 429 apart. Words come before numbers: the
// last call of a window may well be refused for another reason.
func (s *Source) refused(c *call, a *answer) source.Result {
	said := message(a)
	low := strings.ToLower(said)
	pause := retryAfter(a, s.opt.Now())
	switch {
	case !wellFormed(a.body):
		return s.refusedInHTML(a)
	case gjson.GetBytes(a.body, "block").Exists() || blockedWords(said):
		return s.blocked(c, a)
	case isSecondary(a, low):
		return s.stayAway(pause, "a secondary limit", said)
	case strings.HasPrefix(low, "api rate limit exceeded"):
		return exhausted(said)
	case c.access.suspended(low):
		return source.Result{Verdict: source.PauseAccount, Failure: failure(domain.FailureCredential, "GitHub has suspended %s (403 %s)", c.access.in.name, said)}
	case strings.HasPrefix(low, "resource not accessible"):
		return s.forbidden(c, a, said)
	case strings.Contains(low, "login attempts"):
		return s.stayAway(pause, "too many failed logins", said)
	case a.header.Get("X-Ratelimit-Remaining") == "0":
		return exhausted(said)
	case pause > 0 || a.status == http.StatusTooManyRequests:
		return s.stayAway(pause, "a limit", said)
	}
	return s.forbidden(c, a, said)
}

func isSecondary(a *answer, low string) bool {
	doc := gjson.GetBytes(a.body, "documentation_url").String()
	return strings.Contains(low, "secondary rate limit") || strings.Contains(low, "abuse detection") ||
		strings.Contains(doc, "secondary-rate-limits") || strings.HasSuffix(doc, "#abuse-rate-limits")
}

func (g *upstream) refusedInHTML(a *answer) source.Result {
	if strings.Contains(strings.ToLower(string(a.body)), "user-agent") ||
		strings.Contains(strings.ToLower(string(a.body)), "administrative rules") {
		return source.Result{Verdict: source.Fail, Failure: failure(domain.FailureInvalid, "GitHub refuses requests without a User-Agent; %q was not accepted", g.opt.UserAgent)}
	}
	return g.again(a, domain.FailureServer)
}

// stayAway parks the whole owner: GitHub punishes those who go on. A limit that
// does not say for how long leaves that to whoever keeps the quota.
func (g *upstream) stayAway(pause time.Duration, why, said string) source.Result {
	return source.Result{
		Verdict: source.Wait, RetryAfter: pause, Quota: quota.Response{RetryAfter: pause, Backoff: pause <= 0},
		Failure: failure(domain.FailureRateLimited, "GitHub reports %s: %s", why, said),
	}
}

func exhausted(said string) source.Result {
	return source.Result{
		Verdict: source.Wait, Quota: quota.Response{Exhausted: true},
		Failure: failure(domain.FailureRateLimited, "the quota of this window is used up: %s", said),
	}
}

// forbidden is a refusal for want of permission. A look at a repository by its
// id that is refused has found out what it was to find out.
func (s *Source) forbidden(c *call, a *answer, said string) source.Result {
	switch c.Job.Type {
	case CheckRepo:
		return c.notFoundByID(a, document.GoneForbidden)
	case DiscoverTarget:
		if len(c.unmet()) > 0 {
			return c.missingTarget()
		}
	}
	if res, hidden := c.hidden(); hidden {
		return res
	}
	return c.lacksPermission(a, said)
}

// lacksPermission names what the token lacks, as far as GitHub tells.
func (c *call) lacksPermission(a *answer, said string) source.Result {
	text := "the token of " + c.Run.Login + " may not do this: " + said
	if needs := a.header.Get("X-Accepted-Oauth-Scopes"); needs != "" {
		text += "; it needs one of the scopes " + needs
		if has := a.header.Get("X-Oauth-Scopes"); has != "" {
			text += " and has " + has
		}
	}
	if needs := a.header.Get("X-Accepted-Github-Permissions"); needs != "" {
		text += "; it needs the permission " + needs
	}
	if strings.HasPrefix(a.header.Get("X-Github-Sso"), "required") {
		text += "; the organisation requires it to be authorised for single sign-on"
	}
	return source.Result{Verdict: source.Fail, Failure: failure(domain.FailureForbidden, "%s", text)}
}

// blocked flags a repository that GitHub withholds. It says so itself, and by
// the repository's id: that needs no second look.
func (s *Source) blocked(c *call, a *answer) source.Result {
	switch {
	case c.Job.Type == DiscoverTarget && len(c.unmet()) > 0:
		return c.missingTarget()
	case c.p.Repo == nil:
		return withdrawn(c, a)
	}
	return confirmed(c, s.serverTime(a), document.GoneBlocked)
}

// beside reports whether the job is about something that a repository need not have.
func (c *call) beside() bool {
	_, ok := walkFor(c.Job.Type)
	return ok
}

// withdrawn records what GitHub will not give any more, such as issues that
// were disabled.
func withdrawn(c *call, a *answer) source.Result {
	return source.Result{Verdict: source.Fail, Failure: failure(domain.FailureGone, "GitHub has withdrawn %s (%d %s)", c.Job.Resource, a.status, message(a))}
}

func (s *Source) notFound(c *call, a *answer) source.Result {
	if res, hidden := c.hidden(); hidden {
		return res
	}
	switch {
	case c.Job.Type == CheckRepo:
		return c.notFoundByID(a, document.GoneDeleted)
	case c.p.Repo != nil:
		return c.lookAgain()
	case c.Job.Type == DiscoverTarget:
		return c.missingTarget()
	case len(c.p.Repos) > 0:
		return malformed("none of several repositories exists")
	}
	return unknownLogin(c)
}

// unknownLogin fails the run, since nothing of it can be collected. An account
// that was there a moment ago, or in an earlier run, is asked for once more
// before that is believed.
func unknownLogin(c *call) source.Result {
	what := "unknown login %q: GitHub has no such user or organisation"
	if isRepository(c.Run.Login) {
		what = "unknown repository %q: GitHub has none of that name, or the token may not see it"
	}
	if known := len(c.Cursors) > 0 || c.Job.Class != domain.ClassDiscovery; known && c.Job.Failures == 0 {
		return source.Result{Verdict: source.Retry, Failure: failure(domain.FailureServer, "GitHub says that it no longer has %q", c.Run.Login)}
	}
	return source.Result{Verdict: source.FailRun, Failure: failure(domain.FailureNotFound, what, c.Run.Login)}
}

func (s *Source) unprocessable(c *call, a *answer) source.Result {
	said := message(a)
	switch {
	case c.Job.Type == UserEvents:
		// The window of events ends here.
		return source.Result{Verdict: source.Done, Cursors: []domain.Cursor{c.cursor(UserEvents)}}
	case c.feeds() && c.p.page() > 1:
		// GitHub lists no older ones.
		return source.Result{Verdict: source.Done, Cursors: []domain.Cursor{c.cursor(c.Job.Type)}}
	case c.Job.Type == CommitDetail:
		// The commit was pushed away since it was listed.
		return source.Result{Verdict: source.Done}
	case strings.Contains(strings.ToLower(said), "pagination"):
		return source.Result{Verdict: source.Fail, Failure: failure(domain.FailureInvalid, "the listing is too long to be paged by number, and GitHub gave no cursor to continue with: %s", said)}
	}
	return source.Result{Verdict: source.Fail, Failure: failure(domain.FailureInvalid, "GitHub refuses the request (422 %s)", said)}
}

func looksLikeHTML(a *answer) bool { return len(a.body) > 0 && a.body[0] == '<' }

// message is GitHub's own word on an error, short enough to show.
func message(a *answer) string {
	if !wellFormed(a.body) {
		return http.StatusText(a.status)
	}
	if said := gjson.GetBytes(a.body, "message").String(); said != "" {
		return shorten(said, 200)
	}
	return http.StatusText(a.status)
}
