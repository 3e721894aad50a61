package cli

import (
	"github.com/spf13/cobra"

	"sluice/internal/client"
	"sluice/internal/domain"
	"sluice/internal/engine"
)

func (a runCommands) runWatch(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "watch [RUN]", Short: "Watch a run, or all that are active, until they end or wait for a person",
		Long: "Watch a run until it has ended, or waits for a person. Without RUN all runs are watched that are\n" +
			"active when it begins, up to 200: whichever is meant is among them, and those that wait for a person\n" +
			"come first. `sluice top` also shows runs that begin later. A stream that breaks off is begun again.",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return oneID(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			return a.with(c.Context(), o, func(s *session) error {
				if s.local != nil && len(args) > 0 {
					return a.watchStill(c, o, s, parseID(args[0]))
				}
				if s.local != nil {
					return nothingMoves(o, s)
				}
				ids, err := a.toWatch(c, s, args)
				if err != nil {
					return err
				}
				a.showRunPage(o, s, ids)
				last, err := a.follow(c.Context(), s, ids, true)
				if err != nil {
					return err
				}
				runs := make([]engine.Progress, 0, len(ids))
				for _, id := range ids {
					runs = append(runs, last[id])
				}
				return a.printWatched(o, runs)
			})
		},
	}
}

// printWatched says where runs stand, and why one that did not end goes on no more.
func (a runCommands) printWatched(o *options, runs []engine.Progress) error {
	if o.json() {
		return printJSON(a.Out, map[string]any{"runs": runs})
	}
	n := narrator{style: a.style(a.Out), now: a.Now}
	for _, p := range runs {
		say(a.Out, "run %d of %s is %s", p.ID, p.Login, p.Status)
		if p.Status.Active() && len(p.Waits) > 0 {
			say(a.Out, ": %s", n.waitText(p))
		}
		say(a.Out, "\n")
	}
	return nil
}

// watchStill tells of a run in a folder that no service works on: one that ended, or
// waits for a person, needs none to be seen to its end.
func (a runCommands) watchStill(c *cobra.Command, o *options, s *session, id int64) error {
	detail, err := s.Run(c.Context(), id, false)
	if err != nil {
		return err
	}
	if detail.Status.Active() && !waitsForPerson(detail.Progress) {
		return nothingMoves(o, s)
	}
	return a.printWatched(o, []engine.Progress{detail.Progress})
}

func nothingMoves(o *options, s *session) error {
	if s.held {
		return domain.Errorf(domain.CodeUnavailable, "the process that holds %s does not answer, so that nothing can be followed; `sluice run list` reads what it has stored", o.Service.DataDir)
	}
	return domain.Errorf(domain.CodeUnavailable, "no service runs on %s, so nothing moves there: start one with `sluice up`, or name one with --server; `sluice run show RUN` tells how far a run is", o.Service.DataDir)
}

// mostWatched is how many runs are watched at once, if none is named.
const mostWatched = 200

// toWatch are the runs that were named, or all that are active.
func (a runCommands) toWatch(c *cobra.Command, s *session, args []string) ([]int64, error) {
	if len(args) > 0 {
		return []int64{parseID(args[0])}, nil
	}
	list, err := s.Runs(c.Context(), client.RunFilter{Active: true, Page: client.Page{Limit: mostWatched}})
	if err != nil {
		return nil, err
	}
	ids := make([]int64, 0, len(list.Items))
	for _, r := range list.Items {
		ids = append(ids, r.ID)
	}
	if len(ids) == 0 {
		return nil, domain.Errorf(domain.CodeNotFound, "no run is active; `sluice run list` shows those that ended")
	}
	return ids, nil
}
