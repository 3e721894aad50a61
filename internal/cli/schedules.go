package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
	"sluice/internal/schedule"
)

// policyFlags are the flags of a schedule.
type policyFlags struct {
	wire.Policy
	off bool
}

func (p *policyFlags) register(f *pflag.FlagSet) {
	f.StringVar(&p.Every, "every", "", "collect again so long after the last run began, such as 6h; by default when the quota resets")
	f.StringVar(&p.Cron, "cron", "", "collect again at these times: minute, hour, day, month, weekday, such as '0 3 * * *'")
	f.StringVar(&p.Zone, "zone", "", "time zone of --cron and --quiet, such as Asia/Seoul; by default the machine's")
	f.StringVar(&p.Quiet, "quiet", "", "begin no run in these hours, such as 22:00-06:00")
	f.StringVar(&p.Spread, "spread", "", "move the starts of accounts apart by at most this; 10m unless given")
	f.StringVar(&p.AfterSuccess, "after-success", "", "collect again so long after the quota resets; 5m unless given")
	f.StringVar(&p.AfterFailure, "after-failure", "", "try failed jobs again so long after the run ended; 30m unless given")
	f.StringVar(&p.AfterQuota, "after-quota", "", "go on so long after the quota resets with a run that waits for it; 0s unless given")
}

// parse checks what was given.
func (p *policyFlags) parse() (schedule.Policy, error) {
	if p.off {
		p.Off = &p.off
	}
	policy, err := p.Parse()
	if err != nil {
		return policy, usage("%v", err)
	}
	return policy, nil
}

// parseFor is parse for a service, where nil is no harvests at all.
func (p *policyFlags) parseFor() (*schedule.Policy, error) {
	policy, err := p.parse()
	return &policy, err
}

func (a *App) accountSchedule(o *options) *cobra.Command {
	var flags policyFlags
	var standard bool
	c := &cobra.Command{Use: "schedule LOGIN", Short: "Show or say when an account is collected again",
		Long: "Show or say when an account is collected again. Without flags it shows; what is not given is as for all accounts (`sluice up --every …`).",
		Args: oneAccount,
		RunE: func(c *cobra.Command, args []string) error {
			given, err := typedAlone(c)
			if err != nil {
				return err
			}
			if standard && given > 1 {
				return usage("--standard is given alone: it takes back what the account has of its own")
			}
			if _, err := flags.parse(); err != nil {
				return err
			}
			return a.with(c.Context(), o, func(s *session) error {
				var shown wire.Schedule
				var err error
				if given > 0 {
					shown, err = s.SetSchedule(c.Context(), args[0], flags.Policy)
				} else {
					shown, err = s.Schedule(c.Context(), args[0])
				}
				if err != nil {
					return err
				}
				if o.json() {
					return printJSON(a.Out, shown)
				}
				a.printSchedule(shown)
				return nil
			})
		}}
	flags.register(c.Flags())
	c.Flags().BoolVar(&flags.off, "off", false, "collect it only when somebody asks")
	c.Flags().BoolVar(&standard, "standard", false, "as for all accounts again")
	return c
}

// typedAlone counts a command's own flags on the command line, and takes back
// what the others have from the environment or the file: there they say how the
// service collects all accounts, not how one is to be.
func typedAlone(c *cobra.Command) (given int, err error) {
	typed := map[string]bool{}
	c.Flags().Visit(func(f *pflag.Flag) { typed[f.Name] = true })
	c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if typed[f.Name] {
			given++
		} else if failed := f.Value.Set(f.DefValue); failed != nil {
			err = failed
		}
	})
	return given, err
}

func (a *App) printSchedule(s wire.Schedule) {
	fmt.Fprintf(a.Out, "account %s: %s\n", s.Login, policyText(s.Policy))
	if s.Next == nil {
		fmt.Fprintln(a.Out, "  nothing is planned now; the end of a run plans the next")
		return
	}
	what := "a new run"
	if s.Next.Resume > 0 {
		what = fmt.Sprintf("run %d goes on", s.Next.Resume)
	}
	wait := ""
	if left := s.Next.At.Sub(a.Now()).Round(time.Second); left > 0 {
		wait = " (in " + left.String() + ")"
	}
	fmt.Fprintf(a.Out, "  next: %s at %s%s, %s priority: %s\n", what, when(s.Next.At), wait, s.Next.Priority, s.Next.Reason)
}

// policyText says what is special about an account's schedule.
func policyText(p wire.Policy) string {
	if p.Off != nil && *p.Off {
		return "collected when somebody asks"
	}
	var parts []string
	for _, one := range []struct{ name, value string }{
		{"every", p.Every}, {"cron", p.Cron}, {"zone", p.Zone}, {"quiet", p.Quiet}, {"spread", p.Spread},
		{"after success", p.AfterSuccess}, {"after failure", p.AfterFailure}, {"after quota", p.AfterQuota},
	} {
		if one.value != "" {
			parts = append(parts, one.name+" "+one.value)
		}
	}
	if len(parts) == 0 {
		return "collected as all accounts are"
	}
	return strings.Join(parts, ", ")
}

// oneAccount demands one login or id.
func oneAccount(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usage("`%s` takes one login or account id", c.CommandPath())
	}
	return nil
}

func (a *App) accountDelete(o *options) *cobra.Command {
	return a.accountMove(o, "delete", "Collect an account no more; what was collected stays",
		func(ctx context.Context, s *session, login, _ string) (domain.Account, error) {
			return s.DeleteAccount(ctx, login)
		})
}

// runChange is a command that changes one run.
func (a *App) runChange(o *options, use, short string, args cobra.PositionalArgs, change func(ctx context.Context, s *session, args []string) (domain.Run, error)) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: args,
		RunE: func(c *cobra.Command, args []string) error {
			return a.with(c.Context(), o, func(s *session) error {
				r, err := change(c.Context(), s, args)
				if err != nil {
					return err
				}
				if o.json() {
					return printJSON(a.Out, r)
				}
				fmt.Fprintf(a.Out, "run %d of %s is %s with %s priority\n", r.ID, r.Login, r.Status, r.Priority)
				return nil
			})
		}}
}

func (a *App) runResume(o *options) *cobra.Command {
	return a.runChange(o, "resume RUN", "Let a run that ended with failures go on from its failed jobs", oneID,
		func(ctx context.Context, s *session, args []string) (domain.Run, error) {
			return s.ResumeRun(ctx, parseID(args[0]))
		})
}

func (a *App) runPriority(o *options) *cobra.Command {
	check := func(c *cobra.Command, args []string) error {
		if len(args) != 2 {
			return usage("`%s` takes a run's id and high or low", c.CommandPath())
		}
		var p domain.Priority
		if err := p.UnmarshalText([]byte(strings.ToUpper(args[1]))); err != nil {
			return usage("a priority is high or low, not %q", args[1])
		}
		return oneID(c, args[:1])
	}
	return a.runChange(o, "priority RUN high|low", "Let a run go before others, or after them", check,
		func(ctx context.Context, s *session, args []string) (domain.Run, error) {
			var p domain.Priority
			if err := p.UnmarshalText([]byte(strings.ToUpper(args[1]))); err != nil {
				return domain.Run{}, err
			}
			return s.SetRunPriority(ctx, parseID(args[0]), p)
		})
}
