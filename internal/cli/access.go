package cli

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice/internal/access"
	"sluice/internal/client"
	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
	"sluice/internal/secret"
)

// accessCommands are those about who may do what, and who did.
type accessCommands struct{ *App }

func (a accessCommands) tokens(o *options) *cobra.Command {
	return group("token", "Make, list and revoke tokens of the API", a.tokenCreate(o), a.tokenList(o), a.tokenRevoke(o))
}

func (a accessCommands) tokenCreate(o *options) *cobra.Command {
	var request wire.TokenRequest
	c := &cobra.Command{Use: "create NAME", Short: "Make a token; it is shown this once",
		Long: "Make a token of the API with a role: read looks, operate does the daily work as well, admin everything.\n" +
			"The token goes to standard output, and is stored as a digest only: nobody can show it again.\n" +
			"As soon as there is a token, every request needs one; the first is therefore an admin's.",
		Args: oneName("token"),
		RunE: func(c *cobra.Command, args []string) error {
			request.Name = args[0]
			return a.within(c.Context(), o, toBegin, func(s *session) error {
				made, err := s.CreateToken(c.Context(), request)
				if err != nil {
					return err
				}
				if o.json() {
					return printJSON(a.Out, made)
				}
				say(a.screen, "the token %s with the role %s; keep it now, it is not shown again:\n", made.Name, made.Role)
				fmt.Fprintln(a.Out, made.Secret)
				return nil
			})
		}}
	c.Flags().StringVar(&request.Role, "role", string(access.Read), "read, operate or admin")
	c.Flags().StringVar(&request.ExpiresIn, "expires-in", "", "how long it lasts, such as 720h; by default for ever")
	return c
}

func (a accessCommands) tokenList(o *options) *cobra.Command {
	page := paging{limit: accessPage}
	c := &cobra.Command{Use: "list", Short: "List tokens, without themselves", Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.with(c.Context(), o, func(s *session) error {
				list, err := gather(page, func(p client.Page) (wire.List[access.Token], error) {
					list, err := s.Tokens(c.Context(), p)
					return wire.List[access.Token](list), err
				})
				if err != nil {
					return err
				}
				if o.json() {
					return printJSON(a.Out, list)
				}
				err = table(a.Out, "NAME\tROLE\tBEGINS WITH\tCREATED\tLAST USED\tEXPIRES", func(line func(string, ...any)) {
					for _, t := range list.Items {
						line("%s\t%s\t%s\t%s\t%s\t%s", t.Name, t.Role, t.Prefix, when(t.Created), hour(t.LastUsed), when(t.Expires))
					}
				})
				a.more(list.NextCursor)
				return err
			})
		}}
	page.register(c)
	return c
}

// hour is an instant that is known to the hour.
func hour(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format("2006-01-02 15h MST")
}

func (a accessCommands) tokenRevoke(o *options) *cobra.Command {
	return &cobra.Command{Use: "revoke NAME", Short: "Revoke a token: it ends within seconds everywhere",
		Long: "Revoke a token by its name: it ends within seconds everywhere. The last token of an admin that does not end\n" +
			"goes last. A token itself is not taken in the place of its name, and is sent nowhere.",
		Args: oneName("token"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.changing(c.Context(), o, func(s *session) error {
				name, err := a.tokenName(c.Context(), s, args[0])
				if err != nil {
					return err
				}
				if err := s.RevokeToken(c.Context(), name); err != nil {
					return err
				}
				if o.json() {
					return printJSON(a.Out, map[string]string{"revoked": name})
				}
				say(a.Out, "%s is revoked\n", name)
				return nil
			})
		}}
}

// tokenName refuses a token in the place of its name: it would stand in logs. The
// name is looked up instead, by how the token begins, for whoever has to be quick.
func (a accessCommands) tokenName(ctx context.Context, s *session, given string) (string, error) {
	if !secret.Like(given) {
		return given, nil
	}
	list, err := gather(paging{}, func(p client.Page) (wire.List[access.Token], error) {
		list, err := s.Tokens(ctx, p)
		return wire.List[access.Token](list), err
	})
	if err != nil {
		return "", err
	}
	for _, t := range list.Items {
		if t.Name == given {
			return given, nil
		}
		if t.Prefix != "" && strings.HasPrefix(given, t.Prefix) {
			return "", usage("that is a token, not the name of one; it was sent nowhere, but may be in the history of your shell. `sluice token revoke %s` revokes it", t.Name)
		}
	}
	return "", usage("that looks like a token, not like the name of one, and was sent nowhere; it is none of this service. `sluice token list` shows the names")
}

// oneName demands one argument.
func oneName(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usage("`%s` takes the name of one %s", c.CommandPath(), what)
		}
		return nil
	}
}

// accessPage is how many tokens or changes a list shows if nothing else is asked for.
const accessPage = 100

func (a accessCommands) audit(o *options) *cobra.Command {
	return group("audit", "Show and export who changed what", a.auditList(o), a.auditExport(o))
}

