package github

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"sluice/internal/document"

	sim "sluice/internal/simulator/github"
)

func TestResourcesAreCollected(t *testing.T) {
	for name, opt := range bothWays {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, sim.Options{Seed: 3, Accounts: 3, Organizations: 1, NoPollInterval: true, Shape: &sim.Shape{
				Repos: sim.Between(3, 5), Commits: sim.Between(0, 9), Issues: sim.Between(0, 30), Pulls: sim.Between(0, 20),
				Parts: sim.Between(0, 230), Oddities: true}})
			opt.Resources = ResourceNames()
			for _, login := range w.Logins() {
				d := w.driver(t, opt, login)
				d.run(time.Now())
				d.noFailures()
				d.matches(mustTruth(t, w, login, time.Time{}), !opt.NoGraphQL)
			}
		})
	}
}

func resourceWorld(t *testing.T, c *clock, names []string) (w *world, d *driver, repo sim.Repo) {
	t.Helper()
	w = newWorld(t, sim.Options{Seed: 6, Accounts: 1, NoPollInterval: true, Now: c.Now, Shape: &sim.Shape{
		Repos: sim.Exactly(2), Commits: sim.Exactly(3), Issues: sim.Exactly(20), Pulls: sim.Exactly(10), Parts: sim.Exactly(130)}})
	login := w.Logins()[0]
	d = w.driver(t, Options{Resources: names, Now: c.Now, SweepEvery: 24 * time.Hour}, login)
	c.run(d)
	d.noFailures()
	return w, d, w.Repos(login)[0]
}

// pullOf is the number of a pull request.
func pullOf(t *testing.T, w *world, login string) int {
	t.Helper()
	return mustTruth(t, w, login, time.Time{}).Repositories[0].Pulls[0].Number
}

