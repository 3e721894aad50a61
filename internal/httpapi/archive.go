package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/archive"
	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
	"sluice/internal/refresh"
)

// Archive keeps what snapshots once were; *archive.Archiver is one.
type Archive interface {
	List(ctx context.Context, q archive.Query) ([]archive.File, error)
	Verify(ctx context.Context, q archive.Query) (archive.Checked, error)
	Restore(ctx context.Context, q archive.Query) (int64, error)
	archiveExporter
	// Once archives what is old enough at an instant.
	Once(ctx context.Context, now time.Time) (archive.Done, error)
}

// namedDamage is how many damaged files an answer names.
const namedDamage = 1000

// archiveRoutes serve what is archived.
type archiveRoutes struct {
	*common
	// Archive is nil where there is none.
	Archive   Archive
	Refreshes Snapshots
}

// registerArchive adds the archive's endpoints. Where there is no archive they
// say so.
func (s *archiveRoutes) registerArchive(api huma.API) {
	const tag, path = "archive", "/api/v1/archive"
	refused := []int{http.StatusNotFound, http.StatusUnprocessableEntity}
	register(s, api, operation{id: "list-archive", method: http.MethodGet, path: path, tag: tag,
		summary: "List what is archived, by day", errors: refused}, s.listArchive)
	registerTask(s, api, operation{id: "verify-archive", method: http.MethodPost, path: path + "/verify", tag: tag,
		summary: "Read files of the archive back and check every row", errors: refused}, s.verifyArchive)
	registerTask(s, api, operation{id: "restore-archive", method: http.MethodPost, path: path + "/restore", tag: tag,
		summary: "Put archived values back into the store; the next run of the archive moves them out again", errors: refused}, s.restoreArchive)
	registerTask(s, api, operation{id: "run-archive", method: http.MethodPost, path: path + "/run", tag: tag,
		summary: "Archive now what is old enough", errors: refused}, s.runArchive)
	s.registerArchiveExport(api)
}

// needArchive refuses what cannot be done without an archive.
func (s *archiveRoutes) needArchive() error {
	if s.Archive == nil {
		return domain.Errorf(domain.CodeNotFound, "this service has no archive; start it with --archive FOLDER or --archive s3://BUCKET, and with a key for the API whose snapshots it keeps")
	}
	return nil
}

// archiveQuery reads a selection. Both days are included.
func (s *archiveRoutes) archiveQuery(source, key, from, to string) (q archive.Query, err error) {
	if err := s.needArchive(); err != nil {
		return q, err
	}
	q.Source, q.Key = source, key
	if key != "" && source != "" {
		e, err := s.Refreshes.CheckEntity(refresh.Entity{Source: source, Key: key})
		if err != nil {
			return q, err
		}
		q.Key = e.Key
	}
	if from != "" {
		if q.Since, _, err = archive.Day(from); err != nil {
			return q, err
		}
	}
	if to != "" {
		if _, q.Until, err = archive.Day(to); err != nil {
			return q, err
		}
	}
	return q, q.Check()
}

type listArchiveInput struct {
	Source string `query:"source" maxLength:"50"`
	From   string `query:"from" maxLength:"10" doc:"The first day, such as 2026-10-16, in UTC"`
	To     string `query:"to" maxLength:"10" doc:"The last day, which is included"`
	Cursor string `query:"cursor" maxLength:"100" doc:"Where an earlier page ended"`
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"1000"`
}

func (s *archiveRoutes) listArchive(ctx context.Context, in *listArchiveInput) (*body[wire.ArchiveList], error) {
	q, err := s.archiveQuery(in.Source, "", in.From, in.To)
	if err != nil {
		return nil, err
	}
	files, err := s.Archive.List(ctx, q)
	if err != nil {
		return nil, err
	}
	list, err := cut(byDay(files), in.Cursor, in.Limit, func(d *wire.ArchiveDay) string { return d.Day + "@" + d.Source })
	return &body[wire.ArchiveList]{list}, err
}

// byDay sums files up, which come by source and day.
func byDay(files []archive.File) []wire.ArchiveDay {
	days := []wire.ArchiveDay{}
	for i := range files {
		f := &files[i]
		if n := len(days); n == 0 || days[n-1].Day != f.Day || days[n-1].Source != f.Source {
			days = append(days, wire.ArchiveDay{Day: f.Day, Source: f.Source})
		}
		sum := &days[len(days)-1]
		sum.Files++
		if f.Cold {
			sum.ColdFiles++
		}
		sum.Rows += f.Rows
		sum.Bytes += f.Bytes
	}
	return days
}

func (s *archiveRoutes) verifyArchive(in *body[wire.ArchiveVerifyRequest]) (task[wire.ArchiveVerified], error) {
	var queries []archive.Query
	for _, day := range in.Body.Days {
		q, err := s.archiveQuery(in.Body.Source, "", day, day)
		if err != nil {
			return nil, err
		}
		queries = append(queries, q)
	}
	if len(queries) == 0 {
		q, err := s.archiveQuery(in.Body.Source, "", "", "")
		if err != nil {
			return nil, err
		}
		queries = append(queries, q)
	}
	return func(ctx context.Context) (wire.ArchiveVerified, error) {
		sum := wire.ArchiveVerified{Damaged: []archive.Damage{}}
		for _, q := range queries {
			found, err := s.Archive.Verify(ctx, q)
			if err != nil {
				return sum, err
			}
			sum.Files += found.Files
			sum.Rows += found.Rows
			sum.Bytes += found.Bytes
			sum.DamagedFiles += int64(len(found.Damaged))
			sum.Damaged = append(sum.Damaged, found.Damaged[:min(len(found.Damaged), namedDamage-len(sum.Damaged))]...)
		}
		return sum, nil
	}, nil
}

func (s *archiveRoutes) restoreArchive(in *body[wire.ArchiveRestoreRequest]) (task[wire.ArchiveRestored], error) {
	q, err := s.archiveQuery(in.Body.Source, in.Body.Key, in.Body.From, in.Body.To)
	if err != nil {
		return nil, err
	}
	if q == (archive.Query{}) {
		return nil, domain.Errorf(domain.CodeInvalid, "name what to put back: an entity by source and key, a source, or days by from and to")
	}
	return func(ctx context.Context) (wire.ArchiveRestored, error) {
		n, err := s.Archive.Restore(ctx, q)
		return wire.ArchiveRestored{Values: n}, err
	}, nil
}

func (s *archiveRoutes) runArchive(*struct{}) (task[archive.Done], error) {
	if err := s.needArchive(); err != nil {
		return nil, err
	}
	return func(ctx context.Context) (archive.Done, error) { return s.Archive.Once(ctx, time.Now()) }, nil
}
