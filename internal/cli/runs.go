package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"sluice/internal/client"
	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
)

// groupAnnotation marks commands that only hold others.
const groupAnnotation = "group"

// group is a command that only holds others.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short, Args: knownCommand, Annotations: map[string]string{groupAnnotation: ""},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(commands...)
	return c
}

// runCommands are those about runs.
type runCommands struct{ *App }

func (a runCommands) runs(o *options) *cobra.Command {
	return group("run", "List, show, watch, raise, resume and cancel runs", a.runList(o), a.runShow(o), a.runWatch(o), a.runPriority(o), a.runResume(o), a.runCancel(o))
}

func (a runCommands) runList(o *options) *cobra.Command {
	var f client.RunFilter
	var status string
	var page paging
	c := &cobra.Command{Use: "list", Short: "List runs, newest first", Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			f.Status = upperNames(status)
			if err := checkNames[domain.RunStatus]("status", f.Status); err != nil {
				return err
			}
			return a.with(c.Context(), o, func(s *session) error {
				list, err := gather(page, func(p client.Page) (wire.RunList, error) {
					f.Page = p
					return s.Runs(c.Context(), f)
				})
				if err != nil {
					return err
				}
				if o.json() {
					return printJSON(a.Out, list)
				}
				defer a.more(list.NextCursor)
				return table(a.Out, "RUN\tACCOUNT\tSTATUS\tPAGES\tCALLS\tFAILED\tSTARTED\tREASON", func(line func(string, ...any)) {
					for _, r := range list.Items {
						line("%d\t%s\t%s\t%d/%d\t%d\t%d\t%s\t%s", r.ID, r.Login, r.Status, r.Done(), r.Known, r.Calls, r.Failed,
							when(r.CreatedAt), orDash(r.Reason))
					}
				})
			})
		}}
	c.Flags().BoolVar(&f.Active, "active", false, "only runs that have not ended")
	c.Flags().StringVar(&status, "status", "", "only these states, such as FAILED or RUNNING,FINALIZING")
	c.Flags().StringVar(&f.Account, "account", "", "only runs of this account (id or login)")
	page.register(c)
	return c
}

func (a runCommands) runShow(o *options) *cobra.Command {
	var ledger bool
	c := &cobra.Command{Use: "show RUN", Short: "Show how far a run has come, what it waits for and whether a page is missing", Args: oneID,
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
				a.showPage(o, s, "/runs/%d", r.ID)
				if s.idle() && r.Status.Active() {
					fmt.Fprintln(a.Out, "  nothing works on it now: no service runs on this data folder")
				}
				return nil
			})
		}}
	c.Flags().BoolVar(&ledger, "ledger", false, "also list the pages of every resource")
	return c
}

func (a runCommands) printRun(r wire.RunDetail) {
	n := narrator{style: a.style(a.Out), now: a.Now}
	say(a.Out, "run %d of %s: %s (%s, %s priority)\n", r.ID, r.Login, r.Status, r.Trigger, r.Priority)
	say(a.Out, "  %s\n", painted(n.describe(r.Progress, completenessOf(r.LedgerSummary))))
	say(a.Out, "  started %s, ended %s; collects up to %s\n", when(r.CreatedAt), when(r.FinishedAt), when(r.Anchor))
	for _, w := range r.Waits {
		if isQuota(w) && !w.Until.IsZero() {
			say(a.Out, "  %s\n", n.whoseQuota(w))
		}
	}
	printLedger(a.Out, r.LedgerSummary)
	if r.Forecast != nil {
		for _, line := range n.forecast(*r.Forecast) {
			say(a.Out, "  %s\n", line)
		}
	}
	if e := r.Expected; !e.At.IsZero() && !r.FinishedAt.IsZero() {
		say(a.Out, "  forecast %s: %s, ending %s; it took %s and ended %s\n", when(e.At), plural(int(e.Calls), "call"), when(e.Ends), plural(int(r.Calls), "call"), when(r.FinishedAt))
	}
	for _, l := range r.Ledger {
		say(a.Out, "    %-24s %-24s %d of %d pages, %d items", l.Type, l.Resource, l.Stored, l.Known, l.Items)
		if l.Because != "" {
			say(a.Out, "; %s", l.Because)
		}
		fmt.Fprintln(a.Out)
	}
}

// printLedger says whether everything is stored and, if not, what is missing
// and why.
func printLedger(w io.Writer, sum wire.LedgerSummary) {
	say(w, "  %s\n", ledgerText(sum))
	for _, gap := range sum.Because {
		// A run as a whole has neither; a type whose pages were pruned has no
		// resource.
		what := strings.TrimSpace(gap.Type + " " + gap.Resource)
		if what != "" {
			what += ": "
		}
		say(w, "    %sunknown because %s\n", what, gap.Because)
	}
	if more := sum.Gaps - len(sum.Because); more > 0 {
		say(w, "    and %s more; `sluice run show RUN --ledger` lists them\n", count(int64(more)))
	}
}

// ledgerText says whether everything that is known of is stored.
func ledgerText(sum wire.LedgerSummary) string {
	text := fmt.Sprintf("%s of %s stored", count(int64(sum.PagesStored)), plural(sum.PagesKnown, "page"))
	if sum.Pruned {
		text += fmt.Sprintf("; %s items; the pages themselves were pruned (--keep-jobs); only these numbers are left", count(int64(sum.Items)))
	} else {
		text += fmt.Sprintf(", %s; %s items of %s", plural(sum.Gaps, "gap"), count(int64(sum.Items)), plural(sum.Resources, "resource"))
	}
	if sum.PagesFailed > 0 {
		text += ", " + plural(sum.PagesFailed, "page") + " failed"
	}
	if sum.PagesDropped > 0 {
		text += ", " + plural(sum.PagesDropped, "page") + " canceled"
	}
	return text
}

func (a runCommands) runCancel(o *options) *cobra.Command {
	var b bulk
	var in wire.RunsRequest
	c := &cobra.Command{Use: "cancel RUN | --all", Short: "Cancel a run, or all that a filter selects; what they stored stays", Args: b.one,
		RunE: func(c *cobra.Command, args []string) error {
			return a.changing(c.Context(), o, func(s *session) error {
				if b.all {
					in.All, in.DryRun, in.Status = true, b.dry, strings.ToUpper(in.Status)
					sum, err := b.carryOut(func(cursor string) (wire.BulkAnswer, error) {
						in.Cursor = cursor
						return s.CancelRuns(c.Context(), in)
					})
					if err != nil {
						return err
					}
					return b.print(a.App, o, sum, "run", "canceled")
				}
				r, err := s.CancelRun(c.Context(), parseID(args[0]), in.Reason)
				if err != nil {
					return err
				}
				if o.json() {
					return printJSON(a.Out, r)
				}
				say(a.Out, "run %d of %s is %s\n", r.ID, r.Login, r.Status)
				return nil
			})
		}}
	c.Flags().StringVar(&in.Reason, "reason", "canceled by hand", "why, for those who look at it later")
	b.register(c, "all active runs that the filters select")
	c.Flags().StringVar(&in.Account, "account", "", "with --all: only runs of this account (id or login)")
	c.Flags().StringVar(&in.Status, "status", "", "with --all: only runs in this state, such as RUNNING")
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
