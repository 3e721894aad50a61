package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"sluice/internal/archive"
	"sluice/internal/client"
	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
)

// archiveCommands are those about archived values.
type archiveCommands struct{ *App }

func (a archiveCommands) archive(o *options) *cobra.Command {
	c := group("archive", "List, verify, restore and export values of snapshots that are older than 30 days",
		a.archiveList(o), a.archiveVerify(o), a.archiveRestore(o), a.archiveExport(o), a.archiveRun(o))
	c.Long = c.Short + ".\nThe service needs --archive: a folder, or a bucket such as s3://NAME?region=REGION or gs://NAME."
	return c
}

// span are the days that a person typed.
type span struct{ day, from, to string }

func (s *span) register(c *cobra.Command) {
	c.Flags().StringVar(&s.day, "day", "", "only what was stored on this day, such as 2026-10-16, in UTC")
	c.Flags().StringVar(&s.from, "from", "", "only from this day on")
	c.Flags().StringVar(&s.to, "to", "", "only up to this day, which is included")
}

// settle checks the days before anything is opened.
func (s *span) settle() error {
	if s.day != "" {
		if s.from != "" || s.to != "" {
			return usage("give --day, or --from and --to")
		}
		s.from, s.to = s.day, s.day
	}
	return checkDays(s.from, s.to)
}

func checkDays(days ...string) error {
	for _, day := range days {
		if day == "" {
			continue
		}
		if _, _, err := archive.Day(day); err != nil {
			return usage("%w", err)
		}
	}
	return nil
}

func (a archiveCommands) archiveList(o *options) *cobra.Command {
	var source string
	var days span
	var page paging
	c := &cobra.Command{Use: "list", Short: "List what is archived, by day", Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := days.settle(); err != nil {
				return err
			}
			return a.with(c.Context(), o, func(s *session) error {
				list, err := gather(page, func(p client.Page) (wire.ArchiveList, error) {
					return s.Archived(c.Context(), source, days.from, days.to, p)
				})
				if err != nil {
					return err
				}
				if o.json() {
					return printJSON(a.Out, list)
				}
				defer a.more(list.NextCursor)
				return table(a.Out, "DAY\tSOURCE\tFILES\tROWS\tBYTES\tCOLD", func(line func(string, ...any)) {
					for _, d := range list.Items {
						line("%s\t%s\t%s\t%s\t%s\t%s", d.Day, d.Source, count(d.Files), count(d.Rows), count(d.Bytes), coldness(d))
					}
				})
			})
		}}
	days.register(c)
	c.Flags().StringVar(&source, "source", "", "only of this source")
	page.register(c)
	return c
}

// coldness says how much of a day is in cold storage.
func coldness(d wire.ArchiveDay) string {
	switch d.ColdFiles {
	case 0:
		return "no"
	case d.Files:
		return "yes"
	}
	return count(d.ColdFiles) + " of " + plural(int(d.Files), "file")
}

func (a archiveCommands) archiveVerify(o *options) *cobra.Command {
	var q wire.ArchiveVerifyRequest
	c := &cobra.Command{Use: "verify [DAY…]", Short: "Read files back and check every row; all of them unless days are named",
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkDays(args...); err != nil {
				return err
			}
			q.Days = args
			return a.changing(c.Context(), o, func(s *session) error {
				found, err := s.VerifyArchive(c.Context(), q)
				if err != nil {
					return err
				}
				return a.showVerified(o, found)
			})
		}}
	c.Flags().StringVar(&q.Source, "source", "", "only of this source")
	return c
}

func (a archiveCommands) showVerified(o *options, found wire.ArchiveVerified) error {
	if o.json() {
		if err := printJSON(a.Out, found); err != nil {
			return err
		}
	} else {
		for _, d := range found.Damaged {
			say(a.Out, "%s\n", d.Key)
			say(a.screen, "%s\n", d.Error)
		}
		say(a.screen, "read back: %s, %s, %s\n", plural(int(found.Files), "file"), plural(int(found.Rows), "row"), plural(int(found.Bytes), "byte"))
	}
	if found.DamagedFiles > 0 {
		return domain.Errorf(domain.CodeCorrupt, "%s of %s damaged or unreadable; replace them from a backup of the archive", count(found.DamagedFiles), plural(int(found.Files), "file"))
	}
	return nil
}

