package rationtest

import (
	"context"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/ration/keeper"
	"sluice/internal/state"
)

// Planner makes jobs.
type Planner interface {
	PutAccount(ctx context.Context, a state.AccountSpec) (domain.Account, error)
	CreateRun(ctx context.Context, r state.RunSpec) (domain.Run, error)
	PlanRun(ctx context.Context, run int64, jobs []domain.JobSpec) ([]domain.JobRef, error)
}

// RunWaits: whoever asks the database what a job waits for is told of the quota of its owner
// where that is used up or shut, and only there. Group names the owner's group; ask answers
// with a text.
func RunWaits(t *testing.T, s Planner, store keeper.Store, group func(owner string) string, ask func(query string) string) {
	a, err := s.PutAccount(t.Context(), state.AccountSpec{Source: "shop", Login: "octocat", Name: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.CreateRun(t.Context(), state.RunSpec{AccountID: a.ID, Trigger: domain.TriggerManual, Priority: domain.PriorityHigh})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.PlanRun(t.Context(), r.ID, []domain.JobSpec{{Type: "LIST", Resource: "repo:1", Bucket: "core", Class: domain.ClassDiscovery, Params: []byte("{}")}}); err != nil {
		t.Fatal(err)
	}
	now, seq := time.Now(), uint64(0)
	const worker, quota = "a worker", "the quota of its owner"
	for _, step := range []struct {
		when, want string
		row        keeper.Stored
	}{
		{"at first", worker, keeper.Stored{Group: group("bob"), Count: "core", Limit: 10, Spent: 10, End: now.Add(time.Hour)}},
		{"with something left", worker, keeper.Stored{Group: group("ann"), Count: "core", Limit: 10, Spent: 9, End: now.Add(time.Hour)}},
		{"with another bucket used up", worker, keeper.Stored{Group: group("ann"), Count: "search", Limit: 10, Spent: 10, End: now.Add(time.Hour)}},
		{"with nothing left", quota, keeper.Stored{Group: group("ann"), Count: "core", Limit: 10, Spent: 10, End: now.Add(time.Hour)}},
		{"after the window", worker, keeper.Stored{Group: group("ann"), Count: "core", Limit: 10, Spent: 10, End: now.Add(-time.Hour)}},
		{"while the owner is shut out", quota, keeper.Stored{Group: group("ann"), Count: keeper.GatePrefix + "owner", Until: now.Add(time.Hour)}},
		{"when the owner is let in again", worker, keeper.Stored{Group: group("ann"), Count: keeper.GatePrefix + "owner", Until: now.Add(-time.Hour)}},
	} {
		seq++
		step.row.Seq = seq
		if err := store.Save(t.Context(), []keeper.Stored{step.row}); err != nil {
			t.Fatal(err)
		}
		if got := ask("SELECT waits_for FROM v_job"); got != step.want {
			t.Errorf("%s it waits for %q, want %q", step.when, got, step.want)
		}
	}
}
