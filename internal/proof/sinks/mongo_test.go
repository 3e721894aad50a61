package sinks_test

import (
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"

	"sluice/internal/backoff"
	sim "sluice/internal/simulator/github"
	"sluice/internal/testkit"
	"sluice/internal/testkit/sluice"
)

// TestMongoIsFollowed: what follows the feed of documents works where these are in
// MongoDB: changes, search, and exports of what has changed.
func TestMongoIsFollowed(t *testing.T) {
	u := sluice.NewUpstream(t, sim.Options{Seed: sluice.Seeded(t).Uint64(), Accounts: 1,
		Shape: &sim.Shape{Repos: sim.Between(4, 6), Commits: sim.Between(1, 5), Issues: sim.Between(1, 5), Pulls: sim.Between(1, 3)}})
	dir, where := t.TempDir(), []string{"SLUICE_MONGO=" + testkit.Mongo(t)}
	s := sluice.UpIn(t, u, dir, where, "--floor", "0")
	login := u.Logins()[0]
	s.Completes(s.Signup(login, u.Token(login)))
	type page struct {
		Items  []struct{ Kind, What string }
		Behind struct {
			Changes  int
			Building bool
		}
	}
	// The full name of a repository begins with the login.
	word := strings.FieldsFunc(login, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })[0]
	found := page{}
	for found.Behind.Building = true; found.Behind.Building || found.Behind.Changes > 0; {
		if !backoff.Sleep(t.Context(), 100*time.Millisecond) {
			t.Fatal("the index is never up to date")
		}
		found = sluice.Decode[page](t, s.Get("/api/v1/search?q="+url.QueryEscape(word)))
	}
	if len(found.Items) == 0 {
		t.Fatalf("nothing is found by %q", word)
	}
	changes := sluice.Decode[page](t, s.Get("/api/v1/changes?after=0&limit=1000&kind=repositories"))
	if len(changes.Items) == 0 || changes.Items[0].What != "created" {
		t.Errorf("the feed tells %+v of repositories", changes.Items)
	}
	s.Signal(syscall.SIGTERM)
	s.Ends()
	if hits := sluice.Run(t, where, "doc", "search", word, "--data-dir", dir).Expect(t, 0).Out; !strings.Contains(hits, found.Items[0].Kind) {
		t.Errorf("by %q is found %q, and no %s", word, hits, found.Items[0].Kind)
	}
	for _, kind := range []string{"repositories", "commits", "issues"} {
		all := sluice.Run(t, where, "export", "--kind", kind, "--format", "jsonl", "--data-dir", dir).Expect(t, 0).Out
		changed := sluice.Run(t, where, "export", "--kind", kind, "--format", "jsonl", "--data-dir", dir, "--changed-since", "0").Expect(t, 0).Out
		if all == "" || strings.Count(all, "\n") != strings.Count(changed, "\n") {
			t.Errorf("%d %s are exported, and %d of those that have changed", strings.Count(all, "\n"), kind, strings.Count(changed, "\n"))
		}
	}
}
