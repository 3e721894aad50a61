package archive

import (
	"context"
	"errors"
	"time"

	"sluice/internal/backoff"
	"sluice/internal/domain"
)

// Run archives and cools once a day at the hour of the options until ctx ends.
// After a failure it tries again sooner. It sleeps in between.
func (a *Archiver) Run(ctx context.Context) {
	// A name or a key that is wrong is to be known now, not at that hour.
	if err := a.Check(ctx); err != nil && ctx.Err() == nil {
		a.o.Slog.Error("the archive cannot be opened", "error", err)
	}
	a.daily(ctx, func(ctx context.Context, now time.Time) error {
		_, err := a.Once(ctx, now)
		return err
	})
}

// Check proves that the bucket can be read.
func (a *Archiver) Check(ctx context.Context) error {
	for _, err := range a.files.List(ctx, historyPrefix) {
		return err
	}
	return nil
}

// daily does something once a day.
func (a *Archiver) daily(ctx context.Context, work func(context.Context, time.Time) error) {
	for wait := untilHour(time.Now(), a.o.Hour); ; {
		if !backoff.Sleep(ctx, wait) {
			return
		}
		err := work(ctx, time.Now())
		if ctx.Err() != nil {
			return
		}
		wait = untilHour(time.Now(), a.o.Hour)
		switch {
		case domain.CodeOf(err) == domain.CodeConflict:
			// It is being done, and is looked at once more in case it was not to its end.
			wait = min(wait, a.o.Retry)
		case err != nil:
			wait = min(wait, a.o.Retry)
			a.o.Slog.Error("archiving failed; trying again", "error", err, "again_in", wait)
		}
	}
}

// Done is what Once did.
type Done struct {
	Archived Result `json:"archived"`
	Cooled   Cooled `json:"cooled"`
}

// Once does what Run does every day: it archives and cools whole days that are
// old enough at an instant. After an error, what it returns was done.
func (a *Archiver) Once(ctx context.Context, now time.Time) (done Done, err error) {
	today := now.UTC().Truncate(day)
	began := time.Now()
	var errCool error
	done.Archived, err = a.Archive(ctx, today.Add(-a.o.After))
	done.Cooled, errCool = a.Cool(ctx, today.Add(-a.o.Cold))
	a.o.Slog.Info("old values were archived", "values", done.Archived.Values, "files", done.Archived.Files, "bytes", done.Archived.Bytes,
		"cold_files", done.Cooled.Files, "seconds", time.Since(began).Seconds())
	return done, errors.Join(err, errCool)
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