func TestChangedResourcesAreCollected(t *testing.T) {
	c := newClock()
	w, d, repo := resourceWorld(t, c, StandardResources())
	number := pullOf(t, w, d.login)
	for _, err := range []error{
		w.AddPart(repo, sim.PartComment, number), w.EditPart(repo, sim.PartComment, 5),
		w.AddPart(repo, sim.PartReviewComment, number), w.EditPart(repo, sim.PartReviewComment, 7),
		w.AddPart(repo, sim.PartReview, number), w.EditPart(repo, sim.PartReview, 9),
		w.AddPart(repo, sim.PartRelease, 0), w.DeletePart(repo, sim.PartRelease, 3), w.EditPart(repo, sim.PartRelease, 125),
		w.EditPart(repo, sim.PartLabel, 1), w.DeletePart(repo, sim.PartLabel, 129),
		w.DeletePart(repo, sim.PartMilestone, 0), w.AddPart(repo, sim.PartMilestone, 0),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	c.run(d)
	d.noFailures()
	d.matches(mustTruth(t, w, d.login, time.Time{}), true)
	if charged := d.calls - d.free; charged > 18 {
		t.Errorf("%d calls were charged", charged)
	}
	c.run(d)
	if charged := d.calls - d.free; charged != 2 {
		t.Errorf("nothing changed, and %d of %d calls were charged", charged, d.calls)
	}
	c.run(d)
	// Of labels and releases beyond 100 discovery cannot tell: both pages of both lists
	// of both repositories are asked for.
	if d.free != 2+8 {
		t.Errorf("nothing changed, and %d free calls were made", d.free)
	}
}

// partsOf are the kinds that the simulator can change beside the standard ones.
func optionalParts() []string {
	return []string{sim.PartBranch, sim.PartTag, sim.PartContributor, sim.PartRun, sim.PartDeployment, sim.PartIssueEvent, sim.PartDiscussion,
		sim.PartPullCommit, sim.PartPullFile, sim.PartDependabot, sim.PartScanning}
}

// What is added, changed and deleted of every other resource is found: deletions of
// what is listed as a whole at once, others by a sweep.
func TestChangedOptionalResourcesAreCollected(t *testing.T) {
	c := newClock()
	w, d, _ := resourceWorld(t, c, ResourceNames())
	d.matches(mustTruth(t, w, d.login, time.Time{}), true)
	for _, repo := range w.Repos(d.login) {
		number := pullOf(t, w, d.login)
		for _, kind := range optionalParts() {
			_ = w.AddPart(repo, kind, number)
			_ = w.EditPart(repo, kind, 129) // of a feed, what changed long ago is found by a sweep
			if kind != sim.PartIssueEvent { // GitHub has no way to delete one alone
				_ = w.DeletePart(repo, kind, 7)
			}
		}
	}
	c.advance(48 * time.Hour)
	c.run(d)
	d.noFailures()
	d.matches(mustTruth(t, w, d.login, time.Time{}), true)
	gone := map[document.Kind]int{}
	for key := range d.gone {
		gone[key.Kind]++
	}
	for _, kind := range optionalParts() {
		if n := gone[document.Kind(kind)]; n == 0 && kind != sim.PartIssueEvent {
			t.Errorf("no %s is said to be gone", kind)
		}
	}
}

func TestASweepFindsDeletedComments(t *testing.T) {
	c := newClock()
	w, d, repo := resourceWorld(t, c, StandardResources())
	for _, err := range []error{w.DeletePart(repo, sim.PartComment, 0), w.DeletePart(repo, sim.PartReviewComment, 129), w.DeletePart(repo, sim.PartReview, 4)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	c.advance(48 * time.Hour)
	c.run(d)
	d.noFailures()
	d.matches(mustTruth(t, w, d.login, time.Time{}), true)
}

// A listing of comments that goes on beyond the last page which GitHub counts is asked
// for in slices of time. Only where more than so many pages changed within a second
// would there be no way.
func TestCommentsBeyondTheLastPage(t *testing.T) {
	c := newClock()
	w := newWorld(t, sim.Options{Seed: 6, Accounts: 1, NoPollInterval: true, Now: c.Now, DeepestPage: 2, Shape: &sim.Shape{
		Repos: sim.Exactly(1), Commits: sim.Exactly(1), Issues: sim.Exactly(60), Pulls: sim.Exactly(30), Parts: sim.Exactly(730)}})
	d := w.driver(t, Options{Resources: []string{"comments", "review_comments"}, Now: c.Now, SweepEvery: time.Minute}, w.Logins()[0])
	for range 2 { // the second sweeps
		c.run(d)
		d.noFailures()
		d.matches(mustTruth(t, w, d.login, time.Time{}), true)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+"/repos/"+mustTruth(t, w, d.login, time.Time{}).Repositories[0].FullName+"/issues/comments?per_page=100&page=3", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("User-Agent", "test")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("the third page is %d: there is no wall", answer.StatusCode)
	}
}

// What is deleted, added or changed between two pages neither hides anything nor is
// anything said to be gone that is there.
func TestResourcesThatChangeWhileTheyAreRead(t *testing.T) {
	for _, kind := range []string{sim.PartComment, sim.PartReviewComment, sim.PartRelease, sim.PartLabel, sim.PartMilestone} {
		t.Run(kind, func(t *testing.T) {
			c := newClock()
			w := newWorld(t, sim.Options{Seed: 6, Accounts: 1, NoPollInterval: true, Now: c.Now, Shape: &sim.Shape{
				Repos: sim.Exactly(1), Commits: sim.Exactly(3), Issues: sim.Exactly(20), Pulls: sim.Exactly(10), Parts: sim.Exactly(330)}})
			login := w.Logins()[0]
			d := w.driver(t, Options{Resources: ResourceNames(), Now: c.Now, SweepEvery: time.Hour}, login)
			repo, number := w.Repos(login)[0], pullOf(t, w, login)
			path := map[string]string{sim.PartComment: "/issues/comments", sim.PartReviewComment: "/pulls/comments"}[kind]
			if path == "" {
				path = "/" + kind + "s"
			}
			seen := 0
			w.OnRequest(func(r *http.Request, _ int) *sim.Fault {
				if !strings.HasSuffix(r.URL.Path, path) {
					return nil
				}
				switch seen++; seen {
				case 2:
					c.advance(time.Second)
					if err := w.DeletePart(repo, kind, 2); err != nil {
						t.Error(err)
					}
				case 3:
					c.advance(time.Second)
					if err := w.EditPart(repo, kind, 1); err != nil {
						t.Error(err)
					}
				case 4:
					if err := w.AddPart(repo, kind, number); err != nil {
						t.Error(err)
					}
				}
				return nil
			})
			c.run(d)
			d.noFailures()
			if len(d.gone) > 1 {
				t.Errorf("%d things are said to be gone", len(d.gone))
			}
			w.ClearHooks()
			c.run(d)
			c.run(d)
			d.noFailures()
			d.matches(mustTruth(t, w, login, time.Time{}), true)
		})
	}
}

func TestResourcesUnderFaults(t *testing.T) {
	for name, fault := range map[string]sim.Fault{"404 once": notFoundFault(), "502": {Status: 502, Body: "<html>"}} {
		for _, path := range []string{"/issues/comments", "/pulls/comments", "/releases", "/labels", "/milestones"} {
			t.Run(name+path, func(t *testing.T) {
				c := newClock()
				w := newWorld(t, sim.Options{Seed: 6, Accounts: 1, Now: c.Now, Shape: &sim.Shape{
					Repos: sim.Exactly(1), Commits: sim.Exactly(3), Issues: sim.Exactly(20), Pulls: sim.Exactly(10), Parts: sim.Exactly(230)}})
				d := w.driver(t, Options{Resources: ResourceNames(), Now: c.Now}, w.Logins()[0])
				w.FailNext(sim.PathContains(path), 1, fault)
				c.run(d)
				d.noFailures()
				d.matches(mustTruth(t, w, d.login, time.Time{}), true)
			})
		}
	}
}

func TestUnknownResourcesAreRefused(t *testing.T) {
	if _, err := New(Options{Resources: []string{"stars"}}); err == nil {
		t.Error("there is no such resource")
	}
	if names, unknown := resourcesOf("labels, all"); unknown != "" || len(names) != len(ResourceNames()) {
		t.Errorf("all are %v", names)
	}
}

// A pull request with more reviews than a page holds, and answers that lack parts.
func TestManyReviewsAndPartialAnswers(t *testing.T) {
	for name, path := range map[string]string{
		"whole answers": "", "a pull request": "node.pullRequests.nodes.0", "its reviews": "node.pullRequests.nodes.1.reviews",
		"a review": "node.pullRequests.nodes.0.reviews.nodes.0", "its author": "node.pullRequests.nodes.0.reviews.nodes.2.author", "the list": "node.pullRequests",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, sim.Options{Seed: 6, Accounts: 1, Shape: &sim.Shape{
				Repos: sim.Exactly(1), Commits: sim.Exactly(1), Issues: sim.Exactly(1), Pulls: sim.Exactly(2), Parts: sim.Exactly(530)}})
			d := w.driver(t, Options{Resources: []string{"reviews"}}, w.Logins()[0])
			if path != "" {
				w.FailNext(isQuery("submittedAt"), 1, sim.Fault{Partial: &sim.Partial{Path: path}})
			}
			d.run(time.Now())
			d.noFailures()
			want := mustTruth(t, w, d.login, time.Time{}).Repositories[0].Parts["review"]
			got := 0
			for key := range d.docs {
				if key.Kind == KindReview {
					got++
				}
			}
			if got != len(want) || got != 530 {
				t.Errorf("%d of %d reviews", got, len(want))
			}
			for _, p := range want {
				if doc := d.docs[document.Key{Account: testAccount, Kind: KindReview, Name: formatID(p.ID)}]; doc.Author != p.Author || int(doc.Number) != p.Number {
					t.Errorf("review %d is by %q, want %q", p.ID, doc.Author, p.Author)
				}
			}
		})
	}
}

