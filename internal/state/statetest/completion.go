package statetest

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"sluice/internal/domain"
	"sluice/internal/state"
	"sluice/internal/testkit"
)

var completionCases = []testCase{
	{"LastJobClosesTheRun", lastJobCloses},
	{"ConcurrentFinishersCloseOnce", concurrentFinishers},
	{"RandomTreesCloseOnce", randomTrees},
	{"CompleteRun", completeRun},
	{"Statistics", statistics},
}

func (x *fixture) outcomeAt(j domain.Job, to domain.JobStatus, at time.Time) state.Outcome {
	return state.Outcome{Job: j.ID, Attempt: j.Attempt, At: at, To: to}
}

func lastJobCloses(x *fixture) {
	r, refs := x.running("octocat", "a", "b")
	if e := x.succeed(refs[0].ID, spec("c")); e.Closed != nil {
		x.Fatalf("closed with jobs left: %+v", e.Closed)
	}
	if e := x.fail(refs[1].ID); e.Closed != nil {
		x.Fatalf("closed with a child left: %+v", e.Closed)
	}
	child := x.waitingIDs()
	e := x.succeed(child[0])
	if e.Closed == nil {
		x.Fatalf("the last job did not close the run: %+v", x.run(r.ID))
	}
	got := x.wantCounts(r.ID)
	want(x, "closed run", *e.Closed, got)
	want(x, "status", got.Status, domain.RunFinalizing)
	want(x, "counts", got.RunCounts, domain.RunCounts{Known: 3, Succeeded: 2, Failed: 1, Calls: 3})
	want(x, "end", got.FinishedAt, time.Time{})
	_, err := x.CreateRun(x.Context(), state.RunSpec{AccountID: r.AccountID, Trigger: domain.TriggerManual, Priority: domain.PriorityLow})
	x.wantCode(err, domain.CodeConflict)
}

func concurrentFinishers(x *fixture) {
	r, refs := x.running("octocat", resources(crowd)...)
	other, otherRefs := x.running("hubot", "a")
	jobs := make([]domain.Job, crowd)
	for i := range jobs {
		jobs[i] = x.claim(refs[i].ID)
	}
	var closed atomic.Int64
	at := x.instant()
	together(crowd, func(i int) {
		e, err := x.Finish(x.Context(), x.outcomeAt(jobs[i], domain.JobSucceeded, at))
		if err != nil {
			x.Errorf("finish: %v", err)
		}
		if e.Closed != nil {
			closed.Add(1)
			if e.Closed.Status != domain.RunFinalizing || e.Closed.Succeeded != crowd {
				x.Errorf("closed as %+v", e.Closed)
			}
		}
	})
	want(x, "finishers told that the run closed", closed.Load(), int64(1))
	want(x, "status", x.wantCounts(r.ID).Status, domain.RunFinalizing)
	want(x, "the other run", x.run(other.ID).Status, domain.RunRunning)
	want(x, "the other run's job", x.waitingIDs(), refIDs(otherRefs))
}

// randomTrees collects random trees of jobs with a crowd of workers. However
// it goes, each run closes once, when its last job has ended, and its counters
// equal its jobs.
func randomTrees(x *fixture) {
	n := testkit.Seed(x.t)
	const runs = 8
	queue := make(chan int64, 1<<16)
	var left sync.WaitGroup
	var closed sync.Map // run id → *atomic.Int64
	var ids []int64
	for i := range runs {
		r, refs := x.running(fmt.Sprintf("user-%d", i), resources(1+i)...)
		closed.Store(r.ID, new(atomic.Int64))
		ids = append(ids, r.ID)
		left.Add(len(refs))
		for _, ref := range refs {
			queue <- ref.ID
		}
	}
	go func() { left.Wait(); close(queue) }()
	at := x.instant()
	together(crowd, func(i int) {
		dice := rand.New(rand.NewPCG(n, uint64(i)))
		for id := range queue {
			x.growTree(id, dice, at, queue, &left, &closed)
		}
	})
	for _, id := range ids {
		told, _ := closed.Load(id)
		want(x, "finishers told that the run closed", told.(*atomic.Int64).Load(), int64(1))
		r := x.wantCounts(id)
		want(x, "status", r.Status, domain.RunFinalizing)
		want(x, "pending", r.Pending, int64(0))
	}
	want(x, "waiting", x.waitingIDs(), []int64{})
}

