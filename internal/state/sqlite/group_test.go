package sqlite_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	zombie "zombiezen.com/go/sqlite"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/sqlitedb"
	"sluice/internal/state"
	"sluice/internal/state/sqlite"
)

// planned opens a run with n waiting jobs.
func planned(tb testing.TB, s *sqlite.Store, login string, n int) []domain.JobRef {
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

// refusing stands for documents that only the database itself refuses, when
// the group is already under way.
type refusing struct{}

func (refusing) Compact(*zombie.Conn, int64, int64) error { return nil }

func (refusing) Flag(*zombie.Conn, []document.Absence) error { return nil }

func (refusing) Pack(docs []document.Document) (func(*zombie.Conn) error, error) {
	return func(c *zombie.Conn) error {
		for _, d := range docs {
			if strings.HasPrefix(d.Name, "bad") {
				return fmt.Errorf("document %q is refused", d.Name)
			}
			if err := sqlitedb.Exec(c, "INSERT INTO chunk (account_id, data) VALUES (?, x'00')", nil, d.Account); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// TestRefusedDocumentHarmsOnlyItsOwnOutcome has bad outcomes among good ones
// in the same group: the group is applied again, one by one.
func TestRefusedDocumentHarmsOnlyItsOwnOutcome(t *testing.T) {
	db, err := sqlitedb.Open(t.Context(), sqlitedb.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	s, err := sqlite.Open(t.Context(), db, refusing{}, nil)
	if err != nil {
		t.Fatalf("open state: %v", err)
	}
	defer func() { _ = s.Close() }()
	refs := planned(t, s, "octocat", 50)
	crowd(refs, func(i int, ref domain.JobRef) {
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
			Documents: []document.Document{{Key: document.Key{Account: 1, Kind: document.KindIssue, Name: fmt.Sprint(name, i)}}},
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
	o := mustOpen(t, t.TempDir())
	const n = 400
	refs := planned(t, o.Store, "octocat", n)
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

// TestCheckReallyWrites: a check that writes nothing would call a full or
// read-only disk healthy.
func TestCheckReallyWrites(t *testing.T) {
	o := mustOpen(t, t.TempDir())
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
