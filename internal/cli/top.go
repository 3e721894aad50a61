package cli

import (
	"context"
	"fmt"
	"io"
	"iter"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"sluice/internal/client"
	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/httpapi/wire"
	"sluice/internal/timer"
)

// topCommand is the live board of a running service.
type topCommand struct{ *App }

func (a topCommand) top(o *options) *cobra.Command {
	var once bool
	c := &cobra.Command{
		Use: "top", Short: "Watch a running service: runs, what each waits for and until when, quotas, rates, refreshes, timers",
		Long: "Show a running service, or a running `sluice collect`, on one screen that follows what happens:\n" +
			"runs and why each waits until when, quotas by owner, rates, refreshes and timers. q or Ctrl-C ends.\n" +
			"Where the output is no terminal it begins with one picture, and then writes a line for what happens;\n" +
			"with --output json each is a line of JSON.",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.with(c.Context(), o, func(s *session) error {
				if s.local != nil && !once {
					return nothingMoves(o, s)
				}
				v := &topView{board: newBoard(&screen{out: a.Out}, a.style(a.Out), terminalSize(a.Out), a.Now), idle: s.idle()}
				if err := a.look(c.Context(), s, v); err != nil {
					return err
				}
				if once {
					return a.picture(o, v)
				}
				return a.live(c.Context(), o, s, v)
			})
		},
	}
	c.Flags().BoolVar(&once, "once", false, "print one picture, and end")
	return c
}

// topRuns is how many active runs are read one by one.
const topRuns = 200

// look reads the truth. What a service does not have, or does not let everybody
// read, is left out.
func (a topCommand) look(ctx context.Context, s *session, v *topView) error {
	list, err := s.Runs(ctx, client.RunFilter{Active: true, Page: client.Page{Limit: topRuns}})
	if err != nil {
		return err
	}
	for _, r := range list.Items {
		detail, err := s.Run(ctx, r.ID, false)
		if err != nil {
			return err
		}
		v.take(detail.Progress)
	}
	q, err := s.Quota(ctx, "", client.Page{Limit: topRuns})
	if err == nil {
		v.quota = q.Items
	} else if domain.CodeOf(err) == domain.CodeUnavailable {
		return err
	}
	if overview, err := s.RefreshOverview(ctx); err == nil {
		v.refresh = &overview
	}
	if sum, err := s.CompletionStats(ctx, 1); err == nil {
		v.timers = &sum
	}
	return nil
}

// picture prints how things stand.
func (a topCommand) picture(o *options, v *topView) error {
	if o.json() {
		return printLine(a.Out, v.told())
	}
	width := v.board.size.width
	if width == 0 {
		v.board.size = size{width: plainWidth}
	}
	rows := v.rows(0)
	v.board.size.width = width
	_, err := io.WriteString(a.Out, strings.Join(rows, "\n")+"\n")
	return err
}

// plainWidth is how wide a picture is that no terminal shows.
const plainWidth = 120

// live follows what happens until somebody ends it, or the service is gone for good.
func (a topCommand) live(ctx context.Context, o *options, s *session, v *topView) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	runs := streamed(ctx, true, func() iter.Seq2[engine.Progress, error] { return s.Watch(ctx) })
	timers := streamed(ctx, true, func() iter.Seq2[timer.Completion, error] { return s.WatchCompletions(ctx) })
	t := &topping{topCommand: a, view: v, options: o, session: s}
	if o.json() || v.board.size.width == 0 {
		if err := a.picture(o, v); err != nil {
			return err
		}
	} else {
		leave, err := t.enter(ctx, end)
		if err != nil {
			return err
		}
		defer leave()
	}
	return t.run(ctx, runs, timers)
}

// topping is top at work.
type topping struct {
	topCommand
	view *topView
	*options
	session *session
	// onScreen says that a terminal shows it; resized tells of another size.
	onScreen bool
	resized  chan os.Signal
}

