package github

import (
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func limited(limits Limits, c *clock) *Server {
	o := plain(1, 5, 5, 5)
	o.Accounts = 2
	o.Limits, o.Now = limits, c.Now
	return New(o)
}

func TestPrimaryWindow(t *testing.T) {
	c := newClock()
	s := limited(Limits{Window: 30 * time.Second, CoreLimit: 3}, c)
	login := s.Logins()[0]
	tokens := []string{s.Token(login), s.Token2(login)}
	for i := range 3 {
		r := get(s, tokens[i%2], "/users/"+login)
		if r.status != 200 || r.remaining(t) != 2-i || r.header.Get("X-RateLimit-Used") != strconv.Itoa(i+1) || r.header.Get("X-RateLimit-Resource") != "core" {
			t.Fatalf("call %d: %d %v", i, r.status, r.header)
		}
		c.advance(time.Second)
	}
	refused := get(s, tokens[0], "/users/"+login)
	if refused.status != 403 || refused.remaining(t) != 0 || !strings.HasPrefix(refused.message(t), "API rate limit exceeded for") {
		t.Fatalf("beyond quota: %d %s", refused.status, refused.body)
	}
	if r := get(s, s.Token(s.Logins()[1]), "/users/"+login); r.status != 200 {
		t.Fatalf("another owner was refused: %d", r.status)
	}
	// The first call came at 12:00:00.25, so the window ends at 12:00:31.
	reset, _ := strconv.ParseInt(refused.header.Get("X-RateLimit-Reset"), 10, 64)
	if want := time.Date(2026, 11, 1, 12, 0, 31, 0, time.UTC).Unix(); reset != want {
		t.Fatalf("reset is %d, want %d", reset, want)
	}
	c.advance(time.Unix(reset, 0).Sub(c.Now()) - time.Nanosecond)
	if r := get(s, tokens[0], "/users/"+login); r.status != 403 {
		t.Fatalf("just before the reset: %d", r.status)
	}
	c.advance(time.Nanosecond)
	if r := get(s, tokens[0], "/users/"+login); r.status != 200 || r.remaining(t) != 2 {
		t.Fatalf("at the reset: %d, remaining %d", r.status, r.remaining(t))
	}
	audit := s.Audit()
	if audit.BeyondQuota != 2 || audit.Violations != 2 {
		t.Fatalf("audit: %+v", audit)
	}
	var spent []int
	for _, w := range audit.Windows {
		if w.Owner == login && w.Bucket == "core" && w.Limit == 3 {
			spent = append(spent, w.Used)
		}
	}
	if len(spent) != 2 || spent[0] != 3 || spent[1] != 1 {
		t.Fatalf("windows spent %v, want [3 1]", spent)
	}
}

func TestWindowsEndOnWholeSeconds(t *testing.T) {
	for _, window := range []time.Duration{time.Second, 1500 * time.Millisecond, 2 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			o := plain(1, 5, 0, 0)
			o.Limits = Limits{Window: window, CoreLimit: 1}
			s := New(o)
			login, token, _ := first(t, s)
			time.Sleep(123 * time.Millisecond)
			for range 3 {
				r := get(s, token, "/users/"+login)
				if r.status != 200 {
					t.Fatalf("window %v: %d", window, r.status)
				}
				reset, _ := strconv.ParseInt(r.header.Get("X-RateLimit-Reset"), 10, 64)
				wait := time.Until(time.Unix(reset, 0))
				if wait < window || wait >= window+time.Second {
					t.Fatalf("window %v ends in %v", window, wait)
				}
				time.Sleep(wait)
			}
			if s.Audit().Violations != 0 {
				t.Fatalf("violations: %+v", s.Audit())
			}
		})
	}
}

func TestTooManyRequestsStatus(t *testing.T) {
	s := limited(Limits{CoreLimit: 1, TooManyRequests: true}, newClock())
	login, token, _ := first(t, s)
	get(s, token, "/users/"+login)
	if r := get(s, token, "/users/"+login); r.status != 429 {
		t.Fatalf("status %d", r.status)
	}
}

func TestRateLimitIsFree(t *testing.T) {
	s := limited(Limits{CoreLimit: 2}, newClock())
	login, token, _ := first(t, s)
	get(s, token, "/users/"+login)
	for range 5 {
		r := get(s, token, "/rate_limit")
		var body struct {
			Resources map[string]struct{ Limit, Used, Remaining, Reset int64 }
		}
		r.decode(t, &body)
		core := body.Resources["core"]
		if r.status != 200 || core.Used != 1 || core.Remaining != 1 || body.Resources["graphql"].Used != 0 {
			t.Fatalf("%d %s", r.status, r.body)
		}
	}
}

