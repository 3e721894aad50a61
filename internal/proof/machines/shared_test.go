package machines_test

import (
	"context"
	"testing"
	"time"

	"sluice/internal/engine"
	sim "sluice/internal/simulator/github"
	"sluice/internal/testkit/sluice"
)

// TestMachinesCollectARepositoryOnce has several processes collect a user and two of
// its repositories with one token, wherever documents are kept, while one of them is
// killed: what they have in common is paid once, but for the calls of who was killed.
func TestMachinesCollectARepositoryOnce(t *testing.T) {
	t.Parallel()
	for name, mongo := range map[string]bool{"documents beside the state": false, "documents in MongoDB": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachines(t, sim.Options{
				Seed: 7, Accounts: 1, Shape: &sim.Shape{Repos: sim.Exactly(3), Commits: sim.Exactly(130), Issues: sim.Exactly(20), Pulls: sim.Exactly(5)},
				Latency: sim.Latency{Fixed: 20 * time.Millisecond}, Limits: sim.Limits{Window: time.Hour, Minute: time.Hour, CoreLimit: 1000, GraphQLLimit: 1000},
			}, mongo, 2, 1)
			login := m.upstream.Logins()[0]
			targets := []string{login}
			for _, r := range m.upstream.Repos(login)[:2] {
				targets = append(targets, r.Owner+"/"+r.Name)
			}
			var runs []int64
			for _, target := range targets {
				answer, err := m.API.Signup(t.Context(), engine.Signup{Source: "github", Login: target, Token: m.upstream.Token(login)})
				if err != nil {
					t.Fatal(err)
				}
				runs = append(runs, answer.Run.ID)
			}
			m.kill(m.Members[1])
			svc := m.Look()
			ctx, cancel := context.WithTimeout(t.Context(), sluice.Patience)
			defer cancel()
			calls := int64(0)
			for _, id := range runs {
				run, err := svc.WaitRun(ctx, id)
				if err != nil || run.Failed != 0 {
					t.Fatalf("run %d: %+v (%v)\n%s\n%s", id, run, err, m.whatIsLeft(svc), m.LastWords())
				}
				t.Logf("%s: %+v", run.Login, run.RunCounts)
				calls += run.Calls
			}
			// Alone the user takes 14 calls, and each of its repositories 5.
			const alone, find, workers = 14, 2, 4
			if most := int64(alone + find*(len(targets)-1) + workers); calls > most {
				t.Errorf("all of it took %d calls, want at most %d", calls, most)
			}
			sluice.EqualsTruthOf(t, svc, m.upstream, targets, sluice.NoResources)
		})
	}
}
