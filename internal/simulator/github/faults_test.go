package github

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

const nestedQuery = `query Discovery($first:Int!){user(login:"%s"){repositories(first:$first,ownerAffiliations:OWNER){
	totalCount pageInfo{hasNextPage endCursor}
	nodes{id name issues{totalCount} pullRequests{totalCount} defaultBranchRef{target{... on Commit{history(first:2){totalCount nodes{oid author{user{login}}}}}}}}}}
	again: repositoryOwner(login:"%[1]s"){login} rateLimit{remaining}}`

func TestPartialAnswersAtEveryPath(t *testing.T) {
	s := New(plain(3, 5, 5, 5))
	login, token, _ := first(t, s)
	text := fmt.Sprintf(nestedQuery, login)
	nodes := []any{"user", "repositories", "nodes"}
	for _, path := range [][]any{
		{"user"}, {"again"}, {"user", "repositories"}, nodes, {"user", "repositories", "pageInfo"},
		append(nodes, 1), append(nodes, 1, "issues"), append(nodes, 2, "pullRequests"), append(nodes, 0, "defaultBranchRef"),
		append(nodes, 0, "defaultBranchRef", "target", "history"), append(nodes, 0, "defaultBranchRef", "target", "history", "nodes", 1, "author"),
		append(nodes, 2, "name"),
	} {
		var steps []string
		for _, step := range path {
			steps = append(steps, stepName(step))
		}
		s.FailNext(GraphQLOperation("Discovery"), 1, PartialAnswer(Partial{Path: strings.Join(steps, ".")}))
		r := query(t, s, token, text, map[string]any{"first": 3})
		if r.status != 200 || dig(t, r.Data, path...) != nil {
			t.Fatalf("%v is not null: %s", path, r.body)
		}
		if len(r.Errors) != 1 || r.Errors[0].Type != "" || r.Errors[0].Message != wentWrong || fmt.Sprint(r.Errors[0].Path) != fmt.Sprint(path) {
			t.Fatalf("%v is reported as %+v", path, r.Errors)
		}
		if again := query(t, s, token, text, map[string]any{"first": 3}); len(again.Errors) != 0 || dig(t, again.Data, path...) == nil {
			t.Fatalf("%v stayed: %s", path, again.body)
		}
	}
}

func TestPartialAnswersWordedInEveryWay(t *testing.T) {
	s := New(plain(3, 5, 5, 5))
	login, token, _ := first(t, s)
	ask := func(p Partial) queryReply {
		s.FailNext(PathContains("/graphql"), 1, PartialAnswer(p))
		return query(t, s, token, fmt.Sprintf(nestedQuery, login), map[string]any{"first": 3})
	}
	if r := ask(Partial{Path: "**.nodes.*", Nth: 1, Type: "FORBIDDEN", Message: "no"}); r.Errors[0].Type != "FORBIDDEN" || dig(t, r.Data, "user", "repositories", "nodes", 0) == nil {
		t.Errorf("a forbidden node: %s", r.body)
	}
	if r := ask(Partial{Path: "user", NoPath: true}); dig(t, r.Data, "user") != nil || r.Errors[0].Path != nil {
		t.Errorf("without a path: %s", r.body)
	}
	r := ask(Partial{Path: "user.repositories.nodes.2", Deeper: true})
	if dig(t, r.Data, "user", "repositories", "nodes", 2) != nil || len(r.Errors[0].Path) != 5 {
		t.Errorf("a null that climbed: %s", r.body)
	}
	if r := ask(Partial{Path: "user.repositories.nodes.*.issues", All: true}); len(r.Errors) != 3 {
		t.Errorf("all of them: %s", r.body)
	}
	before := s.Audit()
	if r := ask(Partial{Path: "user.nothing"}); len(r.Errors) != 0 || s.Audit().Faults != before.Faults {
		t.Errorf("a path that is not there: %s", r.body)
	}
	if points := s.Audit().GraphQLPoints; points != 5 {
		t.Errorf("partial answers were charged %d points", points)
	}
	if s.Audit().RepeatedQueries != 0 {
		t.Error("asking again after a partial answer counts as a repetition")
	}
}

func TestFaultsThatNeverEnd(t *testing.T) {
	s := New(plain(2, 5, 5, 5))
	login, token, repo := first(t, s)
	s.FailNext(ForRepo(repo), Forever, ServerError(502))
	for range 10 {
		if get(s, token, repo.path("/commits")).status != 502 {
			t.Fatal("it ended")
		}
	}
	if other := s.Repos(login)[1]; get(s, token, other.path("")).status != 200 {
		t.Fatal("another repository was hit")
	}
	s.ClearHooks()
	if get(s, token, repo.path("")).status != 200 || s.Audit().Injected[FaultServerError] != 10 {
		t.Fatalf("injected %v", s.Audit().Injected)
	}
}

