package cli

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sluice/internal/config"
	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
	"sluice/internal/query"
)

// sqlCommand asks what was collected, in SQL.
type sqlCommand struct{ *App }

// sqlFormats are how an answer is written.
var sqlFormats = []string{"table", "csv", "json", "jsonl"}

type sqlFlags struct {
	file, format string
	limit        int
}

func (a sqlCommand) sql(o *options) *cobra.Command {
	flags := sqlFlags{format: "table"}
	c := &cobra.Command{
		Use:   "sql [STATEMENT | -]",
		Short: "Ask what was collected, in SQL",
		Long: "Answer one SELECT on the tables of what was collected, such as commits, issues,\n" +
			"pulls, repositories and accounts; docs/data.md has them all. It is asked of a\n" +
			"service if one has the data folder or is named, and of the folder's database\n" +
			"otherwise, beside whoever collects into it. Nothing can be changed, and no\n" +
			"secrets can be read.",
		RunE: func(c *cobra.Command, args []string) error {
			statement, err := a.statement(flags.file, args)
			if err != nil {
				return err
			}
			if o.json() && !c.Flags().Changed("format") {
				flags.format = "json"
			}
			if !slices.Contains(sqlFormats, flags.format) {
				return usage("--format: %q is none of %s%s", flags.format, strings.Join(sqlFormats, ", "), config.Suggest(flags.format, sqlFormats))
			}
			q := query.Query{SQL: statement, Limit: flags.limit}
			if flags.limit < 1 || flags.limit > query.MaxLimit {
				return usage("--limit is %d; it is from 1 to %d", flags.limit, query.MaxLimit)
			}
			if err := q.Check(); err != nil {
				return err
			}
			answer, err := a.ask(c.Context(), o, q)
			if err != nil {
				return err
			}
			return a.show(answer, flags.format)
		},
	}
	f := c.Flags()
	f.StringVar(&flags.file, "file", "", "file that has the statement; - for standard input")
	f.StringVar(&flags.format, "format", flags.format, strings.Join(sqlFormats, ", "))
	f.IntVar(&flags.limit, "limit", query.DefaultLimit, "how many rows at most")
	return c
}

// statement is what is asked: the argument, or what a file or standard input has.
func (a sqlCommand) statement(file string, args []string) (string, error) {
	switch {
	case len(args) > 1:
		return "", usage("sql takes one statement, but got %d arguments: put it between quotation marks", len(args))
	case len(args) == 1 && file != "":
		return "", usage("give a statement or --file, not both")
	case len(args) == 0 && file == "":
		return "", usage("sql needs a statement, such as \"SELECT account, count(*) FROM commits GROUP BY account\", or --file")
	case len(args) == 1 && args[0] != "-":
		return args[0], nil
	}
	in := a.In
	if file != "" && file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return "", usage("--file: %w", err)
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	if in == nil {
		return "", usage("there is no standard input to read a statement from")
	}
	text, err := io.ReadAll(io.LimitReader(in, query.MaxText+1))
	if err != nil {
		return "", usage("the statement cannot be read: %w", err)
	}
	return string(text), nil
}

// ask finds who answers: a service, or the folder itself.
func (a sqlCommand) ask(ctx context.Context, o *options, q query.Query) (wire.SQLAnswer, error) {
	if a.Ask != nil && o.Server == "" && !o.Servers.Shared() && o.Servers.Mongo == "" {
		dir := o.Service.DataDir
		if holderURL.FindString(a.Holder(dir)) == "" {
			if err := a.needData(dir, toRead); err != nil {
				return wire.SQLAnswer{}, err
			}
			found, err := query.NewLimited(a.Ask(dir), 0).Query(ctx, q)
			return wire.SQLAnswer{Columns: found.Columns, Rows: found.Rows, More: found.More}, err
		}
	}
	var answer wire.SQLAnswer
	err := a.with(ctx, o, func(s *session) (err error) {
		answer, err = s.SQL(ctx, wire.SQLRequest{Query: q.SQL, Limit: q.Limit})
		return err
	})
	return answer, err
}

func (a sqlCommand) show(answer wire.SQLAnswer, format string) (err error) {
	switch format {
	case "csv":
		err = sqlCSV(a.Out, answer)
	case "json":
		err = sqlJSON(a.Out, answer)
	case "jsonl":
		for _, row := range answer.Rows {
			if err := printLine(a.Out, sqlObject{answer.Columns, row}); err != nil {
				return err
			}
		}
	default:
		sqlTable(a.Out, answer, terminalSize(a.Out).width)
	}
	if err == nil && answer.More {
		say(a.screen, "there are more than these %d rows: --limit N reads up to %s, `sluice export` everything\n", len(answer.Rows), count(query.MaxLimit))
	}
	return err
}

// sqlObject is a row as an object whose fields are in the order of the columns. A
// name that was there before gets a number.
type sqlObject struct {
	columns []string
	row     []json.RawMessage
}

// MarshalJSON implements json.Marshaler.
func (o sqlObject) MarshalJSON() ([]byte, error) {
	names, out := uniqueNames(o.columns), []byte{'{'}
	for i, name := range names {
		key, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, key...), ':'), o.row[i]...)
	}
	return append(out, '}'), nil
}

// sqlJSON writes the one shape of lists.
func sqlJSON(w io.Writer, answer wire.SQLAnswer) error {
	out := struct {
		Items []sqlObject `json:"items"`
		More  bool        `json:"more,omitempty"`
	}{Items: []sqlObject{}, More: answer.More}
	for _, row := range answer.Rows {
		out.Items = append(out.Items, sqlObject{answer.Columns, row})
	}
	return printJSON(w, out)
}

// shownSQL is a value as a text; null is nothing.
func shownSQL(v json.RawMessage) (text string, number bool) {
	if len(v) == 0 || string(v) == "null" {
		return "", false
	}
	if v[0] == '"' && json.Unmarshal(v, &text) == nil {
		return text, false
	}
	return string(v), v[0] == '-' || v[0] >= '0' && v[0] <= '9'
}

func sqlCSV(w io.Writer, answer wire.SQLAnswer) error {
	var out strings.Builder
	line := func(cells []string) {
		for i, cell := range cells {
			if i > 0 {
				out.WriteByte(',')
			}
			if strings.ContainsAny(cell, "\",\r\n") || strings.TrimSpace(cell) != cell {
				cell = `"` + strings.ReplaceAll(cell, `"`, `""`) + `"`
			}
			out.WriteString(cell)
		}
		out.WriteString("\r\n")
	}
	line(answer.Columns)
	for _, row := range answer.Rows {
		cells := make([]string, len(row))
		for i := range row {
			cells[i], _ = shownSQL(row[i])
		}
		line(cells)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// uniqueNames numbers names that come again.
func uniqueNames(names []string) []string {
	out, seen := make([]string, len(names)), map[string]int{}
	for i, name := range names {
		seen[name]++
		if out[i] = name; seen[name] > 1 {
			out[i] = name + "_" + count(int64(seen[name]))
		}
	}
	return out
}

// printableCell is a value on one line.
func printableCell(text string) string {
	return domain.Printable(strings.NewReplacer("\r\n", " ", "\n", " ", "\t", " ").Replace(text))
}
