package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice/internal/httpapi/wire"
	"sluice/internal/timer"
)

func (a *App) timers(o *options) *cobra.Command {
	return group("timer", "Set, move, cancel and watch timers", a.timerSet(o), a.timerReschedule(o), a.timerCancel(o), a.timerList(o),
		a.timerShow(o), a.timerRedeliver(o), a.timerWatch(o), a.timerStats(o), a.timerMissed(o))
}

// instantFlags are the two ways to name an instant.
type instantFlags struct{ at, in string }

func (f *instantFlags) register(c *cobra.Command) {
	c.Flags().StringVar(&f.in, "in", "", "a while from now, such as 5m or 36h")
	c.Flags().StringVar(&f.at, "at", "", "an instant, such as 2026-12-01T09:00:00+09:00")
}

func (f *instantFlags) check(c *cobra.Command) error {
	if (f.at == "") == (f.in == "") {
		return usage("`%s` needs either --in, such as --in 5m, or --at, such as --at 2026-12-01T09:00:00+09:00", c.CommandPath())
	}
	return nil
}

// oneTimer demands the id of a timer.
func oneTimer(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usage("`%s` takes one timer's id", c.CommandPath())
	}
	if err := timer.CheckID(args[0]); err != nil {
		return usage("%v", err)
	}
	return nil
}

func (a *App) timerSet(o *options) *cobra.Command {
	var when instantFlags
	var payload, webhook string
	c := &cobra.Command{Use: "set ID", Short: "Have something happen once, at an instant",
		Long: "Have something happen once, at an instant. Setting the same timer again changes nothing; the same id with other content is refused.",
		Args: oneTimer,
		RunE: func(c *cobra.Command, args []string) error {
			if err := when.check(c); err != nil {
				return err
			}
			in := wire.TimerRequest{ID: args[0], At: when.at, In: when.in, Webhook: webhook}
			if payload != "" {
				text, err := readPayload(payload)
				if err != nil {
					return err
				}
				in.Payload = text
			}
			return a.with(c.Context(), o, func(s *session) error {
				t, err := s.SetTimer(c.Context(), in)
				if err != nil {
					return err
				}
				return a.showTimer(o, s, t)
			})
		}}
	when.register(c)
	c.Flags().StringVar(&payload, "payload", "", "any JSON, handed on as it is; also @FILE")
	c.Flags().StringVar(&webhook, "webhook", "", "address that gets a signed POST when it fires")
	return c
}

// readPayload takes JSON, or a file of it.
func readPayload(text string) (json.RawMessage, error) {
	if path, ok := strings.CutPrefix(text, "@"); ok {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, usage("--payload: %v", err)
		}
		text = string(content)
	}
	if len(text) > timer.MaxPayload {
		return nil, usage("--payload has %d bytes; at most %d are kept", len(text), timer.MaxPayload)
	}
	if !json.Valid([]byte(text)) {
		return nil, usage("--payload is no JSON; text goes in double quotes, such as --payload '\"hello\"'")
	}
	return json.RawMessage(text), nil
}

func (a *App) timerReschedule(o *options) *cobra.Command {
	var when instantFlags
	c := &cobra.Command{Use: "reschedule ID", Short: "Give a timer that has not fired another instant", Args: oneTimer,
		RunE: func(c *cobra.Command, args []string) error {
			if err := when.check(c); err != nil {
				return err
			}
			return a.with(c.Context(), o, func(s *session) error {
				t, err := s.RescheduleTimer(c.Context(), args[0], wire.InstantRequest{At: when.at, In: when.in})
				if err != nil {
					return err
				}
				return a.showTimer(o, s, t)
			})
		}}
	when.register(c)
	return c
}

// timerAction is a command that does one thing to one timer.
func (a *App) timerAction(o *options, verb, short string, do func(c *cobra.Command, s *session, id string) (timer.Timer, error)) *cobra.Command {
	return &cobra.Command{Use: verb + " ID", Short: short, Args: oneTimer,
		RunE: func(c *cobra.Command, args []string) error {
			return a.with(c.Context(), o, func(s *session) error {
				t, err := do(c, s, args[0])
				if err != nil {
					return err
				}
				return a.showTimer(o, s, t)
			})
		}}
}

func (a *App) timerCancel(o *options) *cobra.Command {
	return a.timerAction(o, "cancel", "Keep a timer from firing", func(c *cobra.Command, s *session, id string) (timer.Timer, error) {
		return s.CancelTimer(c.Context(), id)
	})
}

func (a *App) timerShow(o *options) *cobra.Command {
	return a.timerAction(o, "show", "Show a timer and what became of it", func(c *cobra.Command, s *session, id string) (timer.Timer, error) {
		return s.Timer(c.Context(), id)
	})
}

func (a *App) timerRedeliver(o *options) *cobra.Command {
	return a.timerAction(o, "redeliver", "Call the webhook of a timer that was given up again", func(c *cobra.Command, s *session, id string) (timer.Timer, error) {
		return s.RedeliverTimer(c.Context(), id)
	})
}

