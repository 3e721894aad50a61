package github

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	docs               = "https://docs.github.com/"
	badCredentialsBody = `{"message":"Bad credentials","documentation_url":"https://docs.github.com/rest","status":"401"}`
	secondaryBody      = `{"message":"You have exceeded a secondary rate limit. Please wait a few minutes before you try again.","documentation_url":"https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api#about-secondary-rate-limits"}`
)

// fail makes an error the answer, discarding what was rendered so far.
func (c *call) fail(status int, message, page string) {
	c.status, c.link, c.etag = status, "", ""
	c.out.b = c.out.b[:0]
	c.out.open('{')
	c.out.key("message").str(message)
	c.out.key("documentation_url").join(docs, page)
	c.out.key("status").join(strconv.Itoa(status))
	c.out.close('}')
}

func (c *call) notFound() { c.fail(http.StatusNotFound, "Not Found", "rest") }

// invalid answers 422 and names the field that is wrong.
func (c *call) invalid(resource, field string) {
	c.status, c.link = http.StatusUnprocessableEntity, ""
	c.out.b = fmt.Appendf(c.out.b[:0], `{"message":"Validation Failed","errors":[{"resource":%q,"field":%q,"code":"invalid"}],"documentation_url":"https://docs.github.com/rest","status":"422"}`, resource, field)
}

func (c *call) limitStatus() int {
	if c.server.limits.TooManyRequests {
		return http.StatusTooManyRequests
	}
	return http.StatusForbidden
}

// refusePrimary answers a call for which nothing was left.
func (c *call) refusePrimary(left balance) {
	c.paid = left
	c.server.audit.beyondQuota()
	if c.route.endpoint == endpointGraphQL {
		c.status = http.StatusOK
		c.out.b = fmt.Appendf(c.out.b[:0], `{"errors":[{"type":"RATE_LIMITED","code":"graphql_rate_limit","message":"API rate limit exceeded for %s"}]}`, c.owner.name())
		return
	}
	whom := c.owner.name()
	if c.owner.anonymous {
		whom = strings.TrimPrefix(c.owner.label, "ip:") + ". (But here's the good news: Authenticated requests get a higher rate limit. Check out the documentation for more details.)"
	}
	c.fail(c.limitStatus(), "API rate limit exceeded for "+whom, "rest/overview/rate-limits-for-the-rest-api")
}

// refuseSecondary answers a call that came too fast or beside too many others.
func (c *call) refuseSecondary(kind string) {
	c.server.audit.secondary(kind)
	c.status = c.limitStatus()
	c.out.b = append(c.out.b[:0], secondaryBody...)
	if wait := c.server.limits.RetryAfter; wait > 0 {
		seconds := (wait + time.Second - 1) / time.Second
		c.writer.Header().Set("Retry-After", strconv.Itoa(int(seconds)))
	}
}

// tag gives a successful answer its ETag and turns it into a 304 if the caller
// has it already.
func (c *call) tag() {
	sum := digest(c.out.b)
	c.etag = fmt.Sprintf(`W/"%016x%016x"`, sum, mix(sum))
	if matchesETag(c.req.Header.Get("If-None-Match"), c.etag) {
		c.status, c.link = http.StatusNotModified, ""
		c.out.b = c.out.b[:0]
	}
}

// matchesETag compares weakly, as If-None-Match asks for.
func matchesETag(header, etag string) bool {
	if header == "" {
		return false
	}
	want := strings.TrimPrefix(etag, "W/")
	for candidate := range strings.SplitSeq(header, ",") {
		candidate = strings.TrimSpace(candidate)
		if candidate == "*" || strings.TrimPrefix(candidate, "W/") == want {
			return true
		}
	}
	return false
}

func (c *call) standardHeaders(h http.Header) {
	h["Date"] = []string{c.date().UTC().Format(http.TimeFormat)}
	h["X-Github-Request-Id"] = []string{requestID(c.server.options.Seed, c.number)}
	h["X-Github-Media-Type"] = []string{"github.v3; format=json"}
	h["X-Github-Api-Version-Selected"] = []string{selectedVersion(c.req)}
	c.scopeHeaders(h)
	if c.link != "" {
		h["Link"] = []string{c.link}
	}
	if c.etag != "" {
		h["Etag"] = []string{c.etag}
		h["Cache-Control"] = []string{"private, max-age=60, s-maxage=60"}
		h["Vary"] = []string{"Accept, Authorization, Cookie, X-GitHub-OTP"}
	}
	if c.shown {
		h["X-Ratelimit-Limit"] = []string{strconv.Itoa(c.paid.limit)}
		h["X-Ratelimit-Remaining"] = []string{strconv.Itoa(c.paid.remaining())}
		h["X-Ratelimit-Used"] = []string{strconv.Itoa(c.paid.used)}
		h["X-Ratelimit-Reset"] = []string{strconv.FormatInt(c.paid.reset+int64(c.server.clockSkew().Seconds()), 10)}
		h["X-Ratelimit-Resource"] = []string{c.paid.bucket.String()}
	}
}

// date is what the server's clock shows, which may be off.
func (c *call) date() time.Time {
	shown := c.server.now().Add(c.server.clockSkew())
	if c.fault != nil {
		shown = shown.Add(c.fault.Skew)
	}
	return shown
}

func selectedVersion(r *http.Request) string {
	if v := r.Header.Get("X-GitHub-Api-Version"); v != "" {
		return v
	}
	return "2022-11-28"
}
