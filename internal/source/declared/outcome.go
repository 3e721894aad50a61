package declared

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"sluice/internal/domain"
	"sluice/internal/quota"
	"sluice/internal/source"
)

// understand is where an answer gets its meaning: the file's rules first, then what
// parks, then what the status says:
//
//	200        the page; HTML or what is not JSON is tried again
//	204        a page without records
//	304        the remembered page stands for it
//	3xx        one more job at the new address, on the same host only
//	401        the credential is refused: the account pauses
//	403        a permission is missing: the job fails
//	404, 410   see missing
//	408, 5xx   tried again
//	others     the request is refused: the job fails
func (c *call) understand(a *answer) source.Result {
	if res, ruled := c.ruled(a); ruled {
		return res
	}
	if wait, hit := c.s.file.Park.Hit(a.ration()); hit {
		return limited(wait, "%s asks to be left alone%s (%d%s)", c.s.file.Title, aboutWait(wait), a.status, c.said(a))
	}
	switch code := a.status; {
	case code == http.StatusOK && c.mode == modeOwner:
		return c.readOwner(a)
	case code == http.StatusOK && c.mode == modeCount:
		return counting{c}.counted(a)
	case code == http.StatusOK:
		return walk{c}.readPage(a)
	case code < 400 && c.mode == modeCount:
		return counting{c}.counted(nil)
	case code == http.StatusNoContent:
		a.json = gjson.Parse("[]")
		return walk{c}.walked(a, nil)
	case code == http.StatusNotModified:
		return walk{c}.unchanged()
	case code >= 300 && code < 400:
		return c.moved(a)
	case c.p.Short && c.p.nothingFollows(code):
		// Nothing follows a page that was not full, or the last that was announced. Without
		// a total that is no proof of what is gone.
		a.json = gjson.Parse("[]")
		c.p.Doubt = c.p.Doubt || c.p.Total == 0 || c.p.Seen < c.p.Total-1
		return walk{c}.walked(a, nil)
	case code == http.StatusUnauthorized:
		return c.unauthorised(a)
	case slices.Contains(c.goneStatuses(), code):
		return belonging{c}.gone(a)
	case code == http.StatusNotFound, code == http.StatusGone, code == http.StatusUnavailableForLegalReasons:
		return c.missing(a)
	case code == http.StatusForbidden:
		return source.Result{Verdict: source.Fail, Failure: failure(domain.FailureForbidden, "%s does not allow it (403%s)", c.s.file.Title, c.said(a))}
	case code == http.StatusTooManyRequests:
		return limited(0, "%s has had enough calls (429%s)", c.s.file.Title, c.said(a))
	case code == http.StatusRequestTimeout:
		return source.Result{Verdict: source.Retry, Failure: failure(domain.FailureTimeout, "%s gave up (408)", c.s.file.Title)}
	case code >= 500 || code < 300:
		return source.Result{Verdict: source.Retry, Failure: failure(domain.FailureServer, "%s is out of order (%d%s)", c.s.file.Title, code, c.said(a))}
	}
	return source.Result{Verdict: source.Fail, Failure: failure(domain.FailureInvalid, "%s refuses the request (%d%s)", c.s.file.Title, a.status, c.said(a))}
}

// aboutWait says of a long wait that it is not waited for as a whole.
func aboutWait(wait time.Duration) string {
	if wait <= quota.LongestPark {
		return ""
	}
	return fmt.Sprintf(" for %s; one call goes first after %s", wait.Round(time.Second), quota.LongestPark)
}

// noSuchPage are how upstreams answer that have no page behind the last one, and do not
// answer with an empty one.
var noSuchPage = []int{http.StatusBadRequest, http.StatusNotFound, http.StatusRequestedRangeNotSatisfiable, http.StatusUnprocessableEntity}

// nothingFollows says whether a status means that nothing follows. Behind the last record that
// was announced every refusal does.
func (p *params) nothingFollows(status int) bool {
	if p.Total > 0 && p.Seen >= p.Total-1 && status >= 400 && status < 500 {
		return !slices.Contains([]int{http.StatusUnauthorized, http.StatusRequestTimeout, http.StatusTooManyRequests}, status)
	}
	return slices.Contains(noSuchPage, status)
}

// limited is a limit that was hit; without a wait it backs off.
func limited(wait time.Duration, format string, args ...any) source.Result {
	return source.Result{Verdict: source.Wait, RetryAfter: wait, Failure: failure(domain.FailureRateLimited, format, args...),
		Quota: quota.Response{RetryAfter: wait, Backoff: wait <= 0}}
}

// ruled applies the first rule of the file that holds.
func (c *call) ruled(a *answer) (source.Result, bool) {
	if r := c.rule(a); r != nil {
		return c.apply(*r, a), true
	}
	return source.Result{}, false
}

// rule is the first rule of the file that holds, nil if none does.
func (c *call) rule(a *answer) *rule {
	if len(c.s.file.rules) == 0 {
		return nil
	}
	headers := map[string]string{}
	for name, values := range a.header {
		headers[strings.ToLower(name)] = values[0]
	}
	env := map[string]any{
		"config": c.s.config, "target": c.Run.Login, "status": a.status, "error": textAt(a.json, c.s.file.wrong), "answer": small(a.json), "headers": headers,
	}
	if c.s.file.wrong == "" {
		env["error"] = ""
	}
	for i := range c.s.file.rules {
		// A rule about what is not there does not hold.
		if holds, err := c.s.file.rules[i].holds.bool(env); err == nil && holds {
			return &c.s.file.rules[i]
		}
	}
	return nil
}

