package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice/internal/backoff"
	"sluice/internal/client"
	"sluice/internal/compare"
	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/export"
	"sluice/internal/sources"
)

// compareCommand holds what another system collected against what this one did.
type compareCommand struct{ *App }

// compareFlags are what a person typed.
type compareFlags struct {
	source, other                       string
	kinds, names, key, ignore, accounts []string
	table, tokenFile                    string
	examples                            int
	watch                               time.Duration
}

func (a compareCommand) compare(o *options) *cobra.Command {
	var f compareFlags
	c := &cobra.Command{
		Use:   "compare SOURCE URL",
		Short: "Compare what another system collected with this one, document by document",
		Long: "Compare what another system collected from a source with this one, document by document,\n" +
			"and tell what is missing here, extra here and different, by kind and account.\n\n" +
			"URL is mysql://… or postgres://… (with --table), FILE.parquet, FILE.jsonl, or http://… of another\n" +
			"Sluice; also @FILE that holds it. Exit code 0 means that both have the same, 1 that they do not,\n" +
			"2 that they could not be compared.",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usage("`%s` takes a source and where the other system's documents are", c.CommandPath())
			}
			f.source, f.other = args[0], args[1]
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error {
			kinds, err := f.check()
			if err != nil {
				return err
			}
			err = a.with(c.Context(), o, func(s *session) error { return a.compareAll(c.Context(), o, s, &f, kinds) })
			return notCompared(c.Context(), err)
		},
	}
	flags := c.Flags()
	flags.StringSliceVar(&f.kinds, "kind", nil, "what is compared; may be repeated. Another Sluice is asked for every kind by default")
	flags.StringVar(&f.table, "table", "", "table or view of the other database")
	flags.StringSliceVar(&f.names, "map", nil, "COLUMN=NAME: what the other system calls a column of ours; may be repeated")
	flags.StringSliceVar(&f.key, "key", nil, "columns that tell documents apart (default account,id)")
	flags.StringSliceVar(&f.ignore, "ignore", nil, "columns that are not compared")
	flags.StringSliceVar(&f.accounts, "account", nil, "only of this login; may be repeated")
	flags.StringVar(&f.tokenFile, "other-token-file", "", "`FILE` with the API token of the other Sluice")
	flags.IntVar(&f.examples, "examples", 5, "how many documents of each sort are named")
	flags.DurationVar(&f.watch, "watch", 0, "go on, and compare again after this time, such as 5m, while both collect")
	return c
}

// errDiffer says that the two sides were compared, and do not have the same.
var errDiffer = errors.New("the two do not have the same")

// notCompared keeps the exit code 1 for sides that differ, as diff(1) does: what
// could not be compared is no difference.
func notCompared(ctx context.Context, err error) error {
	var exit *exitError
	if err == nil || errors.Is(err, errDiffer) || errors.As(err, &exit) || ctx.Err() != nil || domain.CodeOf(err) == domain.CodeUnauthorized {
		return err
	}
	return &exitError{exitUsage, err}
}

// check says what is wrong with the flags, and which kinds are compared.
func (f *compareFlags) check() (kinds []*document.Declaration, err error) {
	if path, ok := strings.CutPrefix(f.other, "@"); ok {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, usage("%w", err)
		}
		f.other = strings.TrimSpace(string(text))
	} else if u, err := url.Parse(f.other); err == nil && u.User != nil {
		if _, has := u.User.Password(); has {
			return nil, usage("a password on the command line is seen by everybody on the machine; give the URL as @FILE")
		}
	}
	declared := sources.Kinds()
	for i := range declared {
		if k := &declared[i]; k.Source == f.source && len(k.Columns) > 0 && (len(f.kinds) == 0 || slices.Contains(f.kinds, k.Plural)) {
			kinds = append(kinds, k)
		}
	}
	var names []string
	for _, k := range declared {
		if k.Source == f.source && len(k.Columns) > 0 {
			names = append(names, k.Plural)
		}
	}
	switch {
	case len(names) == 0:
		return nil, usage("there is no source %q whose documents can be compared", f.source)
	case len(kinds) < max(1, len(f.kinds)):
		return nil, usage("--kind: use some of %s", strings.Join(names, ", "))
	case len(kinds) > 1 && !isService(f.other):
		return nil, usage("a table or a file holds one kind of documents; say which with --kind: %s", strings.Join(names, ", "))
	case compare.IsDatabase(f.other) && f.table == "":
		return nil, usage("say which table of the database holds the %s, with --table", kinds[0].Plural)
	case f.watch != 0 && f.watch < time.Second:
		return nil, usage("--watch is %v; it must be at least 1s", f.watch)
	}
	for _, pair := range f.names {
		if ours, theirs, ok := strings.Cut(pair, "="); !ok || ours == "" || theirs == "" {
			return nil, usage("--map takes COLUMN=NAME, not %q", pair)
		}
	}
	return kinds, nil
}

