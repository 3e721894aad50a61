package wiring

import (
	"context"
	"slices"

	"sluice/internal/backend/memory"
	"sluice/internal/backend/sqlite"
	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/idempotency"
	"sluice/internal/query"
	"sluice/internal/secret"
	"sluice/internal/state"
)

// openEmbedded opens the ports of a service that has everything to itself.
func (s *Service) openEmbedded(ctx context.Context, o *Options, ports *parts) error {
	db, err := openDatabase(ctx, *o)
	if err != nil {
		return err
	}
	s.closers = append(s.closers, db.Close)
	s.DB, s.SQL, s.Records = db, db, sqlite.NewRecords(db)
	s.Fleet.works("state", db)
	s.columns.reopen = func(ctx context.Context, kinds document.Kinds) (document.Reader, error) {
		return sqlite.NewDocuments(ctx, db, kinds)
	}
	if err := s.openSources(ctx, o, ports); err != nil {
		return err
	}
	var beside sqlite.DocumentWriter
	if s.Documents == nil {
		documents, err := sqlite.NewDocuments(ctx, db, s.Kinds)
		if err != nil {
			return err
		}
		s.Documents, beside, ports.words = documents, documents, sqlite.NewWords(db)
		s.Queries = query.NewLimited(sqlite.NewQueries(o.Config.Service.DataDir), 0)
	}
	store, err := sqlite.NewState(ctx, db, beside, o.Engine.Now)
	if err != nil {
		return err
	}
	if ports.Vault, err = openVault(ctx, *o, store); err != nil {
		return err
	}
	if err := s.openAccess(ctx, *o, sqlite.NewAccess(db)); err != nil {
		return err
	}
	ports.store = store
	s.openBackfill(*o, sqlite.NewFillings(db))
	s.Keys = idempotency.NewKeeper(sqlite.NewIdempotency(db), ports.Vault, o.Engine.Now)
	ports.timers.Store = sqlite.NewTimers(db)
	ports.sinks = sqlite.NewSinks(db)
	ports.notifications, ports.Origins = sqlite.NewNotifications(db), sqlite.NewOrigins(db)
	ports.timers.Trigger = memory.NewDueSet(memory.DueSetOptions{Now: o.Engine.Now})
	ports.Dispatch = memory.NewDispatcher(memory.DispatcherOptions{Lease: o.Engine.Lease, LaneLimit: o.Quota.Concurrency, Now: o.Engine.Now})
	stored := sqlite.NewRations(db)
	rations := memory.NewRations(memory.RationsOptions{Store: stored, Now: o.Engine.Now})
	if err := s.refreshEmbedded(*o, db, rations, &ports.refresh); err != nil {
		return err
	}
	return openQuota(ctx, *o, store, rations, stored, ports)
}

func openDatabase(ctx context.Context, o Options) (*sqlite.DB, error) {
	if o.Read {
		return sqlite.OpenToRead(ctx, o.Config.Service.DataDir)
	}
	return sqlite.Open(ctx, sqlite.Options{Dir: o.Config.Service.DataDir, Holder: o.Holder, MaxPages: o.MaxPages, Look: o.Look})
}

// openVault opens the key that seals credentials. Without it the service
// works, but for the accounts whose credentials it cannot open.
func openVault(ctx context.Context, o Options, store state.Accounts) (*secret.Box, error) {
	if o.Config.Servers.KeyFile != "" {
		box, err := secret.OpenFile(o.Config.Servers.KeyFile)
		if err != nil {
			return nil, err
		}
		return box, checkVault(ctx, o, store, box)
	}
	box, err := secret.OpenFolder(o.Config.Service.DataDir, func() (bool, error) {
		accounts, err := store.Accounts(ctx)
		return slices.ContainsFunc(accounts, func(a domain.Account) bool { return a.State != domain.AccountPurged }), err
	})
	if err != nil {
		return nil, err
	}
	if lost := box.Lost(); lost != nil {
		o.Engine.Log.Error("credentials cannot be opened", "error", lost)
	}
	return box, nil
}

// vaultSample is how many credentials are tried at a start.
const vaultSample = 20

// checkVault refuses a key that opens nothing of what other processes have
// sealed: with it, this process would pause the accounts of all of them.
func checkVault(ctx context.Context, o Options, store state.Accounts, box *secret.Box) error {
	if !o.Config.Servers.Shared() {
		return nil
	}
	accounts, err := store.Accounts(ctx)
	if err != nil {
		return err
	}
	// Of a purged account there is none.
	accounts = slices.DeleteFunc(accounts, func(a domain.Account) bool { return a.State == domain.AccountPurged })
	var wrong error
	for _, a := range accounts[:min(len(accounts), vaultSample)] {
		sealed, err := store.Credential(ctx, a.ID)
		if err != nil {
			return err
		}
		if _, wrong = box.Open(sealed, engine.CredentialOwner(a.Source, a.Login)); wrong == nil {
			return nil
		}
	}
	if wrong != nil {
		return domain.Errorf(domain.CodeInvalid, "--key-file %s opens none of this database's credentials; every process needs the same key: %w", o.Config.Servers.KeyFile, wrong)
	}
	return nil
}
