package timer

import (
	"context"
	"time"

	"sluice/internal/due"
)

// The log of completions follows the store: what fired, and what became of it,
// is noted beside the row in the same transaction and written to the log when
// the log takes it. A log that is down holds up nothing and misses nothing.

const (
	// logBatch is how many completions are written at once.
	logBatch = 500
	// logPatience is how long the log may take for them. It is less than the
	// grace, after which another server would try.
	logPatience = 10 * time.Second
	// retryLog is how soon a log that failed is tried again.
	retryLog = 2 * time.Second
)

// logSoon has completions written to the log, where there is one. If the trigger cannot
// be told that the log is behind, it is told nothing of the timers either: it hands them
// out again, or is filled anew, and says so with them.
func (s *Service) logSoon(ctx context.Context) (told bool) {
	if s.Log == nil {
		return true
	}
	if err := s.Trigger.Put(ctx, due.Entry{ID: logID, At: s.Now()}); err != nil {
		s.Slog.Warn("the trigger cannot be told that the log is behind", "error", err)
		return false
	}
	return true
}

// bringLogUpToDate writes everything that the log lacks. It returns when to try
// again; zero when nothing is lacking.
func (s *Service) bringLogUpToDate(ctx context.Context) (again time.Time, err error) {
	if s.Log == nil {
		return time.Time{}, nil
	}
	if !s.inHand.take(logID) {
		return s.Now().Add(retryLog), nil
	}
	defer s.inHand.release(logID)
	for {
		timers, err := s.feed.Unlogged(ctx, logBatch)
		if err != nil || len(timers) == 0 {
			return time.Time{}, err
		}
		if err := s.writeLog(ctx, timers); err != nil {
			if ctx.Err() == nil {
				s.Slog.Warn("completions wait for their log; timers fire and are delivered all the same", "timers", len(timers), "error", err)
			}
			return s.Now().Add(retryLog), nil
		}
		if err := s.feed.Logged(ctx, timers); err != nil {
			return time.Time{}, err
		}
	}
}

func (s *Service) writeLog(ctx context.Context, timers []Timer) error {
	ctx, cancel := context.WithTimeout(ctx, logPatience)
	defer cancel()
	completions := make([]Completion, len(timers))
	for i, t := range timers {
		completions[i] = t.Completion()
	}
	return s.Log.Append(ctx, completions)
}
