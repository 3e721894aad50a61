package sqlite

import (
	"context"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/state"
)

// Origins implements state.Origins.
type Origins struct{ db *DB }

var _ state.Origins = (*Origins)(nil)

// NewOrigins returns a store on an open database, which stays the caller's.
func NewOrigins(db *DB) *Origins { return &Origins{db} }

// PutOrigin implements state.Origins.
func (s *Origins) PutOrigin(ctx context.Context, run int64, o state.Origin) error {
	return s.db.Write(ctx, func(c *driver.Conn) error {
		return Exec(c, "INSERT INTO run_origin (run_id, correlation, trace) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", nil, run, o.ID, o.Trace)
	})
}

// Origin implements state.Origins.
func (s *Origins) Origin(ctx context.Context, run int64) (state.Origin, error) {
	o := state.OriginOfRun(run)
	err := s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, "SELECT correlation, trace FROM run_origin WHERE run_id = ?", func(r *driver.Stmt) {
			o = state.Origin{ID: r.ColumnText(0), Trace: r.ColumnText(1)}
		}, run)
	})
	return o, err
}
