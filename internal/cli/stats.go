package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"sluice/internal/client"
	"sluice/internal/config"
	"sluice/internal/stats"
)

// statsFlags choose between one account, all ranked and all summed up.
type statsFlags struct {
	leaderboard, global bool
	by                  string
	limit               int
}

// statsCommands shows statistics.
type statsCommands struct{ *App }

func (a statsCommands) stats(o *options) *cobra.Command {
	var flags statsFlags
	c := &cobra.Command{
		Use:   "stats LOGIN | --leaderboard | --global",
		Short: "Show the statistics of an account and its last year, or compare all accounts",
		Args:  cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if err := flags.check(c, args); err != nil {
				return err
			}
			return a.with(c.Context(), o, func(s *session) error {
				switch {
				case flags.leaderboard:
					return a.showLeaderboard(c, o, s, flags)
				case flags.global:
					return a.showGlobal(c, o, s)
				}
				return a.showAccountStats(c, o, s, args[0])
			})
		},
	}
	c.Flags().BoolVar(&flags.leaderboard, "leaderboard", false, "rank all accounts")
	c.Flags().BoolVar(&flags.global, "global", false, "sum up all accounts")
	c.Flags().StringVar(&flags.by, "by", string(stats.ByImpact), "what to rank by: "+strings.Join(measureNames(), ", "))
	c.Flags().IntVar(&flags.limit, "limit", 20, "how many accounts to rank, at most 1,000")
	return c
}

func measureNames() []string {
	var names []string
	for _, m := range stats.Measures() {
		names = append(names, string(m))
	}
	return names
}

func (f *statsFlags) check(c *cobra.Command, args []string) error {
	chosen := len(args)
	for _, on := range []bool{f.leaderboard, f.global} {
		if on {
			chosen++
		}
	}
	if chosen != 1 {
		return usage("`%s` takes one login, or --leaderboard, or --global", c.CommandPath())
	}
	if _, err := stats.ParseMeasure(f.by); err != nil {
		return usage("--by: %w%s", err, config.Suggest(f.by, measureNames()))
	}
	if c.Flags().Changed("by") && !f.leaderboard {
		return usage("--by is for --leaderboard")
	}
	return nil
}

func (a statsCommands) showAccountStats(c *cobra.Command, o *options, s *session, login string) error {
	figures, err := s.AccountStats(c.Context(), login)
	if err != nil {
		return err
	}
	if o.json() {
		return printJSON(a.Out, figures)
	}
	return stats.Summary(a.Out, figures, stats.SummaryOptions{Color: a.style(a.Out).on, Width: terminalSize(a.Out).width, Now: a.Now()})
}

func (a statsCommands) showLeaderboard(c *cobra.Command, o *options, s *session, flags statsFlags) error {
	board, err := s.Leaderboard(c.Context(), stats.Measure(flags.by), client.Page{Limit: flags.limit})
	if err != nil {
		return err
	}
	if o.json() {
		return printJSON(a.Out, board)
	}
	err = table(a.Out, "RANK\tACCOUNT\tSOURCE\t"+strings.ToUpper(flags.by)+"\tPERCENTILE", func(line func(string, ...any)) {
		for _, r := range board.Items {
			line("%d\t%s\t%s\t%s\t%.2f", r.Rank, r.Login, r.Source, measured(r.By, r.Value), r.Percentile)
		}
	})
	if left := board.Accounts - len(board.Items); left > 0 {
		say(a.Err, "%s more; --limit shows them\n", count(int64(left)))
	}
	return err
}

// measured shows scores with their decimals and counts without.
func measured(by stats.Measure, value float64) string {
	if by == stats.ByActivity || by == stats.ByImpact {
		return fmt.Sprintf("%.2f", value)
	}
	return count(int64(value))
}

func (a statsCommands) showGlobal(c *cobra.Command, o *options, s *session) error {
	t, err := s.GlobalStats(c.Context())
	if err != nil {
		return err
	}
	if o.json() {
		return printJSON(a.Out, t)
	}
	for _, row := range []struct {
		name  string
		value int64
	}{
		{"accounts", t.Accounts}, {"repositories", t.Repositories}, {"stars received", t.Stars}, {"activities", t.Activities},
		{"commits", t.Commits}, {"additions", t.Additions}, {"deletions", t.Deletions},
		{"issues opened", t.IssuesOpened}, {"issues solved", t.IssuesSolved},
		{"pulls opened", t.PullsOpened}, {"pulls merged", t.PullsMerged}, {"merged to others", t.MergedToOthers},
	} {
		say(a.Out, "%-17s%14s\n", row.name, count(row.value))
	}
	if len(t.Languages) == 0 {
		return nil
	}
	fmt.Fprintln(a.Out)
	return table(a.Out, "LANGUAGE\tREPOSITORIES\tACTIVITIES\tCOMMITS\tADDITIONS\tDELETIONS", func(line func(string, ...any)) {
		for _, l := range t.Languages {
			line("%s\t%s\t%s\t%s\t%s\t%s", l.Name, count(l.Repositories), count(l.Activities), count(l.Commits), count(l.Additions), count(l.Deletions))
		}
	})
}
