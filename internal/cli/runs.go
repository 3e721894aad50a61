package cli

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"sluice/internal/client"
	"sluice/internal/httpapi/wire"
)

// group is a command that only holds others.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short, Args: knownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(commands...)
	return c
}

func (a *App) runs(o *options) *cobra.Command {
	return group("run", "List, show, raise, resume and cancel runs", a.runList(o), a.runShow(o), a.runPriority(o), a.runResume(o), a.runCancel(o))
}

func (a *App) runList(o *options) *cobra.Command {
	var q client.RunFilter
	c := &cobra.Command{Use: "list", Short: "List runs, newest first", Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.with(c.Context(), o, func(s *session) error {
				list, err := s.Runs(c.Context(), q)
				if err != nil {
					return err
				}
				if o.json() {
					return printJSON(a.Out, list)
				}
				return table(a.Out, "RUN\tACCOUNT\tSTATUS\tPAGES\tCALLS\tFAILED\tSTARTED\tREASON", func(line func(string, ...any)) {
					for _, r := range list.Runs {
						line("%d\t%s\t%s\t%d/%d\t%d\t%d\t%s\t%s", r.ID, r.Login, r.Status, r.Done(), r.Known, r.Calls, r.Failed,
							when(r.CreatedAt), orDash(r.Reason))
					}
				})
			})
		}}
	c.Flags().BoolVar(&q.Active, "active", false, "only runs that have not ended")
	c.Flags().StringVar(&q.Account, "account", "", "only runs of this account (id or login)")
	c.Flags().IntVar(&q.Limit, "limit", 50, "how many")
	return c
}

func (a *App) runShow(o *options) *cobra.Command {
	var ledger bool
	c := &cobra.Command{Use: "show RUN", Short: "Show how far a run is, what it waits for and whether a page is missing", Args: oneID,
		RunE: func(c *cobra.Command, args []string) error {
			return a.with(c.Context(), o, func(s *session) error {
				r, err := s.Run(c.Context(), parseID(args[0]), ledger)
				if err != nil {
					return err
				}
				if o.json() {
					return printJSON(a.Out, r)
				}
				a.printRun(r)
				if s.local != nil && r.Status.Active() {
					fmt.Fprintln(a.Out, "  nobody works on it now: no service runs on this data folder")
				}
				return nil
			})
		}}
	c.Flags().BoolVar(&ledger, "ledger", false, "also list the pages of every resource")
	return c
}

func (a *App) printRun(r wire.RunDetail) {
	n := narrator{style: a.style(a.Out), now: a.Now}
	fmt.Fprintf(a.Out, "run %d of %s: %s (%s, %s priority)\n", r.ID, r.Login, r.Status, r.Trigger, r.Priority)
	fmt.Fprintf(a.Out, "  %s\n", n.describe(r.Progress))
	fmt.Fprintf(a.Out, "  started %s, ended %s; collects up to %s\n", when(r.CreatedAt), when(r.FinishedAt), when(r.Anchor))
	for _, w := range r.Waits {
		if isQuota(w) && !w.Until.IsZero() {
			fmt.Fprintf(a.Out, "  %s\n", whoseQuota(w))
		}
	}
	fmt.Fprintf(a.Out, "  %s\n", ledgerText(r.LedgerSummary))
	if r.Forecast != nil {
		for _, line := range n.forecast(*r.Forecast) {
			fmt.Fprintf(a.Out, "  %s\n", line)
		}
	}
	for _, l := range r.Ledger {
		fmt.Fprintf(a.Out, "    %-24s %-24s %d of %d pages, %d items\n", l.Type, l.Resource, l.Stored, l.Known, l.Items)
	}
}

// ledgerText says whether everything that is known of is stored.
func ledgerText(sum wire.LedgerSummary) string {
	text := fmt.Sprintf("%s of %s stored, %s; %s items of %s", count(int64(sum.PagesStored)), plural(sum.PagesKnown, "page"),
		plural(sum.Gaps, "gap"), count(int64(sum.Items)), plural(sum.Resources, "resource"))
	if sum.PagesFailed > 0 {
		text += ", " + plural(sum.PagesFailed, "page") + " failed or canceled"
	}
	return text
}

func (a *App) runCancel(o *options) *cobra.Command {
	var reason string
	c := &cobra.Command{Use: "cancel RUN", Short: "Cancel a run; what it stored stays", Args: oneID,
		RunE: func(c *cobra.Command, args []string) error {
			return a.with(c.Context(), o, func(s *session) error {
				r, err := s.CancelRun(c.Context(), parseID(args[0]), reason)
				if err != nil {
					return err
				}
				if o.json() {
					return printJSON(a.Out, r)
				}
				fmt.Fprintf(a.Out, "run %d of %s is %s\n", r.ID, r.Login, r.Status)
				return nil
			})
		}}
	c.Flags().StringVar(&reason, "reason", "canceled by hand", "why, for whoever looks at it later")
	return c
}

// oneID demands exactly one positive number.
func oneID(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usage("`%s` takes one id", c.CommandPath())
	}
	if id, err := strconv.ParseInt(args[0], 10, 64); err != nil || id < 1 {
		return usage("%q is not an id; `%s list` shows them", args[0], c.Parent().CommandPath())
	}
	return nil
}

// parseID reads an id that oneID has checked.
func parseID(s string) int64 {
	id, _ := strconv.ParseInt(s, 10, 64)
	return id
}
