package github

import (
	"strings"
	"testing"
	"time"

	sim "sluice/internal/simulator/github"
)

// An older Enterprise Server lacks fields. What is asked about lists is left out, and the
// lists are asked for instead; what cannot be asked for at all ends at once, in plain
// words, and the rest is collected.
func TestFieldsThatThisGitHubDoesNotKnow(t *testing.T) {
	for name, c := range map[string]struct {
		lacking string
		names   []string
		fails   string
		without string // the kind that cannot be had
	}{
		"a list":               {lacking: "Repository.milestones", names: StandardResources()},
		"a field of a list":    {lacking: "Label.updatedAt", names: StandardResources()},
		"long ids of pulls":    {lacking: "PullRequest.fullDatabaseId", names: StandardResources()},
		"long ids of reviews":  {lacking: "PullRequestReview.fullDatabaseId", names: StandardResources()},
		"reviews":              {lacking: "PullRequestReview.submittedAt", names: StandardResources(), fails: "does not know reviews", without: "review"},
		"discussions":          {lacking: "Repository.discussions", names: []string{"discussions", "labels"}, fails: "does not know discussions", without: "discussion"},
		"what pulls show":      {lacking: "PullRequest.reviewRequests", names: []string{"review_requests"}},
		"what all is found by": {lacking: "Repository.nameWithOwner", names: StandardResources()},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, sim.Options{Seed: 3, Accounts: 1, Lacking: []string{c.lacking}, Shape: &sim.Shape{
				Repos: sim.Exactly(2), Commits: sim.Exactly(3), Issues: sim.Exactly(4), Pulls: sim.Exactly(3), Parts: sim.Exactly(5)}})
			d := w.driver(t, Options{Resources: c.names}, w.Logins()[0])
			d.run(time.Now())
			if c.fails == "" {
				d.noFailures()
			}
			for _, f := range d.failures {
				if !strings.Contains(f, c.fails) || !strings.Contains(f, c.lacking[strings.Index(c.lacking, ".")+1:]) {
					t.Errorf("it says %s", f)
				}
			}
			if c.fails != "" && len(d.failures) == 0 {
				t.Errorf("%d jobs failed: %q", len(d.failures), d.failures)
			}
			truth := mustTruth(t, w, d.login, time.Time{})
			for i := range truth.Repositories {
				delete(truth.Repositories[i].Parts, c.without)
			}
			got := d.lines()
			for key := range (expect{measured: true, parts: d.parts()}).lines(truth) {
				rest := c.lacking == "Repository.nameWithOwner" // which does not list reviews
				if _, ok := got[key]; !ok && (!rest || !strings.HasPrefix(key, "review ")) {
					t.Errorf("%s is missing", key)
				}
			}
			if d.calls > 80 {
				t.Errorf("%d calls: something is tried again and again", d.calls)
			}
		})
	}
}