// enter takes the terminal over: a screen of its own, without a cursor, on which
// keys are read one by one. What was there before comes back when it is left.
func (t *topping) enter(ctx context.Context, end func()) (leave func(), err error) {
	t.onScreen, t.resized = true, make(chan os.Signal, 1)
	signal.Notify(t.resized, syscall.SIGWINCH)
	t.view.board.measure = func() size { return terminalSize(t.Out) }
	restore := func() {}
	if in, ok := t.In.(*os.File); ok && term.IsTerminal(int(in.Fd())) {
		state, err := term.MakeRaw(int(in.Fd()))
		if err != nil {
			return nil, err
		}
		restore = func() { _ = term.Restore(int(in.Fd()), state) } // a terminal that is gone needs nothing
		go untilKey(ctx, in, end)
	}
	fmt.Fprint(t.Out, "\x1b[?1049h\x1b[?25l")
	return func() {
		fmt.Fprint(t.Out, "\x1b[?25h\x1b[?1049l")
		restore()
		signal.Stop(t.resized)
	}, nil
}

// untilKey ends it at q, Q, Ctrl-C or Ctrl-D; whoever closes the terminal does too.
func untilKey(ctx context.Context, in io.Reader, end func()) {
	key := make([]byte, 1)
	for ctx.Err() == nil {
		n, err := in.Read(key)
		if err != nil || n == 1 && strings.ContainsRune("qQ\x03\x04", rune(key[0])) {
			end()
			return
		}
	}
}

// run shows events until ctx ends.
func (t *topping) run(ctx context.Context, runs <-chan event[engine.Progress], timers <-chan event[timer.Completion]) error {
	var draw, again <-chan time.Time
	if t.onScreen {
		ticker := time.NewTicker(drawAgain)
		defer ticker.Stop()
		again = ticker.C
		t.draw()
	}
	pause := readAgain
	read := time.NewTimer(pause)
	defer read.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case e := <-runs:
			if e.last {
				return e.err
			}
			if err := t.heard(e.told, e.err); err != nil {
				return err
			}
		case e := <-timers:
			// Runs tell whether the service is there.
			if err := t.fired(e); err != nil {
				return err
			}
		case <-read.C:
			if err := t.look(ctx, t.session, t.view); err != nil && domain.CodeOf(err) != domain.CodeUnavailable && ctx.Err() == nil {
				return err
			}
			pause = min(2*pause, readAgainMax)
			read.Reset(pause)
		case <-draw:
			draw = nil
			t.draw()
			continue
		case <-again:
			t.draw()
			continue
		case <-t.resized:
			t.draw()
			continue
		}
		if t.onScreen && draw == nil {
			draw = time.After(drawPause)
		}
	}
}

// heard takes what a run has come to, or that the service does not answer.
func (t *topping) heard(p engine.Progress, broken error) error {
	v := t.view
	if broken != nil {
		if v.broken == nil && !t.onScreen {
			say(t.screen, "sluice: %v; watching again\n", broken)
		}
		v.broken = broken
		return nil
	}
	v.broken = nil
	v.take(p)
	switch {
	case t.json():
		return printLine(t.Out, map[string]any{"run": p})
	case !t.onScreen:
		v.board.say(p)
	}
	return nil
}

func (t *topping) fired(e event[timer.Completion]) error {
	if e.err != nil {
		return nil //nolint:nilerr // a stream that breaks off is begun again, and that of runs says so
	}
	if t.view.timers == nil {
		t.view.timers = &wire.CompletionStats{}
	}
	t.view.timers.Completed++
	switch {
	case t.json():
		return printLine(t.Out, map[string]any{"timer": e.told})
	case !t.onScreen:
		say(t.Out, "timer %s fired, %s late\n", e.told.Timer, e.told.Lateness.Round(time.Millisecond))
	}
	return nil
}

// draw shows the screen anew, each line in its place.
func (t *topping) draw() {
	if t.view.board.measure != nil {
		t.view.board.measured(t.view.board.measure())
	}
	height := t.view.board.size.height
	rows := t.view.rows(height)
	if height > 0 && len(rows) > height {
		rows = rows[:height]
	}
	fmt.Fprint(t.Out, "\x1b[H"+strings.Join(rows, "\x1b[K\r\n")+"\x1b[K\x1b[J")
}
