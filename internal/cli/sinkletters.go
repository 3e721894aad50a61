package cli

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"sluice/internal/httpapi/wire"
)

func (a sinkCommands) sinkLetters(o *options) *cobra.Command {
	limit := 100
	c := &cobra.Command{Use: "letters SINK", Short: "List the batches that a sink's receiver refused, the oldest first",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("`%s` takes the name of one sink; `sluice sink list` has them", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return a.with(c.Context(), o, func(s *session) error {
				list, err := s.SinkLetters(c.Context(), args[0], limit)
				if err != nil {
					return err
				}
				if o.json() {
					return printJSON(a.Out, list)
				}
				if len(list.Items) == 0 {
					say(a.screen, "no letters: the receiver of %s has refused nothing that is kept\n", args[0])
					return nil
				}
				return table(a.Out, "LETTER\tSET ASIDE\tSTATUS\tSIZE\tREASON", func(line func(string, ...any)) {
					for _, l := range list.Items {
						line("%s\t%s\t%s\t%s\t%s", l.ID, when(l.At), answered(l.Status), plural(l.Bytes, "byte"), l.Reason)
					}
				})
			})
		}}
	c.Flags().IntVar(&limit, "limit", limit, "list so many, 1000 at most")
	return c
}

// answered is a receiver's status, if it answered.
func answered(status int) string {
	if status == 0 {
		return "-"
	}
	return strconv.Itoa(status)
}

type lettersCall func(ctx context.Context, sink string, q wire.SinkLettersRequest) (int, error)

// letters is how many a sink has, of those that can have any.
func letters(n *wire.Sink) string {
	if n.Letters == nil {
		return "-"
	}
	return count(*n.Letters)
}

// dealWithLetters is a command about some letters of a sink, or all.
func (a sinkCommands) dealWithLetters(o *options, name, short, done string,
	do func(*session) lettersCall) *cobra.Command {
	all := false
	c := &cobra.Command{Use: name + " SINK LETTER… | --all", Short: short,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 || (len(args) == 1) != all {
				return usage("`%s` takes the name of a sink and letters' ids, or --all; `sluice sink letters SINK` lists them", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return a.changing(c.Context(), o, func(s *session) error {
				n, err := do(s)(c.Context(), args[0], wire.SinkLettersRequest{IDs: args[1:], All: all})
				return deadLetterCommands(a).printLetters(o, n, done, err)
			})
		}}
	c.Flags().BoolVar(&all, "all", false, "all letters of the sink, up to 1000")
	return c
}
