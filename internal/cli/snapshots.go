package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice/internal/client"
	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
	"sluice/internal/refresh"
	"sluice/internal/sources"
)

// snapshotSource is whose snapshots are meant where none is named.
var snapshotSource = sources.Keyed()[0].Name

// snapshotCommands are those about snapshots.
type snapshotCommands struct{ *App }

func (a snapshotCommands) refresh(o *options) *cobra.Command {
	var source, priority string
	c := &cobra.Command{Use: "refresh KEY…", Short: "Refresh snapshots; without keys, show the state of the pipeline",
		RunE: func(c *cobra.Command, args []string) error {
			why := toRead
			if len(args) > 0 {
				why = toAdd
			}
			return a.within(c.Context(), o, why, func(s *session) error {
				if len(args) == 0 {
					return a.showPipeline(c, o, s)
				}
				var p domain.Priority
				if err := p.UnmarshalText([]byte(strings.ToUpper(priority))); err != nil {
					return usage("--priority is high or low, not %q", priority)
				}
				answer, err := s.Refresh(c.Context(), wire.RefreshRequest{Source: source, Keys: args, Priority: p.String()})
				if err != nil {
					return err
				}
				if o.json() {
					return printJSON(a.Out, answer)
				}
				return table(a.Out, "KEY\tRESULT\tVERSION", func(line func(string, ...any)) {
					for _, r := range answer.Results {
						line("%s\t%s\t%d", r.Key, r.Result, r.Version)
					}
				})
			})
		}}
	c.Flags().StringVar(&source, "source", snapshotSource, "whose snapshots")
	c.Flags().StringVar(&priority, "priority", "high", "high or low")
	return c
}

func (a snapshotCommands) showPipeline(c *cobra.Command, o *options, s *session) error {
	view, err := s.RefreshOverview(c.Context())
	if err != nil {
		return err
	}
	if o.json() {
		return printJSON(a.Out, view)
	}
	for _, one := range view.Sources {
		say(a.Out, "%s: %s snapshots of %s bytes; %s being tried again, %s failed\n", one.Source,
			count(one.Counts.Snapshots), count(one.Counts.Bytes), count(one.Counts.Retrying), count(one.Counts.Failed))
		say(a.Out, "  calls today: %s of %s, %s of them LOW\n", count(one.Rate.Used), count(one.Rate.Daily), count(one.Rate.UsedLow))
	}
	for _, name := range slices.Sorted(maps.Keys(view.Lags)) {
		say(a.Out, "  %s requests that wait: %s\n", name, count(view.Lags[name].Records))
	}
	for _, name := range slices.Sorted(maps.Keys(view.Breakers)) {
		say(a.Out, "  breaker of the %s: %s\n", name, view.Breakers[name])
	}
	for _, why := range slices.Sorted(maps.Keys(view.Dead)) {
		say(a.Out, "  dead letters, %s: %s\n", why, count(view.Dead[why]))
	}
	return nil
}

func (a snapshotCommands) snapshots(o *options) *cobra.Command {
	return group("snapshot", "Read snapshots", a.snapshotGet(o), a.snapshotHistory(o))
}

func (a snapshotCommands) snapshotGet(o *options) *cobra.Command {
	var source string
	var wait, byName bool
	c := &cobra.Command{Use: "get KEY", Short: "Show the last known value of an entity",
		Long: "Show the last known value of an entity. A key is part:ocid, such as basic:OCID; an ocid\n" +
			"alone means its item-equipment. With --name it is part:NAME or NAME, and the name's\n" +
			"ocid is looked up first; a name that was never looked up takes a call.",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("`%s` takes one key, such as item-equipment:OCID", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			e := refresh.Entity{Source: source, Key: args[0]}
			return a.with(c.Context(), o, func(s *session) (err error) {
				if byName {
					if e, err = s.named(c.Context(), e); err != nil {
						return err
					}
				}
				answer, err := s.Snapshot(c.Context(), e)
				if err != nil {
					return err
				}
				if wait {
					if answer, err = s.fresh(c.Context(), answer); err != nil {
						return err
					}
				}
				return a.showSnapshot(o, answer)
			})
		}}
	c.Flags().StringVar(&source, "source", snapshotSource, "whose snapshot")
	c.Flags().BoolVar(&wait, "wait", false, "wait until it is fresh")
	c.Flags().BoolVar(&byName, "name", false, "the key has a character's name instead of its ocid")
	return c
}

// fresh waits until a snapshot is fresh, or nobody asks for it any more.
func (s *session) fresh(ctx context.Context, answer refresh.Answer) (refresh.Answer, error) {
	if answer.Freshness == refresh.Fresh {
		return answer, nil
	}
	for next, err := range s.WatchSnapshot(ctx, answer.Entity) {
		if err != nil {
			return answer, err
		}
		answer = next
		if s := next.Status; s != nil && s.Code == refresh.StatusFailed && !next.UpdateQueued {
			break
		}
	}
	return answer, nil
}

