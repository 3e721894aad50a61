package cli

import (
	"context"
	"iter"
	"maps"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"sluice/internal/backoff"
	"sluice/internal/domain"
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
	// A stream that broke off is begun again, ever more rarely; after so many times
	// nobody seems to be there any more.
	resumeTimes = 7
)

// follow shows the progress of runs until each has ended or waits for a
// person. It returns their last state by run id. If resume is set, a stream that
// breaks off is begun again.
func (a *App) follow(ctx context.Context, s *session, runs []int64, resume bool) (map[int64]engine.Progress, error) {
	f := &following{
		board: newBoard(a.screen, a.style(a.Err), terminalSize(a.Err), a.Now), resume: resume,
		last: make(map[int64]engine.Progress, len(runs)), open: map[int64]bool{},
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
	f.board.measure = func() size { return terminalSize(a.Err) }
	f.resized = make(chan os.Signal, 1)
	signal.Notify(f.resized, syscall.SIGWINCH)
	defer signal.Stop(f.resized)
	// Runs that end before the stream begins must be in it as well.
	after := slices.Min(runs) - 1
	return f.last, f.watch(ctx, streamed(stream, resume, func() iter.Seq2[engine.Progress, error] { return s.WatchAfter(stream, after) }))
}

// following is what is known about the runs that are followed.
type following struct {
	board *board
	last  map[int64]engine.Progress
	// open are the runs that go on by themselves.
	open map[int64]bool
	// read asks for the truth about a run.
	read func(ctx context.Context, id int64) (engine.Progress, error)
	// resume says that a service which does not answer is waited for, and told that
	// this was said.
	resume, told bool
	// resized tells of a terminal that has another size now.
	resized chan os.Signal
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
func (f *following) watch(ctx context.Context, events <-chan event[engine.Progress]) error {
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
			if err := f.heard(e.err, e.last); err != nil {
				return err
			}
			if _, ours := f.last[e.told.ID]; !ours || e.err != nil {
				continue
			}
			f.take(e.told)
			if draw == nil {
				draw = time.After(drawPause)
			}
		case <-read.C:
			if err := f.heard(f.reread(ctx, slices.Values(slices.Collect(maps.Keys(f.open)))), false); err != nil {
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
		case <-f.resized:
			f.board.draw()
		}
	}
	f.board.draw()
	return nil
}

// heard judges what went wrong with the service: where it is waited for, one that
// does not answer is only told of, until it was the last time.
func (f *following) heard(err error, last bool) error {
	if err == nil || last || !f.resume || domain.CodeOf(err) != domain.CodeUnavailable {
		f.told = f.told && err != nil
		return err
	}
	if !f.told {
		f.told = true
		say(f.board.screen, "sluice: %v; watching again\n", err)
	}
	return nil
}

// event is what a stream told, or why it ended; last says that it is not begun
// again.
type event[T any] struct {
	told T
	err  error
	last bool
}

// streamed turns a stream into a channel, until ctx ends. One that breaks off is
// begun again if resume is set: each begins with how things stand.
func streamed[T any](ctx context.Context, resume bool, stream func() iter.Seq2[T, error]) <-chan event[T] {
	events := make(chan event[T])
	send := func(e event[T]) bool {
		select {
		case events <- e:
			return true
		case <-ctx.Done():
			return false
		}
	}
	go func() {
		pause := readAgain
		for times := 1; ; times++ {
			for told, err := range stream() {
				e := event[T]{told: told, err: err}
				if err == nil {
					times, pause = 0, readAgain
				} else {
					e.last = !resume || times >= resumeTimes || domain.CodeOf(err) != domain.CodeUnavailable
				}
				if !send(e) || e.last {
					return
				}
			}
			if !resume || !backoff.Sleep(ctx, pause) {
				return
			}
			pause = min(2*pause, readAgainMax)
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