func isService(other string) bool {
	return strings.HasPrefix(other, "http://") || strings.HasPrefix(other, "https://")
}

// compared is what one round found.
type compared struct {
	At    time.Time       `json:"at"`
	Equal bool            `json:"equal"`
	Kinds []compare.Found `json:"kinds"`
	// Calls are upstream calls; those of the other side are known of a Sluice
	// alone.
	Calls struct {
		Ours   int64  `json:"ours"`
		Theirs *int64 `json:"theirs"`
	} `json:"calls"`
}

func (a compareCommand) compareAll(ctx context.Context, o *options, s *session, f *compareFlags, kinds []*document.Declaration) error {
	var there *client.Client
	if isService(f.other) {
		token, err := f.token()
		if err != nil {
			return err
		}
		if there, err = client.New(f.other, token, nil); err != nil {
			return err
		}
	}
	for {
		round, err := a.compareOnce(ctx, s, there, f, kinds)
		if err != nil {
			if f.watch > 0 && ctx.Err() != nil {
				return nil //nolint:nilerr // whoever watches has seen enough
			}
			return err
		}
		if err := a.printCompared(o, f, &round); err != nil {
			return err
		}
		if f.watch > 0 && a.sleep(ctx, f.watch) {
			continue
		}
		if !round.Equal {
			return errDiffer
		}
		return nil
	}
}

func (a *App) sleep(ctx context.Context, d time.Duration) bool {
	if a.Sleep != nil {
		return a.Sleep(ctx, d)
	}
	return backoff.Sleep(ctx, d)
}