// auditFlags choose entries.
type auditFlags struct{ since, until, actor, action string }

func (f *auditFlags) register(c *cobra.Command) {
	c.Flags().StringVar(&f.since, "since", "", "only what began then or later: 2026-11-16, 2026-11-16T09:00:00Z, or a while ago such as 24h")
	c.Flags().StringVar(&f.until, "until", "", "only what began before, written like --since")
	c.Flags().StringVar(&f.actor, "actor", "", "only of this actor, such as token:grafana or local:alice")
	c.Flags().StringVar(&f.action, "action", "", "only this operation, such as cancel-run")
}

func (a accessCommands) search(f auditFlags) (s access.Search, err error) {
	s.Actor, s.Action = f.actor, f.action
	if s.Since, err = a.when("--since", f.since); err == nil {
		s.Until, err = a.when("--until", f.until)
	}
	return s, err
}

// when reads an instant, a day or a while ago; "" is none.
func (a accessCommands) when(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago > 0 {
		return a.Now().Add(-ago), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, usage("%s: %q is neither a day such as 2026-11-16, nor a time such as 2026-11-16T09:00:00Z, nor a while such as 24h", flag, text)
}

func (a accessCommands) auditList(o *options) *cobra.Command {
	var chosen auditFlags
	page := paging{limit: accessPage}
	c := &cobra.Command{Use: "list", Short: "List changes, newest first", Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			search, err := a.search(chosen)
			if err != nil {
				return err
			}
			return a.with(c.Context(), o, func(s *session) error {
				list, err := gather(page, func(p client.Page) (wire.List[access.Entry], error) {
					search.Cursor, search.Limit = p.Cursor, p.Limit
					list, err := s.Audit(c.Context(), search)
					return wire.List[access.Entry](list), err
				})
				if err != nil {
					return err
				}
				if o.json() {
					return printJSON(a.Out, list)
				}
				err = table(a.Out, "AT\tWHO\tFROM\tWHAT\tON\tOUTCOME", func(line func(string, ...any)) {
					for _, e := range list.Items {
						line("%s\t%s\t%s\t%s\t%s\t%s", when(e.At), e.Actor, e.Address, e.Action, e.Target, outcomeText(e))
					}
				})
				a.more(list.NextCursor)
				return err
			})
		}}
	chosen.register(c)
	page.register(c)
	return c
}

func outcomeText(e access.Entry) string {
	if e.Outcome == access.Done || e.Status == 0 {
		return string(e.Outcome)
	}
	return fmt.Sprintf("%s (%d)", e.Outcome, e.Status)
}

// auditPage is how many entries are fetched at once.
const auditPage = 1000

func (a accessCommands) auditExport(o *options) *cobra.Command {
	var chosen auditFlags
	var format string
	c := &cobra.Command{Use: "export", Short: "Write changes to standard output, newest first", Args: noArguments,
		Long: "Write changes to standard output, newest first. Control characters are escaped. In CSV, a cell that a\n" +
			"spreadsheet would take for a formula (it begins with =, +, - or @) gets a ' before it.",
		RunE: func(c *cobra.Command, _ []string) error {
			search, err := a.search(chosen)
			if err != nil {
				return err
			}
			write, err := auditWriter(a.Out, format)
			if err != nil {
				return err
			}
			search.Limit = auditPage
			return a.with(c.Context(), o, func(s *session) error {
				for {
					list, err := s.Audit(c.Context(), search)
					if err == nil {
						err = write(list.Items)
					}
					if err != nil || list.NextCursor == "" {
						return err
					}
					search.Cursor = list.NextCursor
				}
			})
		}}
	chosen.register(c)
	c.Flags().StringVar(&format, "format", "jsonl", "jsonl or csv")
	return c
}

// auditWriter writes pages of entries in a format.
func auditWriter(out io.Writer, format string) (func([]access.Entry) error, error) {
	switch format {
	case "jsonl":
		return func(entries []access.Entry) error {
			for _, e := range entries {
				if err := printLine(out, e); err != nil {
					return err
				}
			}
			return nil
		}, nil
	case "csv":
		rows := csv.NewWriter(out)
		// What cannot be written is told with the first page.
		_ = rows.Write([]string{"id", "at", "actor", "role", "address", "action", "target", "status", "outcome"})
		return func(entries []access.Entry) error {
			for _, e := range entries {
				_ = rows.Write(cells(
					e.ID, e.At.Format(time.RFC3339Nano), e.Actor, string(e.Role), e.Address, e.Action, e.Target, strconv.Itoa(e.Status), string(e.Outcome),
				))
			}
			rows.Flush()
			return rows.Error()
		}, nil
	}
	return nil, usage("--format is jsonl or csv, not %q", format)
}

// cells are values for CSV, which people open in spreadsheets: what others chose
// is no formula there, and no control character.
func cells(values ...string) []string {
	for i, value := range values {
		if value = domain.Printable(value); value != "" && strings.ContainsRune("=+-@", rune(value[0])) {
			value = "'" + value
		}
		values[i] = value
	}
	return values
}
