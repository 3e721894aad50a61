package cli

import (
	"context"
	"iter"
	"maps"
	"slices"
	"time"

	"sluice/internal/engine"
)

const (
	// drawPause gathers what happens together into one drawing.
	drawPause = 100 * time.Millisecond
	// drawAgain is how often a terminal is redrawn though nothing happens, as
	// what is left to wait becomes less.
	drawAgain = time.Second
	// A stream can miss what happened before it began, so the truth is read
	// again: soon at first, then ever more rarely.
	readAgain, readAgainMax = time.Second, 30 * time.Second
)

// follow shows the progress of runs until each has ended or waits for a
// person. It returns their last state by run id.
func (a *App) follow(ctx context.Context, s *session, runs []int64) (map[int64]engine.Progress, error) {
	f := &following{
		board: newBoard(a.screen, a.style(a.Err), terminalSize(a.Err), a.Now),
		last:  make(map[int64]engine.Progress, len(runs)), open: map[int64]bool{},
		read: func(ctx context.Context, id int64) (engine.Progress, error) {
			detail, err := s.Run(ctx, id, false)
			return detail.Progress, err
		},
	}
	if err := f.reread(ctx, slices.Values(runs)); err != nil {
		return nil, err
	}
	f.board.draw()
	if len(f.open) == 0 {
		return f.last, nil
	}
	stream, cancel := context.WithCancel(ctx)
	defer cancel()
	// Runs that end before the stream begins must be in it as well.
	return f.last, f.watch(ctx, watched(stream, s, slices.Min(runs)-1))
}

// following is what is known about the runs that are followed.
type following struct {
	board *board
	last  map[int64]engine.Progress
	// open are the runs that go on by themselves.
	open map[int64]bool
	// read asks for the truth about a run.
	read func(ctx context.Context, id int64) (engine.Progress, error)
}

// reread takes the truth about runs.
func (f *following) reread(ctx context.Context, runs iter.Seq[int64]) error {
	for id := range runs {
		p, err := f.read(ctx, id)
		if err != nil {
			return err
		}
		f.take(p)
	}
	return nil
}

func (f *following) take(p engine.Progress) {
	f.last[p.ID] = p
	f.board.update(p)
	if p.Status.Active() && !waitsForPerson(p) {
		f.open[p.ID] = true
	} else {
		delete(f.open, p.ID)
	}
}

// watch draws what the events tell until no run is open.
func (f *following) watch(ctx context.Context, events <-chan event) error {
	// Whatever happens is drawn in the end, even if nothing follows it.
	var draw, again <-chan time.Time
	if f.board.size.width > 0 {
		ticker := time.NewTicker(drawAgain)
		defer ticker.Stop()
		again = ticker.C
	}
	pause := readAgain
	read := time.NewTimer(pause)
	defer read.Stop()
	for len(f.open) > 0 {
		select {
		case e := <-events:
			if e.err != nil {
				return e.err
			}
			if _, ours := f.last[e.progress.ID]; !ours {
				continue
			}
			f.take(e.progress)
			if draw == nil {
				draw = time.After(drawPause)
			}
		case <-read.C:
			if err := f.reread(ctx, slices.Values(slices.Collect(maps.Keys(f.open)))); err != nil {
				return err
			}
			pause = min(2*pause, readAgainMax)
			read.Reset(pause)
			f.board.draw()
		case <-ctx.Done():
			return ctx.Err()
		case <-draw:
			draw = nil
			f.board.draw()
		case <-again:
			f.board.draw()
		}
	}
	f.board.draw()
	return nil
}

// event is what a stream told, or why it ended.
type event struct {
	progress engine.Progress
	err      error
}

// watched turns the stream of progress into a channel, until ctx ends.
func watched(ctx context.Context, s *session, after int64) <-chan event {
	events := make(chan event)
	go func() {
		for p, err := range s.WatchAfter(ctx, after) {
			select {
			case events <- event{p, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return events
}

// waitsForPerson tells a run that will not go on by itself: a wait without an
// end is one for a person.
func waitsForPerson(p engine.Progress) bool {
	for _, w := range p.Waits {
		if w.Until.IsZero() {
			return true
		}
	}
	return false
}
