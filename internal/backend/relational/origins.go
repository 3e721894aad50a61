package relational

import (
	"context"
	"database/sql"

	"sluice/internal/state"
)

// Origins implements state.Origins.
type Origins struct{ db *DB }

var _ state.Origins = (*Origins)(nil)

// NewOrigins returns a store on an open database, which stays the caller's.
func NewOrigins(db *DB) *Origins { return &Origins{db} }

// PutOrigin implements state.Origins.
func (s *Origins) PutOrigin(ctx context.Context, run int64, o state.Origin) error {
	_, err := s.db.Exec(ctx, "INSERT INTO run_origin (run_id, correlation, trace) VALUES (?, ?, ?) "+s.db.Dialect().Upsert(Upsert{Key: "run_id"}), run, o.ID, o.Trace)
	return err
}

// Origin implements state.Origins.
func (s *Origins) Origin(ctx context.Context, run int64) (state.Origin, error) {
	o := state.OriginOfRun(run)
	err := s.db.Query(ctx, func(r *sql.Rows) error { return r.Scan(&o.ID, &o.Trace) }, "SELECT correlation, trace FROM run_origin WHERE run_id = ?", run)
	return o, err
}
