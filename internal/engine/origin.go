package engine

import (
	"context"

	"sluice/internal/logs"
	"sluice/internal/state"
	"sluice/internal/traces"
)

// noteOrigin notes which request began a run. Without the note the run is found by
// its number alone, so that a failure stops nothing.
func (c *core) noteOrigin(ctx context.Context, run int64) {
	id := logs.Correlation(ctx)
	if id == "" || c.Origins == nil {
		return
	}
	if err := c.Origins.PutOrigin(ctx, run, state.Origin{ID: id, Trace: traces.Parent(ctx)}); err != nil {
		c.cfg.Log.Debug("the origin of a run could not be stored", "run", run, logs.CorrelationAttribute, id, "error", err)
	}
}

// originOf is what began a run that is being begun by this very call, or before.
func (c *core) originOf(ctx context.Context, run int64) state.Origin {
	if id := logs.Correlation(ctx); id != "" {
		return state.Origin{ID: id}
	}
	return c.runs.origin(run)
}

// origin is what is remembered of what began a run.
func (c *runCache) origin(run int64) state.Origin {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if r, ok := c.byID[run]; ok {
		return r.origin
	}
	return state.OriginOfRun(run)
}
