// Package wiring puts an engine together from its adapters. It is the one
// place that knows them all; commands, tests and benchmarks get the same
// assembly from here.
package wiring

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"sluice/internal/dispatch"
	dispatchmemory "sluice/internal/dispatch/memory"
	"sluice/internal/document"
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
	"sluice/internal/stats"
)

// Options describes an embedded service.
type Options struct {
	// DataDir holds the database, the key and the lock.
	DataDir string
	// Holder tells other processes who has the data folder.
	Holder  string
	Sources []source.Source
	Quota   quota.Config
	Engine  engine.Config
	// WrapState, WrapDispatch, WrapQuota and MaxPages let tests break parts.
	WrapState    func(state.Store) state.Store
	WrapDispatch func(dispatch.Dispatcher) dispatch.Dispatcher
	WrapQuota    func(quota.Keeper) quota.Keeper
	MaxPages     int
	// Statistics replaces the real statistics, for benchmarks of the engine.
	Statistics engine.Statistics
}

// Service is an assembled engine with its parts.
type Service struct {
	DB         *sqlitedb.DB
	State      state.Store
	Documents  document.Reader
	Dispatch   dispatch.Dispatcher
	Quota      quota.Keeper
	Statistics *stats.Computer
	Engine     *engine.Engine
}

// Open assembles a service on its data folder; the caller starts its engine
// and closes it.
func Open(ctx context.Context, o Options) (*Service, error) {
	db, err := sqlitedb.Open(ctx, sqlitedb.Options{Dir: o.DataDir, Holder: o.Holder, MaxPages: o.MaxPages})
	if err != nil {
		return nil, err
	}
	s := &Service{DB: db}
	if err := s.assemble(ctx, o); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

func (s *Service) assemble(ctx context.Context, o Options) error {
	documents, err := documentsqlite.New(s.DB)
	if err != nil {
		return err
	}
	store, err := statesqlite.Open(ctx, s.DB, documents, o.Engine.Now)
	if err != nil {
		return err
	}
	s.State, s.Documents = store, documents
	if o.WrapState != nil {
		s.State = o.WrapState(store)
	}
	windows, err := store.QuotaWindows(ctx)
	if err != nil {
		return err
	}
	box, err := secret.OpenFolder(o.DataDir)
	if err != nil {
		return err
	}
	if o.Engine.Log == nil {
		o.Engine.Log = slog.New(slog.DiscardHandler)
	}
	s.Dispatch = dispatchmemory.New(dispatchmemory.Options{Lease: o.Engine.Lease, LaneLimit: o.Quota.Concurrency, Now: o.Engine.Now})
	s.Quota = quotamemory.New(o.Quota, quotamemory.Options{Now: o.Engine.Now, Restore: windows})
	if o.WrapDispatch != nil {
		s.Dispatch = o.WrapDispatch(s.Dispatch)
	}
	if o.WrapQuota != nil {
		s.Quota = o.WrapQuota(s.Quota)
	}
	s.Statistics = stats.New(documents, store, o.Engine.Now)
	var statistics engine.Statistics = s.Statistics
	if o.Statistics != nil {
		statistics = o.Statistics
	}
	s.Engine, err = engine.New(engine.Ports{
		State: s.State, Dispatch: s.Dispatch, Quota: s.Quota, Sources: o.Sources, Statistics: statistics, Vault: box,
	}, o.Engine)
	return err
}

// Close stops the engine, gracefully until ctx ends, and closes the store.
func (s *Service) Close(ctx context.Context) error {
	return errors.Join(s.Engine.Stop(ctx), s.State.Close())
}

// WaitRun blocks until a run has ended, however it ended, or its account is
// paused.
func (s *Service) WaitRun(ctx context.Context, id int64) (domain.Run, error) {
	changed, end := s.Engine.Watch()
	defer end()
	for seen := int64(-1); ; {
		// The engine speaks up for every job; the row is read only when a run
		// has ended, so that waiting costs the engine nothing.
		if ended := s.Engine.Counters().RunsEnded.Load(); ended != seen {
			seen = ended
			run, err := s.State.Run(ctx, id)
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

// GitHubQuota is what GitHub grants a user, with the floor that owners keep
// for themselves.
func GitHubQuota(floor int) quota.Config {
	return quota.Config{
		Concurrency: 100,
		Buckets: map[string]quota.Limits{
			"core":    {Limit: 5000, Window: time.Hour, Floor: floor, PointsPerMinute: 900},
			"graphql": {Limit: 5000, Window: time.Hour, Floor: floor, PointsPerMinute: 2000, PointsShared: true},
			"search":  {Limit: 30, Window: time.Minute, PointsPerMinute: 900},
		},
	}
}

// NoQuota never refuses: for benchmarks and for sources without a ration.
func NoQuota() quota.Config {
	c := quota.Config{Buckets: map[string]quota.Limits{}, Concurrency: 1 << 30}
	for _, bucket := range []string{"core", "graphql", "search"} {
		c.Buckets[bucket] = quota.Limits{Limit: 1 << 40, Window: time.Hour, PointsPerMinute: 1 << 40}
	}
	return c
}