func (c *call) apply(r rule, a *answer) source.Result {
	say := r.say
	if say == "" {
		say = c.s.file.Title + " says: " + strings.TrimPrefix(c.said(a), " ")
	}
	switch r.do {
	case "wait":
		return limited(r.wait, "%s", say)
	case "retry":
		return source.Result{Verdict: source.Retry, RetryAfter: r.wait, Failure: failure(domain.FailureServer, "%s", say)}
	case "pause":
		return source.Result{Verdict: source.PauseAccount, Failure: failure(domain.FailureCredential, "%s", say)}
	case "skip":
		a.json = gjson.Parse("[]")
		if c.stream == nil {
			return source.Result{Verdict: source.Done, Next: c.s.roots(params{Base: c.p.Base})}
		}
		if c.mode == modeCount {
			return counting{c}.counted(nil)
		}
		return walk{c}.walked(a, nil)
	case "gone":
		return belonging{c}.gone(a)
	case "stop":
		return source.Result{Verdict: source.FailRun, Failure: failure(domain.FailureInvalid, "%s", say)}
	}
	return source.Result{Verdict: source.Fail, Failure: failure(domain.FailureInvalid, "%s", say)}
}

// said is the upstream's own word on an error, short enough to show.
func (c *call) said(a *answer) string {
	for _, path := range []string{c.s.file.wrong, "message", "error.message", "error_message", "error", "detail", "errors.0.message"} {
		if path == "" {
			continue
		}
		if text := textAt(a.json, path); text != "" {
			return " " + shorten(text, 200)
		}
	}
	return strings.TrimRight(" "+http.StatusText(a.status), " ")
}

func (c *call) goneStatuses() []int {
	if c.stream == nil {
		return nil
	}
	return c.stream.gone
}

// missing is an answer that there is no such thing. What every run begins with must
// be there; of anything else that is a finding only if the file says so.
func (c *call) missing(a *answer) source.Result {
	kind := domain.FailureNotFound
	if a.status != http.StatusNotFound {
		kind = domain.FailureGone
	}
	if c.stream != nil && c.stream.Parent == nil && c.first() && c.mode == modeMain && c.s.rootsUseTarget() {
		return source.Result{Verdict: source.FailRun, Failure: failure(kind, "%s has no %s %q (%d%s)", c.s.file.Title, c.s.file.Target, c.Run.Login, a.status, c.said(a))}
	}
	return source.Result{Verdict: source.Fail, Failure: failure(kind, "%s has no such thing (%d%s)", c.s.file.Title, a.status, c.said(a))}
}

// rootsUseTarget says whether what a run begins with speaks of the target.
func (s *Source) rootsUseTarget() bool {
	if s.file.base.uses("target") {
		return true
	}
	for _, stream := range s.file.Streams {
		if stream.Parent == nil && stream.whole().uses("target") {
			return true
		}
	}
	return false
}

// moved is a redirect. It is followed by one more job, on the same host only: a
// credential never goes elsewhere.
func (c *call) moved(a *answer) source.Result {
	to := a.header.Get("Location")
	u, err := c.asked.Parse(to)
	if err != nil || to == "" {
		return source.Result{Verdict: source.Fail, Failure: failure(domain.FailureServer, "%s redirects to nowhere (%d)", c.s.file.Title, a.status)}
	}
	if _, err := c.resolve(u.String()); err != nil {
		// A login page or a broken proxy may pass with the next call.
		return source.Result{Verdict: source.Retry, Failure: failure(domain.FailureServer, "%s redirects (%d) to another host, which is not followed: %v; if that is where the API is now, change base", c.s.file.Title, a.status, err)}
	}
	if c.p.Moved >= 3 || c.mode == modeOwner {
		return source.Result{Verdict: source.Fail, Failure: failure(domain.FailureServer, "%s redirects again and again", c.s.file.Title)}
	}
	p := c.p
	p.Pos, p.Moved = posURL+c.withoutSecret(u.String()), c.p.Moved+1
	return source.Result{Verdict: source.Done, Next: []domain.JobSpec{c.s.spec(c.Job.Type, c.Job.Resource, p, c.Job.Class)}}
}

func (c *call) readOwner(a *answer) source.Result {
	id := textAt(a.json, c.s.file.owner.id)
	if id == "" {
		return c.malformed(a, "it does not say whose credential it is, at %s", c.s.file.owner.id)
	}
	return source.Result{Verdict: source.Done, Owner: c.base.Host + " " + id, Next: c.s.roots(params{Base: c.p.Base})}
}

// malformed is an answer that is not what the file says. A page of HTML or a body that
// is not JSON may pass.
func (c *call) malformed(a *answer, format string, args ...any) source.Result {
	switch {
	case a.wrong != "":
		return source.Result{Verdict: source.Retry, Failure: failure(domain.FailureMalformed, "%s answers with what is not XML: %s", c.s.file.Title, a.wrong)}
	case c.stream != nil && c.stream.xml:
	case bytes.HasPrefix(a.body, []byte("<")):
		return source.Result{Verdict: source.Retry, Failure: failure(domain.FailureServer, "%s answers with a page of HTML or XML where JSON was due", c.s.file.Title)}
	case !a.json.Exists():
		return source.Result{Verdict: source.Retry, Failure: failure(domain.FailureMalformed, "%s answers with what is not JSON", c.s.file.Title)}
	}
	return source.Result{Verdict: source.Retry, Failure: failure(domain.FailureMalformed, format, args...)}
}
