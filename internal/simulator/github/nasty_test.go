package github

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// nastyWorld is a small world in which anything can happen.
func nastyWorld(n uint64, c *clock) *Server {
	return New(Options{
		Seed: n, Accounts: 3, Now: c.Now, Limits: Limits{Disabled: true},
		Shape: &Shape{Repos: Exactly(6), Commits: Between(1, 12), Issues: Between(1, 12), Pulls: Between(0, 5)},
		Nasty: &Nasty{Seed: n, Rate: 0.5, Changes: 0.5, Huge: 4096},
	})
}

// pester asks all sorts of things, the same ones in the same order each time.
func pester(t *testing.T, s *Server, c *clock, rounds int) string {
	t.Helper()
	var said strings.Builder
	for i := range rounds {
		login := s.Logins()[i%3]
		token := s.Token(login)
		targets := []string{"/users/" + login, "/users/" + login + "/repos"}
		for _, r := range s.Repos(login) {
			targets = append(targets, r.path("/issues?state=all&direction=asc&per_page=3&page=2"), r.path("/commits?per_page=100"))
		}
		for _, target := range targets {
			r := get(s, token, target)
			fmt.Fprintf(&said, "%s %d %d %s\n", target, r.status, len(r.body), r.header.Get("Location"))
			c.advance(time.Second)
		}
		body := fmt.Appendf(nil, `{"query":%q,"variables":{"first":50}}`, strings.Join(strings.Fields(fmt.Sprintf(nestedQuery, login)), " "))
		for range 3 {
			r := send(s, "POST", token, "/graphql", body)
			fmt.Fprintf(&said, "graphql %d %s\n", r.status, bytes.TrimSpace(r.body))
		}
	}
	return said.String()
}

func TestNastyModeDoesEverything(t *testing.T) {
	n := seed(t)
	synctest.Test(t, func(t *testing.T) { // slow answers take no time here
		c := newClock()
		s := nastyWorld(n, c)
		pester(t, s, c, 400)
		injected := s.Audit().Injected
		for _, kind := range append(FaultKinds(), append(ChangeKinds(), FaultHeavy)...) {
			if injected[kind] == 0 {
				t.Errorf("%s never happened: %v", kind, injected)
			}
		}
		if injected[FaultOther] != 0 {
			t.Errorf("%d faults have no kind", injected[FaultOther])
		}
	})
}

func TestNastyModeIsDeterministic(t *testing.T) {
	n := seed(t)
	run := func() (said, truths string, injected map[string]int) {
		synctest.Test(t, func(t *testing.T) {
			c := newClock()
			s := nastyWorld(n, c)
			said = pester(t, s, c, 30)
			truths, injected = allTruths(t, s), s.Audit().Injected
		})
		return said, truths, injected
	}
	one, truth, counts := run()
	two, again, same := run()
	if one != two || truth != again || fmt.Sprint(counts) != fmt.Sprint(same) {
		t.Fatal("the same seed and the same requests went wrong in two ways")
	}
	n++
	if other, _, _ := run(); other == one {
		t.Fatal("two seeds went wrong in the same way")
	}
}

func allTruths(t *testing.T, s *Server) string {
	t.Helper()
	var all bytes.Buffer
	for _, login := range s.Logins() {
		if err := s.WriteTruth(&all, login, time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}

// After nasty mode has ended everything answers, and what it answers is the
// truth: for what is there and for what is gone.
func TestNastyModeEndsInATruthThatCanBeRead(t *testing.T) {
	n := seed(t)
	synctest.Test(t, func(t *testing.T) {
		c := newClock()
		s := nastyWorld(n, c)
		pester(t, s, c, 60)
		if got := send(s, "POST", "", "/_sim/nasty", []byte(`{"rate":0,"changes":0}`)); got.status != 204 {
			t.Fatalf("nasty mode goes on: %s", got.body)
		}
		before, counts := allTruths(t, s), fmt.Sprint(s.Audit().Injected)
		var gone []string
		for _, login := range s.Logins() {
			token := s.Token(login)
			for _, r := range mustTruth(t, s, login, time.Time{}).Repositories {
				if r.Gone == "" {
					checkRepository(t, s, token, r)
					checkHistory(t, s, token, r)
					continue
				}
				gone = append(gone, r.Gone)
				checkGone(t, s, login, r)
			}
		}
		if len(gone) == 0 {
			t.Fatal("nothing is gone")
		}
		if allTruths(t, s) != before || fmt.Sprint(s.Audit().Injected) != counts {
			t.Fatal("something went on changing")
		}
	})
}

func checkHistory(t *testing.T, s *Server, token string, r TruthRepository) {
	t.Helper()
	if r.Empty {
		return
	}
	got := graphQLHistory(t, s, token, repoNamed(r.FullName), 4)
	slices.Reverse(got)
	if want := shasOf(r); !slices.Equal(got, want) { // checkRepository has put them in order
		t.Fatalf("%s: GraphQL lists %d commits, want %d", r.FullName, len(got), len(want))
	}
}

func checkGone(t *testing.T, s *Server, login string, r TruthRepository) {
	t.Helper()
	answer := get(s, s.Token(login), fmt.Sprintf("/repositories/%d", r.ID))
	switch {
	case r.Gone == GoneBlocked && answer.status != 451, (r.Gone == GoneDeleted || r.Gone == GoneNoPermission) && answer.status != 404:
		t.Fatalf("%s is %s and answers %d", r.FullName, r.Gone, answer.status)
	case r.Gone == GoneTransferred && strings.HasPrefix(r.MovedTo, login+"/"):
		t.Fatalf("%s was transferred to itself", r.FullName)
	case r.GoneSince == nil:
		t.Fatalf("%s is gone since never", r.FullName)
	}
	for _, still := range s.Repos(login) {
		if still.Owner+"/"+still.Name == r.FullName && r.Gone != GoneBlocked {
			t.Fatalf("%s is %s and listed", r.FullName, r.Gone)
		}
	}
}

func TestNastyModeOnlyAndExcept(t *testing.T) {
	c := newClock()
	s := New(Options{Accounts: 3, Now: c.Now, Limits: Limits{Disabled: true}, Nasty: &Nasty{Rate: 1, Only: []string{FaultServerError, FaultReset}, Except: []string{FaultReset}}})
	pester(t, s, c, 5)
	if injected := s.Audit().Injected; len(injected) != 1 || injected[FaultServerError] == 0 {
		t.Fatalf("injected %v", injected)
	}
	if err := s.SetNasty(Nasty{Rate: 2}); err == nil {
		t.Fatal("a rate above one is accepted")
	}
}

func TestNastyModeWithManyCallers(t *testing.T) {
	n := seed(t)
	synctest.Test(t, func(t *testing.T) {
		c := newClock()
		s := nastyWorld(n, c)
		var callers sync.WaitGroup
		for range 6 {
			callers.Go(func() {
				pester(t, s, c, 10)
				allTruths(t, s)
				s.Audit()
			})
		}
		callers.Wait()
		if s.Audit().Faults == 0 {
			t.Fatal("nothing went wrong")
		}
	})
}
