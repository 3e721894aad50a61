package github

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/source"

	sim "sluice/internal/simulator/github"
)

// storedDocuments is what calls may know of the documents of a driver.
type storedDocuments struct {
	source.Shared
	d *driver
}

// Document implements source.Shared.
func (s storedDocuments) Document(_ context.Context, key document.Key) (document.Document, bool, error) {
	doc, ok := s.d.docs[key]
	return doc, ok, nil
}

// historyWorld has one repository with more than a page of commits.
func historyWorld(t *testing.T, opt Options) (*clock, *world, *driver, sim.Repo) {
	t.Helper()
	c := newClock()
	w := newWorld(t, sim.Options{Seed: 6, Accounts: 1, NoPollInterval: true, Now: c.Now,
		Shape: &sim.Shape{Repos: sim.Exactly(1), Commits: sim.Exactly(130), Issues: sim.Exactly(0), Pulls: sim.Exactly(0)}})
	login := w.Logins()[0]
	opt.Now = c.Now
	d := w.driver(t, opt, login)
	if opt.NoGraphQL {
		d.shared = storedDocuments{d: d}
	}
	c.run(d)
	d.noFailures()
	return c, w, d, w.Repos(login)[0]
}

// TestRewrittenCommitsAreFlagged has a commit stored that the history has not, and pushes:
// with GraphQL the next run notices, else a sweep.
func TestRewrittenCommitsAreFlagged(t *testing.T) {
	for name, opt := range bothWays {
		t.Run(name, func(t *testing.T) {
			c, w, d, repo := historyWorld(t, opt)
			for key, page := range d.stored {
				if strings.HasPrefix(key, CommitStats) {
					page.ETag = "pushed away"
					d.stored[key] = page
				}
			}
			var lost document.Document
			for _, doc := range d.docs {
				if doc.Kind == KindCommit {
					lost = doc
				}
			}
			lost.Name = formatID(lost.Repository) + ":pushed-away"
			d.store(lost)
			if err := w.Push(repo, 1); err != nil {
				t.Fatal(err)
			}
			if opt.NoGraphQL {
				c.run(d)
				if d.docs[lost.Key].Deleted {
					t.Error("a walk over new commits says that an old one is gone")
				}
				c.advance(8 * 24 * time.Hour)
			}
			c.run(d)
			d.noFailures()
			if doc := d.docs[lost.Key]; !doc.Deleted || doc.GoneWhy != document.GoneRewritten {
				t.Errorf("the commit is %+v", doc.Fields)
			}
			d.matches(mustTruth(t, w, d.login, time.Time{}), !opt.NoGraphQL)
		})
	}
}

// A forced push takes commits away, and a merge brings some that are dated long ago. Both
// are noticed, by REST within the time between two sweeps, and at the price of a listing:
// statistics are asked for of what is not stored alone.
func TestForcedPushesAndLateMergesAreNoticed(t *testing.T) {
	for name, opt := range bothWays {
		t.Run(name, func(t *testing.T) {
			c, w, d, repo := historyWorld(t, opt)
			for _, change := range []func() error{
				func() error { return w.ForcePush(repo, 20, 3) },
				func() error { return w.MergeLate(repo, 7) },
			} {
				if err := change(); err != nil {
					t.Fatal(err)
				}
				c.advance(8 * 24 * time.Hour)
				c.run(d)
				d.noFailures()
				d.matches(mustTruth(t, w, d.login, time.Time{}), !opt.NoGraphQL)
				// Discovery, the profile, events and the listings; a sweep; the new commits.
				if d.calls > 12+3+8 {
					t.Errorf("it took %d calls", d.calls)
				}
			}
			gone := 0
			for _, doc := range d.docs {
				if doc.Deleted && doc.GoneWhy == document.GoneRewritten {
					gone++
				}
			}
			if gone != 20 {
				t.Errorf("%d commits are said to be gone, 20 were pushed away", gone)
			}
			// Nothing was pushed since: there is nothing to sweep.
			c.advance(8 * 24 * time.Hour)
			c.run(d)
			if swept := d.pages[CursorKey(SweepCommits, d.repositoryResource())]; swept != 0 {
				t.Errorf("%d calls swept a history to which nothing was pushed", swept)
			}
		})
	}
}

// A forced push between two pages of a sweep moves commits of the later page onto the
// earlier one. None of those is said to be gone.
func TestForcedPushWithinASweep(t *testing.T) {
	c, w, d, repo := historyWorld(t, Options{NoGraphQL: true})
	pushed := false
	d.before = func(job domain.JobSpec) {
		if job.Type == SweepCommits && job.PageKey == "2" && !pushed {
			pushed = true
			if err := w.ForcePush(repo, 10, 1); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Push(repo, 1); err != nil {
		t.Fatal(err)
	}
	c.advance(8 * 24 * time.Hour)
	c.run(d)
	d.noFailures()
	if len(d.gone) != 0 || !pushed {
		t.Errorf("pushed: %t; %d commits are said to be gone", pushed, len(d.gone))
	}
	c.advance(8 * 24 * time.Hour)
	c.run(d)
	d.noFailures()
	d.matches(mustTruth(t, w, d.login, time.Time{}), false)
	if len(d.gone) != 10 {
		t.Errorf("%d commits are said to be gone, 10 were pushed away", len(d.gone))
	}
}

// Where nobody can say what is stored, a sweep asks for every commit, and a repository
// that lost all of its commits has nothing to sweep.
func TestSweepOfCommitsAsks(t *testing.T) {
	src := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := `[{"sha":"aaa","commit":{"committer":{"date":"2026-01-01T00:00:00Z"}}}]`
		if strings.HasPrefix(r.URL.Path, "/repositories/43/") {
			body = `[]`
		}
		if r.URL.Query().Get("sha") == "" && r.URL.Query().Get("per_page") != "1" {
			t.Errorf("asked for %s", r.URL)
		}
		_, _ = w.Write([]byte(body))
	}), Options{NoGraphQL: true})
	call := callOf(jobOf(SweepCommits))
	call.Cursors = map[string]time.Time{CursorKey(RepoCommits, "repo:42"): testNow.Add(-time.Hour)}
	head := src.Call(t.Context(), call)
	if len(head.Next) != 1 || len(head.Documents)+len(head.Cursors)+len(head.Absences) != 0 {
		t.Fatalf("%+v", head)
	}
	call.Job.JobSpec = head.Next[0]
	if res := src.Call(t.Context(), call); len(res.Next) != 1 || res.Next[0].Type != CommitDetail || len(res.Absences) != 1 || len(res.Cursors) != 1 {
		t.Errorf("%+v", res)
	}
	other := testRepo
	other.ID = 43
	empty := src.Call(t.Context(), callOf(params{Repo: &other}.spec(SweepCommits, "repo:43", "", BucketCore)))
	if empty.Verdict != source.Done || len(empty.Cursors) != 1 || len(empty.Next)+len(empty.Absences) != 0 {
		t.Errorf("%+v", empty)
	}
}
