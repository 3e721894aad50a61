package wiring_test

import (
	"testing"

	"sluice/internal/domain"
)

// TestPurgeGoesOn has a process die in the middle of a purge: the next start ends
// it, without anybody asking.
func TestPurgeGoesOn(t *testing.T) {
	t.Parallel()
	f := folder{t, t.TempDir()}
	svc := f.open()
	if err := svc.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	account, run := f.signup(svc, "ann")
	f.completes(svc, run.ID)
	if err := svc.State.BeginPurge(t.Context(), account.ID); err != nil {
		t.Fatal(err)
	}
	if removed, err := svc.State.PurgeBatch(t.Context(), account.ID, 2); err != nil || removed.Total() != 2 {
		t.Fatalf("a batch removed %v, %v", removed, err)
	}
	f.close(svc)

	svc = f.open()
	defer f.close(svc)
	changed, end := svc.Engine.Watch()
	defer end()
	if err := svc.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for {
		a, err := svc.State.Account(t.Context(), account.ID)
		if err != nil {
			t.Fatal(err)
		}
		if a.Login == domain.PurgedLogin(account.ID) {
			break
		}
		select {
		case <-changed:
		case <-t.Context().Done():
			t.Fatal("the purge did not go on")
		}
	}
	if _, err := svc.State.Run(t.Context(), run.ID); domain.CodeOf(err) != domain.CodeNotFound {
		t.Errorf("its run: %v", err)
	}
	// Whoever signs up again begins anew.
	again, next := f.signup(svc, "ann")
	if again.ID == account.ID || next.ID <= run.ID {
		t.Errorf("ids were used again: %+v, %+v", again, next)
	}
	f.completes(svc, next.ID)
}
