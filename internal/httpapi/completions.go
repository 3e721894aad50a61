package httpapi

import (
	"context"
	"strconv"

	"sluice/internal/httpapi/wire"
)

const (
	completionPage = 1000
	// latestMicros is an instant after all that timers can have.
	latestMicros = 1 << 53
)

// completionsAfter finds where a stream of completions begins: after an event
// that was sent before, or with what fires from now on. It is missed if some that
// came after the event are no longer kept.
func (s *timerRoutes) completionsAfter(ctx context.Context, event string) (at wire.CompletionsSnapshot, err error) {
	newest, err := s.Timers.Newest(ctx)
	if err != nil || event == "" {
		return wire.CompletionsSnapshot{Position: newest}, err
	}
	if at.Position, err = strconv.ParseInt(event, 10, 64); err != nil || at.Position < 0 {
		// Events used to be named by their instants.
		from, _, err := parseInstantCursor(event)
		if err != nil {
			return at, err
		}
		at.Position, err = s.Timers.Position(ctx, from)
		return at, err
	}
	if at.Position > newest {
		// Of another service, or from before it went back to a backup.
		return wire.CompletionsSnapshot{Position: newest, Missed: true}, nil
	}
	oldest, err := s.Timers.Follow(ctx, 0, 1)
	at.Missed = len(oldest) > 0 && at.Position < oldest[0].Position-1
	return at, err
}

// followCompletions sends completions in the order of their positions, which
// no clock can turn back.
type followCompletions struct {
	*timerRoutes
	at    wire.CompletionsSnapshot
	begun bool
}

func (f *followCompletions) look(ctx context.Context, out *eventStream) (ended bool, err error) {
	if !f.begun {
		// A reader that comes back before anything has fired knows where it was.
		if err := out.identified(strconv.FormatInt(f.at.Position, 10), wire.EventSnapshot, f.at); err != nil {
			return false, err
		}
		f.begun = true
	}
	for {
		page, err := f.Timers.Follow(ctx, f.at.Position, completionPage)
		if err != nil {
			return false, err
		}
		for _, c := range page {
			if err := out.identified(strconv.FormatInt(c.Position, 10), wire.EventCompletion, c); err != nil {
				return false, err
			}
			f.at.Position = c.Position
		}
		if len(page) < completionPage {
			return false, nil
		}
	}
}
