package wiring

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"sluice/internal/archive"
	"sluice/internal/backend/bucket"
	"sluice/internal/config"
	"sluice/internal/refresh"
)

// archiveHour is when values are archived each day, in UTC.
const archiveHour = 18

// openArchive opens the archive, and lets the process that schedules move old
// values there every day.
func (s *Service) openArchive(ctx context.Context, o Options, history refresh.History) error {
	if o.Config.Refresh.Archive == "" {
		return nil
	}
	if o.Read && missing(o.Config.Refresh.Archive) {
		return nil // whoever opens it would make it
	}
	files, err := bucket.Open(ctx, o.Config.Refresh.Archive)
	if err != nil {
		return err
	}
	s.Archive, err = archive.New(history, files, archive.Options{Hour: archiveHour, Alone: s.aloneArchiving, Slog: o.Engine.Log})
	if err != nil {
		return err
	}
	if o.Config.Service.Roles.Has(config.RoleScheduler) || !s.shared {
		s.background = append(s.background, func(ctx context.Context) error { s.Archive.Run(ctx); return nil })
	}
	return nil
}

// missing says that there is no such folder; a bucket is nobody's to look for.
func missing(place string) bool {
	_, err := os.Stat(place)
	return !strings.Contains(place, "://") && errors.Is(err, fs.ErrNotExist)
}
