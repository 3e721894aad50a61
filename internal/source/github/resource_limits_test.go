package github

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/internal/document"

	sim "sluice/internal/simulator/github"
)

// ofKind are the documents of a kind that are there.
func (d *driver) ofKind(kind document.Kind) []document.Document {
	var list []document.Document
	for key, doc := range d.docs {
		if key.Kind == kind && !doc.Deleted {
			list = append(list, doc)
		}
	}
	return list
}

// Days of traffic stay when GitHub does not tell of them any more, and a day that was not
// over is told again.
func TestTrafficIsKeptByTheDay(t *testing.T) {
	c := newClock()
	w := newWorld(t, sim.Options{Seed: 6, Accounts: 1, Now: c.Now, NoPollInterval: true, Shape: &sim.Shape{
		Repos: sim.Exactly(1), Commits: sim.Exactly(1), Issues: sim.Exactly(0), Pulls: sim.Exactly(0)}})
	d := w.driver(t, Options{Resources: []string{"traffic", "star_history"}, Now: c.Now}, w.Logins()[0])
	c.run(d)
	d.noFailures()
	weeks := len(d.ofKind(KindStarWeek))
	// 14 days of views and of clones, 3 paths and 3 referrers.
	if n := len(d.ofKind(KindTraffic)); n != 34 || weeks < 100 {
		t.Errorf("%d days and %d weeks", n, weeks)
	}
	c.advance(10 * 24 * time.Hour)
	c.run(d)
	d.noFailures()
	if n := len(d.ofKind(KindTraffic)); n != 34+2*10+6 {
		t.Errorf("after ten days there are %d", n)
	}
	if more := len(d.ofKind(KindStarWeek)); more < weeks+1 || more > weeks+2 {
		t.Errorf("%d weeks, and then %d", weeks, more)
	}
	for _, doc := range d.ofKind(KindTraffic) {
		if doc.CreatedAt.IsZero() || doc.State == "" || doc.Own["count"].Integer < 0 {
			t.Errorf("%s is %+v", doc.Name, doc.Fields)
		}
	}
}

// What is switched off in a repository, or not for this token, ends without a failure and
// without a document, is not asked for again at once, and the rest is collected.
func TestWhatIsSwitchedOffIsNoFailure(t *testing.T) {
	refusal := func(status int, message string) sim.Fault {
		return sim.Fault{Status: status, Header: http.Header{"Content-Type": {"application/json; charset=utf-8"}}, Body: `{"message":"` + message + `"}`}
	}
	for name, fault := range map[string]sim.Fault{
		"403 disabled":   refusal(http.StatusForbidden, "Dependabot alerts are disabled for this repository."),
		"403 permission": refusal(http.StatusForbidden, "Resource not accessible by personal access token"),
		"403 push":       refusal(http.StatusForbidden, "Must have push access to repository"),
		"403 too large":  refusal(http.StatusForbidden, "The history or contributor list is too large to list contributors for this repository via the API."),
		"404":            refusal(http.StatusNotFound, "no analysis found"),
		"410":            refusal(http.StatusGone, "Issues are disabled for this repo"),
		"204":            {Status: http.StatusNoContent, Body: ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClock()
			w := newWorld(t, sim.Options{Seed: 6, Accounts: 1, Now: c.Now, NoPollInterval: true, Shape: &sim.Shape{
				Repos: sim.Exactly(2), Commits: sim.Exactly(1), Issues: sim.Exactly(2), Pulls: sim.Exactly(2), Parts: sim.Exactly(3)}})
			names := []string{"branches", "tags", "contributors", "workflow_runs", "deployments", "issue_events", "star_history", "traffic", "dependabot_alerts", "code_scanning_alerts"}
			d := w.driver(t, Options{Resources: append(names, "labels"), Now: c.Now}, w.Logins()[0])
			asked := 0
			w.OnRequest(func(r *http.Request, _ int) *sim.Fault {
				for _, part := range []string{"/branches", "/tags", "/contributors", "/actions/", "/deployments", "/issues/events", "/stargazers/", "/traffic/", "/dependabot/", "/code-scanning/"} {
					if strings.Contains(r.URL.Path, part) {
						asked++
						return &fault
					}
				}
				return nil
			})
			c.run(d)
			d.noFailures()
			if asked != 2*(len(names)+3) {
				t.Errorf("%d calls", asked)
			}
			for _, r := range resources() {
				if n := len(d.ofKind(r.kind.Kind)); slices.Contains(names, r.name()) && n != 0 || r.name() == "labels" && n != 6 {
					t.Errorf("%d %s", n, r.name())
				}
			}
			asked = 0
			c.run(d)
			d.noFailures()
			if strings.HasPrefix(name, "40") && asked > 2 { // issue events go by the newest issue
				t.Errorf("asked for %d times again", asked)
			}
			c.advance(8 * 24 * time.Hour)
			w.ClearHooks()
			c.run(d)
			d.noFailures()
			if n := len(d.ofKind(KindBranch)); n != 6 {
				t.Errorf("%d branches when they are switched on", n)
			}
		})
	}
}

