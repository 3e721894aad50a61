package cli

import (
	"context"
	"fmt"
	"iter"
	"strconv"

	"github.com/spf13/cobra"

	"sluice/internal/client"
	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
)

// changesCommand tells which documents have changed.
type changesCommand struct{ *App }

type changesFlags struct {
	client.ChangeFilter
	follow bool
	limit  int
}

func (a changesCommand) changes(o *options) *cobra.Command {
	f := changesFlags{limit: 100}
	f.After = "0"
	c := &cobra.Command{Use: "changes", Short: "Tell which documents have changed since a position, and follow the changes",
		Long: "Tell which documents were created, updated or deleted after a position, in the order in which that was\n" +
			"committed, and where to go on. With --follow the changes are told as they are committed, until Ctrl-C; a\n" +
			"service that is restarted meanwhile is asked again, and no change is missed or told twice.\n" +
			"With -o json each change is a line.",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := sourceFinder(a).learnKinds(c.Context(), o, f.Kinds...); err != nil {
				return err
			}
			if err := f.check(o); err != nil {
				return err
			}
			return a.with(c.Context(), o, func(s *session) error {
				if f.follow {
					return a.follow(c.Context(), o, s, &f)
				}
				return a.list(c.Context(), o, s, &f)
			})
		}}
	flags := c.Flags()
	flags.StringVar(&f.After, "after", f.After, "tell what came after this position: that of an earlier answer, 0 for all that are kept, or now")
	flags.StringVar(&f.Feed, "feed", "", "the feed that the position is of; refuse if it is another one by now")
	flags.StringSliceVar(&f.Kinds, "kind", nil, "only of this kind, such as issues; may be repeated")
	flags.StringSliceVar(&f.IDs, "id", nil, "only of the document with this id; may be repeated")
	flags.StringSliceVar(&f.Accounts, "account", nil, "only of this account (id or login); may be repeated")
	flags.BoolVar(&f.follow, "follow", false, "go on with what is committed from then on")
	flags.IntVar(&f.limit, "limit", f.limit, "how many at most; 0 for all; --follow has no limit")
	return c
}

func (f *changesFlags) check(o *options) error {
	if after, err := strconv.ParseInt(f.After, 10, 64); f.After != "now" && (err != nil || after < 0) {
		return usage("--after: %q is not a position; give that of an earlier answer, 0 for all that are kept, or now", f.After)
	}
	if f.limit < 0 {
		return usage("--limit is %d; it is how many at most, 0 for all", f.limit)
	}
	for _, kind := range f.Kinds {
		if err := o.knownKind(kind); err != nil {
			return err
		}
	}
	return nil
}

// list tells what there is, page by page.
func (a changesCommand) list(ctx context.Context, o *options, s *session, f *changesFlags) error {
	for told := 0; ; {
		f.Limit = largestPage
		if f.limit > 0 {
			f.Limit = min(f.limit-told, largestPage)
		}
		page, err := s.Changes(ctx, f.ChangeFilter)
		if err != nil {
			return err
		}
		for i := range page.Items {
			if err := a.tell(o, &page.Items[i]); err != nil {
				return err
			}
		}
		told += len(page.Items)
		f.After = client.PositionOf(page.Position)
		if !page.More || f.limit > 0 && told >= f.limit {
			say(a.screen, "position %d of %d: --after %[1]d goes on\n", page.Position, page.Newest)
			return nil
		}
	}
}

func (a changesCommand) tell(o *options, c *wire.Change) error {
	if o.json() {
		return printLine(a.Out, c)
	}
	what := c.Kind + " " + c.ID
	if c.Kind == "" {
		what = "everything of account " + strconv.FormatInt(c.AccountID, 10)
	}
	_, err := fmt.Fprintf(a.Out, "%d  %s  %s  %s  %s\n", c.Position, c.At.UTC().Format("2006-01-02T15:04:05Z"), domain.Printable(c.What), domain.Printable(orDash(c.Account)), domain.Printable(what))
	return err
}

// follow tells changes as they are committed. A stream that breaks off is begun again
// behind what was told.
func (a changesCommand) follow(ctx context.Context, o *options, s *session, f *changesFlags) error {
	if s.local != nil {
		if err := a.list(ctx, o, s, &changesFlags{ChangeFilter: f.ChangeFilter}); err != nil {
			return err
		}
		return nothingMoves(o, s)
	}
	stream, cancel := context.WithCancel(ctx)
	defer cancel()
	// A stream is begun again after its end was heard here, and so everything that
	// it told.
	filter, told := f.ChangeFilter, false
	events := streamed(stream, true, func() iter.Seq2[client.Told, error] { return s.FollowChanges(stream, filter) })
	for {
		select {
		case <-ctx.Done():
			return nil
		case e := <-events:
			switch {
			case e.err != nil && (e.last || domain.CodeOf(e.err) != domain.CodeUnavailable):
				return e.err
			case e.err != nil && !told:
				told = true
				say(a.screen, "sluice: %v; following again\n", e.err)
			case e.err == nil:
				told = false
				if err := a.heard(o, e.told, &filter); err != nil {
					return err
				}
			}
		}
	}
}

// heard tells a change, and notes where to go on.
func (a changesCommand) heard(o *options, told client.Told, at *client.ChangeFilter) error {
	if told.At != nil {
		at.After, at.Feed = client.PositionOf(told.At.Position), told.At.Feed
		return nil
	}
	at.After = client.PositionOf(told.Change.Position)
	return a.tell(o, told.Change)
}
