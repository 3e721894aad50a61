package github

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// call is one request on its way through the server.
type call struct {
	server *Server
	writer http.ResponseWriter
	req    *http.Request
	number int64
	now    time.Time

	route route
	base  string // the API's address as the caller sees it
	query url.Values
	body  []byte // a GraphQL request

	viewer int // account index, -1 when anonymous
	owner  *owner
	// installation is the app installation that calls, nil when a user does.
	installation *installation
	entered      bool
	counted      bool

	out         *buffer
	status      int
	contentType string
	link        string
	etag        string
	paid        balance
	cost        int
	settled     bool // the call was offered for payment
	afforded    bool
	shown       bool   // rate headers belong on the answer
	dataDigest  uint64 // GraphQL: fingerprint of the data without rateLimit
	fault       *Fault // what goes wrong while the answer is written
}

const maxQuery = 1 << 20

func (s *Server) arrive(w http.ResponseWriter, r *http.Request) *call {
	c := &call{
		server: s, writer: w, req: r, now: s.now(), viewer: -1,
		number: s.requests.Add(1), status: http.StatusOK, contentType: "application/json; charset=utf-8", cost: 1,
	}
	c.out = s.buffers.Get().(*buffer)
	c.out.b = c.out.b[:0]
	s.audit.arrived(c.now)
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	path, prefix := splitPrefix(r.URL.Path)
	c.base = scheme + r.Host + prefix
	c.route = parseRoute(r.Method, path)
	c.query = r.URL.Query()
	return c
}

// splitPrefix takes the Enterprise prefix off a path.
func splitPrefix(path string) (rest, prefix string) {
	const rest3 = "/api/v3"
	if path == "/api/graphql" {
		return "/graphql", rest3
	}
	if tail, ok := strings.CutPrefix(path, rest3+"/"); ok {
		return "/" + tail, rest3
	}
	return path, ""
}

// depart gives back what the call still holds, however it ended.
func (c *call) depart() {
	c.leave()
	if cap(c.out.b) <= keepBuffer {
		c.server.buffers.Put(c.out)
	}
}

// leave ends the call's time in flight. It comes before the answer is written:
// a caller that has its answer may start the next call at once.
func (c *call) leave() {
	if c.entered {
		c.entered = false
		c.server.limits.leave(c.owner)
	}
	if !c.counted {
		c.counted = true
		c.server.audit.answered(c.route.bucket(), c.route.endpoint, c.status)
	}
}

// identify checks what every request must carry and finds out who calls.
func (c *call) identify() bool {
	if c.req.UserAgent() == "" {
		c.contentType = "text/html; charset=utf-8"
		c.status = http.StatusForbidden
		c.out.raw("<html><body>Request forbidden by administrative rules. Please make sure your request has a User-Agent header.</body></html>\n")
		return false
	}
	switch version := c.req.Header.Get("X-GitHub-Api-Version"); version {
	case "", "2022-11-28", "2026-03-10":
	default:
		c.fail(http.StatusBadRequest, fmt.Sprintf("%q is not a supported version.", version), "rest/about-the-rest-api/api-versions")
		return false
	}
	return c.authenticate()
}

func (c *call) authenticate() bool {
	s := c.server
	if c.route.endpoint == endpointAccessTokens {
		return c.authenticateApp()
	}
	if c.req.Header.Get("Authorization") == "" {
		c.owner = c.addressOwner()
		if c.route.endpoint == endpointGraphQL {
			c.fail(http.StatusUnauthorized, "This endpoint requires you to be authenticated.", "graphql/guides/forming-calls-with-graphql#authenticating-with-graphql")
			return false
		}
		return true
	}
	token := tokenOf(c.req)
	if strings.HasPrefix(token, installationTokenPrefix) {
		return c.authenticateInstallation(token)
	}
	s.world.mu.RLock()
	account, known := s.world.accountByToken(token)
	login := ""
	if known {
		login = s.world.login(account)
	}
	s.world.mu.RUnlock()
	if !known {
		s.audit.note(func(a *Audit) { a.ForeignAuthorization++ })
	}
	if !known || s.isRevoked(token) {
		c.unauthorized()
		return false
	}
	c.viewer = account
	c.owner = s.limits.owner(login, accountIDBase+int64(account), false)
	return true
}

// unauthorized answers a token that is not valid, or no longer.
func (c *call) unauthorized() {
	c.status = http.StatusUnauthorized
	c.out.raw(badCredentialsBody)
	c.showAnonymous()
}

