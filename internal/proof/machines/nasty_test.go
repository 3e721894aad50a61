package machines_test

import (
	"context"
	"flag"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/httpapi/wire"
	sim "sluice/internal/simulator/github"
	"sluice/internal/source/github"
	"sluice/internal/testkit"
	"sluice/internal/testkit/sluice"
	"sluice/internal/wiring"
)

var nastyFaults = flag.Int("nasty-faults", 5, "how many faults of machines there are beside those of a nasty upstream")

// TestChaosNastyMachines lets the upstream do everything that GitHub does while
// processes and servers fail. When both stop, one quiet run of each account
// brings the copy to the truth, wherever documents are kept.
func TestChaosNastyMachines(t *testing.T) {
	t.Parallel()
	for name, mongo := range map[string]bool{"documents beside the state": false, "documents in MongoDB": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			random := sluice.Seeded(t)
			shape := &sim.Shape{
				Repos: sim.Between(4, 8), Commits: sim.Between(0, 30), Issues: sim.Between(0, 30), Pulls: sim.Between(0, 10), Oddities: true,
			}
			if mongo && testing.Short() && !testkit.HasMongod() {
				// The stand-in for MongoDB searches everything it has for each document.
				shape.Commits, shape.Issues, shape.Pulls = sim.Between(0, 10), sim.Between(0, 10), sim.Between(0, 5)
			}
			m := newMachines(t, sim.Options{
				Seed: random.Uint64(), Accounts: 3, NoPollInterval: true,
				Shape:   shape,
				Latency: sim.Latency{Fixed: 5 * time.Millisecond},
				Limits:  sim.Limits{Window: machineWindow, Minute: machineWindow, CoreLimit: 100, GraphQLLimit: 100},
				Nasty: &sim.Nasty{
					Seed: random.Uint64(), Rate: 0.1, Changes: 0.05, Slow: sim.Duration(200 * time.Millisecond), Huge: 1 << 20,
					// Nobody waits that long in a test, and no account pauses
					// before it was collected.
					Except: []string{sim.FaultAbsurdWait, sim.FaultSecondarySilent, sim.FaultSecondary, sim.FaultResetFar},
				},
			}, mongo, 2, 1)
			m.signup()
			m.suffer(*nastyFaults, random, func() {
				// What is complete is collected again.
				for _, login := range m.upstream.Logins() {
					_, _ = m.API.Signup(t.Context(), m.account(login))
				}
			})
			injected := m.upstream.Audit().Injected
			m.upstream.SetNasty(sim.Nasty{})
			t.Logf("%d kinds of faults and changes of the upstream: %v", len(injected), injected)
			svc := m.Look()
			ctx, cancel := context.WithTimeout(t.Context(), sluice.Patience)
			defer cancel()
			for range 2 {
				// The first lets what is under way end, which may lack what went
				// wrong before; the second is the quiet one.
				m.collectAll(ctx, svc)
				// Dates have whole seconds: what comes next is to have another.
				m.pass(time.Second)
			}
			sluice.EqualsTruth(t, svc, m.upstream, github.KindComment, github.KindLabel)
		})
	}
}

// collectAll lets the run of every account end, and begins one where there is
// none. A token that was refused once is given again.
func (m *machines) collectAll(ctx context.Context, svc *wiring.Service) {
	m.T.Helper()
	for _, login := range m.upstream.Logins() {
		answer := m.ask(ctx, login)
		run, err := svc.WaitRun(ctx, answer.Run.ID)
		if err != nil {
			m.T.Fatalf("run %d has not ended: %v\n%s\n%s", answer.Run.ID, err, m.whatIsLeft(svc), m.LastWords())
		}
		m.T.Logf("%s: run %d %s with %+v", login, run.ID, run.Status, run.RunCounts)
	}
}

func (m *machines) account(login string) engine.Signup {
	return engine.Signup{Source: "github", Login: login, Token: m.upstream.Token(login)}
}

// ask asks for a run until somebody takes the request: the process that answers
// may find connections broken that were cut before.
func (m *machines) ask(ctx context.Context, login string) wire.SignupAnswer {
	m.T.Helper()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		answer, err := m.API.Signup(ctx, m.account(login))
		if err == nil || domain.CodeOf(err) == domain.CodeConflict {
			return answer
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			m.T.Fatalf("%s: %v", login, err)
		}
	}
}
