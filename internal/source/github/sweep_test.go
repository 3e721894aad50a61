package github

import (
	"errors"
	"testing"
	"time"

	"sluice/internal/document"
	"sluice/internal/domain"
	sim "sluice/internal/simulator/github"
	"sluice/internal/source"
)

// TestSweepFindsWhatWasDeleted deletes issues and pull requests behind the
// collector's back: only a sweep can tell.
func TestSweepFindsWhatWasDeleted(t *testing.T) {
	c := newClock()
	w := newWorld(t, sim.Options{Seed: 5, Accounts: 1, Now: c.Now, Shape: &sim.Shape{
		Repos: sim.Exactly(1), Commits: sim.Exactly(1), Issues: sim.Exactly(230), Pulls: sim.Exactly(20),
	}})
	login := w.Logins()[0]
	d := w.driver(t, Options{SweepEvery: 24 * time.Hour, Now: c.Now}, login)
	c.run(d)
	d.noFailures()

	repo := w.Repos(login)[0]
	truth, err := w.Truth(login, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	issues, pulls := truth.Repositories[0].Issues, truth.Repositories[0].Pulls
	gone := map[document.Kind]map[int64]bool{
		KindIssue: {int64(issues[0].Number): true, int64(issues[120].Number): true, int64(issues[229].Number): true},
		KindPull:  {int64(pulls[7].Number): true},
	}
	for _, numbers := range gone {
		for n := range numbers {
			if err := w.DeleteIssue(repo, int(n)); err != nil {
				t.Fatal(err)
			}
		}
	}

	c.run(d)
	if marked := d.deleted(); len(marked) != 0 {
		t.Errorf("a run before the sweep is due marked %v", marked)
	}
	before := d.calls
	c.advance(24 * time.Hour)
	c.run(d)
	d.noFailures()
	marked := d.deleted()
	for kind, numbers := range gone {
		for n := range numbers {
			if !marked[kind][n] {
				t.Errorf("%s %d was deleted and is not marked", kind, n)
			}
		}
		if len(marked[kind]) != len(numbers) {
			t.Errorf("marked %v as deleted %ss, want %v", marked[kind], kind, numbers)
		}
	}
	if sweeps := d.pages[CursorKey(SweepIssues, d.repositoryResource())]; sweeps != 3 {
		t.Errorf("227 issues took %d calls to sweep (%d before), want 3", sweeps, before)
	}
}

// deleted lists the numbers that are marked, by kind.
func (d *driver) deleted() map[document.Kind]map[int64]bool {
	marked := map[document.Kind]map[int64]bool{}
	for key, doc := range d.docs {
		if doc.Deleted {
			if marked[key.Kind] == nil {
				marked[key.Kind] = map[int64]bool{}
			}
			marked[key.Kind][doc.Number] = true
		}
	}
	return marked
}

func TestSweepsAreLowPriority(t *testing.T) {
	src, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := src.discovery(src.newCall(source.Call{}, params{}), &answer{date: time.Now()})
	d.c.Cursors = map[string]time.Time{CursorKey(SweepPulls, "repo:42"): time.Now().Add(-8 * 24 * time.Hour)}
	d.sweep(SweepPulls, BucketGraphQL, repository{repoRef: testRepo})
	if len(d.res.Next) != 1 || d.res.Next[0].Priority != domain.PriorityLow || d.res.Next[0].Class != domain.ClassChild {
		t.Errorf("planned %+v", d.res.Next)
	}
}

// What happened to an issue goes with it and comes back with it, and so do the jobs of a
// run: neither takes a call of its own.
func TestWhatBelongsGoesWithIt(t *testing.T) {
	c := newClock()
	w := newWorld(t, sim.Options{Seed: 5, Accounts: 1, Now: c.Now, NoPollInterval: true, Shape: &sim.Shape{
		Repos: sim.Exactly(1), Commits: sim.Exactly(1), Issues: sim.Exactly(12), Pulls: sim.Exactly(4), Parts: sim.Exactly(120),
	}})
	login := w.Logins()[0]
	d := w.driver(t, Options{SweepEvery: 24 * time.Hour, Now: c.Now, Resources: []string{"issue_events", "workflow_jobs"}}, login)
	c.run(d)
	d.noFailures()
	gone := func() map[document.Kind]int {
		n := map[document.Kind]int{}
		for _, doc := range d.docs {
			if doc.Deleted {
				n[doc.Kind]++
			}
		}
		return n
	}
	repo := w.Repos(login)[0]
	number := mustTruth(t, w, login, time.Time{}).Repositories[0].Issues[3].Number
	if err := errors.Join(w.DeleteIssue(repo, number), w.DeletePart(repo, sim.PartRun, 7)); err != nil {
		t.Fatal(err)
	}
	for _, back := range []bool{false, true} {
		if back {
			if err := w.RestoreIssue(repo, number); err != nil {
				t.Fatal(err)
			}
		}
		c.advance(25 * time.Hour)
		c.run(d)
		d.noFailures()
		d.matches(mustTruth(t, w, login, time.Time{}), true)
		if n := gone(); (n[KindIssueEvent] > 0) == back || (n[KindIssue] == 1) == back || n[KindRunJob] == 0 {
			t.Errorf("restored %t: gone are %v", back, n)
		}
	}
}

// Pages move up when an issue is deleted with its events while they are read: what slipped
// past the walk is brought by the next sweep.
func TestEventsThatSlippedPastAreFoundBySweeps(t *testing.T) {
	c := newClock()
	w := newWorld(t, sim.Options{Seed: 6, Accounts: 1, Now: c.Now, NoPollInterval: true, Shape: &sim.Shape{
		Repos: sim.Exactly(1), Commits: sim.Exactly(1), Issues: sim.Exactly(60), Pulls: sim.Exactly(0), Parts: sim.Exactly(250)}})
	d := w.driver(t, Options{Resources: []string{"issue_events"}, Now: c.Now, SweepEvery: time.Hour}, w.Logins()[0])
	repo := w.Repos(d.login)[0]
	deleted := 0
	d.before = func(spec domain.JobSpec) {
		if spec.Type == RepoIssueEvents && spec.PageKey == "2" && deleted == 0 {
			for number := 41; number <= 60; number++ {
				if w.DeleteIssue(repo, number) == nil {
					deleted++
				}
			}
		}
	}
	c.run(d)
	d.noFailures()
	first, found := map[string]bool{}, 0
	for _, doc := range d.ofKind(KindIssueEvent) {
		first[doc.Name] = true
	}
	c.advance(2 * time.Hour)
	c.run(d)
	d.noFailures()
	for _, doc := range d.ofKind(KindIssueEvent) {
		if !first[doc.Name] {
			found++
		}
	}
	if deleted == 0 || found == 0 {
		t.Errorf("%d issues were deleted, and %d events found later", deleted, found)
	}
	d.matches(mustTruth(t, w, d.login, time.Time{}), true)
}
