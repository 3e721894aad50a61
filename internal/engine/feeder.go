package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	"sluice/internal/backoff"
	"sluice/internal/dispatch"
	"sluice/internal/domain"
	"sluice/internal/state"
	"sluice/internal/traces"
)

// task is one leased job with its row.
type task struct {
	lease dispatch.Lease
	job   domain.Job
	// origin is what began the job's run, once that was looked up.
	origin state.Origin
	// took is how long its call took.
	took time.Duration
	// span is that of the job; nil if it is not traced.
	span *traces.Span
}

// runFeeder leases jobs for idle workers. It alone waits for work, so an idle
// engine wakes once per dispatch.MaxWait, however many workers it has.
func (p *pool) runFeeder(ctx, hard context.Context, chores *sync.WaitGroup) {
	defer close(p.tasks)
	extra := 0
	for {
		extra = p.adjustPrefetch(extra)
		n := p.takeSlots(ctx)
		if n == 0 {
			return
		}
		if extra < 0 {
			// Fewer jobs are to be ahead: these slots are not given out again.
			drop := min(n, -extra)
			extra += drop
			if n -= drop; n == 0 {
				continue
			}
		}
		leases, err := p.Dispatch.Lease(ctx, n)
		if err != nil && ctx.Err() == nil {
			p.cfg.Log.Error("dispatch hands out no leases; trying again soon", "error", err)
			backoff.Sleep(ctx, p.cfg.BackoffBase)
		}
		jobs := p.beginChores(hard, leases, chores)
		tasks := p.loadRows(ctx, jobs)
		p.giveSlots(n - (len(leases) - len(jobs)) - len(tasks))
		for _, t := range tasks {
			// There is room: no more tasks are about than there are slots.
			p.tasks <- t
		}
	}
}

// beginChores sets about the chores among leases and returns the jobs. A chore
// takes a slot too: who is busy with many leaves jobs to others.
func (p *pool) beginChores(ctx context.Context, leases []dispatch.Lease, chores *sync.WaitGroup) (jobs []dispatch.Lease) {
	for i, l := range leases {
		if _, isJob := dispatch.JobNumber(l.ID); isJob {
			jobs = append(jobs, l)
			continue
		}
		p.renewer.hold(leases[i : i+1])
		chores.Go(func() {
			p.chores.runChore(ctx, l)
			p.freeSlot(l)
		})
	}
	return jobs
}

// quickTurn is how soon a worker must be through with a job for the way to
// dispatch to matter.
const quickTurn = 10 * time.Millisecond

// extraPrefetch is how many more jobs than one for each worker may be leased
// ahead while jobs are quick: workers that share a dispatcher would wait for
// the way to it. Slow jobs are better left to whoever is idle.
func (p *pool) extraPrefetch() int {
	if p.cfg.Shared {
		return 2 * p.cfg.Workers
	}
	return 0
}

// adjustPrefetch gives out the slots of extraPrefetch, or asks for them back, as jobs are
// quick or not. extra is how many are given out; negative, how many are still
// to be taken back.
func (p *pool) adjustPrefetch(extra int) int {
	turn := time.Duration(p.averageTurn.Load())
	switch quick := turn > 0 && turn < quickTurn; {
	case quick && extra <= 0:
		p.giveSlots(p.extraPrefetch() + extra)
		return p.extraPrefetch()
	case !quick && extra > 0:
		return -extra
	}
	return extra
}

// recordTurn notes how long a worker was busy with a job.
func (p *pool) recordTurn(b *claimedJob, t Turn) {
	const memory = 8
	was := p.averageTurn.Load()
	p.averageTurn.Store(was + (int64(t.Ended.Sub(t.Began))-was)/memory)
	if p.cfg.Observer != nil {
		t.Source, t.Job, t.Priority = b.source.Name(), b.job, b.lease.Priority
		p.cfg.Observer.Turned(t)
	}
}

// takeSlots waits for an idle worker and takes all that are idle.
func (p *pool) takeSlots(ctx context.Context) int {
	select {
	case <-p.slots:
	case <-ctx.Done():
		return 0
	}
	n := 1
	for {
		select {
		case <-p.slots:
			n++
		default:
			if len(p.tasks) == 0 || !p.cfg.Shared || n >= p.cfg.Workers {
				return n
			}
			return n + p.gatherSlots(ctx, p.cfg.Workers-n)
		}
	}
}

// gatherTime is how long the feeder may wait for more idle workers while the
// others have work ahead: a trip to a server for one job costs as much as one
// for many.
const gatherTime = time.Millisecond

func (p *pool) gatherSlots(ctx context.Context, most int) (n int) {
	over := time.NewTimer(gatherTime)
	defer over.Stop()
	for n < most {
		select {
		case <-p.slots:
			n++
		case <-over.C:
			return n
		case <-ctx.Done():
			return n
		}
	}
	return n
}

func (p *pool) giveSlots(n int) {
	for range n {
		p.slots <- struct{}{}
	}
}

// loadRows reads the rows of leased jobs in one go. What has no row is forgotten.
func (p *pool) loadRows(ctx context.Context, leases []dispatch.Lease) []task {
	if len(leases) == 0 {
		return nil
	}
	rows := make(map[int64]domain.Job, len(leases))
	numbers, unknown := make([]int64, len(leases)), make([]int64, 0, len(leases))
	for i, l := range leases {
		numbers[i], _ = dispatch.JobNumber(l.ID)
		if j, ok := p.rows.pop(numbers[i]); ok {
			rows[numbers[i]] = j
		} else {
			unknown = append(unknown, numbers[i])
		}
	}
	if err := p.readRows(ctx, unknown, rows); err != nil {
		if ctx.Err() == nil {
			p.cfg.Log.Error("the rows of leased jobs could not be read; trying again soon", "jobs", len(leases), "error", err)
			if domain.CodeOf(err) == domain.CodeCorrupt {
				p.halt(fmt.Errorf("jobs cannot be read: %w", err))
			}
			p.storeWaits(err, p.cfg.BackoffBase)
		}
		p.delivery.release(ctx, leases, p.cfg.Now().Add(p.cfg.BackoffBase))
		return nil
	}
	tasks := make([]task, 0, len(leases))
	for i, l := range leases {
		job, ok := rows[numbers[i]]
		if !ok {
			p.delivery.acknowledge(ctx, l)
			continue
		}
		tasks = append(tasks, task{lease: l, job: job})
	}
	p.renewer.hold(leases)
	return tasks
}

// readRows adds the rows of jobs.
func (p *pool) readRows(ctx context.Context, ids []int64, rows map[int64]domain.Job) error {
	if len(ids) == 0 {
		return nil
	}
	jobs, err := p.State.Jobs.Load(ctx, ids)
	for _, j := range jobs {
		rows[j.ID] = j
	}
	return err
}
