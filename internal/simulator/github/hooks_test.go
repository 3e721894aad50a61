package github

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestScriptedFaults(t *testing.T) {
	s := New(plain(1, 5, 5, 5))
	login, token, repo := first(t, s)
	cases := []struct {
		name   string
		fault  Fault
		status int
		body   string
		cost   int
	}{
		{"server error", ServerError(503), 503, "Server Error", 1},
		{"HTML page", HTMLErrorPage(), 502, "<!DOCTYPE html>", 1},
		{"malformed JSON", MalformedJSON(), 200, `[{"id":1`, 1},
		{"secondary", SecondaryLimit(time.Minute), 403, "secondary rate limit", 0},
		{"bad credentials", BadCredentials(), 401, "Bad credentials", 0},
		{"GraphQL error", GraphQLErrors("SERVICE_UNAVAILABLE", `it "broke"`), 200, `it \"broke\"`, 1},
	}
	for _, c := range cases {
		before := get(s, token, "/rate_limit").remaining(t)
		s.FailNext(PathContains("/commits"), 1, c.fault)
		if r := get(s, token, "/users/"+login); r.status != 200 {
			t.Fatalf("%s hit another path: %d", c.name, r.status)
		}
		r := get(s, token, repo.path("/commits"))
		if r.status != c.status || !strings.Contains(string(r.body), c.body) {
			t.Errorf("%s: %d %s", c.name, r.status, r.body)
		}
		if spent := before - get(s, token, "/rate_limit").remaining(t) - 1; spent != c.cost {
			t.Errorf("%s cost %d, want %d", c.name, spent, c.cost)
		}
		if r := get(s, token, repo.path("/commits")); r.status != 200 || !json.Valid(r.body) {
			t.Errorf("%s did not stop: %d", c.name, r.status)
		}
	}
	if got := s.Audit().Faults; got != len(cases) {
		t.Errorf("audit counts %d faults", got)
	}
}

func TestSecondaryWithoutRetryAfter(t *testing.T) {
	s := New(plain(1, 5, 5, 5))
	_, token, _ := first(t, s)
	s.FailNext(AnyRequest, 1, SecondaryLimit(0))
	if r := get(s, token, "/user"); r.status != 403 || r.header.Get("Retry-After") != "" || r.remaining(t) != 5000 {
		t.Fatalf("%d %v", r.status, r.header)
	}
}

func TestHooksSeeTheQueryAndTheCount(t *testing.T) {
	s := New(plain(1, 5, 5, 5))
	login, token, _ := first(t, s)
	var numbers []int
	var bodies []string
	s.OnRequest(func(r *http.Request, n int) *Fault {
		numbers = append(numbers, n)
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(body))
		return nil
	})
	get(s, token, "/users/"+login)
	if r := query(t, s, token, `{viewer{login}}`, nil); dig(t, r.Data, "viewer", "login") != login {
		t.Fatalf("%s", r.body)
	}
	if len(numbers) != 2 || numbers[1] != numbers[0]+1 || !strings.Contains(bodies[1], "viewer") {
		t.Fatalf("numbers %v, bodies %q", numbers, bodies)
	}
	s.ClearHooks()
	get(s, token, "/users/"+login)
	if len(numbers) != 2 {
		t.Fatal("a cleared hook ran")
	}
}

func TestFaultsForOneToken(t *testing.T) {
	s := New(plain(1, 5, 5, 5))
	login, token, _ := first(t, s)
	s.FailNext(WithToken(s.Token2(login)), 100, BadCredentials())
	if get(s, token, "/user").status != 200 || get(s, s.Token2(login), "/user").status != 401 {
		t.Fatal("the fault hit the wrong token")
	}
}

func overWire(t *testing.T, s *Server, path, token string) (*http.Response, error) {
	t.Helper()
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "token "+token)
	return srv.Client().Do(r)
}

func TestTruncatedBody(t *testing.T) {
	s := New(plain(1, 50, 5, 5))
	_, token, repo := first(t, s)
	s.FailNext(AnyRequest, 1, TruncatedBody())
	res, err := overWire(t, s, repo.path("/commits"), token)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if res.StatusCode != 200 || !errors.Is(err, io.ErrUnexpectedEOF) || len(body) == 0 {
		t.Fatalf("%d, %d bytes, %v", res.StatusCode, len(body), err)
	}
}

func TestConnectionReset(t *testing.T) {
	s := New(plain(1, 50, 5, 5))
	_, token, repo := first(t, s)
	s.FailNext(AnyRequest, 100, ConnectionReset())
	res, err := overWire(t, s, repo.path("/commits"), token)
	if err == nil {
		res.Body.Close()
		t.Fatalf("answered %d", res.StatusCode)
	}
	if !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, io.EOF) {
		t.Fatalf("failed with %v", err)
	}
}

func TestLatencyRespectsTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := plain(1, 5, 5, 5)
		o.Latency = Latency{Fixed: 200 * time.Millisecond, Jitter: 100 * time.Millisecond}
		s := New(o)
		_, token, _ := first(t, s)
		begin := time.Now()
		if r := get(s, token, "/user"); r.status != 200 {
			t.Fatalf("status %d", r.status)
		}
		if took := time.Since(begin); took < 200*time.Millisecond || took >= 300*time.Millisecond {
			t.Fatalf("took %v", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		r := httptest.NewRequest(http.MethodGet, "/user", nil).WithContext(ctx)
		r.Header.Set("User-Agent", "test")
		r.Header.Set("Authorization", "token "+token)
		begin = time.Now()
		s.ServeHTTP(httptest.NewRecorder(), r)
		if took := time.Since(begin); took != 50*time.Millisecond {
			t.Fatalf("a caller that left was kept for %v", took)
		}
		s.FailNext(AnyRequest, 1, Delayed(time.Hour))
		begin = time.Now()
		if get(s, token, "/user").status != 200 || time.Since(begin) < time.Hour {
			t.Fatal("the delay did not happen")
		}
	})
}
