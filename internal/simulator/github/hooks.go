package github

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
)

// Hook decides the fate of a request; n counts the data requests from one. It
// may read the request's body. Nil lets the request pass.
type Hook func(r *http.Request, n int) *Fault

// Match selects requests.
type Match func(r *http.Request) bool

// Forever is how often a fault befalls that never ends.
const Forever = -1

// OnRequest adds a hook; the first hook that returns a fault decides.
func (s *Server) OnRequest(h Hook) {
	s.hooks.add(&script{decide: h})
}

// ClearHooks removes every hook and every scripted fault.
func (s *Server) ClearHooks() {
	s.hooks.mu.Lock()
	defer s.hooks.mu.Unlock()
	s.hooks.list = nil
}

// FailNext applies the fault to the next n requests that match, or to all of
// them when n is Forever.
func (s *Server) FailNext(match Match, n int, f Fault) {
	s.hooks.add(&script{match: match, left: n, fault: &f})
}

// Before does something, such as a change of the world, right before each of
// the next n requests that match is answered.
func (s *Server) Before(match Match, n int, do func()) {
	s.hooks.add(&script{match: match, left: n, before: do})
}

// script is a hook, or a fault or an action with what it waits for.
type script struct {
	decide Hook

	match  Match
	left   int // Forever is negative
	fault  *Fault
	before func()
}

type hooks struct {
	mu   sync.Mutex
	list []*script
}

func (h *hooks) add(s *script) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = append(h.list, s)
}

// verdict is what the scripts say of a request: what is to be done before it is
// answered, and what goes wrong.
type verdict struct {
	actions []func()
	fault   *Fault
	by      *script
}

func (h *hooks) decide(r *http.Request, n int, rewind func()) verdict {
	h.mu.Lock()
	defer h.mu.Unlock()
	var v verdict
	for _, s := range h.list {
		rewind()
		if s.decide != nil {
			if v.fault = s.decide(r, n); v.fault != nil {
				return v
			}
			continue
		}
		if s.left == 0 || !s.match(r) {
			continue
		}
		if s.left > 0 {
			s.left--
		}
		if s.before != nil {
			v.actions = append(v.actions, s.before)
			continue
		}
		v.fault, v.by = s.fault, s
		return v
	}
	return v
}

// giveBack takes back that a fault was used up.
func (h *hooks) giveBack(s *script) {
	if s == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.left >= 0 {
		s.left++
	}
}

// AnyRequest matches everything.
func AnyRequest(*http.Request) bool { return true }

// PathContains matches requests whose path holds part.
func PathContains(part string) Match {
	return func(r *http.Request) bool { return strings.Contains(r.URL.Path, part) }
}

// QueryContains matches requests whose parameters hold part, as in "page=2".
func QueryContains(part string) Match {
	return func(r *http.Request) bool { return strings.Contains("&"+r.URL.RawQuery+"&", part) }
}

// WithToken matches requests that carry this token.
func WithToken(token string) Match {
	return func(r *http.Request) bool { return tokenOf(r) == token }
}

// GraphQLContains matches GraphQL requests whose query or variables hold text.
func GraphQLContains(text string) Match {
	return func(r *http.Request) bool {
		q, ok := graphQLOf(r)
		return ok && (strings.Contains(q.Query, text) || strings.Contains(q.variables(), text))
	}
}

// GraphQLOperation matches GraphQL requests by the name of their operation.
func GraphQLOperation(name string) Match {
	return func(r *http.Request) bool {
		q, ok := graphQLOf(r)
		return ok && (q.OperationName == name || strings.Contains(q.Query, "query "+name))
	}
}

// ForRepo matches REST requests about a repository by its name, and GraphQL
// requests that name it.
func ForRepo(repo Repo) Match {
	path := strings.ToLower("/repos/" + repo.Owner + "/" + repo.Name)
	return func(r *http.Request) bool {
		if q, ok := graphQLOf(r); ok {
			all := q.Query + q.variables()
			return strings.Contains(all, `"`+repo.Name+`"`)
		}
		rest, found := strings.CutPrefix(strings.ToLower(r.URL.Path), path)
		return found && (rest == "" || rest[0] == '/')
	}
}

// Every matches what all of several match.
func Every(all ...Match) Match {
	return func(r *http.Request) bool {
		for _, m := range all {
			if !m(r) {
				return false
			}
		}
		return true
	}
}

// graphQLOf reads a GraphQL request and leaves its body as it was.
func graphQLOf(r *http.Request) (graphQLRequest, bool) {
	var q graphQLRequest
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/graphql") {
		return q, false
	}
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return q, err == nil && json.Unmarshal(body, &q) == nil
}

func (q *graphQLRequest) variables() string {
	encoded, err := json.Marshal(q.Variables)
	if err != nil {
		return ""
	}
	return string(encoded)
}
