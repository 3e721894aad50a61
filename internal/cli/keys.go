package cli

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sluice/internal/access"
	"sluice/internal/backup"
	"sluice/internal/domain"
	"sluice/internal/secret"
)

// lookForKeys compares the keys that a backup's credentials are sealed with with
// those of the key file that is used with it, and warns of what will not open.
func (a keepCommands) lookForKeys(o *options, r *backup.Restored, checkOnly bool) {
	needed := slices.DeleteFunc(slices.Clone(r.Manifest.Keys), func(id string) bool { return id == "" })
	if len(needed) == 0 || checkOnly && r.Manifest.WithKey {
		return
	}
	path := o.keyFile()
	// A key of the backup is put into the folder, whatever file the service is told.
	if r.Manifest.WithKey && !checkOnly {
		path = filepath.Join(o.Service.DataDir, secret.FileName)
	}
	has, err := secret.KeyIDs(path)
	r.MissingKeys = slices.DeleteFunc(needed, func(id string) bool { return slices.Contains(has, id) })
	if len(r.MissingKeys) == 0 {
		return
	}
	ids := strings.Join(r.MissingKeys, ", ")
	switch {
	case domain.CodeOf(err) == domain.CodeNotFound:
		say(a.screen, "sluice: warning: credentials are sealed with key %s, which is not in the backup: put the key file at %s before you start the service\n", ids, path)
	case err != nil:
		say(a.screen, "sluice: warning: credentials are sealed with key %s, and %v\n", ids, err)
	default:
		say(a.screen, "sluice: warning: credentials are sealed with key %s, but %s has %s: put the key file of the time of the backup there, or add its key as a line of its own; if it is lost, renew each account's token with `sluice account set LOGIN --token-file FILE`\n",
			ids, path, strings.Join(has, ", "))
	}
}

func (a keepCommands) key(o *options) *cobra.Command {
	return group("key", "Rotate the key that seals stored credentials", a.keyRotate(o))
}

func (a keepCommands) keyRotate(o *options) *cobra.Command {
	var how Rotating
	c := &cobra.Command{
		Use:   "rotate",
		Short: "Seal every stored credential with a new key",
		Long: `Make a new key and seal every stored credential with it, a hundred in a transaction. The old key
stays in the key file until nothing needs it. Whatever interrupts it: run it again, and it goes on.

In a data folder the service must not run; it takes moments. With servers (--state) the processes go
on, and read the key file again by themselves. Where machines have copies of the file: run it with
--prepare, give the file to all of them, run it once on one of them, give the file to all again, and
run it with --drop-old at last. Backups of the time before need the key of that time: keep it.`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if how.Prepare && how.DropOld {
				return usage("--prepare is the first step and --drop-old the last; give one of them")
			}
			if !o.Servers.Shared() {
				if err := a.needData(o.Service.DataDir, toChange); err != nil {
					return err
				}
			}
			so, err := a.service(o, "sluice key rotate")
			if err != nil {
				return err
			}
			// One process has a data folder: nobody else needs the old key.
			how.DropOld = how.DropOld || !o.Servers.Shared() && !how.Prepare
			r, err := a.Keep.Rotate(access.WithIdentity(c.Context(), localIdentity()), so, how)
			if err != nil {
				return err
			}
			if o.json() {
				if err := printJSON(a.Out, r); err != nil {
					return err
				}
			} else {
				a.printRotation(o, how, r)
			}
			if n := len(r.Unreadable); n > 0 {
				return domain.Errorf(domain.CodeConflict, "%s cannot be opened by any key of %s, whose old keys stay: renew them, then run it again", plural(n, "credential"), o.keyFile())
			}
			return nil
		},
	}
	c.Flags().BoolVar(&how.Prepare, "prepare", false, "only put the new key into the key file, to be given to other machines first")
	c.Flags().BoolVar(&how.DropOld, "drop-old", false, "take the old key out of the key file at the end, as is always done in a data folder")
	return c
}

func (a keepCommands) printRotation(o *options, how Rotating, r secret.Rotated) {
	if how.Prepare {
		say(a.Out, "%s has the next key, %s, which seals nothing yet: give the file to every machine, then run `sluice key rotate`\n", o.keyFile(), r.Key)
		return
	}
	say(a.Out, "%s sealed with key %s\n", plural(r.Resealed, "credential"), r.Key)
	for _, account := range r.Unreadable {
		say(a.Out, "  %s cannot be opened by any key of the file; renew it with `sluice account set LOGIN --token-file FILE`\n", account)
	}
	switch {
	case r.Dropped:
		say(a.Out, "%s has the new key only\n", o.keyFile())
	case len(r.Unreadable) > 0:
	case len(r.Old) > 0:
		say(a.Out, "%s still has the old key: when every machine has this file, run `sluice key rotate --drop-old`\n", o.keyFile())
	}
}
