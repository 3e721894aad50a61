package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice/internal/config"
	"sluice/internal/httpapi/wire"
	"sluice/internal/sink"
)

// sinkCommands are those about where documents are carried to.
type sinkCommands struct{ *App }

func (a sinkCommands) sink(o *options) *cobra.Command {
	return group("sink", "List where documents are carried to, and how far that is", a.sinkList(o), a.sinkLetters(o),
		a.dealWithLetters(o, "redrive", "Send batches that a sink's receiver refused once more", "redriven",
			func(s *session) lettersCall { return s.RedriveSinkLetters }),
		a.dealWithLetters(o, "discard", "Discard batches that a sink's receiver refused", "discarded",
			func(s *session) lettersCall { return s.DiscardSinkLetters }))
}

func (a sinkCommands) sinkList(o *options) *cobra.Command {
	return &cobra.Command{Use: "list", Short: "List the sinks of the service: state, position and how far they are behind", Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.with(c.Context(), o, func(s *session) error {
				list, err := s.Sinks(c.Context())
				if err != nil {
					return err
				}
				if o.json() {
					return printJSON(a.Out, list)
				}
				return table(a.Out, "SINK\tKIND\tSTATE\tPOSITION\tBEHIND\tROWS\tLETTERS\tERROR", func(line func(string, ...any)) {
					for i := range list.Items {
						n := &list.Items[i]
						line("%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s", n.Name, n.Kind, n.State, n.Position, behind(n), count(n.Rows), letters(n), orDash(n.Error))
					}
				})
			})
		}}
}

// behind is how far a sink is behind, for people.
func behind(n *wire.Sink) string {
	switch {
	case n.BehindChanges == nil:
		return "-"
	case *n.BehindChanges == 0:
		return "0"
	case n.BehindSeconds == nil:
		return plural(int(*n.BehindChanges), "change")
	}
	return fmt.Sprintf("%s, %s", plural(int(*n.BehindChanges), "change"), time.Duration(*n.BehindSeconds*float64(time.Second)).Round(time.Second))
}

func (a sinkCommands) sync(o *options) *cobra.Command {
	anew := false
	c := &cobra.Command{Use: "sync URL", Short: "Carry what was collected to a database, a lake, Kafka or a webhook",
		Long: "Carry what was collected to a target, until it has all that there was at the beginning. The first\n" +
			"time everything is copied, and later what has changed since. URL is postgres://USER@HOST/DATABASE,\n" +
			"mysql://USER@HOST/DATABASE, sqlite:FILE, file:///DIR or s3://BUCKET/PREFIX (Parquet files),\n" +
			"kafka://BROKERS/PREFIX or a webhook (docs/sinks.md), or @FILE, which holds one that has a password.\n" +
			"`sluice up --sink NAME=URL` keeps a target up to date.",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("`%s` takes one URL, such as sqlite:collected.db or postgres://user@host/database", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			address, err := config.ReadURL(args[0])
			if err != nil {
				return usage("%v", err)
			}
			if address, err = whole(address); err != nil {
				return err
			}
			return a.changing(c.Context(), o, func(s *session) error {
				done, err := a.carry(c.Context(), s, wire.SyncRequest{URL: address, Anew: anew})
				if err != nil {
					return err
				}
				if o.json() {
					return printJSON(a.Out, done)
				}
				say(a.Out, "%s carried; the target has all changes up to %d\n", plural(int(done.Rows), "row"), done.Position)
				return nil
			})
		}}
	c.Flags().BoolVar(&anew, "anew", false, "begin from the first document, also where the target follows another store, and remove what is not here")
	return c
}

// whole names a file from the root: a service that runs elsewhere has another folder.
func whole(address string) (string, error) {
	file, ok := strings.CutPrefix(address, "sqlite:")
	if !ok || file == "" || strings.HasPrefix(file, "/") || strings.HasPrefix(file, "?") {
		return address, nil
	}
	folder, err := filepath.Abs(".")
	if err != nil {
		return "", err
	}
	return "sqlite:" + strings.ReplaceAll(folder, "%", "%25") + "/" + file, nil
}

// carry carries, and shows on a terminal how far that is.
func (a sinkCommands) carry(ctx context.Context, s *session, q wire.SyncRequest) (done wire.Synced, err error) {
	if terminalSize(a.Err).width == 0 {
		return s.SyncSink(ctx, q)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		done, err = s.SyncSink(ctx, q)
	}()
	look := time.NewTicker(drawAgain)
	defer look.Stop()
	for {
		select {
		case <-ended:
			say(a.screen, "\r\x1b[K")
			return done, err
		case <-look.C:
			// What cannot be read is not shown; the end says what went wrong.
			if list, failed := s.Sinks(ctx); failed == nil {
				for _, n := range list.Items {
					if n.Name == sink.SyncName {
						say(a.screen, "\r\x1b[K%s: %s carried", n.State, plural(int(n.Rows), "row"))
					}
				}
			}
		}
	}
}
