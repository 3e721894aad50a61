package wiring

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"sluice/internal/access"
	"sluice/internal/backend/relational"
	"sluice/internal/backend/sqlite"
	"sluice/internal/config"
	"sluice/internal/engine"
	"sluice/internal/idempotency"
	"sluice/internal/secret"
	"sluice/internal/state"
)

// RotateKey seals every credential of a store, and every answer that is kept, with
// a new key. With prepare it only puts that key into the file; with drop the old
// ones leave the file at the end. The audit log has who did it.
func RotateKey(ctx context.Context, c config.Config, holder string, prepare, drop bool) (done secret.Rotated, err error) {
	path := c.Servers.KeyFile
	if path == "" {
		path = filepath.Join(c.Service.DataDir, secret.FileName)
	}
	stores, err := openSealed(ctx, c, holder)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, stores.close()) }()
	rotation := secret.Rotation{Path: path, Store: stores.seals, Owner: engine.CredentialOwner, Also: func(ctx context.Context, box *secret.Box, key string) (int, error) {
		return idempotency.Reseal(ctx, stores.answers, box, key)
	}}
	action := "rotate-key"
	if prepare {
		action = "prepare-key"
	}
	err = noted(ctx, stores.audit, action, filepath.Base(path), func() (err error) {
		if prepare {
			done.Key, err = rotation.Prepare(ctx)
		} else {
			done, err = rotation.Run(ctx, drop)
		}
		return err
	})
	return done, err
}

// noted lets a command that works on the data itself leave its entry in the audit
// log, while the log is still open.
func noted(ctx context.Context, store access.AuditStore, action, target string, do func() error) error {
	who, known := access.IdentityOf(ctx)
	if !known {
		return do()
	}
	audit := access.NewAudit(access.AuditOptions{Store: store})
	trail := audit.Begin(who, who.Address, action, target)
	// What is interrupted is to be seen as well.
	if entry, due := trail.Due(); due {
		if err := store.Record(ctx, entry); err != nil {
			return err
		}
	}
	err := do()
	audit.End(ctx, trail, access.StatusOf(err))
	return err
}

// sealedStores are those that hold what is sealed, and the audit log beside them.
type sealedStores struct {
	seals   state.Seals
	answers idempotency.Store
	audit   access.AuditStore
	close   func() error
}

// openSealed opens what holds something sealed, and nothing else.
func openSealed(ctx context.Context, c config.Config, holder string) (s sealedStores, err error) {
	if c.Servers.Shared() {
		db, err := openSQL(ctx, c.Servers.State, true)
		if err != nil {
			return s, err
		}
		return sealedStores{relational.NewState(db, nil, time.Now), relational.NewIdempotency(db), relational.NewAccess(db), db.Close}, nil
	}
	db, err := sqlite.Open(ctx, sqlite.Options{Dir: c.Service.DataDir, Holder: holder, Look: true})
	if err != nil {
		return s, err
	}
	store, err := sqlite.NewState(ctx, db, nil, time.Now)
	if err != nil {
		return s, errors.Join(err, db.Close())
	}
	return sealedStores{store, sqlite.NewIdempotency(db), sqlite.NewAccess(db), db.Close}, nil
}

// NoteRestored leaves the entry of a restored backup in the audit log that came
// with it.
func NoteRestored(ctx context.Context, dir, file string) error {
	db, err := sqlite.Open(ctx, sqlite.Options{Dir: dir, Holder: "sluice restore", Look: true})
	if err != nil {
		return err
	}
	err = noted(ctx, sqlite.NewAccess(db), "restore-backup", filepath.Base(file), func() error { return nil })
	return errors.Join(err, db.Close())
}
