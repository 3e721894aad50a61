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

	"sluice/internal/client"
	"sluice/internal/httpapi/wire"
	"sluice/internal/timer"
)

// timerCommands are those about timers.
type timerCommands struct{ *App }

func (a timerCommands) timers(o *options) *cobra.Command {
	return group("timer", "Set, move, cancel and watch timers", a.timerSet(o), a.timerReschedule(o), a.timerCancel(o), a.timerList(o),
		a.timerShow(o), a.timerRedeliver(o), a.timerWatch(o), a.timerStats(o), a.timerMissed(o))
}

// instantFlags are the two ways to name an instant.
type instantFlags struct{ at, in string }

func (f *instantFlags) register(c *cobra.Command) {
	c.Flags().StringVar(&f.in, "in", "", "a duration from now, such as 5m or 36h")
	c.Flags().StringVar(&f.at, "at", "", "a time, such as 2026-12-01T09:00:00+09:00")
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

func (a timerCommands) timerSet(o *options) *cobra.Command {
	var when instantFlags
	var payload, webhook string
	c := &cobra.Command{Use: "set ID", Short: "Set a timer that fires once, at a given time",
		Long: "Set a timer that fires once, at a given time. Setting the same timer again changes nothing; the same id with other content is refused.",
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
			return a.within(c.Context(), o, toAdd, func(s *session) error {
				t, err := s.SetTimer(c.Context(), in)
				if err != nil {
					return err
				}
				return a.showTimer(o, s, t)
			})
		}}
	when.register(c)
	c.Flags().StringVar(&payload, "payload", "", "any JSON, passed on unchanged; also @FILE")
	c.Flags().StringVar(&webhook, "webhook", "", "URL that gets a signed POST when it fires")
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
		return nil, usage("--payload is not JSON; put text in double quotes, such as --payload '\"hello\"'")
	}
	return json.RawMessage(text), nil
}

