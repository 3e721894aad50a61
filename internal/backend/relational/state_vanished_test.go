package relational_test

import (
	"bytes"
	"database/sql"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/backend/relational"
	"sluice/internal/domain"
	"sluice/internal/state"
	"sluice/internal/testkit"
)

// vanish locks rows through a machine that then vanishes in the middle of its
// transaction, without closing its connection.
func vanish(t *testing.T, server string, locks ...string) {
	t.Helper()
	forwarder, url := testkit.Forward(t, server)
	db, err := connect(t.Context(), url)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	locked, over := make(chan struct{}), make(chan struct{})
	var gone sync.WaitGroup
	gone.Go(func() {
		// How it ends is nobody's business: it is gone.
		_ = db.Tx(t.Context(), func(tx *relational.Tx) error {
			for _, lock := range locks {
				if _, err := tx.ExecContext(t.Context(), lock); err != nil {
					t.Errorf("lock: %v", err)
				}
			}
			close(locked)
			<-over
			return sql.ErrTxDone
		})
	})
	t.Cleanup(func() {
		forwarder.Close()
		close(over)
		gone.Wait()
		_ = db.Close()
	})
	<-locked
	forwarder.Freeze()
}

// TestVanishedMachineHoldsUpOnlyWhatItHad: other runs go on while its locks
// last, and what it had goes on when the server gives its transaction up, which
// is seconds later.
func TestVanishedMachineHoldsUpOnlyWhatItHad(t *testing.T) {
	t.Parallel()
	eachServer(t, testVanishedMachineHoldsUpOnlyWhatItHad)
}

func testVanishedMachineHoldsUpOnlyWhatItHad(t *testing.T, on server) {
	for name, lock := range map[string]string{
		"a run":               "UPDATE run SET calls = calls + 1 WHERE id = 1",
		"a run, only to read": "SELECT id FROM run WHERE id = 1 FOR UPDATE",
		"a job":               "UPDATE job SET items = items + 1 WHERE id = 1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := on.fresh(t)
			s := mustOpenState(t, url)
			stuck, others := planned(t, s.State, "stuck", 2), planned(t, s.State, "other", 20)
			vanish(t, url, lock)

			// They share a group with one that needs what is locked.
			claims := []state.Claim{{Job: stuck[0].ID, At: time.Now()}}
			for _, ref := range others[:10] {
				claims = append(claims, state.Claim{Job: ref.ID, At: time.Now()})
			}
			a, err := s.Together(t.Context(), claims, nil)
			if err != nil || a.Claims[0] {
				t.Fatalf("the claim of what is locked: %v (%v)", a.Claims[0], err)
			}
			for i, won := range a.Claims[1:] {
				if !won {
					t.Errorf("claim %d beside it was refused", i)
				}
			}

			// From then on nobody waits for it, not even for a moment.
			err = s.Claim(t.Context(), state.Claim{Job: stuck[0].ID, At: time.Now()})
			if domain.CodeOf(err) != domain.CodeUnavailable {
				t.Errorf("a claim of what is locked: %v, want code unavailable", err)
			}
			crowd(others[:10], func(_ int, ref domain.JobRef) {
				if _, err := s.Finish(t.Context(), state.Outcome{Job: ref.ID, Attempt: 1, At: time.Now(), To: domain.JobSucceeded}); err != nil {
					t.Errorf("an outcome beside it: %v", err)
				}
			})

			// This waits for the lock. Nobody but the server ends it.
			if _, err := s.SetRunPriority(t.Context(), 1, domain.PriorityLow); err != nil {
				t.Fatalf("what was locked stays locked: %v", err)
			}
			if err := s.Claim(t.Context(), state.Claim{Job: stuck[0].ID, At: time.Now()}); err != nil {
				t.Errorf("the claim after it: %v", err)
			}
			job, err := s.Job(t.Context(), stuck[0].ID)
			if err != nil || job.Attempt != 1 || job.Lost != 0 || job.Failures != 0 {
				t.Errorf("waiting has cost the job something: %+v (%v)", job, err)
			}
		})
	}
}

// TestOutcomeLeavesNoLocks: a machine that vanishes when it has sent its
// outcome keeps nothing from others, with or without jobs that follow.
func TestOutcomeLeavesNoLocks(t *testing.T) {
	t.Parallel()
	eachServer(t, testOutcomeLeavesNoLocks)
}

func testOutcomeLeavesNoLocks(t *testing.T, on server) {
	server := on.fresh(t)
	forwarder, url := testkit.Forward(t, server)
	gone, here := mustOpenState(t, url), mustOpenState(t, server)
	refs := planned(t, gone.State, "octocat", 4)
	for _, ref := range refs {
		if err := gone.Claim(t.Context(), state.Claim{Job: ref.ID, At: time.Now()}); err != nil {
			t.Fatalf("claim: %v", err)
		}
	}
	var commits atomic.Int64
	forwarder.Watch(func(sent []byte) {
		// The command is a packet that begins with 3, or a message of 11 bytes.
		if bytes.Contains(sent, []byte("\x03COMMIT")) || bytes.Contains(sent, []byte("\x00\x00\x00\x0bCOMMIT")) {
			commits.Add(1)
		}
	})
	next := []domain.JobSpec{{Type: "NEXT", Bucket: "core", Class: domain.ClassChild}}
	window := &domain.QuotaWindow{Owner: "o", Bucket: "core", Limit: 10, Seq: 1}
	for i, o := range []state.Outcome{
		{To: domain.JobSucceeded, Window: window},
		{To: domain.JobSucceeded, Next: next},
		{To: domain.JobReady, CountFailure: true, Failure: &domain.Failure{Kind: domain.FailureServer, Message: "502"}},
	} {
		o.Job, o.Attempt, o.At = refs[i].ID, 1, time.Now()
		if _, err := gone.Finish(t.Context(), o); err != nil {
			t.Fatalf("finish: %v", err)
		}
	}
	if n := commits.Load(); n != 0 {
		t.Errorf("%d commits were trips of their own", n)
	}
	forwarder.Freeze()
	// It does not wait for anybody.
	if _, err := here.Finish(t.Context(), state.Outcome{Job: refs[3].ID, Attempt: 1, At: time.Now(), To: domain.JobSucceeded}); err != nil {
		t.Errorf("finish: %v", err)
	}
}
