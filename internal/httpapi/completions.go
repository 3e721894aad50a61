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
	if !ok || err != nil || n < 0 || n > latestMicros {
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
	// latestMicros is an instant after all that timers can have.
	latestMicros = 1 << 53
)

// followCompletions sends completions as they show in the log.
type followCompletions struct {
	*server
	newest time.Time
	// sent are those that the next look finds again.
	sent map[string]time.Time
}

// watch has the log looked at once more when everything must show in it that
// was fired before something changed.
func (f *followCompletions) watch() (changed <-chan struct{}, end func()) {
	news, endNews := f.Timers.Watch()
	out, ended := make(chan struct{}, 1), make(chan struct{})
	go func() {
		again := time.NewTimer(completionOverlap)
		defer again.Stop()
		for {
			select {
			case <-news:
				again.Reset(completionOverlap)
			case <-again.C:
			case <-ended:
				return
			}
			select {
			case out <- struct{}{}:
			default:
			}
		}
	}()
	return out, func() { endNews(); close(ended) }
}

func (f *followCompletions) look(ctx context.Context, out *eventStream) (ended bool, err error) {
	from, after := f.newest.Add(-completionOverlap), ""
	for {
		page, err := f.Timers.Fired(ctx, from, after, completionPage)
		if err != nil {
			return false, err
		}
		for _, c := range page {
			if err := f.tell(c, out); err != nil {
				return false, err
			}
		}
		for id, fired := range f.sent {
			if fired.Before(f.newest.Add(-completionOverlap)) {
				delete(f.sent, id)
			}
		}
		if len(page) < completionPage {
			return false, nil
		}
		last := page[len(page)-1]
		from, after = last.Fired, last.Timer
	}
}

// tell sends a completion that was not sent yet.
func (f *followCompletions) tell(c timer.Completion, out *eventStream) error {
	if _, known := f.sent[c.Timer]; known {
		return nil
	}
	if err := out.identified(cursorOf(c), wire.EventCompletion, c); err != nil {
		return err
	}
	f.sent[c.Timer] = c.Fired
	if c.Fired.After(f.newest) {
		f.newest = c.Fired
	}
	return nil
}
