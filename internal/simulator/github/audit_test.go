package github

import (
	"net/http"
	"testing"
	"time"
)

func TestAuditCounts(t *testing.T) {
	c := newClock()
	o := plain(1, 40, 3, 3)
	o.Now = c.Now
	s := New(o)
	login, token, repo := first(t, s)
	one := get(s, token, repo.path("/commits"))
	get(s, token, repo.path("/commits"))
	get(s, token, repo.path("/commits"), "If-None-Match", one.header.Get("ETag"))
	get(s, token, repo.path("/commits?page=2"))
	get(s, "ghp_somebody_elses", "/user")
	query(t, s, token, `{viewer{login} rateLimit{remaining}}`, nil)
	query(t, s, token, `{viewer{login} rateLimit{remaining}}`, nil)
	get(s, token, "/users/nobody")
	c.advance(1500 * time.Millisecond)
	get(s, token, "/users/"+login)
	a := s.Audit()
	checks := map[string][2]int{
		"calls":            {a.Calls, 9},
		"core":             {a.ByBucket["core"], 7},
		"graphql":          {a.ByBucket["graphql"], 2},
		"commits":          {a.ByEndpoint["commits"], 4},
		"200":              {a.ByStatus["200"], 6},
		"304":              {a.ByStatus["304"], 1},
		"404":              {a.ByStatus["404"], 1},
		"not modified":     {a.NotModified, 1},
		"repeated":         {a.Repeated, 1},
		"repeated queries": {a.RepeatedQueries, 1},
		"foreign":          {a.ForeignAuthorization, 1},
		"violations":       {a.Violations, 1},
		"largest second":   {a.LargestSecond, 8},
		"concurrency":      {a.LargestConcurrency, 1},
		"points":           {a.GraphQLPoints, 2},
	}
	for name, c := range checks {
		if c[0] != c[1] {
			t.Errorf("%s: %d, want %d", name, c[0], c[1])
		}
	}
	var served Audit
	get(s, "", "/_sim/audit").decode(t, &served)
	if served.Calls != 9 || len(served.Windows) != 2 {
		t.Errorf("over HTTP: %+v", served)
	}
	if r := send(s, http.MethodPost, "", "/_sim/reset", nil); r.status != http.StatusNoContent {
		t.Errorf("reset: %d", r.status)
	}
	if a := s.Audit(); a.Calls != 0 || a.Repeated != 0 || a.Violations != 0 || len(a.ByStatus) != 0 {
		t.Errorf("after the reset: %+v", a)
	}
}

func TestRepetitionNeedsTheSameAnswer(t *testing.T) {
	s := New(plain(1, 40, 3, 3))
	login, token, repo := first(t, s)
	get(s, token, repo.path("/commits"))
	if err := s.Push(repo, 1); err != nil {
		t.Fatal(err)
	}
	get(s, token, repo.path("/commits"))
	get(s, "", repo.path("/commits"))
	if a := s.Audit(); a.Repeated != 0 {
		t.Fatalf("%d repeated", a.Repeated)
	}
	get(s, s.Token2(login), repo.path("/commits"))
	if a := s.Audit(); a.Repeated != 1 {
		t.Fatalf("%d repeated, want 1: both tokens are the same owner's", a.Repeated)
	}
}

func TestSlidingSecondIsExact(t *testing.T) {
	var s slidingSecond
	ms := int64(time.Millisecond)
	for _, step := range []struct {
		at   int64
		want int
	}{{0, 1}, {900, 2}, {999, 3}, {1000, 3}, {1899, 4}, {1900, 4}, {5000, 1}} {
		if got := s.add(step.at * ms); got != step.want {
			t.Fatalf("at %d ms: %d, want %d", step.at, got, step.want)
		}
	}
}
