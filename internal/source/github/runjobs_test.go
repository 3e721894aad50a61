package github

import (
	"net/http"
	"strings"
	"testing"
	"time"

	sim "sluice/internal/simulator/github"
)

// refusing lets GitHub refuse what names part, the first times of each address.
func (w *world) refusing(part string, status, times int) {
	met := map[string]int{}
	w.OnRequest(func(r *http.Request, _ int) *sim.Fault {
		if !strings.Contains(r.URL.Path, part) || met[r.URL.Path] >= times {
			return nil
		}
		met[r.URL.Path]++
		return &sim.Fault{Status: status, Header: http.Header{"Content-Type": {"application/json; charset=utf-8"}}, Body: `{"message":"Not Found"}`}
	})
}

// The jobs of a run are stored before the walk over runs counts as done: what was refused,
// or failed for good, is asked for again though the list of runs is as it was.
func TestJobsOfRunsAreNotLeftBehind(t *testing.T) {
	for name, c := range map[string]struct{ status, times int }{
		"refused once":    {http.StatusNotFound, 1},
		"refused twice":   {http.StatusForbidden, 2},
		"failed for good": {http.StatusInternalServerError, 1000},
	} {
		t.Run(name, func(t *testing.T) {
			clock := newClock()
			w := newWorld(t, sim.Options{Seed: 6, Accounts: 1, Now: clock.Now, NoPollInterval: true, Shape: &sim.Shape{
				Repos: sim.Exactly(2), Commits: sim.Exactly(1), Issues: sim.Exactly(0), Pulls: sim.Exactly(0), Parts: sim.Exactly(130)}})
			d := w.driver(t, Options{Resources: []string{"workflow_jobs"}, Now: clock.Now}, w.Logins()[0])
			w.refusing("/jobs", c.status, c.times)
			clock.run(d)
			w.ClearHooks()
			for range 2 {
				clock.run(d)
			}
			d.noFailures()
			truth := mustTruth(t, w, d.login, time.Time{})
			d.matches(truth, true)
			w.OnRequest(func(r *http.Request, _ int) *sim.Fault {
				if strings.Contains(r.URL.Path, "/jobs") {
					t.Errorf("%s is asked for again", r.URL.Path)
				}
				return nil
			})
			clock.run(d)
			d.noFailures()
		})
	}
}

// A list that GitHub would not show once is read from its beginning when it does, though
// nothing tells that it changed.
func TestRefusedListsAreReadFromTheirBeginning(t *testing.T) {
	clock := newClock()
	w := newWorld(t, sim.Options{Seed: 6, Accounts: 1, Now: clock.Now, NoPollInterval: true, Shape: &sim.Shape{
		Repos: sim.Exactly(2), Commits: sim.Exactly(1), Issues: sim.Exactly(40), Pulls: sim.Exactly(20), Parts: sim.Exactly(250)}})
	d := w.driver(t, Options{Resources: []string{"workflow_runs", "deployments", "issue_events"}, Now: clock.Now, SweepEvery: time.Hour}, w.Logins()[0])
	for _, part := range []string{"/actions/runs", "/deployments", "/issues/events"} {
		w.refusing(part, http.StatusNotFound, 1)
	}
	clock.run(d)
	d.noFailures()
	w.ClearHooks()
	clock.advance(2 * time.Hour)
	clock.run(d)
	d.noFailures()
	truth := mustTruth(t, w, d.login, time.Time{})
	d.matches(truth, true)
}

// Each attempt of a run has jobs of its own: those of attempts that were over before the
// run was collected are collected too, and those of later ones added.
func TestJobsOfAllAttempts(t *testing.T) {
	clock := newClock()
	w := newWorld(t, sim.Options{Seed: 6, Accounts: 1, Now: clock.Now, NoPollInterval: true, Shape: &sim.Shape{
		Repos: sim.Exactly(1), Commits: sim.Exactly(1), Issues: sim.Exactly(0), Pulls: sim.Exactly(0), Parts: sim.Exactly(5)}})
	d := w.driver(t, Options{Resources: []string{"workflow_jobs"}, Now: clock.Now}, w.Logins()[0])
	repo := w.Repos(d.login)[0]
	for range 3 {
		for range 2 {
			clock.advance(time.Minute)
			if err := w.EditPart(repo, "workflow_run", 2); err != nil {
				t.Fatal(err)
			}
		}
		clock.run(d)
		d.noFailures()
		d.matches(mustTruth(t, w, d.login, time.Time{}), true)
	}
}
