package enginetest

import (
	"context"
	"log/slog"
	"time"

	dispatchmemory "sluice/internal/dispatch/memory"
	documentsqlite "sluice/internal/document/sqlite"
	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/quota"
	quotamemory "sluice/internal/quota/memory"
	"sluice/internal/secret"
	"sluice/internal/source"
	"sluice/internal/sqlitedb"
	"sluice/internal/state"
	statesqlite "sluice/internal/state/sqlite"
)

// Rig is a complete embedded engine on a data folder.
type Rig struct {
	DB        *sqlitedb.DB
	State     state.Store
	Documents *documentsqlite.Store
	Engine    *engine.Engine
}

// Setup describes a Rig. Wrap hooks may replace a port by a wrapper of it.
type Setup struct {
	Dir        string
	Sources    []source.Source
	Quota      quota.Config
	Config     engine.Config
	Statistics engine.Statistics
	WrapState  func(state.Store) state.Store
	MaxPages   int
}

// Unlimited is a quota that never refuses.
func Unlimited(buckets ...string) quota.Config {
	c := quota.Config{Buckets: map[string]quota.Limits{}, Concurrency: 1 << 30}
	for _, b := range append(buckets, "core", "graphql") {
		c.Buckets[b] = quota.Limits{Limit: 1 << 40, Window: time.Hour, PointsPerMinute: 1 << 40}
	}
	return c
}

// NoStatistics computes nothing.
type NoStatistics struct{}

// Compute implements engine.Statistics.
func (NoStatistics) Compute(context.Context, domain.Run) ([]byte, error) { return []byte("{}"), nil }

// Open assembles an engine; the caller starts and closes it.
func Open(ctx context.Context, s Setup) (*Rig, error) {
	db, err := sqlitedb.Open(ctx, sqlitedb.Options{Dir: s.Dir, MaxPages: s.MaxPages})
	if err != nil {
		return nil, err
	}
	r := &Rig{DB: db}
	if err := r.assemble(ctx, s); err != nil {
		_ = db.Close() // the first error is the one to report
		return nil, err
	}
	return r, nil
}

func (r *Rig) assemble(ctx context.Context, s Setup) (err error) {
	if r.Documents, err = documentsqlite.New(r.DB); err != nil {
		return err
	}
	store, err := statesqlite.Open(ctx, r.DB, r.Documents, s.Config.Now)
	if err != nil {
		return err
	}
	r.State = store
	if s.WrapState != nil {
		r.State = s.WrapState(store)
	}
	windows, err := store.QuotaWindows(ctx)
	if err != nil {
		return err
	}
	box, err := secret.OpenFolder(s.Dir)
	if err != nil {
		return err
	}
	if s.Quota.Buckets == nil {
		s.Quota = Unlimited()
	}
	if s.Statistics == nil {
		s.Statistics = NoStatistics{}
	}
	if s.Config.Log == nil {
		s.Config.Log = slog.New(slog.DiscardHandler)
	}
	r.Engine, err = engine.New(engine.Ports{
		State: r.State, Dispatch: dispatchmemory.New(dispatchmemory.Options{Now: s.Config.Now}),
		Quota:   quotamemory.New(s.Quota, quotamemory.Options{Now: s.Config.Now, Restore: windows}),
		Sources: s.Sources, Statistics: s.Statistics, Vault: box,
	}, s.Config)
	return err
}

// Wait blocks until a run has ended.
func (r *Rig) Wait(ctx context.Context, id int64) (domain.Run, error) {
	changed, end := r.Engine.Watch()
	defer end()
	for seen := int64(-1); ; {
		// The engine speaks up for every job; the row is read only when a run
		// has ended, so that waiting costs the engine nothing.
		if ended := r.Engine.Counters().RunsEnded.Load(); ended != seen {
			seen = ended
			run, err := r.State.Run(ctx, id)
			if err != nil || !run.Status.Active() {
				return run, err
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return domain.Run{}, ctx.Err()
		}
	}
}

// Close stops the engine and closes the store.
func (r *Rig) Close(ctx context.Context) error {
	if err := r.Engine.Stop(ctx); err != nil {
		return err
	}
	return r.State.Close()
}