func (a timerCommands) timerReschedule(o *options) *cobra.Command {
	var when instantFlags
	c := &cobra.Command{Use: "reschedule ID", Short: "Move a timer that has not fired to another time", Args: oneTimer,
		RunE: func(c *cobra.Command, args []string) error {
			if err := when.check(c); err != nil {
				return err
			}
			return a.changing(c.Context(), o, func(s *session) error {
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
func (a timerCommands) timerAction(o *options, why purpose, verb, short string, do func(c *cobra.Command, s *session, id string) (timer.Timer, error)) *cobra.Command {
	return &cobra.Command{Use: verb + " ID", Short: short, Args: oneTimer,
		RunE: func(c *cobra.Command, args []string) error {
			return a.within(c.Context(), o, why, func(s *session) error {
				t, err := do(c, s, args[0])
				if err != nil {
					return err
				}
				return a.showTimer(o, s, t)
			})
		}}
}

func (a timerCommands) timerCancel(o *options) *cobra.Command {
	return a.timerAction(o, toChange, "cancel", "Cancel a timer", func(c *cobra.Command, s *session, id string) (timer.Timer, error) {
		return s.CancelTimer(c.Context(), id)
	})
}

func (a timerCommands) timerShow(o *options) *cobra.Command {
	return a.timerAction(o, toRead, "show", "Show a timer and its outcome", func(c *cobra.Command, s *session, id string) (timer.Timer, error) {
		return s.Timer(c.Context(), id)
	})
}

func (a timerCommands) timerRedeliver(o *options) *cobra.Command {
	return a.timerAction(o, toChange, "redeliver", "Call again the webhook of a timer that was given up", func(c *cobra.Command, s *session, id string) (timer.Timer, error) {
		return s.RedeliverTimer(c.Context(), id)
	})
}

func (a timerCommands) timerList(o *options) *cobra.Command {
	var q timer.Query
	var status string
	var page paging
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
				list, err := gather(page, func(p client.Page) (wire.TimerList, error) {
					q.AfterID, q.Limit = p.Cursor, p.Limit
					return s.Timers(c.Context(), q)
				})
				if err != nil {
					return err
				}
				if o.json() {
					return printJSON(a.Out, list)
				}
				defer a.more(list.NextCursor)
				return table(a.Out, "TIMER\tAT\tSTATUS\tFIRED\tLATE BY\tTRIES\tERROR", func(line func(string, ...any)) {
					for _, t := range list.Items {
						line("%s\t%s\t%s\t%s\t%s\t%d\t%s", t.ID, when(t.At), t.Status, when(t.FiredAt), lateness(t), t.Tries, orDash(t.Error))
					}
				})
			})
		}}
	c.Flags().StringVar(&status, "status", "", "only these states, such as WAITING or DEAD,DELIVERING")
	c.Flags().StringVar(&q.Prefix, "prefix", "", "only ids with this prefix")
	page.register(c)
	renamed(c, &page.cursor, "after")
	return c
}

// lateness says how late a timer fired.
func lateness(t timer.Timer) string {
	if !t.Status.HasFired() {
		return "-"
	}
	return t.Completion().Lateness.Round(100 * time.Microsecond).String()
}

func (a timerCommands) showTimer(o *options, s *session, t timer.Timer) error {
	if o.json() {
		return printJSON(a.Out, t)
	}
	say(a.Out, "timer %s: %s\n", t.ID, timerFortune(t, a.Now()))
	if t.Webhook != "" {
		say(a.Out, "  webhook %s, %s\n", t.Webhook, plural(t.Tries, "attempt"))
	}
	if t.Error != "" {
		say(a.Out, "  %s\n", t.Error)
	}
	if len(t.Payload) > 0 {
		say(a.Out, "  payload %s\n", string(t.Payload))
	}
	if s.idle() && t.Status == timer.Waiting {
		fmt.Fprintln(a.Out, "  nothing fires it now: no service runs on this data folder; `sluice up` starts one")
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
	text := fmt.Sprintf("fired at %s, %s late, by %s", t.FiredAt.Local().Format("2006-01-02 15:04:05.000 MST"), lateness(t), t.Server)
	switch t.Status {
	case timer.Delivering:
		text += "; being delivered, next try at " + when(t.NextAt) + " if needed"
	case timer.Dead:
		text += "; its delivery was given up: `sluice timer redeliver " + t.ID + "` tries again"
	}
	return text
}

func (a timerCommands) timerWatch(o *options) *cobra.Command {
	return &cobra.Command{Use: "watch", Short: "Follow the timers that fire, until Ctrl-C", Args: noArguments,
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

func (a timerCommands) printCompletion(o *options, c timer.Completion) error {
	if o.json() {
		return printLine(a.Out, c)
	}
	text := fmt.Sprintf("%s  %s  %s late, by %s", c.FiredAt.Local().Format("15:04:05.000"), c.Timer, c.Lateness.Round(100*time.Microsecond), c.Server)
	if len(c.Payload) > 0 {
		text += "  " + string(c.Payload)
	}
	say(a.Out, "%s\n", text)
	return nil
}

func (a timerCommands) timerStats(o *options) *cobra.Command {
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
				say(a.Out, "%s in the last %s: %s delivered, %s under way, %s given up, %s late\n", plural(int(sum.Completed), "timer")+" fired",
					plural(hours, "hour"), count(sum.Succeeded), count(sum.Pending), count(sum.Failed), count(sum.Late))
				say(a.Out, "  lateness: mean %.1f ms, p50 %.1f ms, p99 %.1f ms, maximum %.1f ms\n",
					sum.Lateness.Mean, sum.Lateness.P50, sum.Lateness.P99, sum.Lateness.Max)
				for _, server := range slices.Sorted(maps.Keys(sum.Servers)) {
					say(a.Out, "  %s fired %s\n", server, count(sum.Servers[server]))
				}
				return nil
			})
		}}
	c.Flags().IntVar(&hours, "hours", 24, "how far to look back, at most 720")
	return c
}

func (a timerCommands) timerMissed(o *options) *cobra.Command {
	return &cobra.Command{Use: "missed", Short: "Look for timers that should have fired and did not, and fire them", Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.changing(c.Context(), o, func(s *session) error {
				missed, err := s.DetectMissedTimers(c.Context())
				if err != nil {
					return err
				}
				if o.json() {
					return printJSON(a.Out, missed)
				}
				say(a.Out, "%s overdue; %s fired now\n", plural(missed.Found, "timer"), count(int64(missed.FiredNow)))
				for _, id := range missed.Timers {
					say(a.Out, "  %s\n", id)
				}
				return nil
			})
		}}
}
