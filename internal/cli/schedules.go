package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sluice/internal/config"
	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
)

func (a accountCommands) accountSchedule(o *options) *cobra.Command {
	var own config.Config
	var off, standard bool
	var schedule []*pflag.Flag
	c := &cobra.Command{Use: "schedule LOGIN", Short: "Show or set when an account is collected again",
		Long: "Show or set when an account is collected again. Without flags it shows the schedule; what is not given follows the schedule of all accounts (`sluice up --every …`).",
		Args: oneAccount,
		RunE: func(c *cobra.Command, args []string) error {
			given, err := typedAlone(c, schedule)
			if err != nil {
				return err
			}
			if standard && given > 1 {
				return usage("--standard stands alone: it removes the account's own schedule")
			}
			policy := own.Harvest.Policy
			if off {
				policy.Off = &off
			}
			if _, err := policy.Parse(); err != nil {
				return usage("%v", err)
			}
			why := toRead
			if given > 0 {
				why = toChange
			}
			return a.within(c.Context(), o, why, func(s *session) error {
				var shown wire.Schedule
				var err error
				if given > 0 {
					shown, err = s.SetSchedule(c.Context(), args[0], policy)
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
	// They are the account's here, and not those of the service.
	config.RegisterOwn(c.Flags(), &own, "account schedule")
	c.Flags().BoolVar(&off, "off", false, "collect it only on request")
	c.Flags().BoolVar(&standard, "standard", false, "remove the account's own schedule: follow that of all accounts")
	c.Flags().VisitAll(func(f *pflag.Flag) { schedule = append(schedule, f) })
	return c
}

// typedAlone counts those of a command's flags that are on the command line, and
// takes back what the others have from the environment or the file: there they
// say how the service collects all accounts, not how one is to be.
func typedAlone(c *cobra.Command, flags []*pflag.Flag) (given int, err error) {
	typed := map[string]bool{}
	c.Flags().Visit(func(f *pflag.Flag) { typed[f.Name] = true })
	for _, f := range flags {
		if typed[f.Name] {
			given++
		} else if failed := f.Value.Set(f.DefValue); failed != nil {
			err = failed
		}
	}
	return given, err
}

func (a accountCommands) printSchedule(s wire.Schedule) {
	say(a.Out, "account %s: %s\n", s.Login, policyText(s.Policy))
	if s.Next == nil {
		fmt.Fprintln(a.Out, "  nothing is planned now; the next run is planned when this one ends")
		return
	}
	what := "a new run"
	if s.Next.Resume > 0 {
		what = fmt.Sprintf("run %d resumes", s.Next.Resume)
	}
	wait := ""
	if left := s.Next.At.Sub(a.Now()).Round(time.Second); left > 0 {
		wait = " (in " + left.String() + ")"
	}
	say(a.Out, "  next: %s at %s%s, %s priority: %s\n", what, when(s.Next.At), wait, s.Next.Priority, s.Next.Reason)
}

// policyText says what is special about an account's schedule.
func policyText(p wire.Policy) string {
	if p.Off != nil && *p.Off {
		return "collected only on request"
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
		return "follows the schedule of all accounts"
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

func (a accountCommands) accountDelete(o *options) *cobra.Command {
	return a.accountMove(o, "delete", "Delete an account; what was collected stays",
		func(ctx context.Context, s *session, login, _ string) (domain.Account, error) {
			return s.DeleteAccount(ctx, login)
		})
}

// runChange is a command that changes one run.
func (a runCommands) runChange(o *options, use, short string, args cobra.PositionalArgs, change func(ctx context.Context, s *session, args []string) (domain.Run, error)) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: args,
		RunE: func(c *cobra.Command, args []string) error {
			return a.changing(c.Context(), o, func(s *session) error {
				r, err := change(c.Context(), s, args)
				if err != nil {
					return err
				}
				if o.json() {
					return printJSON(a.Out, r)
				}
				say(a.Out, "run %d of %s is %s with %s priority\n", r.ID, r.Login, r.Status, r.Priority)
				return nil
			})
		}}
}

func (a runCommands) runResume(o *options) *cobra.Command {
	return a.runChange(o, "resume RUN", "Resume a run that ended with failures, from its failed jobs", oneID,
		func(ctx context.Context, s *session, args []string) (domain.Run, error) {
			return s.ResumeRun(ctx, parseID(args[0]))
		})
}

func (a runCommands) runPriority(o *options) *cobra.Command {
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
	return a.runChange(o, "priority RUN high|low", "Set a run's priority: before others, or after them", check,
		func(ctx context.Context, s *session, args []string) (domain.Run, error) {
			var p domain.Priority
			if err := p.UnmarshalText([]byte(strings.ToUpper(args[1]))); err != nil {
				return domain.Run{}, err
			}
			return s.SetRunPriority(ctx, parseID(args[0]), p)
		})
}
