package github

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"sluice/internal/document"
	"sluice/internal/domain"

	sim "sluice/internal/simulator/github"
)

// flagged counts what is marked as gone, by kind, with the reason.
func (d *driver) flagged(repo string) map[string]int {
	marked := map[string]int{}
	for key, doc := range d.docs {
		if doc.Deleted && fmt.Sprint(doc.Repository) == repo {
			marked[string(key.Kind)+" "+string(doc.GoneWhy)]++
		}
	}
	return marked
}

// idOf is the id of a repository that was collected.
func (d *driver) idOf(r sim.Repo) string {
	d.t.Helper()
	for key, doc := range d.docs {
		if key.Kind == KindRepository && doc.Title == r.Owner+"/"+r.Name {
			return key.Name
		}
	}
	d.t.Fatalf("%v was not collected", r)
	return ""
}

func notFoundFault() sim.Fault {
	return sim.Fault{Status: http.StatusNotFound, Body: `{"message":"Not Found"}`}
}

var bothWays = map[string]Options{"GraphQL": {}, "REST": {NoGraphQL: true}}

// TestOne404FlagsNothing answers 404 once to the first job of a repository.
func TestOne404FlagsNothing(t *testing.T) {
	for name, opt := range bothWays {
		t.Run(name, func(t *testing.T) {
			c := newClock()
			w := newWorld(t, sim.Options{Seed: 8, Accounts: 1, Shape: smallShape(), Now: c.Now})
			login := w.Logins()[0]
			opt.Now = c.Now
			d := w.driver(t, opt, login)
			w.FailNext(sim.PathContains("/issues"), 1, notFoundFault())
			c.run(d)
			d.noFailures()
			d.matches(mustTruth(t, w, login, time.Time{}), !opt.NoGraphQL)
			if n := d.pages[CursorKey(CheckRepo, "user:"+login)]; n != 1 {
				t.Errorf("%d looks by id, want 1", n)
			}
			if len(d.vanished) != 0 {
				t.Errorf("flagged %v", d.vanished)
			}
		})
	}
}

// TestRepositoryThatIsGoneForAWhileComesBackWhole hides a repository for one
// run, and shows it again.
func TestRepositoryThatIsGoneForAWhileComesBackWhole(t *testing.T) {
	c := newClock()
	w := newWorld(t, sim.Options{Seed: 8, Accounts: 1, Shape: smallShape(), Now: c.Now})
	login := w.Logins()[0]
	d, b := w.through(t, Options{Now: c.Now}, login)
	c.run(d)
	repo := w.Repos(login)[2]
	id := d.idOf(repo)
	if err := w.EditIssue(repo, 1); err != nil {
		t.Fatal(err)
	}
	b.answer = func(rw http.ResponseWriter, r *http.Request, _ string) bool {
		if !strings.Contains(r.URL.Path, "/repositories/"+id) {
			return false
		}
		rw.Header().Set("Date", c.Now().Format(http.TimeFormat))
		rw.WriteHeader(http.StatusNotFound)
		_, _ = rw.Write([]byte(`{"message":"Not Found"}`))
		return true
	}
	c.run(d)
	d.noFailures()
	marked := d.flagged(id)
	if marked["repository deleted"] != 1 || marked["issue deleted"] == 0 || marked["commit deleted"] == 0 {
		t.Fatalf("flagged %v", marked)
	}
	b.mu.Lock()
	b.answer = nil
	b.mu.Unlock()
	c.run(d)
	d.noFailures()
	if marked := d.flagged(id); len(marked) != 0 {
		t.Errorf("still flagged: %v", marked)
	}
	d.matches(mustTruth(t, w, login, time.Time{}), true)
	c.run(d)
	if d.calls > 4 {
		t.Errorf("%d calls when nothing changed", d.calls)
	}
}

// TestRepositoryGoneBetweenRunsIsNoticed deletes or gives away a repository
// when nobody looks: only the walk to the end can tell.
func TestRepositoryGoneBetweenRunsIsNoticed(t *testing.T) {
	for name, opt := range bothWays {
		for _, why := range []document.Reason{document.GoneDeleted, document.GoneTransferred} {
			t.Run(name+" "+string(why), func(t *testing.T) {
				c := newClock()
				w := newWorld(t, sim.Options{Seed: 8, Accounts: 1, Shape: smallShape(), Now: c.Now})
				login := w.Logins()[0]
				opt.Now = c.Now
				d, b := w.through(t, opt, login)
				c.run(d)
				repo := w.Repos(login)[1]
				id := d.idOf(repo)
				if err := w.DeleteRepo(repo); err != nil {
					t.Fatal(err)
				}
				if why == document.GoneTransferred {
					b.answer = func(rw http.ResponseWriter, r *http.Request, _ string) bool {
						if r.URL.Path != "/repositories/"+id {
							return false
						}
						rw.Header().Set("Date", c.Now().Format(http.TimeFormat))
						_, _ = fmt.Fprintf(rw, `{"id":%s,"node_id":"R","full_name":"somebody/else"}`, id)
						return true
					}
				}
				c.run(d)
				d.noFailures()
				marked := d.flagged(id)
				if marked["repository "+string(why)] != 1 || marked["commit "+string(why)] == 0 || marked["event "+string(why)] != 0 {
					t.Errorf("flagged %v, want everything as %s", marked, why)
				}
				d.matches(mustTruth(t, w, login, time.Time{}), !opt.NoGraphQL)
				c.run(d)
				if n := d.pages[CursorKey(CheckRepo, "user:"+login)]; n != 0 {
					t.Errorf("%d looks at what is known to be gone", n)
				}
			})
		}
	}
}