// tokenOf reads the token off a request in each form GitHub accepts.
func tokenOf(r *http.Request) string {
	if _, password, ok := r.BasicAuth(); ok {
		return password
	}
	scheme, token, found := strings.Cut(r.Header.Get("Authorization"), " ")
	if !found || !strings.EqualFold(scheme, "token") && !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// admit applies concurrency, points and the primary window, in this order.
func (c *call) admit() bool {
	s, b := c.server, c.route.bucket()
	inFlight, ok := s.limits.enter(c.owner)
	c.entered = true
	s.audit.admitted(inFlight)
	c.shown = true
	c.paid = s.limits.balance(c.owner, b, c.now)
	if c.route.endpoint == endpointRateLimit {
		return true
	}
	if !ok {
		c.refuseSecondary(violationConcurrency)
		return false
	}
	if !s.limits.allowPoints(c.owner, c.route.endpoint, b, c.now) {
		c.refuseSecondary(violationPoints)
		return false
	}
	if left, exhausted := s.limits.exhausted(c.owner, b, c.now); exhausted {
		c.refusePrimary(left)
		return false
	}
	return c.readQuery()
}

// readQuery takes in a GraphQL request's body.
func (c *call) readQuery() bool {
	if c.route.endpoint != endpointGraphQL {
		return true
	}
	body, err := io.ReadAll(io.LimitReader(c.req.Body, maxQuery))
	if err != nil {
		c.fail(http.StatusBadRequest, "Problems reading the body", "graphql")
		return false
	}
	c.body = body
	return true
}

// interfere asks the scripts, and then nasty mode, what befalls the call; each
// hook may read the body anew.
func (c *call) interfere() verdict {
	v := c.server.hooks.decide(c.req, int(c.number), func() {
		if c.body != nil {
			c.req.Body = io.NopCloser(bytes.NewReader(c.body))
		}
	})
	for _, act := range v.actions {
		act()
	}
	if v.fault == nil {
		v.fault = c.server.nasty.befall(c)
	}
	return v
}

// charge takes the call's cost from the owner's window; a conditional request
// that found nothing new and /rate_limit cost nothing.
func (c *call) charge(fault *Fault) {
	if c.route.endpoint == endpointRateLimit || fault != nil && fault.Free {
		return
	}
	if c.status == http.StatusNotModified && c.viewer >= 0 {
		return
	}
	if c.spend() && !fault.spoils() {
		c.noteDelivery()
	}
}

// spend pays for the call once; GraphQL pays before it runs the query, because
// the answer may show what is left.
func (c *call) spend() bool {
	if c.settled {
		return c.afforded
	}
	c.settled = true
	c.paid, c.afforded = c.server.limits.spend(c.owner, c.route.bucket(), c.cost, c.now)
	if !c.afforded {
		c.refusePrimary(c.paid)
		return false
	}
	if c.route.endpoint == endpointGraphQL {
		c.server.audit.note(func(a *Audit) { a.GraphQLPoints += c.cost })
	}
	return true
}

// noteDelivery lets the audit find out whether this answer was paid for twice.
func (c *call) noteDelivery() {
	if c.status != http.StatusOK {
		return
	}
	request := []byte(c.owner.label + "\n" + c.req.URL.String() + "\n" + c.req.Header.Get("If-None-Match"))
	if c.route.endpoint == endpointGraphQL {
		c.server.audit.delivered(digest(append(request, c.body...)), c.dataDigest, true)
		return
	}
	c.server.audit.delivered(digest(request), digest([]byte(c.etag)), false)
}

// pause waits out the latency; false when the caller is gone.
func (c *call) pause(fault *Fault) bool {
	wait := c.server.options.Latency.draw()
	if fault != nil {
		wait += fault.Delay
	}
	return c.sleep(wait)
}

// sleep waits; false when the caller is gone.
func (c *call) sleep(wait time.Duration) bool {
	if wait <= 0 {
		return true
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.req.Context().Done():
		return false
	}
}

// spoil applies a fault that needs the real answer; it returns the fault that is
// left, nil when what it was to spoil is not in the answer.
func (c *call) spoil(v verdict) *Fault {
	fault := v.fault
	if fault == nil {
		return nil
	}
	if fault.Partial != nil && (c.route.endpoint != endpointGraphQL || c.status != http.StatusOK || !fault.Partial.apply(c.out)) {
		c.server.hooks.giveBack(v.by)
		return nil
	}
	c.server.audit.injected(fault.kind())
	c.server.audit.note(func(a *Audit) { a.Faults++ })
	return fault
}

// deliver writes the answer, or what the fault makes of it.
func (c *call) deliver(fault *Fault) {
	if fault == nil {
		c.write()
		return
	}
	if fault.Reset {
		c.hangUp()
		return
	}
	if fault.Status != 0 {
		c.status, c.etag, c.link = fault.Status, "", ""
		c.out.b = append(c.out.b[:0], fault.Body...)
	}
	if fault.Anonymous {
		c.showAnonymous()
	}
	c.fault = fault
	c.write()
}

// showAnonymous shows the ration of a caller without a token, as every 401 does.
func (c *call) showAnonymous() {
	c.paid = c.server.limits.balance(c.addressOwner(), bucketCore, c.now)
	c.shown = true
}

// addressOwner is whose ration a caller without a token spends.
func (c *call) addressOwner() *owner {
	host, _, err := net.SplitHostPort(c.req.RemoteAddr)
	if err != nil {
		host = c.req.RemoteAddr
	}
	return c.server.limits.owner("ip:"+host, 0, true)
}