// growTree works on one job as a worker would.
func (x *fixture) growTree(id int64, dice *rand.Rand, at time.Time, queue chan<- int64, left *sync.WaitGroup, closed *sync.Map) {
	seen, err := x.Job(x.Context(), id)
	if err == nil {
		seen, err = x.take(state.Claim{Job: id, Attempt: seen.Attempt, At: at})
	}
	j := seen
	if err != nil {
		x.Errorf("claim %d: %v", id, err)
		left.Done()
		return
	}
	o := x.outcomeAt(j, domain.JobSucceeded, at)
	switch roll := dice.IntN(10); {
	case roll == 0:
		o.To, o.Failure = domain.JobFailed, &domain.Failure{Kind: domain.FailureServer, Message: "502"}
	case roll == 1 && j.Attempt < 5:
		o.To, o.CountFailure = domain.JobReady, true
	default:
		o.Items = dice.IntN(100)
		for range dice.IntN(3) {
			// Few enough names that siblings and cousins collide.
			o.Next = append(o.Next, spec(fmt.Sprintf("repo:%d", dice.IntN(200))))
		}
	}
	e, err := x.Finish(x.Context(), o)
	if err != nil {
		x.Errorf("finish %d: %v", id, err)
	}
	if e.Closed != nil {
		told, _ := closed.Load(e.Closed.ID)
		if told.(*atomic.Int64).Add(1); e.Closed.Pending != 0 || e.Closed.ID != j.RunID || len(e.Created) > 0 {
			x.Errorf("run %d closed as %+v with %d new jobs", j.RunID, e.Closed, len(e.Created))
		}
	}
	if o.To == domain.JobReady {
		queue <- id
		return
	}
	left.Add(len(e.Created))
	for _, ref := range e.Created {
		queue <- ref.ID
	}
	left.Done()
}

func completeRun(x *fixture) {
	r, refs := x.running("octocat", "a", "b")
	_, err := x.CompleteRun(x.Context(), r.ID, []byte("too early"))
	x.wantCode(err, domain.CodeIllegalMove)
	_, found, err := x.AccountStatistics(x.Context(), r.AccountID)
	x.ok(err)
	want(x, "statistics of a run that is not over", found, false)
	x.succeed(refs[0].ID)
	x.succeed(refs[1].ID)
	done, err := x.CompleteRun(x.Context(), r.ID, []byte(`{"commits":3}`))
	x.ok(err)
	want(x, "status", done.Status, domain.RunCompleted)
	if done.FinishedAt.IsZero() {
		x.Errorf("a complete run has no end")
	}
	want(x, "stored run", x.run(r.ID), done)
	again, err := x.CompleteRun(x.Context(), r.ID, []byte(`{"commits":4}`))
	x.ok(err)
	want(x, "run completed twice", again, done)
	data, found, err := x.AccountStatistics(x.Context(), r.AccountID)
	x.ok(err)
	want(x, "found", found, true)
	want(x, "statistics", string(data), `{"commits":3}`)
}

func statistics(x *fixture) {
	logins := []string{"octocat", "hubot", "mona"}
	accounts := map[string]domain.Account{}
	for round := range 2 {
		for _, login := range logins[:2] {
			a := x.account(login)
			accounts[login] = a
			r, refs := x.runningFor(a.ID, "a")
			x.succeed(refs[0].ID)
			_, err := x.CompleteRun(x.Context(), r.ID, fmt.Appendf(nil, "%s %d", login, round))
			x.ok(err)
		}
	}
	_, found, err := x.AccountStatistics(x.Context(), x.account("mona").ID)
	x.ok(err)
	want(x, "statistics of an account without a run", found, false)
	got := map[string]string{}
	x.ok(x.AllStatistics(x.Context(), func(a domain.Account, data []byte) error {
		want(x, "account", a.ID, accounts[a.Login].ID)
		got[a.Login] = string(data)
		return nil
	}))
	want(x, "newest statistics", got, map[string]string{"octocat": "octocat 1", "hubot": "hubot 1"})
	calls := 0
	stop := fmt.Errorf("stop")
	err = x.AllStatistics(x.Context(), func(domain.Account, []byte) error { calls++; return stop })
	if err == nil || calls != 1 {
		x.Errorf("after %d calls got error %v, want one call and its error", calls, err)
	}
}
