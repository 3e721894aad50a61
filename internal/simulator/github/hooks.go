package github

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Fault is an answer scripted in place of, or on top of, the real one. Without
// Status the real answer is given, delayed or truncated as the fault says.
type Fault struct {
	Status   int
	Header   http.Header
	Body     string
	Delay    time.Duration
	Truncate bool // announce the whole body, send half of it, hang up
	Reset    bool // hang up without an answer
	Free     bool // the call is not charged
}

// Hook decides the fate of a request; n counts the data requests from one. It
// may read the request's body. Nil lets the request pass.
type Hook func(r *http.Request, n int) *Fault

// Match selects requests.
type Match func(r *http.Request) bool

// OnRequest adds a hook; the first hook that returns a fault decides.
func (s *Server) OnRequest(h Hook) {
	s.hooks.mu.Lock()
	defer s.hooks.mu.Unlock()
	s.hooks.list = append(s.hooks.list, h)
}

// ClearHooks removes every hook.
func (s *Server) ClearHooks() {
	s.hooks.mu.Lock()
	defer s.hooks.mu.Unlock()
	s.hooks.list = nil
}

// FailNext applies the fault to the next n requests that match.
func (s *Server) FailNext(match Match, n int, f Fault) {
	left := n // guarded by the hooks' lock
	s.OnRequest(func(r *http.Request, _ int) *Fault {
		if left <= 0 || !match(r) {
			return nil
		}
		left--
		return &f
	})
}

type hooks struct {
	mu   sync.Mutex
	list []Hook
}

func (h *hooks) decide(r *http.Request, n int, rewind func()) *Fault {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, hook := range h.list {
		rewind()
		if f := hook(r, n); f != nil {
			return f
		}
	}
	return nil
}

// AnyRequest matches everything.
func AnyRequest(*http.Request) bool { return true }

// PathContains matches requests whose path holds part.
func PathContains(part string) Match {
	return func(r *http.Request) bool { return strings.Contains(r.URL.Path, part) }
}

// WithToken matches requests that carry this token.
func WithToken(token string) Match {
	return func(r *http.Request) bool { return tokenOf(r) == token }
}

// ServerError answers with a status of the 5xx kind and a JSON body.
func ServerError(status int) Fault {
	return Fault{Status: status, Body: `{"message":"Server Error"}`}
}

// HTMLErrorPage answers 502 with the page GitHub's front end shows.
func HTMLErrorPage() Fault {
	return Fault{
		Status: http.StatusBadGateway,
		Header: http.Header{"Content-Type": {"text/html; charset=utf-8"}},
		Body:   "<!DOCTYPE html>\n<html><head><title>Unicorn!</title></head><body><p>We had issues producing the response to your request.</p></body></html>\n",
	}
}

// TruncatedBody gives the real answer but hangs up in the middle of it.
func TruncatedBody() Fault { return Fault{Truncate: true} }

// ConnectionReset hangs up without an answer.
func ConnectionReset() Fault { return Fault{Reset: true} }

// Delayed gives the real answer later.
func Delayed(d time.Duration) Fault { return Fault{Delay: d} }

// MalformedJSON answers 200 with a body that is not JSON.
func MalformedJSON() Fault { return Fault{Status: http.StatusOK, Body: `[{"id":1,"message":"cut o`} }

// SecondaryLimit answers as GitHub does when it has had enough. A zero
// retryAfter leaves the header out.
func SecondaryLimit(retryAfter time.Duration) Fault {
	f := Fault{Status: http.StatusForbidden, Header: http.Header{}, Body: secondaryBody, Free: true}
	if retryAfter > 0 {
		f.Header.Set("Retry-After", strconv.Itoa(int(retryAfter.Seconds())))
	}
	return f
}

// GraphQLErrors answers 200 with a GraphQL error and no data.
func GraphQLErrors(kind, message string) Fault {
	b := &buffer{}
	b.raw(`{"data":null,"errors":[{"type":`)
	b.str(kind)
	b.raw(`,"message":`)
	b.str(message)
	b.raw(`}]}`)
	return Fault{Status: http.StatusOK, Body: string(b.b)}
}

// BadCredentials answers as if the token were no longer valid.
func BadCredentials() Fault {
	return Fault{Status: http.StatusUnauthorized, Body: badCredentialsBody, Free: true}
}
