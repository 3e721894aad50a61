package engine

import (
	"cmp"
	"context"
	"time"

	"sluice/internal/backoff"
	"sluice/internal/dispatch"
	"sluice/internal/domain"
	"sluice/internal/engine/forecast"
	"sluice/internal/source"
	"sluice/internal/watch"
)

// core is what all parts of an engine share: the ports, what is remembered of
// accounts and runs, what people see, and what is still owed to a part that
// failed.
type core struct {
	Ports
	cfg     Config
	sources map[string]source.Source

	accounts *accountCache
	runs     *runCache
	waits    *waitReasons
	paces    *forecast.Paces
	watchers *watch.Broadcaster
	retries  *retryQueue
	counters *Counters
	halted   *haltReason
}

func newCore(p Ports, cfg Config) *core {
	c := &core{Ports: p, cfg: cfg, sources: map[string]source.Source{}}
	for _, s := range p.Sources {
		c.sources[s.Name()] = s
	}
	c.accounts = newAccountCache(p.State.Accounts, p.Vault, cfg.Now)
	c.runs = newRunCache(p.State.Runs, p.State.Cursors, p.Origins)
	c.waits = newWaitReasons(cfg.Now)
	c.paces = forecast.NewPaces()
	c.watchers = watch.New(p.Signals, dispatch.MaxWait)
	c.retries = newRetryQueue(cfg.Log)
	c.counters = &Counters{}
	c.halted = newHaltReason()
	return c
}

// retryUntilStored repeats a write while the store is unavailable, and lets people see
// that it waits.
func (c *core) retryUntilStored(ctx context.Context, run int64, write func() error) error {
	for delays := backendDelays.Series(); ; {
		err := write()
		if err == nil {
			c.waits.clear(waitStore)
			return nil
		}
		if domain.CodeOf(err) != domain.CodeUnavailable || ctx.Err() != nil {
			return err
		}
		c.cfg.Log.Warn("the store does not take a result; trying again", "run", run, "error", err)
		delay := delays.Next()
		c.storeWaits(err, delay)
		if !backoff.Sleep(ctx, delay) {
			return err
		}
	}
}

// storeWaits shows that work waits for the store.
func (c *core) storeWaits(err error, delay time.Duration) {
	c.waits.set(waitStore, Wait{Reason: err.Error(), Until: c.cfg.Now().Add(delay)})
	c.watchers.Notify()
}

// Watch returns a channel that gets a token after something changed, here or,
// while the engine is started, in another process, and the function that ends
// it.
func (c *core) Watch() (changed <-chan struct{}, end func()) { return c.watchers.Watch() }

func (c *core) source(name string) (source.Source, error) {
	src, ok := c.sources[name]
	if !ok {
		c.cfg.Unknown(name)
		return nil, domain.Errorf(domain.CodeInvalid, "there is no source of that name; GET /api/v1/sources lists them")
	}
	return src, nil
}

// jobContext gathers whose job it is and who can make its call.
func (c *core) jobContext(ctx context.Context, job domain.Job) (account, runInfo, source.Source, error) {
	a, err := c.accounts.get(ctx, job.AccountID)
	if err != nil {
		return account{}, runInfo{}, nil, err
	}
	run, err := c.runs.get(ctx, job.RunID)
	if err != nil {
		return account{}, runInfo{}, nil, err
	}
	src, err := c.sourceOf(a)
	if domain.CodeOf(err) == domain.CodeConflict {
		a.unreadable, err = cmp.Or(a.unreadable, err), nil
	}
	return a, run, src, err
}

// buildCall adds what earlier runs left: the cursors and the stored page. Without
// the page the request is merely unconditional, so a failure to read it does
// not stop the call.
func (c *core) buildCall(ctx context.Context, run runInfo, job domain.Job) source.Call {
	src := c.sources[run.Source]
	call := source.Call{Run: run.Run, Job: job, Cursors: run.cursors, Since: run.cursors[job.Type+" "+job.Resource], Shared: c.sharedFor(run)}
	conditional, ok := src.(source.Conditional)
	if !ok {
		return call
	}
	// In a first run there are no pages but those that were copied in it.
	if sharer, ok := src.(source.Sharer); len(run.cursors) == 0 && (!ok || !sharer.Adopted(job.JobSpec)) {
		return call
	}
	key := conditional.StoredKey(job.JobSpec)
	if key == "" {
		return call
	}
	page, found, err := c.State.Cursors.StoredPage(ctx, job.AccountID, key)
	if err != nil {
		c.cfg.Log.Warn("a stored page could not be read; the call is made without its condition", "run", job.RunID, "job", job.ID, "error", err)
	} else if found {
		call.Stored = &page
	}
	return call
}
