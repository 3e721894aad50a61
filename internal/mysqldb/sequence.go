package mysqldb

import (
	"context"

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
		result, err := s.db.Exec(ctx, "UPDATE id_sequence SET last_id = LAST_INSERT_ID(last_id + ?) WHERE name = ?", size, s.name)
		if err != nil {
			return 0, err
		}
		stop, err := result.LastInsertId()
		if err != nil {
			return 0, err
		}
		if stop < size {
			return 0, domain.Errorf(domain.CodeCorrupt, "the table id_sequence has lost its row %q", s.name)
		}
		s.last, s.stop = stop-size, stop
	}
	first = s.last + 1
	s.last += int64(n)
	return first, nil
}