func (a *App) timerList(o *options) *cobra.Command {
	var q timer.Query
	var status string
	c := &cobra.Command{Use: "list", Short: "List timers in the order of their ids", Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			for _, name := range strings.FieldsFunc(status, func(r rune) bool { return r == ',' }) {
				parsed, err := timer.ParseStatus(strings.ToUpper(name))
				if err != nil {
					return usage("--status: %v", err)
				}
				q.Statuses = append(q.Statuses, parsed)
			}
			return a.with(c.Context(), o, func(s *session) error {
				list, err := s.Timers(c.Context(), q)
				if err != nil {
					return err
				}
				if o.json() {
					return printJSON(a.Out, list)
				}
				return table(a.Out, "TIMER\tAT\tSTATUS\tFIRED\tLATE BY\tTRIES\tERROR", func(line func(string, ...any)) {
					for _, t := range list.Timers {
						line("%s\t%s\t%s\t%s\t%s\t%d\t%s", t.ID, when(t.At), t.Status, when(t.FiredAt), lateness(t), t.Tries, orDash(t.Error))
					}
				})
			})
		}}
	c.Flags().StringVar(&status, "status", "", "only these states, such as WAITING or DEAD,DELIVERING")
	c.Flags().StringVar(&q.Prefix, "prefix", "", "only ids that begin like this")
	c.Flags().StringVar(&q.AfterID, "after", "", "only ids that come after this one, to page on")
	c.Flags().IntVar(&q.Limit, "limit", 50, "how many")
	return c
}

// lateness says how late a timer fired.
func lateness(t timer.Timer) string {
	if !t.Status.Fired() {
		return "-"
	}
	return t.Completion().Lateness.Round(100 * time.Microsecond).String()
}

func (a *App) showTimer(o *options, s *session, t timer.Timer) error {
	if o.json() {
		return printJSON(a.Out, t)
	}
	fmt.Fprintf(a.Out, "timer %s: %s\n", t.ID, timerFortune(t, a.Now()))
	if t.Webhook != "" {
		fmt.Fprintf(a.Out, "  webhook %s, %s\n", t.Webhook, plural(t.Tries, "attempt"))
	}
	if t.Error != "" {
		fmt.Fprintf(a.Out, "  %s\n", t.Error)
	}
	if len(t.Payload) > 0 {
		fmt.Fprintf(a.Out, "  payload %s\n", t.Payload)
	}
	if s.local != nil && t.Status == timer.Waiting {
		fmt.Fprintln(a.Out, "  nobody fires it now: no service runs on this data folder; `sluice up` starts one")
	}
	return nil
}

// timerFortune is what matters most about a timer.
func timerFortune(t timer.Timer, now time.Time) string {
	switch t.Status {
	case timer.Waiting:
		left := "now"
		if wait := t.At.Sub(now).Round(time.Second); wait > 0 {
			left = "in " + wait.String()
		}
		return "fires at " + when(t.At) + " (" + left + ")"
	case timer.Canceled:
		return "canceled; it was set for " + when(t.At)
	}
	text := fmt.Sprintf("fired at %s, %s after its instant, by %s", t.FiredAt.Local().Format("2006-01-02 15:04:05.000"), lateness(t), t.Server)
	switch t.Status {
	case timer.Delivering:
		text += "; being delivered, again at " + when(t.NextAt) + " if need be"
	case timer.Dead:
		text += "; its delivery was given up: `sluice timer redeliver " + t.ID + "` tries again"
	}
	return text
}

func (a *App) timerWatch(o *options) *cobra.Command {
	return &cobra.Command{Use: "watch", Short: "Be told of every timer that fires, until Ctrl-C", Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.with(c.Context(), o, func(s *session) error {
				for done, err := range s.WatchCompletions(c.Context()) {
					if c.Context().Err() != nil {
						return nil
					}
					if err != nil {
						return err
					}
					if err := a.printCompletion(o, done); err != nil {
						return err
					}
				}
				return nil
			})
		}}
}

func (a *App) printCompletion(o *options, c timer.Completion) error {
	if o.json() {
		// One line each, for programs that read along.
		return json.NewEncoder(a.Out).Encode(c)
	}
	text := fmt.Sprintf("%s  %s  %s late, by %s", c.Fired.Local().Format("15:04:05.000"), c.Timer, c.Lateness.Round(100*time.Microsecond), c.Server)
	if len(c.Payload) > 0 {
		text += "  " + string(c.Payload)
	}
	fmt.Fprintln(a.Out, text)
	return nil
}

func (a *App) timerStats(o *options) *cobra.Command {
	var hours int
	c := &cobra.Command{Use: "stats", Short: "Sum up the timers that have fired", Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.with(c.Context(), o, func(s *session) error {
				sum, err := s.CompletionStats(c.Context(), hours)
				if err != nil {
					return err
				}
				if o.json() {
					return printJSON(a.Out, sum)
				}
				fmt.Fprintf(a.Out, "%s in the last %s: %s delivered, %s under way, %s given up, %s late\n", plural(int(sum.Completed), "timer")+" fired",
					plural(hours, "hour"), count(sum.Succeeded), count(sum.Pending), count(sum.Failed), count(sum.Late))
				fmt.Fprintf(a.Out, "  lateness: mean %.1f ms, half within %.1f ms, 99 of 100 within %.1f ms, at most %.1f ms\n",
					sum.Lateness.Mean, sum.Lateness.P50, sum.Lateness.P99, sum.Lateness.Max)
				for _, server := range slices.Sorted(maps.Keys(sum.Servers)) {
					fmt.Fprintf(a.Out, "  %s fired %s\n", server, count(sum.Servers[server]))
				}
				return nil
			})
		}}
	c.Flags().IntVar(&hours, "hours", 24, "how far to look back, at most 720")
	return c
}

func (a *App) timerMissed(o *options) *cobra.Command {
	return &cobra.Command{Use: "missed", Short: "Look for timers that should have fired and did not, and fire them", Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.with(c.Context(), o, func(s *session) error {
				missed, err := s.DetectMissedTimers(c.Context())
				if err != nil {
					return err
				}
				if o.json() {
					return printJSON(a.Out, missed)
				}
				fmt.Fprintf(a.Out, "%s overdue; %s fired now\n", plural(missed.Found, "timer"), count(int64(missed.Fired)))
				for _, id := range missed.Timers {
					fmt.Fprintf(a.Out, "  %s\n", id)
				}
				return nil
			})
		}}
}
