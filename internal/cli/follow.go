package cli

import (
	"context"
	"slices"
	"time"

	"sluice/internal/engine"
)

// follow shows the progress of runs until each has ended or waits for a
// person. It returns their last state by run id.
func (a *App) follow(ctx context.Context, s *session, runs []int64) (map[int64]engine.Progress, error) {
	last := make(map[int64]engine.Progress, len(runs))
	board := newBoard(a.screen, a.style(a.Err), terminalSize(a.Err), a.Now)
	open := map[int64]bool{}
	take := func(p engine.Progress) bool {
		last[p.ID] = p
		board.update(p)
		open[p.ID] = p.Status.Active() && !waitsForPerson(p)
		for _, more := range open {
			if more {
				return true
			}
		}
		return false
	}
	more := false
	for _, id := range runs {
		detail, err := s.Run(ctx, id, false)
		if err != nil {
			return nil, err
		}
		more = take(detail.Progress)
	}
	board.draw()
	if !more {
		return last, nil
	}
	lastDraw := a.Now()
	// Runs that end before the stream begins must be in it as well.
	for p, err := range s.WatchAfter(ctx, slices.Min(runs)-1) {
		if err != nil {
			return last, err
		}
		if _, ours := last[p.ID]; !ours {
			continue
		}
		more := take(p)
		if now := a.Now(); !more || !p.Status.Active() || now.Sub(lastDraw) >= 100*time.Millisecond {
			lastDraw = now
			board.draw()
		}
		if !more {
			break
		}
	}
	return last, nil
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