// named finds the entity of a character whose name stands in the place of its
// ocid: the name has a snapshot of its own that tells it.
func (s *session) named(ctx context.Context, e refresh.Entity) (refresh.Entity, error) {
	part, name, found := strings.Cut(e.Key, ":")
	if !found {
		part, name = "", e.Key
	}
	answer, err := s.Snapshot(ctx, refresh.Entity{Source: e.Source, Key: "id:" + name})
	if err != nil {
		return e, err
	}
	if text := string(answer.Snapshot); text == "" || text == "null" {
		if answer, err = s.fresh(ctx, answer); err != nil {
			return e, err
		}
	}
	var told struct{ Ocid string }
	if len(answer.Snapshot) > 0 {
		if err := json.Unmarshal(answer.Snapshot, &told); err != nil {
			return e, err
		}
	}
	if told.Ocid == "" {
		why := ""
		if answer.Status != nil {
			why = ": " + answer.Status.Error
		}
		return e, domain.Errorf(domain.CodeNotFound, "no character of the name %s is known%s", name, why)
	}
	e.Key = told.Ocid
	if part != "" {
		e.Key = part + ":" + told.Ocid
	}
	return e, nil
}

func (a snapshotCommands) showSnapshot(o *options, answer refresh.Answer) error {
	if o.json() {
		return printJSON(a.Out, answer)
	}
	say(a.screen, "%s is %s; checked %s, changed %s\n", answer.Entity, answer.Freshness, when(answer.LastCheckedAt), when(answer.LastUpdatedAt))
	if answer.UpdateQueued {
		text := "a refresh is under way"
		if answer.EstimatedWaitMs != nil {
			text += fmt.Sprintf(", about %s to go", (time.Duration(*answer.EstimatedWaitMs) * time.Millisecond).Round(100*time.Millisecond))
		}
		say(a.screen, "%s\n", text)
	}
	if answer.Status != nil {
		say(a.screen, "%s after %s: %s\n", answer.Status.Code, plural(answer.Status.Tries, "attempt"), answer.Status.Error)
	}
	say(a.Out, "%s\n", answer.Snapshot)
	return nil
}

// deadLetterCommands are those about what failed for good.
type deadLetterCommands struct{ *App }

func (a deadLetterCommands) deadLetters(o *options) *cobra.Command {
	c := group("dlq", "List, show, redrive and discard what failed for good: refreshes and statistics", a.dlqList(o), a.dlqShow(o), a.dlqRedrive(o), a.dlqDiscard(o))
	c.Aliases = []string{"dead-letter"}
	return c
}

func (a deadLetterCommands) dlqList(o *options) *cobra.Command {
	var f client.LetterFilter
	var page paging
	c := &cobra.Command{Use: "list", Short: "List dead letters, newest first, and how many there are of each cause", Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.with(c.Context(), o, func(s *session) error {
				var all wire.DeadLetterList
				list, err := gather(page, func(p client.Page) (wire.List[wire.Letter], error) {
					f.Page = p
					one, err := s.DeadLetters(c.Context(), f)
					all.Counts = one.Counts
					return one.List, err
				})
				if err != nil {
					return err
				}
				if all.List = list; o.json() {
					return printJSON(a.Out, all)
				}
				for _, why := range slices.Sorted(maps.Keys(all.Counts)) {
					say(a.screen, "%s: %s\n", why, count(all.Counts[why]))
				}
				defer a.more(list.NextCursor)
				return table(a.Out, "LETTER\tKIND\tOF\tWHY\tTRIES\tBURIED\tERROR", func(line func(string, ...any)) {
					for _, l := range list.Items {
						line("%s\t%s\t%s\t%s\t%d\t%s\t%s", l.ID, l.Kind, l.Name(), l.Why, l.Tries, when(l.Failed), orDash(l.Error))
					}
				})
			})
		}}
	c.Flags().StringVar(&f.Kind, "kind", "", "only of this kind: refresh or statistics")
	c.Flags().StringVar(&f.Why, "why", "", "only with this cause, such as OPENAPI00004 or STATISTICS")
	c.Flags().StringVar(&f.Source, "source", "", "only of this source")
	c.Flags().StringVar(&f.Key, "key", "", "only of this entity")
	page.register(c)
	return c
}

func (a deadLetterCommands) dlqShow(o *options) *cobra.Command {
	return &cobra.Command{Use: "show LETTER", Short: "Show a dead letter",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("`%s` takes one dead letter's id", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return a.with(c.Context(), o, func(s *session) error {
				letter, err := s.DeadLetter(c.Context(), args[0])
				if err != nil {
					return err
				}
				return printJSON(a.Out, letter)
			})
		}}
}

func (a deadLetterCommands) dlqRedrive(o *options) *cobra.Command {
	var why string
	c := &cobra.Command{Use: "redrive LETTER… | --why CAUSE", Short: "Publish the requests of dead letters again, or compute statistics once more",
		Args: func(c *cobra.Command, args []string) error {
			if (len(args) == 0) == (why == "") {
				return usage("`%s` takes dead letters' ids, or --why for all of one cause", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return a.changing(c.Context(), o, func(s *session) error {
				n, err := s.Redrive(c.Context(), wire.LettersRequest{IDs: args, Why: why})
				return a.printLetters(o, n, "redriven", err)
			})
		}}
	c.Flags().StringVar(&why, "why", "", "all with this cause")
	return c
}

func (a deadLetterCommands) dlqDiscard(o *options) *cobra.Command {
	return &cobra.Command{Use: "discard LETTER…", Short: "Discard dead letters",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("`%s` takes dead letters' ids", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return a.changing(c.Context(), o, func(s *session) error {
				n, err := s.Discard(c.Context(), wire.LettersRequest{IDs: args})
				return a.printLetters(o, n, "discarded", err)
			})
		}}
}

func (a deadLetterCommands) printLetters(o *options, n int, what string, err error) error {
	if err != nil {
		return err
	}
	if o.json() {
		return printJSON(a.Out, wire.LettersAnswer{Letters: n})
	}
	say(a.Out, "%s %s\n", plural(n, "dead letter"), what)
	return nil
}
