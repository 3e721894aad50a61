package archive

import (
	"context"
	"errors"
	"time"
)

// Run archives and cools once a day at the hour of the options until ctx ends.
// After a failure it tries again sooner. It sleeps in between.
func (a *Archiver) Run(ctx context.Context) { a.daily(ctx, a.Once) }

// daily does something once a day.
func (a *Archiver) daily(ctx context.Context, work func(context.Context, time.Time) error) {
	for wait := untilHour(time.Now(), a.o.Hour); ; {
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		err := work(ctx, time.Now())
		if ctx.Err() != nil {
			return
		}
		wait = untilHour(time.Now(), a.o.Hour)
		if err != nil {
			wait = min(wait, a.o.Retry)
			a.o.Slog.Error("archive", "error", err, "again_in", wait)
		}
	}
}

// Once does what Run does every day: it archives and cools whole days that are
// old enough at an instant.
func (a *Archiver) Once(ctx context.Context, now time.Time) error {
	today := now.UTC().Truncate(day)
	began := time.Now()
	archived, err := a.Archive(ctx, today.Add(-a.o.After))
	cooled, errCool := a.Cool(ctx, today.Add(-a.o.Cold))
	a.o.Slog.Info("archive", "values", archived.Values, "files", archived.Files, "bytes", archived.Bytes,
		"cold_files", cooled.Files, "seconds", time.Since(began).Seconds())
	return errors.Join(err, errCool)
}

// untilHour is how long it is until the next beginning of an hour of the day,
// in UTC.
func untilHour(now time.Time, hour int) time.Duration {
	now = now.UTC()
	next := now.Truncate(day).Add(time.Duration(hour) * time.Hour)
	if !next.After(now) {
		next = next.Add(day)
	}
	return next.Sub(now)
}
