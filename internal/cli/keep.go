package cli

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sluice/internal/access"
	"sluice/internal/backup"
	"sluice/internal/domain"
	"sluice/internal/secret"
)

// Keeper is what a command line does to a data folder and its key. Main hands it
// in, as it knows the database.
type Keeper struct {
	Backup  func(context.Context, backup.Options) (backup.Manifest, error)
	Restore func(context.Context, backup.RestoreOptions) (backup.Restored, error)
	// Rotate changes the key that seals credentials.
	Rotate func(context.Context, ServiceOptions, Rotating) (secret.Rotated, error)
}

// Rotating says how far a key is rotated.
type Rotating struct {
	// Prepare puts the new key into the file, and uses it for nothing yet.
	Prepare bool
	// DropOld takes the old key out of the file at the end.
	DropOld bool
}

// keepCommands are those that keep data safe.
type keepCommands struct{ *App }

// onePath demands the name of a file.
func onePath(c *cobra.Command, args []string) error {
	if len(args) != 1 || args[0] == "" {
		return usage("`%s` takes one file; see `%[1]s --help`", c.CommandPath())
	}
	if args[0] == "-" {
		return usage("a backup is a file that is proved whole, not a stream: name a file instead of - (or ./- if it is called so)")
	}
	return nil
}

func (a keepCommands) backup(o *options) *cobra.Command {
	var withKey bool
	c := &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy the data folder into a file, also while the service runs",
		Long: `Copy the embedded database of the data folder, as it is at one instant, and the configuration
file that lies in the folder into FILE. The service goes on meanwhile.

The key that seals credentials is not in it, so that whoever finds the file finds no tokens; keep
sluice.key elsewhere, or put it in with --with-key and guard the file. Where the state is in
PostgreSQL or MySQL use the server's own tools (pg_dump, mariadb-dump).`,
		Args: onePath,
		RunE: func(c *cobra.Command, args []string) error {
			if err := a.embeddedOnly(o, "pg_dump or mariadb-dump"); err != nil {
				return err
			}
			options := backup.Options{Dir: o.Service.DataDir, File: args[0], Program: a.Version, Now: a.Now}
			if withKey {
				options.KeyFile = o.keyFile()
				options.CheckKey = func(path string) error { _, err := secret.KeyIDs(path); return err }
			}
			m, err := a.Keep.Backup(c.Context(), options)
			if err != nil {
				return err
			}
			a.warnOfMongo(o)
			if o.json() {
				return printJSON(a.Out, m)
			}
			say(a.Out, "%s holds %s of %s (schema %d)\n", args[0], countsText(m), o.Service.DataDir, m.Schema)
			if len(m.Keys) > 0 && !m.WithKey {
				say(a.Out, "the key is not in it: keep %s as well, elsewhere\n", o.keyFile())
			}
			return nil
		},
	}
	c.Flags().BoolVar(&withKey, "with-key", false, "put the key that seals credentials in as well: the file is as secret as the tokens then")
	return c
}

// keyFile is where the key of a service lies.
func (o *options) keyFile() string {
	if o.Servers.KeyFile != "" {
		return o.Servers.KeyFile
	}
	return filepath.Join(o.Service.DataDir, secret.FileName)
}

// embeddedOnly refuses what is about a data folder where there is none.
func (a keepCommands) embeddedOnly(o *options, instead string) error {
	if o.Servers.Shared() {
		return domain.Errorf(domain.CodeInvalid, "the state is in a server (--state), not in a data folder: use its own tools, such as %s", instead)
	}
	return nil
}

func (a keepCommands) warnOfMongo(o *options) {
	if o.Servers.Mongo != "" {
		fmt.Fprintln(a.screen, "sluice: warning: documents are in MongoDB (--mongo), which is not part of it; use mongodump as well")
	}
}

// countsText tells what a backup holds.
func countsText(m backup.Manifest) string {
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(m.Counts)) {
		if n := m.Counts[what]; n > 0 {
			parts = append(parts, plural(int(n), strings.ReplaceAll(what, "_", " ")))
		}
	}
	if len(parts) == 0 {
		return "no data"
	}
	return strings.Join(parts, ", ")
}

func (a keepCommands) restore(o *options) *cobra.Command {
	var force, checkOnly bool
	c := &cobra.Command{
		Use:   "restore FILE",
		Short: "Put a backup into the data folder",
		Long: `Put a backup into the data folder. All of it is proved before anything is touched: a file that is
damaged, cut off or of a newer version is refused, and nothing is changed.

A folder with data is refused too; with --force what is there goes into a folder before-restore-…
in it. The key file stays, unless the backup has one. The service must not run.`,
		Args: onePath,
		RunE: func(c *cobra.Command, args []string) error {
			if err := a.embeddedOnly(o, "pg_restore or mariadb"); err != nil {
				return err
			}
			r, err := a.Keep.Restore(access.WithIdentity(c.Context(), localIdentity()), backup.RestoreOptions{File: args[0], Dir: o.Service.DataDir, Force: force, CheckOnly: checkOnly, Now: a.Now})
			if err != nil {
				return err
			}
			a.lookForKeys(o, &r, checkOnly)
			if r.Unnoted != "" {
				say(a.screen, "sluice: warning: the audit log has no entry of this restore: %s\n", r.Unnoted)
			}
			if o.json() {
				return printJSON(a.Out, r)
			}
			made := "made " + when(r.Manifest.Made) + " by version " + r.Manifest.Program
			if checkOnly {
				say(a.Out, "%s is sound: %s, %s\n", args[0], countsText(r.Manifest), made)
				return nil
			}
			say(a.Out, "%s holds %s, %s\n", o.Service.DataDir, countsText(r.Manifest), made)
			if r.Aside != "" {
				say(a.Out, "what was there before is in %s\n", r.Aside)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&force, "force", false, "also into a folder with data, which is put aside")
	c.Flags().BoolVar(&checkOnly, "check", false, "only prove that the backup is sound and could be restored")
	return c
}
