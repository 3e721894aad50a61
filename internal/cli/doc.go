package cli

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sluice/internal/client"
	"sluice/internal/config"
	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
	"sluice/internal/sources"
)

// docCommands look at single documents, and lists of them.
type docCommands struct{ *App }

func (a docCommands) docCommand(o *options) *cobra.Command {
	return group("doc", "List, show and search what was collected", a.docList(o), a.docGet(o), searchCommand(a).search(o))
}

func (a docCommands) docList(o *options) *cobra.Command {
	var f client.DocumentFilter
	page, format := paging{limit: 100}, "table"
	c := &cobra.Command{Use: "list KIND", Short: "List documents of one kind",
		Long: "List documents of one kind: " + strings.Join(sources.Kinds().Tables(), ", ") + ".\n" +
			"What the upstream shows no longer is among them, flagged as deleted, unless --deleted says otherwise.\n" +
			"A table shows the columns that matter most; --fields names others, and the other formats have all.",
		Args: oneKind,
		RunE: func(c *cobra.Command, args []string) error {
			if o.json() && !c.Flags().Changed("format") {
				format = "json"
			}
			if !slices.Contains(sqlFormats, format) {
				return usage("--format: %q is none of %s%s", format, strings.Join(sqlFormats, ", "), config.Suggest(format, sqlFormats))
			}
			if err := a.knownKind(c.Context(), o, args[0]); err != nil {
				return err
			}
			kind := o.kinds().Table(args[0])
			f.Kind = args[0]
			columns, err := shownFields(kind, f.Fields, format == "table", f.Account == "")
			if err != nil {
				return err
			}
			if format == "table" {
				f.Fields = columns
			}
			if f.Raw {
				columns = append(columns, "raw")
			}
			return a.with(c.Context(), o, func(s *session) error {
				list, err := gather(page, func(p client.Page) (wire.DocumentList, error) {
					f.Page = p
					return s.Documents(c.Context(), f)
				})
				if err != nil {
					return err
				}
				return a.printList(list, columns, format)
			})
		}}
	flags := c.Flags()
	flags.StringVar(&f.Account, "account", "", "only of this account (id or login)")
	flags.StringVar(&f.Repository, "repository", "", "only of this repository: its id, or its full name such as octocat/hello-world")
	flags.StringVar(&f.Author, "author", "", "only by this login")
	flags.StringVar(&f.State, "state", "", "only in this state, such as open")
	flags.StringVar(&f.Label, "label", "", "only with this label, or topic of a repository")
	flags.StringVar(&f.CreatedFrom, "created-from", "", "only what was created or committed at this time or later: 2026-01-31, or RFC 3339")
	flags.StringVar(&f.CreatedUntil, "created-until", "", "only what was created or committed before this time")
	flags.StringVar(&f.UpdatedFrom, "updated-from", "", "only what was updated at this time or later")
	flags.StringVar(&f.UpdatedUntil, "updated-until", "", "only what was updated before this time")
	flags.StringVar(&f.Deleted, "deleted", "", "true: only what the upstream shows no longer; false: only what it shows")
	flags.StringVar(&f.Sort, "sort", "", "name, created or updated; with - before it, the other way round, as in --sort=-created")
	flags.StringSliceVar(&f.Fields, "fields", nil, "only these columns, separated by commas")
	flags.BoolVar(&f.Raw, "raw", false, "also the upstream's own JSON")
	flags.StringVar(&format, "format", format, strings.Join(sqlFormats, ", "))
	page.register(c)
	c.ValidArgsFunction = completeKinds
	return c
}

// completeKinds offers the names of tables as the first argument.
func completeKinds(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names := slices.DeleteFunc(sources.Kinds().Tables(), func(name string) bool { return !strings.HasPrefix(name, word) })
	return names, cobra.ShellCompDirectiveNoFileComp
}

// oneKind demands the name of a table.
func oneKind(c *cobra.Command, args []string) error {
	tables := sources.Kinds().Tables()
	if len(args) != 1 {
		return usage("`%s` takes one kind: %s", c.CommandPath(), strings.Join(tables, ", "))
	}
	return nil
}

// kinds are those of all documents that there may be: of the sources of the program, and
// of those that files describe.
func (o *options) kinds() document.Kinds {
	all := sources.Kinds()
	for _, r := range o.declared {
		all = append(all, r.Kinds...)
	}
	return append(all, o.learned...)
}

