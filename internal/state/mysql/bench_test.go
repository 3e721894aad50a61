package mysql_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/state"
	"sluice/internal/testkit"
)

// crews are how many workers the benchmarks have.
var crews = []int{16, 50}

// work lets many workers claim and finish b.N jobs.
func work(b *testing.B, workers int, outcome func(domain.Job) state.Outcome) {
	o := mustOpen(b, testkit.MariaDB(b))
	refs := planned(b, o.Store, "octocat", b.N+1) // one is left, so that the run stays open
	var next atomic.Int64
	before := o.db.Transactions()
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
	b.ReportMetric(float64(b.N)/float64(o.db.Transactions()-before), "jobs/txn")
}

// BenchmarkClaimFinish is the bare cost of a job: one claim, one outcome, each
// on disk before it is answered.
func BenchmarkClaimFinish(b *testing.B) {
	for _, workers := range crews {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			work(b, workers, func(j domain.Job) state.Outcome {
				return state.Outcome{Job: j.ID, Attempt: j.Attempt, At: time.Now(), To: domain.JobSucceeded, Items: 1}
			})
		})
	}
}

// BenchmarkClaimFinishPage is a job as a collection has it: a page of ten
// documents, a next page, a cursor and a remembered page.
func BenchmarkClaimFinishPage(b *testing.B) {
	raw := make([]byte, 2000)
	for i := range raw {
		raw[i] = "abcdefghijklmnop"[i*i%16]
	}
	page := func(j domain.Job) state.Outcome {
		o := state.Outcome{
			Job: j.ID, Attempt: j.Attempt, At: time.Now(), To: domain.JobSucceeded, Items: 10,
			Next:    []domain.JobSpec{{Type: "LIST", Resource: j.Resource, PageKey: "2", Bucket: "core", Class: domain.ClassChild}},
			Cursors: []domain.Cursor{{AccountID: j.AccountID, Resource: j.Resource, At: time.Now()}},
			Stored:  []domain.Page{{AccountID: j.AccountID, Key: j.Resource, ETag: "etag"}},
		}
		for i := range 10 {
			o.Documents = append(o.Documents, document.Document{
				Key:     document.Key{Account: j.AccountID, Kind: document.KindIssue, Name: fmt.Sprintf("%s:%d", j.Resource, i)},
				Version: o.At, Raw: raw,
			})
		}
		return o
	}
	for _, workers := range crews {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) { work(b, workers, page) })
	}
}

// BenchmarkPlan is how fast rows are inserted.
func BenchmarkPlan(b *testing.B) {
	o := mustOpen(b, testkit.MariaDB(b))
	b.ResetTimer()
	planned(b, o.Store, "octocat", b.N)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkWaiting is how fast dispatch is rebuilt.
func BenchmarkWaiting(b *testing.B) {
	o := mustOpen(b, testkit.MariaDB(b))
	planned(b, o.Store, "octocat", b.N)
	b.ResetTimer()
	n := 0
	if err := o.Waiting(b.Context(), func(domain.JobRef) error { n++; return nil }); err != nil || n != b.N {
		b.Fatalf("%d of %d: %v", n, b.N, err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