// A listing that GitHub cannot give by 100 is asked for in smaller pages, and in larger
// ones again.
func TestPagesShrinkAndGrow(t *testing.T) {
	heavy := map[string]string{
		"comments": "comments", "review_comments": "review_comments", "releases": "releases", "labels": "labels", "milestones": "milestones",
		"branches": "branches", "workflow_runs": "workflow_runs", "issue_events": "issue_events", "deployments": "deployments",
		"discussions": "discussions", "reviews": "pullRequests", "pull_files": "pullRequests",
	}
	for name, connection := range heavy {
		for _, how := range []string{"502", "504", "timeout"} {
			if how == "timeout" && connection != "discussions" && connection != "pullRequests" {
				continue
			}
			t.Run(name+" "+how, func(t *testing.T) {
				w := newWorld(t, sim.Options{Seed: 6, Accounts: 1, Shape: &sim.Shape{
					Repos: sim.Exactly(2), Commits: sim.Exactly(1), Issues: sim.Exactly(60), Pulls: sim.Exactly(60), Parts: sim.Exactly(230)}})
				d := w.driver(t, Options{Resources: []string{name}}, w.Logins()[0])
				for _, repo := range w.Repos(d.login) {
					if err := w.SetHeavy(repo, connection, sim.Heavy{Above: 30, How: how}); err != nil {
						t.Fatal(err)
					}
				}
				sizes := map[string]int{}
				w.OnRequest(func(r *http.Request, _ int) *sim.Fault {
					if size := r.URL.Query().Get("per_page"); size != "" {
						sizes[size]++
					}
					return nil
				})
				d.run(time.Now())
				d.noFailures()
				truth := mustTruth(t, w, d.login, time.Time{})
				d.matches(truth, true)
				// Three pages keep the size that helped before a larger one is tried.
				if connection != "pullRequests" && connection != "discussions" && (sizes["25"] < 4 || sizes["50"] < 4) {
					t.Errorf("pages were asked for as %v", sizes)
				}
			})
		}
	}
}

// What is said about prices in advance is right about how many pages there are.
func TestPricesInAdvance(t *testing.T) {
	w := newWorld(t, sim.Options{Seed: 6, Accounts: 1, Shape: &sim.Shape{
		Repos: sim.Exactly(1), Commits: sim.Exactly(1), Issues: sim.Exactly(60), Pulls: sim.Exactly(60), Parts: sim.Exactly(230)}})
	d := w.driver(t, Options{Resources: ResourceNames()}, w.Logins()[0])
	d.run(time.Now())
	d.noFailures()
	for key, known := range d.known {
		if made := d.pages[key]; known > 1 && made < known {
			t.Errorf("%s: %d of %d pages", key, made, known)
		}
	}
	for _, typ := range []string{RepoReleases, RepoBranches, RepoRuns, RepoIssueEvents} {
		if known := d.known[CursorKey(typ, d.repositoryResource())]; known != 3 {
			t.Errorf("%s announced %d pages", typ, known)
		}
	}
	if len(d.ofKind(KindRun)) != 230 {
		t.Error(fmt.Sprint(len(d.ofKind(KindRun)), " runs"))
	}
}
