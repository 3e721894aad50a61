package relational_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/state"
)

// TestServerDiesUnderWay kills the server while workers claim and finish. Who
// is told that it is unavailable repeats the call; in the end every job was
// counted once and the run closed once.
func TestServerDiesUnderWay(t *testing.T) {
	t.Parallel()
	eachServer(t, testServerDiesUnderWay)
}

func testServerDiesUnderWay(t *testing.T, on server) {
	server := on.start(t)
	o := mustOpenState(t, server.URL())
	const jobs, workers = 3000, 20
	refs := planned(t, o.State, "octocat", jobs)
	queue := make(chan domain.JobRef, jobs)
	for _, ref := range refs {
		queue <- ref
	}
	close(queue)
	var failed, ended, closed atomic.Int64
	enough, back := make(chan struct{}), make(chan struct{})
	w := &worker{t: t, o: o, back: back, failed: &failed}
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for ref := range queue {
				if e := w.work(ref.ID); e.Closed != nil {
					closed.Add(1)
				}
				if ended.Add(1) == jobs/3 {
					close(enough)
				}
			}
		})
	}
	<-enough
	server.Kill()
	server.Start()
	close(back)
	all.Wait()
	if failed.Load() == 0 {
		t.Errorf("no call failed: the server was not killed in time")
	}
	run := wantSound(t, o.State, refs[0].RunID)
	if run.Status != domain.RunFinalizing || run.Succeeded != jobs || closed.Load() < 1 {
		t.Errorf("the run is %s with %+v, closed %d times", run.Status, run.RunCounts, closed.Load())
	}
}

// worker works on jobs and repeats calls that failed for want of a server,
// when that is back.
type worker struct {
	t      *testing.T
	o      *opened
	back   <-chan struct{}
	failed *atomic.Int64
}

// again reports whether a call is to be repeated.
func (w *worker) again(err error) bool {
	if domain.CodeOf(err) != domain.CodeUnavailable {
		return false
	}
	w.failed.Add(1)
	<-w.back
	return true
}

func (w *worker) work(id int64) state.Effect {
	var job domain.Job
	for {
		var err error
		if job, err = w.o.Job(w.t.Context(), id); err == nil {
			err = w.o.Claim(w.t.Context(), state.Claim{Job: id, Attempt: job.Attempt, At: time.Now()})
		}
		if err == nil {
			break
		}
		if !w.again(err) {
			w.t.Errorf("claim: %v", err)
			return state.Effect{}
		}
	}
	for {
		e, err := w.o.Finish(w.t.Context(), state.Outcome{Job: id, Attempt: job.Attempt + 1, At: time.Now(), To: domain.JobSucceeded})
		if err == nil {
			return e
		}
		if !w.again(err) {
			w.t.Errorf("finish: %v", errors.Join(err))
			return state.Effect{}
		}
	}
}
