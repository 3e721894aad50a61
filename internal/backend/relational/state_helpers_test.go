package relational_test

import (
	"fmt"
	"sync"
	"testing"

	"sluice/internal/backend/relational"
	"sluice/internal/domain"
	"sluice/internal/state"
)

// planned opens a run with n waiting jobs.
func planned(tb testing.TB, s *relational.State, login string, n int) []domain.JobRef {
	tb.Helper()
	a, err := s.PutAccount(tb.Context(), state.AccountSpec{Source: "github", Login: login, Name: "o"})
	if err != nil {
		tb.Fatalf("account: %v", err)
	}
	r, err := s.CreateRun(tb.Context(), state.RunSpec{AccountID: a.ID, Trigger: domain.TriggerManual, Priority: domain.PriorityHigh})
	if err != nil {
		tb.Fatalf("run: %v", err)
	}
	specs := make([]domain.JobSpec, n)
	for i := range specs {
		specs[i] = domain.JobSpec{Type: "LIST", Resource: fmt.Sprintf("repo:%d", i), Bucket: "core", Class: domain.ClassDiscovery, Params: []byte(`{"page":1}`)}
	}
	refs, err := s.PlanRun(tb.Context(), r.ID, specs)
	if err != nil {
		tb.Fatalf("plan: %v", err)
	}
	return refs
}

// crowd runs fn for each job on many goroutines.
func crowd(refs []domain.JobRef, fn func(i int, ref domain.JobRef)) {
	var all sync.WaitGroup
	for i, ref := range refs {
		all.Go(func() { fn(i, ref) })
	}
	all.Wait()
}