// Reviews of several small repositories come at once; what an answer lacks of one of
// them comes by itself.
func TestReviewsOfSeveralRepositories(t *testing.T) {
	for name, fault := range map[string]sim.Fault{
		"whole answers": {}, "a repository": {Partial: &sim.Partial{Path: "nodes.1"}}, "its pull requests": {Partial: &sim.Partial{Path: "nodes.1.pullRequests"}},
		"its reviews": {Partial: &sim.Partial{Path: "nodes.0.pullRequests.nodes.1.reviews"}}, "a review": {Partial: &sim.Partial{Path: "nodes.2.pullRequests.nodes.0.reviews.nodes.0"}},
		"not found": {Partial: &sim.Partial{Path: "nodes.1", Type: "NOT_FOUND"}}, "502": {Status: 502, Body: "<html>"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, sim.Options{Seed: 6, Accounts: 1, Shape: &sim.Shape{
				Repos: sim.Exactly(5), Commits: sim.Exactly(1), Issues: sim.Exactly(1), Pulls: sim.Between(2, 6), Parts: sim.Between(5, 130)}})
			d := w.driver(t, Options{Resources: []string{"reviews", "pull_files"}}, w.Logins()[0])
			if name != "whole answers" {
				w.FailNext(isQuery("submittedAt"), 1, fault)
			}
			d.run(time.Now())
			d.noFailures()
			d.matches(mustTruth(t, w, d.login, time.Time{}), true)
			if packs := d.pages[CursorKey(RepoReviews, userResource(d.login))]; packs != 1 {
				t.Errorf("%d packs", packs)
			}
		})
	}
}
