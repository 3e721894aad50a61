package main

import (
	"context"

	"sluice/internal/backend/sqlite"
	"sluice/internal/backup"
	"sluice/internal/cli"
	"sluice/internal/secret"
	"sluice/internal/wiring"
)

// keeper is what the command line does to a data folder and its key.
func keeper() cli.Keeper {
	return cli.Keeper{
		Backup: func(ctx context.Context, o backup.Options) (backup.Manifest, error) {
			return backup.Make(ctx, sqlite.Copies{}, o)
		},
		Restore: func(ctx context.Context, o backup.RestoreOptions) (backup.Restored, error) {
			done, err := backup.Restore(ctx, sqlite.Copies{}, o)
			if err != nil || o.CheckOnly {
				return done, err
			}
			if err := wiring.NoteRestored(ctx, o.Dir, o.File); err != nil {
				// It is restored, and may be of a version that this one migrates first.
				done.Unnoted = err.Error()
			}
			return done, nil
		},
		Rotate: func(ctx context.Context, o cli.ServiceOptions, how cli.Rotating) (secret.Rotated, error) {
			return wiring.RotateKey(ctx, o.Config, o.Holder, how.Prepare, how.DropOld)
		},
	}
}
