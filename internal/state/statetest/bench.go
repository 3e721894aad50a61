package statetest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/document"
	"sluice/internal/document/documenttest"
	"sluice/internal/domain"
	"sluice/internal/state"
)

// Benched is a store that is measured, and how many transactions it has made.
type Benched struct {
	state.Store
	Transactions func() uint64
}

// Bench measures a store: each benchmark opens an empty one.
func Bench(b *testing.B, open func(b *testing.B) Benched) {
	for name, outcome := range map[string]func(domain.Job) state.Outcome{"ClaimFinish": bareOutcome, "ClaimFinishPage": pageOutcome} {
		for _, workers := range []int{16, 50} {
			b.Run(fmt.Sprintf("%s/workers=%d", name, workers), func(b *testing.B) { claimAndFinish(b, open(b), workers, outcome) })
		}
	}
	// Plan is how fast rows are inserted.
	b.Run("Plan", func(b *testing.B) {
		o := open(b)
		b.ResetTimer()
		planned(b, o, b.N)
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	})
	// Waiting is how fast dispatch is rebuilt.
	b.Run("Waiting", func(b *testing.B) {
		o, n := open(b), 0
		planned(b, o, b.N)
		b.ResetTimer()
		if err := o.Waiting(b.Context(), func(domain.JobRef) error { n++; return nil }); err != nil || n != b.N {
			b.Fatalf("%d of %d: %v", n, b.N, err)
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	})
}

// planned opens a run with n waiting jobs.
func planned(b *testing.B, s state.Store, n int) []domain.JobRef {
	b.Helper()
	a, err := s.PutAccount(b.Context(), state.AccountSpec{Source: "github", Login: "octocat", Name: "o"})
	if err != nil {
		b.Fatalf("account: %v", err)
	}
	r, err := s.CreateRun(b.Context(), state.RunSpec{AccountID: a.ID, Trigger: domain.TriggerManual, Priority: domain.PriorityHigh})
	if err != nil {
		b.Fatalf("run: %v", err)
	}
	specs := make([]domain.JobSpec, n)
	for i := range specs {
		specs[i] = domain.JobSpec{Type: "LIST", Resource: fmt.Sprintf("repo:%d", i), Bucket: "core", Class: domain.ClassDiscovery, Params: []byte(`{"page":1}`)}
	}
	refs, err := s.PlanRun(b.Context(), r.ID, specs)
	if err != nil {
		b.Fatalf("plan: %v", err)
	}
	return refs
}

// claimAndFinish lets many workers claim and finish b.N jobs.
func claimAndFinish(b *testing.B, o Benched, workers int, outcome func(domain.Job) state.Outcome) {
	refs := planned(b, o, b.N+1) // one is left, so that the run stays open
	var next atomic.Int64
	before := o.Transactions()
	b.ResetTimer()
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				j := domain.Job{ID: refs[i-1].ID, RunID: refs[i-1].RunID, AccountID: refs[i-1].AccountID, Attempt: 1}
				j.Resource = fmt.Sprintf("repo:%d", i-1)
				err := o.Claim(b.Context(), state.Claim{Job: j.ID, At: time.Now()})
				if err == nil {
					_, err = o.Finish(b.Context(), outcome(j))
				}
				if err != nil {
					b.Errorf("job %d: %v", refs[i-1].ID, err)
					return
				}
			}
		})
	}
	all.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
	b.ReportMetric(float64(b.N)/float64(o.Transactions()-before), "jobs/txn")
}

// bareOutcome is the bare cost of a job: one claim, one outcome, each on disk
// before it is answered.
func bareOutcome(j domain.Job) state.Outcome {
	return state.Outcome{Job: j.ID, Attempt: j.Attempt, At: time.Now(), To: domain.JobSucceeded, Items: 1}
}

// pageOutcome is a job as a collection has it: a page of ten documents, a next
// page, a cursor and a remembered page.
func pageOutcome(j domain.Job) state.Outcome {
	o := state.Outcome{
		Job: j.ID, Attempt: j.Attempt, At: time.Now(), To: domain.JobSucceeded, Items: 10,
		Next:    []domain.JobSpec{{Type: "LIST", Resource: j.Resource, PageKey: "2", Bucket: "core", Class: domain.ClassChild}},
		Cursors: []domain.Cursor{{AccountID: j.AccountID, Resource: j.Resource, At: time.Now()}},
		Stored:  []domain.Page{{AccountID: j.AccountID, Key: j.Resource, ETag: "etag"}},
	}
	for i := range 10 {
		o.Documents = append(o.Documents, document.Document{
			Key:     document.Key{Account: j.AccountID, Kind: documenttest.KindIssue, Name: fmt.Sprintf("%s:%d", j.Resource, i)},
			Version: o.At, Raw: benchPayload,
		})
	}
	return o
}

var benchPayload = func() []byte {
	raw := make([]byte, 2000)
	for i := range raw {
		raw[i] = "abcdefghijklmnop"[i*i%16]
	}
	return raw
}()