// knownKind refuses what is no kind of documents here, nor where the data is.
func (a docCommands) knownKind(ctx context.Context, o *options, name string) error {
	if err := sourceFinder(a).learnKinds(ctx, o, name); err != nil {
		return err
	}
	return o.knownKind(name)
}

func (o *options) knownKind(name string) error {
	if tables := o.kinds().Tables(); !slices.Contains(tables, name) {
		return usage("there are no documents of the kind %q; there are %s%s", name, strings.Join(tables, ", "), config.Suggest(name, tables))
	}
	return nil
}

// telling are the origins of the columns that a table shows, in their order.
var telling = []document.Origin{
	document.FromName, document.FromAccount, document.FromContainerTitle, document.FromNumber, document.FromVisibleState, document.FromState,
	document.FromTitle, document.FromAuthor, document.FromCreatedAt, document.FromUpdatedAt, document.FromDeleted,
}

// shownFields are the columns of a list: those that were named, all, or on a table
// those that matter most.
func shownFields(kind *document.Declaration, named []string, short, withAccount bool) (columns []string, err error) {
	var all []string
	for _, c := range kind.Columns {
		all = append(all, c.Name)
		if !short || slices.Contains(telling, c.From) && (c.From != document.FromAccount || withAccount) {
			columns = append(columns, c.Name)
		}
	}
	for _, name := range named {
		if !slices.Contains(all, name) {
			return nil, usage("--fields: %q is not a column of %s; use some of %s%s", name, kind.Plural, strings.Join(all, ", "), config.Suggest(name, all))
		}
	}
	if len(named) > 0 {
		return slices.Clone(named), nil
	}
	return columns, nil
}

func (a docCommands) printList(list wire.DocumentList, columns []string, format string) error {
	if format == "json" {
		return printJSON(a.Out, list)
	}
	defer a.more(list.NextCursor)
	answer := wire.SQLAnswer{Columns: columns}
	for _, item := range list.Items {
		row, err := cellsOf(item, columns)
		if err != nil {
			return err
		}
		answer.Rows = append(answer.Rows, row)
	}
	return sqlCommand(a).show(answer, format)
}

// cellsOf are the values of a row, in the order of the columns.
func cellsOf(item json.RawMessage, columns []string) ([]json.RawMessage, error) {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(item, &values); err != nil {
		return nil, domain.Errorf(domain.CodeUnavailable, "the service answered with a row that cannot be read: %w", err)
	}
	row := make([]json.RawMessage, len(columns))
	for i, name := range columns {
		if row[i] = values[name]; row[i] == nil {
			row[i] = json.RawMessage("null")
		}
	}
	return row, nil
}

func (a docCommands) docGet(o *options) *cobra.Command {
	var account string
	var raw bool
	c := &cobra.Command{Use: "get KIND ID", Short: "Show one document",
		Long: "Show one document by its id, as lists and exports have it. A document that several accounts have\n" +
			"collected is each account's own copy: --account says whose. With --raw, what the upstream answered.",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 2 || args[1] == "" {
				return usage("`%s` takes a kind and an id, as in: sluice doc get issues 42", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := a.knownKind(c.Context(), o, args[0]); err != nil {
				return err
			}
			return a.with(c.Context(), o, func(s *session) error {
				row, err := s.Document(c.Context(), args[0], args[1], account, nil, raw)
				if err != nil {
					return err
				}
				return a.printDocument(o, o.kinds().Table(args[0]), row, raw)
			})
		}}
	c.Flags().StringVar(&account, "account", "", "whose copy (id or login)")
	c.Flags().BoolVar(&raw, "raw", false, "the upstream's own JSON instead of the columns; with -o json beside them")
	c.ValidArgsFunction = completeKinds
	return c
}

func (a docCommands) printDocument(o *options, kind *document.Declaration, row json.RawMessage, raw bool) error {
	if o.json() {
		return printJSON(a.Out, row)
	}
	if raw {
		cells, err := cellsOf(row, []string{"raw"})
		if err != nil {
			return err
		}
		return printJSON(a.Out, cells[0])
	}
	columns, err := shownFields(kind, nil, false, true)
	if err != nil {
		return err
	}
	cells, err := cellsOf(row, columns)
	if err != nil {
		return err
	}
	width := 0
	for _, name := range columns {
		width = max(width, len(name))
	}
	for i, name := range columns {
		if text, _ := shownSQL(cells[i]); text != "" {
			say(a.Out, "%-*s  %s\n", width, name, printableCell(text))
		}
	}
	return nil
}
