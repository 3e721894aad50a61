package relational

import (
	"context"
	"database/sql"

	"sluice/internal/domain"
)

// Sequence gives out ids that no other process has. It takes them from the
// database in blocks; what is left of a block when the process ends is lost.
type Sequence struct {
	db    *DB
	name  string
	block int64
	// turn holds the one who may use the fields below.
	turn       chan struct{}
	last, stop int64
}

// NewSequence returns the sequence of a name in the table id_sequence.
func NewSequence(db *DB, name string, block int64) *Sequence {
	return &Sequence{db: db, name: name, block: block, turn: make(chan struct{}, 1)}
}

// Take returns the first of n consecutive ids. It may use a connection of its
// own, so that it must not be called inside a transaction.
func (s *Sequence) Take(ctx context.Context, n int) (first int64, err error) {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	defer func() { <-s.turn }()
	if s.stop-s.last < int64(n) {
		size := max(s.block, int64(n))
		last := int64(-1)
		err := s.db.Tx(ctx, func(tx *Tx) error {
			err := Query(ctx, tx, func(r *sql.Rows) error { return r.Scan(&last) }, "SELECT last_id FROM id_sequence WHERE name = ? FOR UPDATE", s.name)
			if err != nil {
				return err
			}
			if last < 0 {
				return domain.Errorf(domain.CodeCorrupt, "the table id_sequence has lost its row %q", s.name)
			}
			_, err = tx.ExecContext(Final(ctx), "UPDATE id_sequence SET last_id = ? WHERE name = ?", last+size, s.name)
			return err
		})
		if err != nil {
			return 0, err
		}
		s.last, s.stop = last, last+size
	}
	first = s.last + 1
	s.last += int64(n)
	return first, nil
}