func TestHeavyConnections(t *testing.T) {
	s := New(plain(2, 60, 60, 60))
	_, token, repo := first(t, s)
	ask := func(first int) queryReply {
		body := fmt.Sprintf(`{"query":"query($n:Int!){repository(owner:\"%s\",name:\"%s\"){issues(first:$n){nodes{number}} name}}","variables":{"n":%d}}`, repo.Owner, repo.Name, first)
		out := queryReply{reply: send(s, http.MethodPost, token, "/graphql", []byte(body))}
		if out.header.Get("Content-Type") != "text/html; charset=utf-8" {
			out.decode(t, &out)
		}
		return out
	}
	for how, fails := range map[string]func(r queryReply) bool{
		"":        func(r queryReply) bool { return r.status == 502 && strings.Contains(string(r.body), "Unicorn") },
		"504":     func(r queryReply) bool { return r.status == 504 },
		"timeout": func(r queryReply) bool { return r.status == 200 && r.Data == nil && r.Errors[0].Message == wentWrong },
		"partial": func(r queryReply) bool {
			return r.status == 200 && dig(t, r.Data, "repository", "issues") == nil && fmt.Sprint(r.Errors[0].Path) == "[repository issues]"
		},
	} {
		if err := s.SetHeavy(repo, "issues", Heavy{Above: 20, How: how}); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if r := ask(50); !fails(r) {
				t.Fatalf("%q: %d %s", how, r.status, r.body)
			}
		}
		if r := ask(20); r.status != 200 || len(r.Errors) != 0 {
			t.Fatalf("%q: a small page answers %d %s", how, r.status, r.body)
		}
	}
	if err := s.SetHeavy(repo, "issues", Heavy{Above: 20}); err != nil {
		t.Fatal(err)
	}
	if r := get(s, token, repo.path("/issues?per_page=50")); r.status != 502 {
		t.Errorf("REST answers %d", r.status)
	}
	if r := get(s, token, repo.path("/issues?per_page=20")); r.status != 200 {
		t.Errorf("REST answers a small page with %d", r.status)
	}
	if got := s.Audit().Injected[FaultHeavy]; got != 13 {
		t.Errorf("the audit counts %d heavy pages", got)
	}
	s.ClearHeavy()
	if r := ask(50); r.status != 200 || len(r.Errors) != 0 {
		t.Errorf("it stayed heavy: %s", r.body)
	}
	if err := s.SetHeavy(repo, "stars", Heavy{Above: 1}); err == nil {
		t.Error("an unknown connection is heavy")
	}
}

func TestUnauthorizedShowsTheAnonymousRation(t *testing.T) {
	s := New(plain(1, 5, 5, 5))
	login, token, _ := first(t, s)
	check := func(what string, r reply) {
		if r.status != 401 || r.header.Get("X-RateLimit-Limit") != "60" || r.header.Get("X-RateLimit-Resource") != "core" {
			t.Errorf("%s: %d %v", what, r.status, r.header)
		}
	}
	s.FailNext(AnyRequest, 1, BadCredentials())
	check("once", get(s, token, "/user"))
	if r := get(s, token, "/user"); r.status != 200 || r.header.Get("X-RateLimit-Limit") != "5000" {
		t.Errorf("then %d %v", r.status, r.header)
	}
	s.RevokeToken(token)
	check("revoked", get(s, token, "/user"))
	check("unknown", get(s, "ghp_nobody", "/users/"+login))
}

