package cli

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sluice/internal/config"
	"sluice/internal/httpapi/wire"
	"sluice/internal/query"
)

// queryCommands are those about statements that people have given a name.
type queryCommands struct{ *App }

func (a queryCommands) queries(o *options) *cobra.Command {
	return group("query", "Save, list and run queries by their names", a.list(o), a.save(o), a.run(o), a.remove(o))
}

func (a queryCommands) list(o *options) *cobra.Command {
	return &cobra.Command{Use: "list", Short: "List saved queries", Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.with(c.Context(), o, func(s *session) error {
				list, err := s.SavedQueries(c.Context())
				if err != nil {
					return err
				}
				if o.json() {
					return printJSON(a.Out, list)
				}
				return table(a.Out, "NAME\tABOUT\tSAVED\tQUERY", func(line func(string, ...any)) {
					for _, q := range list.Items {
						line("%s\t%s\t%s\t%s", q.Name, orDash(q.About), when(q.SavedAt), strings.Join(strings.Fields(q.SQL), " "))
					}
				})
			})
		}}
}

func (a queryCommands) save(o *options) *cobra.Command {
	var file, about string
	c := &cobra.Command{Use: "save NAME [STATEMENT | -]", Short: "Save a query under a name, instead of one that has it", Args: cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			statement, err := sqlCommand(a).statement(file, args[1:])
			if err != nil {
				return err
			}
			return a.changing(c.Context(), o, func(s *session) error {
				q, err := s.SaveQuery(c.Context(), args[0], wire.QueryRequest{Query: statement, About: about})
				if err != nil {
					return err
				}
				if o.json() {
					return printJSON(a.Out, q)
				}
				say(a.Out, "query %s is saved; run it: sluice query run %s\n", q.Name, q.Name)
				return nil
			})
		}}
	c.Flags().StringVar(&file, "file", "", "file that has the statement; - for standard input")
	c.Flags().StringVar(&about, "about", "", "what it answers, for people")
	return c
}

func (a queryCommands) run(o *options) *cobra.Command {
	format, limit := "", query.DefaultLimit
	c := &cobra.Command{Use: "run NAME", Short: "Run a saved query", Args: oneName("query"),
		RunE: func(c *cobra.Command, args []string) error {
			standard := "table"
			if o.json() {
				standard = "json"
			}
			shown := cmp.Or(format, standard)
			if !slices.Contains(sqlFormats, shown) {
				return usage("--format: %q is none of %s%s", shown, strings.Join(sqlFormats, ", "), config.Suggest(shown, sqlFormats))
			}
			if limit < 1 || limit > query.MaxLimit {
				return usage("--limit is %d; it is from 1 to %d", limit, query.MaxLimit)
			}
			return a.with(c.Context(), o, func(s *session) error {
				q, err := s.SavedQuery(c.Context(), args[0])
				if err != nil {
					return err
				}
				answer, err := s.SQL(c.Context(), wire.SQLRequest{Query: q.SQL, Limit: limit})
				if err != nil {
					return err
				}
				return sqlCommand(a).show(answer, shown)
			})
		}}
	c.Flags().StringVar(&format, "format", "", strings.Join(sqlFormats, ", "))
	c.Flags().IntVar(&limit, "limit", limit, "how many rows at most")
	return c
}

func (a queryCommands) remove(o *options) *cobra.Command {
	return &cobra.Command{Use: "remove NAME", Short: "Forget a saved query", Args: oneName("query"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.changing(c.Context(), o, func(s *session) error {
				if err := s.RemoveQuery(c.Context(), args[0]); err != nil {
					return err
				}
				say(a.screen, "query %s is forgotten\n", args[0])
				return nil
			})
		}}
}
