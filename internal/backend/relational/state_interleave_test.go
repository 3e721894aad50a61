package relational_test

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	"sluice/internal/backend/relational"
	"sluice/internal/domain"
	"sluice/internal/state"
)

// waitingForLocks counts the transactions that wait for a lock.
func waitingForLocks(t *testing.T, o *opened) (n int) {
	t.Helper()
	query, into := "SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_current_waits'", []any{new(string), &n}
	if o.db.Dialect().Name == "PostgreSQL" {
		query, into = "SELECT COUNT(*) FROM pg_locks WHERE NOT granted", []any{&n}
	}
	err := o.db.Query(t.Context(), func(r *sql.Rows) error { return r.Scan(into...) }, query)
	if err != nil {
		t.Fatalf("count: %v", err)
	}
	return n
}

// TestPauseMeetsAnOutcomeThatIsNotCommitted stops an outcome that creates a job
// when it has found the account active and not committed yet, and pauses the
// account then. The pause must wait, as it would miss the new job otherwise.
func TestPauseMeetsAnOutcomeThatIsNotCommitted(t *testing.T) {
	t.Parallel()
	eachServer(t, testPauseMeetsAnOutcomeThatIsNotCommitted)
}

func testPauseMeetsAnOutcomeThatIsNotCommitted(t *testing.T, on server) {
	url := on.start(t).URL()
	worker, other := mustOpenState(t, url), mustOpenState(t, url)
	refs := claimed(t, worker.State, "octocat", 1)
	window := domain.QuotaWindow{Owner: "o", Bucket: "core", Limit: 100, Seq: 1}
	if err := worker.PutQuotaWindow(t.Context(), window); err != nil {
		t.Fatalf("window: %v", err)
	}
	finished, paused := make(chan error, 1), make(chan error, 1)
	// Windows are written last.
	err := other.db.Tx(t.Context(), func(tx *relational.Tx) error {
		if _, err := tx.ExecContext(t.Context(), "UPDATE quota_window SET points = 1"); err != nil {
			return err
		}
		go func() {
			window.Seq = 2
			_, err := worker.Finish(t.Context(), state.Outcome{
				Job: refs[0].ID, Attempt: 1, At: time.Now(), To: domain.JobSucceeded, Window: &window,
				Next: []domain.JobSpec{{Type: "NEXT", Resource: "a", Bucket: "core", Class: domain.ClassChild}},
			})
			finished <- err
		}()
		for waitingForLocks(t, other) < 1 {
			if len(finished) > 0 {
				return fmt.Errorf("the outcome did not wait for the window")
			}
		}
		go func() {
			_, err := other.SetAccountState(t.Context(), refs[0].AccountID, domain.AccountPaused, "on request")
			paused <- err
		}()
		for waitingForLocks(t, other) < 2 {
			if len(paused) > 0 {
				t.Errorf("the account was paused while an outcome counted on its being active")
				return nil
			}
		}
		return nil
	})
	if err != nil {
		t.Fatalf("hold the window: %v", err)
	}
	for what, err := range map[string]error{"finish": <-finished, "pause": <-paused} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	err = other.Waiting(t.Context(), func(ref domain.JobRef) error { return fmt.Errorf("job %d waits", ref.ID) })
	if err != nil {
		t.Error(err)
	}
}
