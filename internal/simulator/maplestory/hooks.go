package maplestory

import (
	"net/http"
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
}

// Hook decides the fate of a request; n counts the requests from one. Nil lets
// the request pass. Hooks see what the limits have admitted.
type Hook func(r *http.Request, n int64) *Fault

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
	s.OnRequest(func(r *http.Request, _ int64) *Fault {
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

func (h *hooks) decide(r *http.Request, n int64) *Fault {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, hook := range h.list {
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

// ForOcid matches requests about a character.
func ForOcid(ocid string) Match {
	return func(r *http.Request) bool { return r.URL.Query().Get("ocid") == ocid }
}

// Failure answers with an error of the API.
func Failure(c Code) Fault { return Fault{Status: c.Status(), Body: c.Body()} }

// HTMLErrorPage answers with a page such as a gateway shows.
func HTMLErrorPage(status int) Fault {
	return Fault{
		Status: status,
		Header: http.Header{"Content-Type": {"text/html"}},
		Body:   "<html><head><title>Bad gateway</title></head><body>The server did not answer.</body></html>\n",
	}
}

// TruncatedBody gives the real answer but hangs up in the middle of it.
func TruncatedBody() Fault { return Fault{Truncate: true} }

// ConnectionReset hangs up without an answer.
func ConnectionReset() Fault { return Fault{Reset: true} }

// Delayed gives the real answer later.
func Delayed(d time.Duration) Fault { return Fault{Delay: d} }

// MalformedJSON answers 200 with a body that is not JSON.
func MalformedJSON() Fault {
	return Fault{Status: http.StatusOK, Body: `{"date":null,"item_equipment":[{"item_name":"cut o`}
}