func TestAnonymousCallersShareTheirAddress(t *testing.T) {
	s := limited(Limits{AnonymousLimit: 2}, newClock())
	login := s.Logins()[0]
	for range 2 {
		if r := get(s, "", "/users/"+login); r.status != 200 || r.header.Get("X-RateLimit-Limit") != "2" {
			t.Fatalf("%d %v", r.status, r.header)
		}
	}
	if r := get(s, "", "/users/"+login); r.status != 403 || !strings.Contains(r.message(t), "192.0.2.1") {
		t.Fatalf("%d %s", r.status, r.body)
	}
}

func TestPointsPerMinute(t *testing.T) {
	for _, retryAfter := range []time.Duration{20 * time.Second, -1} {
		c := newClock()
		s := limited(Limits{RESTPoints: 3, RetryAfter: retryAfter}, c)
		login, token, repo := first(t, s)
		for range 3 {
			if r := get(s, token, "/users/"+login); r.status != 200 {
				t.Fatalf("status %d", r.status)
			}
			c.advance(10 * time.Second)
		}
		r := get(s, token, "/users/"+login)
		want := map[bool]string{true: "20", false: ""}[retryAfter > 0]
		if r.status != 403 || !strings.HasPrefix(r.message(t), "You have exceeded a secondary rate limit") || r.header.Get("Retry-After") != want || r.remaining(t) == 0 {
			t.Fatalf("%d %s %v", r.status, r.body, r.header)
		}
		if r := get(s, token, repo.path("")); r.status != 200 {
			t.Fatalf("another endpoint: %d", r.status)
		}
		c.advance(30 * time.Second)
		if r := get(s, token, "/users/"+login); r.status != 200 {
			t.Fatalf("a minute after the first call: %d", r.status)
		}
		if got := s.Audit().Secondary[violationPoints]; got != 1 {
			t.Fatalf("%d violations", got)
		}
	}
}

func TestConcurrencyLimit(t *testing.T) {
	s := limited(Limits{Concurrent: 4}, newClock())
	login, token, _ := first(t, s)
	arrived, release := make(chan struct{}, 4), make(chan struct{})
	held := make(chan reply, 4)
	for range 4 {
		go func() {
			r := httptest.NewRequest(http.MethodPost, "/graphql", &gate{arrived: arrived, release: release})
			r.Header.Set("User-Agent", "test")
			r.Header.Set("Authorization", "token "+token)
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			held <- reply{status: w.Code}
		}()
	}
	for range 4 {
		<-arrived
	}
	if r := get(s, token, "/users/"+login); r.status != 403 || r.header.Get("Retry-After") != "60" {
		t.Fatalf("fifth call: %d %s", r.status, r.body)
	}
	if r := get(s, s.Token(s.Logins()[1]), "/users/"+login); r.status != 200 {
		t.Fatalf("another owner: %d", r.status)
	}
	close(release)
	for range 4 {
		<-held
	}
	if r := get(s, token, "/users/"+login); r.status != 200 {
		t.Fatalf("afterwards: %d", r.status)
	}
	audit := s.Audit()
	if audit.Secondary[violationConcurrency] != 1 || audit.LargestOwnerConcurrency != 5 || audit.LargestConcurrency < 5 {
		t.Fatalf("audit %+v", audit)
	}
}

// gate is a request body that holds its request in flight.
type gate struct {
	arrived, release chan struct{}
	once             sync.Once
}

func (g *gate) Read([]byte) (int, error) {
	g.once.Do(func() {
		g.arrived <- struct{}{}
		<-g.release
	})
	return 0, http.ErrBodyReadAfterClose
}

func TestDisabledLimits(t *testing.T) {
	s := limited(Limits{Disabled: true, CoreLimit: 2, RESTPoints: 2, Concurrent: 1}, newClock())
	login, token, _ := first(t, s)
	for range 10 {
		if r := get(s, token, "/users/"+login); r.status != 200 || r.remaining(t) != 2 {
			t.Fatalf("status %d", r.status)
		}
	}
	if v := s.Audit().Violations; v != 0 {
		t.Fatalf("%d violations", v)
	}
}

// Whatever the calls, a window never gives more than its limit and every
// refusal is on the audit.
func TestWindowsNeverGiveMore(t *testing.T) {
	rng := rand.New(rand.NewPCG(seed(t), 3))
	c := newClock()
	s := limited(Limits{Window: 5 * time.Second, CoreLimit: 7}, c)
	login, token, _ := first(t, s)
	granted, refused := map[string]int{}, 0
	for range 500 {
		c.advance(time.Duration(rng.Int64N(int64(700 * time.Millisecond))))
		r := get(s, token, "/users/"+login)
		if r.status == 200 {
			granted[r.header.Get("X-RateLimit-Reset")]++
		} else {
			refused++
		}
	}
	for reset, n := range granted {
		if n > 7 {
			t.Fatalf("window until %s gave %d", reset, n)
		}
	}
	if audit := s.Audit(); audit.BeyondQuota != refused || refused == 0 || len(audit.Windows) != len(granted) {
		t.Fatalf("refused %d, audit says %d; %d windows, audit has %d", refused, audit.BeyondQuota, len(granted), len(audit.Windows))
	}
}