// TestUnfinishedRepositoryIsMissed: a repository goes before its walks came to
// an end, so that it was listed and stored and nothing else is remembered of it.
func TestUnfinishedRepositoryIsMissed(t *testing.T) {
	for name, opt := range bothWays {
		t.Run(name, func(t *testing.T) {
			c := newClock()
			w := newWorld(t, sim.Options{Seed: 8, Accounts: 1, Shape: smallShape(), Now: c.Now})
			login := w.Logins()[0]
			opt.Now = c.Now
			d := w.driver(t, opt, login)
			c.run(d)
			repo := w.Repos(login)[1]
			resource := "repo:" + d.idOf(repo)
			for key := range d.cursors {
				if strings.Contains(key, resource) && !strings.HasPrefix(key, DiscoverRepo+" ") {
					delete(d.cursors, key)
				}
			}
			if err := w.DeleteRepo(repo); err != nil {
				t.Fatal(err)
			}
			c.run(d)
			d.noFailures()
			d.matches(mustTruth(t, w, login, time.Time{}), !opt.NoGraphQL)
		})
	}
}

// TestUnmetRepositoriesAreCarriedOverPages has more repositories than a page.
func TestUnmetRepositoriesAreCarriedOverPages(t *testing.T) {
	c := newClock()
	w := newWorld(t, sim.Options{Seed: 8, Accounts: 1, Now: c.Now, Shape: &sim.Shape{
		Repos: sim.Exactly(230), Commits: sim.Exactly(1), Issues: sim.Exactly(0), Pulls: sim.Exactly(0)}})
	login := w.Logins()[0]
	d := w.driver(t, Options{Now: c.Now}, login)
	c.run(d)
	repos := w.Repos(login)
	for _, i := range []int{0, 120, 229} {
		if err := w.DeleteRepo(repos[i]); err != nil {
			t.Fatal(err)
		}
	}
	c.run(d)
	d.noFailures()
	if n := d.pages[CursorKey(CheckRepo, "user:"+login)]; n != 3 {
		t.Errorf("%d looks by id, want 3", n)
	}
	d.matches(mustTruth(t, w, login, time.Time{}), true)
}

// TestRepositoriesOfAnotherQuestionAreNotMissed asks for less than before.
func TestRepositoriesOfAnotherQuestionAreNotMissed(t *testing.T) {
	c := newClock()
	w := newWorld(t, sim.Options{Seed: 7, Accounts: 20, Now: c.Now})
	shared := 0
	for _, login := range w.Logins() {
		d := w.driver(t, Options{Collaborator: true, Contributed: true, Now: c.Now}, login)
		c.run(d)
		for key, doc := range d.docs {
			if key.Kind == KindRepository && doc.External {
				shared++
			}
		}
		d.src = w.source(t, Options{Now: c.Now})
		c.run(d)
		d.noFailures()
		if n := d.pages[CursorKey(CheckRepo, "user:"+login)]; n != 0 || len(d.vanished) != 0 {
			t.Errorf("%d looks, flagged %v", n, d.vanished)
		}
	}
	if shared == 0 {
		t.Error("nobody shares anything; this proves nothing")
	}
}

// TestBlockedRepositoryIsAStateOfItsOwn blocks one repository before and one
// after the first run.
func TestBlockedRepositoryIsAStateOfItsOwn(t *testing.T) {
	for name, opt := range bothWays {
		t.Run(name, func(t *testing.T) {
			c := newClock()
			w := newWorld(t, sim.Options{Seed: 8, Accounts: 1, Shape: smallShape(), Now: c.Now})
			login := w.Logins()[0]
			opt.Now = c.Now
			d := w.driver(t, opt, login)
			repos := w.Repos(login)
			for i := range 2 {
				if err := w.BlockRepo(repos[i]); err != nil {
					t.Fatal(err)
				}
				c.run(d)
				d.noFailures()
				id := d.idOf(repos[i])
				if marked := d.flagged(id); marked["repository blocked"] != 1 {
					t.Errorf("flagged %v", marked)
				}
				if doc := d.docs[document.Key{Account: testAccount, Kind: KindRepository, Name: id}]; doc.State == "empty" {
					t.Error("a blocked repository is said to be empty")
				}
			}
			d.matches(mustTruth(t, w, login, time.Time{}), !opt.NoGraphQL)
			w.ResetAudit()
			c.run(d)
			d.noFailures()
			if rest := w.Audit().ByBucket["core"] - w.Audit().NotModified; rest != 0 && !opt.NoGraphQL {
				t.Errorf("%d REST calls were paid for when nothing changed", rest)
			}
			if marked := d.flagged(d.idOf(repos[0])); marked["repository blocked"] != 1 {
				t.Errorf("after a run in which nothing changed: %v", marked)
			}
		})
	}
}

func TestChecksAreMadeWithOnesOwnToken(t *testing.T) {
	src, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range []domain.JobSpec{jobOf(CheckRepo), jobOf(DiscoverRepo)} {
		if src.Public(spec) {
			t.Errorf("%s may be made with a lent token, to which a private repository is 404", spec.Type)
		}
	}
}