// selection is what values a person typed.
func selection(c *cobra.Command, q *wire.ArchiveRestoreRequest, days *span) {
	days.register(c)
	c.Flags().StringVar(&q.Source, "source", snapshotSource, "whose values")
	c.Args = func(c *cobra.Command, args []string) error {
		if len(args) > 1 {
			return usage("`%s` takes one key at most, such as item-equipment:OCID", c.CommandPath())
		}
		if len(args) == 0 && *days == (span{}) {
			return usage("`%s` takes a key, --day, or --from and --to", c.CommandPath())
		}
		return nil
	}
}

func settleSelection(q *wire.ArchiveRestoreRequest, days *span, args []string) error {
	if err := days.settle(); err != nil {
		return err
	}
	q.From, q.To = days.from, days.to
	if len(args) == 1 {
		q.Key = args[0]
	}
	return nil
}

func (a archiveCommands) archiveRestore(o *options) *cobra.Command {
	var q wire.ArchiveRestoreRequest
	var days span
	c := &cobra.Command{Use: "restore KEY | --day DAY", Short: "Put archived values back into the store",
		Long: "Put archived values back into the store. The files stay, and the next run of the archive\n" +
			"moves the values out again. Nothing is put back from a damaged file.",
		RunE: func(c *cobra.Command, args []string) error {
			if err := settleSelection(&q, &days, args); err != nil {
				return err
			}
			return a.changing(c.Context(), o, func(s *session) error {
				done, err := s.RestoreArchive(c.Context(), q)
				if err != nil {
					return err
				}
				if o.json() {
					return printJSON(a.Out, done)
				}
				say(a.Out, "%s put back\n", plural(int(done.Values), "value"))
				return nil
			})
		}}
	selection(c, &q, &days)
	return c
}

func (a archiveCommands) archiveExport(o *options) *cobra.Command {
	var q wire.ArchiveRestoreRequest
	var days span
	var out string
	c := &cobra.Command{Use: "export KEY | --day DAY", Short: "Write archived values as lines of JSON",
		RunE: func(c *cobra.Command, args []string) error {
			if err := settleSelection(&q, &days, args); err != nil {
				return err
			}
			return a.changing(c.Context(), o, func(s *session) error { return a.exportArchive(c.Context(), s, q, out) })
		}}
	selection(c, &q, &days)
	c.Flags().StringVar(&out, "out", "", "file to write; standard output by default")
	return c
}

func (a archiveCommands) exportArchive(ctx context.Context, s *session, q wire.ArchiveRestoreRequest, file string) error {
	if file == "" || file == "-" {
		_, err := s.ExportArchive(ctx, q, a.Out)
		return err
	}
	var n int64
	err := writeOnce(file, func(w io.Writer) (err error) {
		n, err = s.ExportArchive(ctx, q, w)
		return err
	})
	if err == nil {
		say(a.screen, "%s in %s\n", plural(int(n), "value"), file)
	}
	return err
}

func (a archiveCommands) archiveRun(o *options) *cobra.Command {
	return &cobra.Command{Use: "run", Short: "Archive now what is old enough, instead of at the daily hour", Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.changing(c.Context(), o, func(s *session) error {
				done, err := s.RunArchive(c.Context())
				if err != nil {
					return err
				}
				if o.json() {
					return printJSON(a.Out, done)
				}
				say(a.Out, "%s archived in %s of %s bytes; %s moved to cold storage\n", plural(int(done.Archived.Values), "value"),
					plural(int(done.Archived.Files), "new file"), count(done.Archived.Bytes), plural(int(done.Cooled.Files), "file"))
				return nil
			})
		}}
}