func TestClocksAndWindowsThatLie(t *testing.T) {
	c := newClock()
	o := plain(1, 5, 5, 5)
	o.Now = c.Now
	s := New(o)
	_, token, _ := first(t, s)
	shown := func() (date time.Duration, reset time.Duration) {
		r := get(s, token, "/user")
		at, err := http.ParseTime(r.header.Get("Date"))
		if err != nil {
			t.Fatal(err)
		}
		seconds, err := strconv.ParseInt(r.header.Get("X-RateLimit-Reset"), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return at.Sub(c.Now()).Round(time.Hour), time.Unix(seconds, 0).Sub(c.Now()).Round(time.Hour)
	}
	expect := func(what string, date, reset time.Duration) {
		t.Helper()
		if d, r := shown(); d != date || r != reset {
			t.Errorf("%s: the date is off by %v, the window ends in %v", what, d, r)
		}
	}
	expect("as it is", 0, time.Hour)
	s.FailNext(AnyRequest, 1, ClockJump(-5*time.Hour))
	expect("a jump", -5*time.Hour, time.Hour)
	s.SetClockSkew(3 * time.Hour)
	expect("a clock that is off", 3*time.Hour, 4*time.Hour)
	s.SetClockSkew(0)
	s.FailNext(AnyRequest, 1, WindowEnds(c.Now().Add(-time.Hour)))
	expect("a window in the past", 0, -time.Hour)
	s.FailNext(AnyRequest, 1, AbsurdRetryAfter())
	if r := get(s, token, "/user"); r.header.Get("Retry-After") != "63072000" {
		t.Errorf("retry after %v", r.header)
	}
}

func TestBodiesThatHurt(t *testing.T) {
	s := New(plain(1, 50, 5, 5))
	_, token, repo := first(t, s)
	s.FailNext(AnyRequest, 1, HugeBody(3<<20))
	if r := get(s, token, repo.path("")); len(r.body) < 3<<20 || r.message(t) != "" {
		t.Fatalf("%d bytes", len(r.body))
	}
	s.FailNext(AnyRequest, 1, ConnectionCut())
	res, err := overWire(t, s, repo.path("/commits"), token)
	if err == nil {
		_, err = io.ReadAll(res.Body)
		res.Body.Close()
	}
	if !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("a cut connection gives %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		s.FailNext(AnyRequest, 1, SlowBody(10*time.Second))
		began := time.Now()
		if r := get(s, token, repo.path("")); r.status != 200 || time.Since(began) < 9*time.Second {
			t.Fatalf("%d after %v", r.status, time.Since(began))
		}
	})
}

func TestOrdersOverHTTP(t *testing.T) {
	s := New(plain(2, 60, 5, 5))
	login, token, repo := first(t, s)
	order := func(method, path, body string) int {
		return send(s, method, "", "/_sim/"+path, []byte(body)).status
	}
	name := repo.Owner + "/" + repo.Name
	for _, good := range []struct{ path, body string }{
		{"faults", `{"kind":"not_found_once","match":{"repo":"` + name + `"}}`},
		{"faults", `{"kind":"partial_field","partial":{"path":"user.repositories.nodes.1.issues"},"match":{"operation":"Discovery"}}`},
		{"faults", `{"before":{"change":"delete_issue","repo":"` + name + `","number":1},"match":{"query":"page=2"}}`},
		{"faults", `{"status":418,"body":"teapot","match":{"path":"/events"},"times":-1}`},
		{"heavy", `{"repo":"` + name + `","connection":"history","above":20}`},
		{"world", `{"change":"transfer","repo":"` + login + "/" + s.Repos(login)[1].Name + `","to":"elsewhere"}`},
		{"clock", `{"skew":"-2h"}`},
	} {
		if got := order("POST", good.path, good.body); got != 204 {
			t.Fatalf("%s: %d", good.body, got)
		}
	}
	if get(s, token, repo.path("")).status != 404 || get(s, token, repo.path("")).status != 200 {
		t.Error("404 did not come once")
	}
	if got := get(s, token, "/users/"+login+"/events"); got.status != 418 || string(got.body) != "teapot" {
		t.Errorf("events answer %d %s", got.status, got.body)
	}
	if get(s, token, repo.path("/commits?per_page=50")).status != 502 {
		t.Error("the history is not heavy")
	}
	if get(s, token, repo.path("/issues?state=all&page=2")); get(s, token, repo.path("/issues/1")).status != 410 {
		t.Error("nothing was deleted between pages")
	}
	if len(s.Repos(login)) != 1 {
		t.Error("nothing was transferred")
	}
	for path, bad := range map[string]string{
		"faults": `{"kind":"sunshine"}`, "world": `{"change":"peace"}`, "heavy": `{"repo":"no/body","connection":"issues","above":1}`,
		"nasty": `{"except":["sunshine"]}`, "clock": `{"skew":"soon"}`,
	} {
		if got := order("POST", path, bad); got != 400 {
			t.Errorf("%s %s: %d", path, bad, got)
		}
	}
	if order("DELETE", "faults", "") != 204 || order("DELETE", "heavy", "") != 204 || order("POST", "nowhere", "") != 404 {
		t.Error("an order was misunderstood")
	}
	if get(s, token, "/users/"+login+"/events").status != 200 {
		t.Error("the scripted faults stayed")
	}
}
