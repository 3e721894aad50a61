package relational_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"sluice/internal/backend/relational"
	"sluice/internal/document"
	"sluice/internal/document/documenttest"
	"sluice/internal/domain"
	"sluice/internal/state"
)

// refusing stands for documents that only the database itself refuses, when
// the group is already under way.
type refusing struct{ *relational.Documents }

// Write has the server refuse a chunk without data.
func (r refusing) Write(ctx context.Context, tx *relational.Tx, packed []*relational.PackedDocuments, absences []document.Absence) error {
	if err := r.Documents.Write(ctx, tx, packed, absences); err != nil {
		return err
	}
	for _, p := range packed {
		for _, d := range p.Docs() {
			if !strings.HasPrefix(d.Name, "bad") {
				continue
			}
			if _, err := tx.ExecContext(ctx, "INSERT INTO chunk (id, account_id, data) VALUES (1000000, 1, NULL)"); err != nil {
				return err
			}
		}
	}
	return nil
}

// TestRefusedDocumentHarmsOnlyItsOwnOutcome has bad outcomes among good ones
// in the same group: the group is applied again, one by one.
func TestRefusedDocumentHarmsOnlyItsOwnOutcome(t *testing.T) {
	t.Parallel()
	eachServer(t, testRefusedDocumentHarmsOnlyItsOwnOutcome)
}

func testRefusedDocumentHarmsOnlyItsOwnOutcome(t *testing.T, on server) {
	docs, db := openDocuments(t, on)
	s := relational.NewState(db, refusing{docs}, nil)
	defer func() { _ = s.Close() }()
	refs := planned(t, s, "octocat", 50)
	crowd(refs, func(i int, ref domain.JobRef) {
		if err := s.Claim(t.Context(), state.Claim{Job: ref.ID, At: time.Now()}); err != nil {
			t.Errorf("claim: %v", err)
			return
		}
		name, bad := "good", i%10 == 0
		if bad {
			name = "bad"
		}
		e, err := s.Finish(t.Context(), state.Outcome{
			Job: ref.ID, Attempt: 1, At: time.Now(), To: domain.JobSucceeded,
			Documents: []document.Document{{Key: document.Key{Account: 1, Kind: documenttest.KindIssue, Name: fmt.Sprint(name, i)}}},
			Next:      []domain.JobSpec{{Type: "NEXT", Resource: fmt.Sprint(i), Bucket: "core", Class: domain.ClassChild}},
		})
		if bad != (domain.CodeOf(err) == domain.CodeInvalid) || bad != (len(e.Created) == 0) {
			t.Errorf("finish %d: %d created, %v", i, len(e.Created), err)
		}
	})
	run, err := s.Run(t.Context(), refs[0].RunID)
	if err != nil || run.Succeeded != 45 || run.Pending != 5+45 || run.Known != 95 {
		t.Errorf("run %+v (%v)", run.RunCounts, err)
	}
}

func TestClaimsAndOutcomesShareTransactions(t *testing.T) {
	t.Parallel()
	eachServer(t, testClaimsAndOutcomesShareTransactions)
}

func testClaimsAndOutcomesShareTransactions(t *testing.T, on server) {
	o := mustOpenState(t, on.fresh(t))
	const n = 400
	refs := planned(t, o.State, "octocat", n)
	before := o.db.Transactions()
	crowd(refs, func(_ int, ref domain.JobRef) {
		err := o.Claim(t.Context(), state.Claim{Job: ref.ID, At: time.Now()})
		if err == nil {
			_, err = o.Finish(t.Context(), state.Outcome{Job: ref.ID, Attempt: 1, At: time.Now(), To: domain.JobSucceeded})
		}
		if err != nil {
			t.Errorf("job %d: %v", ref.ID, err)
		}
	})
	if got := o.db.Transactions() - before; got > n/4 {
		t.Errorf("%d claims and %d outcomes took %d transactions", n, n, got)
	}
}

// TestCheckReallyWrites: a check that writes nothing would call a read-only
// server healthy.
func TestCheckReallyWrites(t *testing.T) {
	t.Parallel()
	eachServer(t, testCheckReallyWrites)
}

func testCheckReallyWrites(t *testing.T, on server) {
	o := mustOpenState(t, on.fresh(t))
	for want := int64(1); want <= 2; want++ {
		if err := o.Check(t.Context()); err != nil {
			t.Fatalf("check: %v", err)
		}
		got := int64(0)
		err := o.db.Query(t.Context(), func(r *sql.Rows) error { return r.Scan(&got) }, "SELECT last_id FROM id_sequence WHERE name = 'check'")
		if err != nil || got != want {
			t.Errorf("the row holds %d, want %d (%v)", got, want, err)
		}
	}
}

// TestLongNamesAreKeptApart: what stands for a long text tells it from others.
func TestLongNamesAreKeptApart(t *testing.T) {
	t.Parallel()
	eachServer(t, testLongNamesAreKeptApart)
}

func testLongNamesAreKeptApart(t *testing.T, on server) {
	o := mustOpenState(t, on.fresh(t))
	long := strings.Repeat("very long ", 1000)
	a, err := o.PutAccount(t.Context(), state.AccountSpec{Source: "github", Login: "octocat", Name: "o"})
	if err != nil {
		t.Fatalf("account: %v", err)
	}
	run, err := o.CreateRun(t.Context(), state.RunSpec{AccountID: a.ID, Trigger: domain.TriggerManual, Priority: domain.PriorityLow})
	if err != nil {
		t.Fatalf("run: %v", err)
	}
	var specs []domain.JobSpec
	for _, end := range []string{"a", "b", "a ", "A", "a"} {
		specs = append(specs, domain.JobSpec{Type: "LIST", Resource: long + end, PageKey: long, Bucket: "core", Class: domain.ClassChild})
	}
	refs, err := o.PlanRun(t.Context(), run.ID, specs)
	if err != nil || len(refs) != 4 {
		t.Fatalf("planned %d jobs, want 4 (%v)", len(refs), err)
	}
	lines, err := o.Ledger(t.Context(), run.ID)
	if err != nil || len(lines) != 4 {
		t.Fatalf("the ledger has %d lines, want 4 (%v)", len(lines), err)
	}
	for i, line := range lines {
		if line.Resource != specs[i].Resource {
			t.Errorf("line %d is about a resource of %d bytes", i, len(line.Resource))
		}
	}
	if err := o.Claim(t.Context(), state.Claim{Job: refs[1].ID, At: time.Now()}); err != nil {
		t.Fatalf("claim: %v", err)
	}
	e, err := o.Finish(t.Context(), state.Outcome{Job: refs[1].ID, Attempt: 1, At: time.Now(), To: domain.JobFailed, DropResource: long + "a"})
	if err != nil || len(e.Canceled) != 1 || e.Canceled[0] != refs[0].ID {
		t.Errorf("dropped %v, want job %d alone (%v)", e.Canceled, refs[0].ID, err)
	}
}