func (f *compareFlags) token() (string, error) {
	if f.tokenFile == "" {
		return "", nil
	}
	text, err := os.ReadFile(f.tokenFile)
	if err != nil {
		return "", usage("--other-token-file: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

func (a compareCommand) compareOnce(ctx context.Context, s *session, there *client.Client, f *compareFlags, kinds []*document.Declaration) (round compared, err error) {
	round = compared{At: a.Now(), Equal: true}
	names := map[string]string{}
	for _, pair := range f.names {
		ours, theirs, _ := strings.Cut(pair, "=")
		names[ours] = theirs
	}
	for _, kind := range kinds {
		found, err := compare.Compare(ctx, exportSide(s.Client, kind, f.accounts), f.side(there, kind), compare.Options{
			Kind: kind, Names: names, Key: f.key, Ignore: f.ignore, Examples: f.examples, Accounts: f.accounts,
		})
		if err != nil {
			return round, err
		}
		round.Equal = round.Equal && found.Equal()
		round.Kinds = append(round.Kinds, found)
	}
	if round.Calls.Ours, err = callsOf(ctx, s.Client); err != nil || there == nil {
		return round, err
	}
	theirs, err := callsOf(ctx, there)
	round.Calls.Theirs = &theirs
	return round, err
}

// side is where the other system's documents are.
func (f *compareFlags) side(there *client.Client, kind *document.Declaration) compare.Side {
	switch {
	case there != nil:
		return exportSide(there, kind, f.accounts)
	case compare.IsDatabase(f.other):
		return &compare.Table{URL: f.other, Name: f.table}
	case strings.EqualFold(filepath.Ext(f.other), ".parquet"):
		return &compare.Parquet{Path: f.other}
	}
	return &compare.Lines{Open: func(context.Context) (io.ReadCloser, error) {
		file, err := os.Open(f.other)
		if err != nil {
			return nil, usage("%w", err)
		}
		return file, nil
	}}
}

// exportSide is what a Sluice exports.
func exportSide(c *client.Client, kind *document.Declaration, accounts []string) compare.Side {
	named := make([]string, len(kind.Columns))
	for i, column := range kind.Columns {
		named[i] = column.Name
	}
	query := client.ExportQuery{Kind: export.Kind(kind.Plural), Format: export.FormatJSONL, Accounts: accounts}
	return &compare.Lines{Named: named, Open: func(ctx context.Context) (io.ReadCloser, error) {
		reader, writer := io.Pipe()
		go func() {
			_, err := c.Export(ctx, query, writer)
			_ = writer.CloseWithError(err) // without an error it is the end
		}()
		return reader, nil
	}}
}

// callsOf counts the upstream calls of all runs that are known.
func callsOf(ctx context.Context, c *client.Client) (calls int64, err error) {
	for page := (client.Page{Limit: 500}); ; {
		list, err := c.Runs(ctx, client.RunFilter{Page: page})
		if err != nil {
			return 0, err
		}
		for _, run := range list.Items {
			calls += run.Calls
		}
		if page.Cursor = list.NextCursor; page.Cursor == "" {
			return calls, nil
		}
	}
}

func (a compareCommand) printCompared(o *options, f *compareFlags, round *compared) error {
	if o.json() {
		return printJSON(a.Out, round)
	}
	for i := range round.Kinds {
		a.printFound(f, &round.Kinds[i])
	}
	theirs := "unknown"
	if round.Calls.Theirs != nil {
		theirs = count(*round.Calls.Theirs)
	}
	if f.watch > 0 {
		say(a.Out, "%s upstream calls: %s here, %s there\n", when(round.At), count(round.Calls.Ours), theirs)
	}
	if round.Equal && f.watch == 0 {
		fmt.Fprintln(a.Out, "both have the same")
	}
	return nil
}

func (a compareCommand) printFound(f *compareFlags, found *compare.Found) {
	late := ""
	if f.watch > 0 {
		late = fmt.Sprintf("; the newest is of %s here, of %s there", when(found.Ours.Newest), when(found.Theirs.Newest))
	}
	say(a.Out, "%s: %s here, %s there; %s the same, %s missing here, %s extra here, %s different%s\n", found.Kind,
		count(found.Ours.Documents), count(found.Theirs.Documents), count(found.Same), count(found.Missing), count(found.Extra), count(found.Different), late)
	if f.watch > 0 {
		return
	}
	if len(found.Unknown) > 0 {
		say(a.Out, "  not compared, as the other side does not have them: %s\n", strings.Join(found.Unknown, ", "))
	}
	if found.Ours.Twice+found.Theirs.Twice > 0 {
		say(a.Out, "  more than once: %s here, %s there\n", count(found.Ours.Twice), count(found.Theirs.Twice))
	}
	if found.Ours.Contradicting+found.Theirs.Contradicting > 0 {
		say(a.Out, "  more than once, and not the same each time: %s here, %s there\n", count(found.Ours.Contradicting), count(found.Theirs.Contradicting))
	}
	const most = 20
	names := found.AccountNames()
	for _, name := range names[:min(len(names), most)] {
		d := found.Accounts[name]
		say(a.Out, "  %s: %s missing, %s extra, %s different\n", orDash(name), count(d.Missing), count(d.Extra), count(d.Different))
	}
	if more := len(names) - most; more > 0 {
		say(a.Out, "  and %d more accounts\n", more)
	}
	for _, e := range found.Examples {
		say(a.Out, "  %s %s%s\n", e.What, e.Key, valuesText(e.Values))
	}
}

// valuesText tells which values differ.
func valuesText(values map[string]compare.Pair) string {
	var parts []string
	for column, pair := range values {
		parts = append(parts, fmt.Sprintf("%s is %q here and %q there", column, pair.Ours, pair.Theirs))
	}
	if len(parts) == 0 {
		return ""
	}
	slices.Sort(parts)
	return ": " + strings.Join(parts, ", ")
}
