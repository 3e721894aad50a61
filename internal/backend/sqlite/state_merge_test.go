package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/backend/sqlite"
	"sluice/internal/document"
	"sluice/internal/document/documenttest"
	"sluice/internal/domain"
	"sluice/internal/state"
)

// plannedRun opens a run with n waiting jobs.
func plannedRun(tb testing.TB, s *sqlite.State, login string, n int) []domain.JobRef {
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

// eachJob runs fn for each job on many goroutines.
func eachJob(refs []domain.JobRef, fn func(i int, ref domain.JobRef)) {
	var all sync.WaitGroup
	for i, ref := range refs {
		all.Go(func() { fn(i, ref) })
	}
	all.Wait()
}

// refusingDocuments stands for documents that only the database itself refuses, when
// the group is already under way.
type refusingDocuments struct{ *sqlite.Documents }

func (r refusingDocuments) Write(ctx context.Context, c *driver.Conn, packed []*sqlite.PackedDocuments, absences []document.Absence) error {
	if err := r.Documents.Write(ctx, c, packed, absences); err != nil {
		return err
	}
	for _, p := range packed {
		for _, d := range p.Docs() {
			if strings.HasPrefix(d.Name, "bad") {
				return fmt.Errorf("document %q is refused", d.Name)
			}
		}
	}
	return nil
}

// TestRefusedDocumentHarmsOnlyItsOwnOutcome has bad outcomes among good ones
// in the same group: the group is applied again, one by one.
func TestRefusedDocumentHarmsOnlyItsOwnOutcome(t *testing.T) {
	docs, db := openDocuments(t)
	s, err := sqlite.NewState(t.Context(), db, refusingDocuments{docs}, nil)
	if err != nil {
		t.Fatalf("open state: %v", err)
	}
	defer func() { _ = s.Close() }()
	refs := plannedRun(t, s, "octocat", 50)
	eachJob(refs, func(i int, ref domain.JobRef) {
		if err := s.Claim(t.Context(), state.Claim{Job: ref.ID, At: time.Now()}); err != nil {
			t.Errorf("claim: %v", err)
			return
		}
		name := "good"
		if i%10 == 0 {
			name = "bad"
		}
		e, err := s.Finish(t.Context(), state.Outcome{
			Job: ref.ID, Attempt: 1, At: time.Now(), To: domain.JobSucceeded,
			Documents: []document.Document{{Key: document.Key{Account: 1, Kind: documenttest.KindIssue, Name: fmt.Sprint(name, i)}}},
			Next:      []domain.JobSpec{{Type: "NEXT", Resource: fmt.Sprint(i), Bucket: "core", Class: domain.ClassChild}},
		})
		if bad := i%10 == 0; bad != (err != nil) || bad != (len(e.Created) == 0) {
			t.Errorf("finish %d: %d created, %v", i, len(e.Created), err)
		}
	})
	run, err := s.Run(t.Context(), refs[0].RunID)
	if err != nil || run.Succeeded != 45 || run.Pending != 5+45 || run.Known != 95 {
		t.Errorf("run %+v (%v)", run.RunCounts, err)
	}
}

func TestClaimsAndOutcomesShareTransactions(t *testing.T) {
	o := openState(t, t.TempDir())
	const n = 400
	refs := plannedRun(t, o.State, "octocat", n)
	before := o.db.Transactions()
	eachJob(refs, func(_ int, ref domain.JobRef) {
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

// TestStateCheckReallyWrites: a check that writes nothing would call a full or
// read-only disk healthy.
func TestStateCheckReallyWrites(t *testing.T) {
	o := openState(t, t.TempDir())
	size := func() int64 {
		info, err := os.Stat(o.db.Path() + "-wal")
		if err != nil {
			t.Fatalf("stat: %v", err)
		}
		return info.Size()
	}
	before := size()
	if err := o.Check(t.Context()); err != nil {
		t.Fatalf("check: %v", err)
	}
	if after := size(); after <= before {
		t.Errorf("the write-ahead log had %d bytes and has %d", before, after)
	}
}
