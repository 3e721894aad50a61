package github

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// seed is the randomised tests' seed, which SLUICE_TEST_SEED overrides.
func seed(t testing.TB) uint64 {
	t.Helper()
	n := uint64(time.Now().UnixNano())
	if text := os.Getenv("SLUICE_TEST_SEED"); text != "" {
		parsed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("SLUICE_TEST_SEED: %v", err)
		}
		n = parsed
	}
	t.Logf("seed %d (set SLUICE_TEST_SEED to repeat)", n)
	return n
}

type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 11, 1, 12, 0, 0, 250_000_000, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// reply is an answer with its body read.
type reply struct {
	status int
	header http.Header
	body   []byte
}

func (r reply) decode(t testing.TB, into any) {
	t.Helper()
	if err := json.Unmarshal(r.body, into); err != nil {
		t.Fatalf("body is not JSON: %v\n%s", err, r.body)
	}
}

func (r reply) remaining(t testing.TB) int {
	t.Helper()
	n, err := strconv.Atoi(r.header.Get("X-RateLimit-Remaining"))
	if err != nil {
		t.Fatalf("no remaining header: %v", r.header)
	}
	return n
}

func (r reply) message(t testing.TB) string {
	t.Helper()
	var body struct{ Message string }
	r.decode(t, &body)
	return body.Message
}

// get asks the simulator directly; headers are name, value pairs.
func get(s *Server, token, target string, headers ...string) reply {
	return send(s, http.MethodGet, token, target, nil, headers...)
}

func send(s *Server, method, token, target string, body []byte, headers ...string) reply {
	r := httptest.NewRequest(method, target, bytes.NewReader(body))
	r.Header.Set("User-Agent", "test")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return reply{status: w.Code, header: w.Header(), body: w.Body.Bytes()}
}

// pathOf turns an absolute URL of a Link header into a target for get.
func pathOf(url string) string {
	_, rest, _ := strings.Cut(url, "://")
	return rest[strings.IndexByte(rest, '/'):]
}

var linkPattern = regexp.MustCompile(`<([^>]+)>; rel="(\w+)"`)

func links(r reply) map[string]string {
	out := map[string]string{}
	for _, m := range linkPattern.FindAllStringSubmatch(r.header.Get("Link"), -1) {
		out[m[2]] = m[1]
	}
	return out
}

// walk follows next links from target and hands over each page.
func walk(t testing.TB, s *Server, token, target string, page func(reply)) (pages int) {
	t.Helper()
	for target != "" {
		r := get(s, token, target)
		if r.status != http.StatusOK {
			t.Fatalf("GET %s: %d %s", target, r.status, r.body)
		}
		page(r)
		pages++
		next := links(r)["next"]
		if next == "" {
			return pages
		}
		target = pathOf(next)
	}
	return pages
}

type queryReply struct {
	reply
	Data   map[string]any
	Errors []struct {
		Type, Message string
		Path          []any
	}
}

func query(t testing.TB, s *Server, token, text string, vars map[string]any) queryReply {
	t.Helper()
	body, err := json.Marshal(map[string]any{"query": text, "variables": vars})
	if err != nil {
		t.Fatal(err)
	}
	out := queryReply{reply: send(s, http.MethodPost, token, "/graphql", body)}
	out.decode(t, &out)
	return out
}

// dig follows keys and indexes into decoded JSON.
func dig(t testing.TB, value any, path ...any) any {
	t.Helper()
	for _, step := range path {
		switch step := step.(type) {
		case string:
			object, ok := value.(map[string]any)
			if !ok {
				t.Fatalf("no object at %v in %v", step, value)
			}
			value = object[step]
		case int:
			list, ok := value.([]any)
			if !ok || step >= len(list) {
				t.Fatalf("no element %d in %v", step, value)
			}
			value = list[step]
		}
	}
	return value
}

// plain is a world of one account with exactly sized repositories.
func plain(repos, commits, issues, pulls int) Options {
	return Options{Seed: 5, Accounts: 1, Shape: &Shape{
		Repos: Exactly(repos), Commits: Exactly(commits), Issues: Exactly(issues), Pulls: Exactly(pulls),
	}}
}

// first gives the first account's login, token and first repository.
func first(t testing.TB, s *Server) (login, token string, repo Repo) {
	t.Helper()
	login = s.Logins()[0]
	repos := s.Repos(login)
	if len(repos) == 0 {
		t.Fatal("the first account has no repository")
	}
	return login, s.Token(login), repos[0]
}

func (r Repo) path(tail string) string { return fmt.Sprintf("/repos/%s/%s%s", r.Owner, r.Name, tail) }

func TestTokensListsALineForEachAccount(t *testing.T) {
	s := New(Options{Seed: 3, Accounts: 2})
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/_sim/tokens", http.NoBody))
	var want strings.Builder
	for _, login := range s.Logins() {
		want.WriteString(login + " " + s.Token(login) + "\n")
	}
	if w.Body.String() != want.String() {
		t.Errorf("tokens are %q, want %q", w.Body, want.String())
	}
}
