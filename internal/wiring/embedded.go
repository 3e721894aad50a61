package wiring

import (
	"context"

	dispatchmemory "sluice/internal/dispatch/memory"
	documentsqlite "sluice/internal/document/sqlite"
	"sluice/internal/quota"
	quotamemory "sluice/internal/quota/memory"
	"sluice/internal/secret"
	"sluice/internal/sqlitedb"
	statesqlite "sluice/internal/state/sqlite"
	timermemory "sluice/internal/timer/memory"
	timersqlite "sluice/internal/timer/sqlite"
)

// openEmbedded opens the ports of a service that has everything to itself.
func (s *Service) openEmbedded(ctx context.Context, o Options, ports *parts) error {
	db, err := sqlitedb.Open(ctx, sqlitedb.Options{Dir: o.DataDir, Holder: o.Holder, MaxPages: o.MaxPages})
	if err != nil {
		return err
	}
	s.closers = append(s.closers, db.Close)
	s.DB, s.SQL = db, db
	var beside statesqlite.DocumentWriter
	if s.Documents == nil {
		documents, err := documentsqlite.New(db)
		if err != nil {
			return err
		}
		s.Documents, beside = documents, documents
	}
	store, err := statesqlite.Open(ctx, db, beside, o.Engine.Now)
	if err != nil {
		return err
	}
	windows, err := store.QuotaWindows(ctx, "")
	if err != nil {
		return err
	}
	if ports.Vault, err = openVault(o); err != nil {
		return err
	}
	ports.State = store
	ports.timers.Store = timersqlite.New(db)
	ports.timers.Trigger = timermemory.New(timermemory.Options{Now: o.Engine.Now})
	ports.Dispatch = dispatchmemory.New(dispatchmemory.Options{Lease: o.Engine.Lease, LaneLimit: o.Quota.Concurrency, Now: o.Engine.Now})
	if err := s.refreshEmbedded(o, db, &ports.refresh); err != nil {
		return err
	}
	ports.Quota = quota.Unlimited{}
	if len(o.Quota.Buckets) > 0 {
		ports.Quota = quotamemory.New(o.Quota, quotamemory.Options{Now: o.Engine.Now, Restore: windows})
	}
	return nil
}

func openVault(o Options) (*secret.Box, error) {
	if o.Servers.KeyFile != "" {
		return secret.OpenFile(o.Servers.KeyFile)
	}
	return secret.OpenFolder(o.DataDir)
}
