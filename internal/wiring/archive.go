package wiring

import (
	"context"

	"sluice/internal/archive"
	"sluice/internal/archive/bucket"
	"sluice/internal/refresh"
)

// archiveHour is when values are archived each day, in UTC.
const archiveHour = 18

// openArchive opens the archive, and lets the process that schedules move old
// values there every day.
func (s *Service) openArchive(ctx context.Context, o Options, history refresh.History) error {
	if o.Refresh.Archive == "" {
		return nil
	}
	files, err := bucket.Open(ctx, o.Refresh.Archive)
	if err != nil {
		return err
	}
	s.closers = append(s.closers, files.Close)
	s.Archive, err = archive.New(history, files, archive.Options{Hour: archiveHour, Alone: s.aloneArchiving, Slog: o.Engine.Log})
	if err != nil {
		return err
	}
	if o.Scheduler || !s.shared {
		s.background = append(s.background, func(ctx context.Context) error { s.Archive.Run(ctx); return nil })
	}
	return nil
}
