package engine_test

import (
	"testing"
	"time"

	"sluice/internal/engine"
	"sluice/internal/quota"
	sim "sluice/internal/simulator/github"
	"sluice/internal/testkit"
	"sluice/internal/wiring"
)

// TestForecastKnowsOfPagesToCome: of more repositories than a page holds, the
// first page tells about how many calls all of them take.
func TestForecastKnowsOfPagesToCome(t *testing.T) {
	for _, repos := range []int{130, 260}[:testkit.Effort(1, 2)] {
		w := newWorld(t, sim.Options{Seed: 5, Accounts: 1, Shape: &sim.Shape{
			Repos: sim.Exactly(repos), Commits: sim.Exactly(30), Issues: sim.Exactly(12), Pulls: sim.Exactly(4),
		}}, wiring.Options{Engine: engine.Config{Workers: 1}})
		c := w.signup(w.sim.Logins()[0])
		var early engine.Forecast
		w.until("both walks have read a page", func() bool {
			run, err := w.svc.Engine.State.Runs.Run(t.Context(), c.run.ID)
			if err != nil {
				t.Fatal(err)
			}
			p, err := w.svc.Engine.Progress(t.Context(), run)
			if err != nil {
				t.Fatal(err)
			}
			if p.Forecast == nil {
				t.Fatal("the run ended before anybody looked")
			}
			early = *p.Forecast
			return run.Calls >= 10
		})
		if !early.Discovering {
			t.Fatalf("of %d repositories none is to be found any more", repos)
		}
		made := int64(0)
		for _, b := range early.Buckets {
			made += b.Done
		}
		run := w.wait(c.run)
		w.wantCompleted(run, 0)
		if ratio := float64(made+early.Left) / float64(run.Calls); ratio < 0.8 || ratio > 1.2 {
			t.Errorf("%d repositories: %d calls were forecast, %d made (%.2f)", repos, made+early.Left, run.Calls, ratio)
		}
	}
}

// TestForecastWithoutARation: where no ration is to be kept, the pace of the answers tells
// when a run ends.
func TestForecastWithoutARation(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newBubbleWorld(t, sim.Options{Seed: 5, Accounts: 1, Latency: sim.Latency{Fixed: time.Second}, Shape: &sim.Shape{
			Repos: sim.Exactly(20), Commits: sim.Exactly(30), Issues: sim.Exactly(12), Pulls: sim.Exactly(4),
		}}, wiring.Options{Engine: engine.Config{Workers: 2}, Quota: quota.Config{Buckets: map[string]quota.Limits{}}})
		c := w.signup(w.sim.Logins()[0])
		pass(20 * time.Second)
		p, err := w.svc.Engine.Progress(t.Context(), c.run)
		if err != nil || p.Forecast == nil || p.Forecast.Left == 0 || !p.ETA.After(time.Now()) {
			t.Fatalf("%+v, %v: nobody is told when it ends", p, err)
		}
		w.wantCompleted(w.wait(c.run), 0)
	})
}
