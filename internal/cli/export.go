package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice/internal/client"
	"sluice/internal/config"
	"sluice/internal/document"
	"sluice/internal/export"
	"sluice/internal/sources"
)

// exportFlags are what a person typed.
type exportFlags struct {
	kind, format, since, until, changed, out string
	accounts                                 []string
}

// exportCommand writes what was collected.
type exportCommand struct{ *App }

func (a exportCommand) export(o *options) *cobra.Command {
	var flags exportFlags
	c := &cobra.Command{
		Use:   "export --kind KIND",
		Short: "Write what was collected as JSON lines, CSV or Parquet",
		Long: "Write one kind of what was collected, one row each, to standard output or a file.\n" +
			"A file appears under its name only when it is complete. CSV keeps values\n" +
			"unchanged, even those that a spreadsheet takes for a formula.",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := sourceFinder(a).learnKinds(c.Context(), o, flags.kind); err != nil {
				return err
			}
			query, err := flags.query(o.kinds())
			if err != nil {
				return err
			}
			if flags.out == "-" {
				flags.out = ""
			}
			if query.Format == export.FormatParquet && flags.out == "" && terminalSize(a.Out).width > 0 {
				return usage("parquet cannot be read on a terminal; give --out FILE, or redirect the output")
			}
			return a.with(c.Context(), o, func(s *session) error { return a.exportTo(c.Context(), o, s, query, flags.out) })
		},
	}
	f := c.Flags()
	f.StringVar(&flags.kind, "kind", "", strings.Join(export.Kinds(sources.Kinds()), ", "))
	f.StringVar(&flags.format, "format", "", strings.Join(export.Formats(), ", ")+" (default: by the extension of --out, else jsonl)")
	f.StringSliceVar(&flags.accounts, "account", nil, "only of this account (id or login); may be repeated")
	f.StringVar(&flags.since, "since", "", "only what was created or committed at this time or later: 2026-01-31, or RFC 3339")
	f.StringVar(&flags.until, "until", "", "only what was created or committed before this time")
	f.StringVar(&flags.changed, "changed-since", "", "only documents that changed after this position, as they are now; the next one is told (docs/changes.md)")
	f.StringVar(&flags.out, "out", "", "file to write; standard output by default")
	return c
}

// query checks the flags before anything is opened.
func (f *exportFlags) query(kinds document.Kinds) (q client.ExportQuery, err error) {
	if f.kind == "" {
		return q, usage("export needs --kind: one of %s", strings.Join(export.Kinds(kinds), ", "))
	}
	if q.Kind, err = export.ParseKind(f.kind, kinds); err != nil {
		return q, usage("--kind: %w%s", err, config.Suggest(f.kind, export.Kinds(kinds)))
	}
	byName := strings.TrimPrefix(filepath.Ext(f.out), ".")
	if !slices.Contains(export.Formats(), byName) {
		byName = ""
	}
	format := cmp.Or(f.format, byName, string(export.FormatJSONL))
	if q.Format, err = export.ParseFormat(format); err != nil {
		return q, usage("--format: %w%s", err, config.Suggest(format, export.Formats()))
	}
	if q.Since, err = instantFlag("since", f.since); err != nil {
		return q, err
	}
	if q.Until, err = instantFlag("until", f.until); err != nil {
		return q, err
	}
	q.Accounts = f.accounts
	if q.ChangedSince = f.changed; f.changed != "" {
		if after, err := strconv.ParseInt(f.changed, 10, 64); err != nil || after < 0 {
			return q, usage("--changed-since: %q is not a position; give the one that an earlier export told, or 0", f.changed)
		}
		if q.Kind == export.KindStatistics {
			return q, usage("--changed-since is about documents, and not about statistics")
		}
	}
	return q, export.Options{Kind: q.Kind, Format: q.Format, Since: q.Since, Until: q.Until}.Check(kinds)
}

func instantFlag(name, text string) (time.Time, error) {
	t, err := export.ParseInstant(text)
	if err != nil {
		return t, usage("--%s: %w", name, err)
	}
	return t, nil
}

// exported is what a finished export to a file says.
type exported struct {
	Kind   export.Kind   `json:"kind"`
	Format export.Format `json:"format"`
	Rows   int64         `json:"rows"`
	File   string        `json:"file"`
	// Position is where to go on with --changed-since.
	Position string `json:"position,omitempty"`
}

func (a exportCommand) exportTo(ctx context.Context, o *options, s *session, q client.ExportQuery, file string) error {
	if file == "" {
		_, position, err := s.ExportChanged(ctx, q, a.Out)
		if err == nil {
			a.tellPosition(position)
		}
		return err
	}
	done := exported{Kind: q.Kind, Format: q.Format, File: file}
	err := writeOnce(file, func(w io.Writer) (err error) {
		done.Rows, done.Position, err = s.ExportChanged(ctx, q, w)
		return err
	})
	if err != nil {
		return err
	}
	if o.json() {
		return printJSON(a.Out, done)
	}
	say(a.Err, "%s rows of %s are in %s\n", count(done.Rows), q.Kind, file)
	a.tellPosition(done.Position)
	return nil
}

// tellPosition says how to go on with what changes from now on.
func (a exportCommand) tellPosition(position string) {
	if position != "" {
		say(a.Err, "position %s: --changed-since %[1]s exports what changes from now on\n", position)
	}
}

// writeOnce has a file written under another name, which becomes its own when
// it is complete; until then, what had that name stays.
func writeOnce(name string, write func(io.Writer) error) (err error) {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return writeDevice(name, write)
	}
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	f, err := os.OpenFile(fmt.Sprintf("%s.%d.part", name, os.Getpid()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return usage("--out: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if err := errors.Join(write(f), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// writeDevice writes to what is no file, such as a pipe; it cannot be replaced.
func writeDevice(name string, write func(io.Writer) error) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return usage("--out: %w", err)
	}
	return errors.Join(write(f), f.Close())
}
