package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"sluice/internal/client"
	"sluice/internal/httpapi/wire"
)

// notifyCommands are those about what people are told.
type notifyCommands struct{ *App }

func (a notifyCommands) notify(o *options) *cobra.Command {
	return group("notify", "Send a test message, list what people are told, and send again what was given up", a.notifyTest(o), a.notifyList(o), a.notifyRetry(o))
}

func (a notifyCommands) notifyTest(o *options) *cobra.Command {
	return &cobra.Command{Use: "test [NAME]", Short: "Send a test message to a target, or to all of them",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage("`%s` takes one target, or none for all of them", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			target := ""
			if len(args) == 1 {
				target = args[0]
			}
			return a.changing(c.Context(), o, func(s *session) error {
				done, err := s.TestNotifications(c.Context(), target)
				if err != nil {
					return err
				}
				return a.printTested(o, done)
			})
		}}
}

// printTested shows what became of test messages, and fails if one did not
// arrive.
func (a notifyCommands) printTested(o *options, done wire.NotificationTested) error {
	if o.json() {
		if err := printJSON(a.Out, done); err != nil {
			return err
		}
	} else {
		err := table(a.Out, "TARGET\tTYPE\tARRIVED\tERROR", func(line func(string, ...any)) {
			for _, t := range done.Targets {
				arrived := "no"
				if t.OK {
					arrived = "yes"
				}
				line("%s\t%s\t%s\t%s", t.Target, t.Type, arrived, orDash(t.Error))
			}
		})
		if err != nil {
			return err
		}
	}
	for _, t := range done.Targets {
		if !t.OK {
			return errors.New("a test message did not arrive")
		}
	}
	return nil
}

func (a notifyCommands) notifyList(o *options) *cobra.Command {
	var q client.NotificationQuery
	c := &cobra.Command{Use: "list", Short: "List what people were and will be told, newest first", Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.with(c.Context(), o, func(s *session) error {
				list, err := s.Notifications(c.Context(), q)
				if err != nil {
					return err
				}
				if o.json() {
					return printJSON(a.Out, list)
				}
				return table(a.Out, "NOTIFICATION\tTARGET\tSTATE\tTITLE\tCREATED\tDUE\tTRIES\tERROR", func(line func(string, ...any)) {
					for _, n := range list.Items {
						line("%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s", n.ID, n.Target, n.State, n.Title, when(n.CreatedAt), when(n.Due), n.Tries, orDash(n.Error))
					}
				})
			})
		}}
	c.Flags().StringVar(&q.State, "status", "", "only waiting, sent or dead ones")
	c.Flags().StringVar(&q.Target, "target", "", "only those for this target")
	c.Flags().StringVar(&q.Cursor, "cursor", "", "where to begin: next_cursor of the page before")
	c.Flags().IntVar(&q.Limit, "limit", 50, "how many")
	return c
}

func (a notifyCommands) notifyRetry(o *options) *cobra.Command {
	return &cobra.Command{Use: "retry NOTIFICATION", Short: "Send a notification again that was given up",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("`%s` takes one notification's id; `sluice notify list --status dead` lists them", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return a.changing(c.Context(), o, func(s *session) error {
				n, err := s.RetryNotification(c.Context(), args[0])
				if err != nil {
					return err
				}
				if o.json() {
					return printJSON(a.Out, n)
				}
				say(a.screen, "notification %s is sent again soon\n", n.ID)
				return nil
			})
		}}
}
