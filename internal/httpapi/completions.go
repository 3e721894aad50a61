package httpapi

import (
	"context"
	"strconv"
	"strings"
	"time"

	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
	"sluice/internal/timer"
)

// cursorOf names a place in the log of completions.
func cursorOf(c timer.Completion) string {
	return strconv.FormatInt(c.Fired.UnixMicro(), 10) + ":" + c.Timer
}

func parseCursor(text string) (from time.Time, id string, err error) {
	micros, id, ok := strings.Cut(text, ":")
	n, err := strconv.ParseInt(micros, 10, 64)
	if !ok || err != nil || n < 0 {
		return from, "", domain.Errorf(domain.CodeInvalid, "%q is no place in the log of completions; take it from an earlier answer", text)
	}
	return time.UnixMicro(n), id, nil
}

const (
	// completionOverlap is how much later than the time it carries a completion
	// may show in the log: clocks of servers differ, and what is committed later
	// may have been fired earlier.
	completionOverlap = 3 * time.Second
	completionPage    = 1000
)

// followCompletions sends completions as they show in the log.
type followCompletions struct {
	*server
	newest time.Time
	// sent are those that the next look finds again.
	sent map[string]time.Time
}

func (f *followCompletions) look(ctx context.Context, out *eventStream) (ended bool, err error) {
	from, after := f.newest.Add(-completionOverlap), ""
	for {
		page, err := f.Timers.Completions(ctx, from, after, completionPage)
		if err != nil {
			return false, err
		}
		for _, c := range page {
			if _, known := f.sent[c.Timer]; known {
				continue
			}
			if err := out.identified(cursorOf(c), wire.EventCompletion, c); err != nil {
				return false, err
			}
			f.sent[c.Timer] = c.Fired
			if c.Fired.After(f.newest) {
				f.newest = c.Fired
			}
		}
		if len(page) < completionPage {
			break
		}
		last := page[len(page)-1]
		from, after = last.Fired, last.Timer
	}
	for id, fired := range f.sent {
		if fired.Before(f.newest.Add(-completionOverlap)) {
			delete(f.sent, id)
		}
	}
	return false, nil
}
