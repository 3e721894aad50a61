package sqlite

import (
	"context"
	"time"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/domain"
	"sluice/internal/refresh"
)

// AddDeadLetters implements refresh.DeadLetters.
func (s *Snapshots) AddDeadLetters(ctx context.Context, letters []refresh.DeadLetter) error {
	data := make([][]byte, len(letters))
	for i := range letters {
		var err error
		if data[i], err = refresh.EncodeLetter(letters[i]); err != nil {
			return err
		}
	}
	if len(letters) == 0 {
		return nil
	}
	return s.db.Write(ctx, func(c *driver.Conn) error {
		for i := range letters {
			l := &letters[i]
			err := Exec(c, "INSERT INTO dead_letter (id, why, source, key, buried_at, data) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", nil,
				l.ID, l.Why, l.Source, l.Key, l.FailedAt, data[i])
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// DeadLetter implements refresh.DeadLetters.
func (s *Snapshots) DeadLetter(ctx context.Context, id string) (refresh.DeadLetter, error) {
	letters, err := s.readLetters(ctx, "SELECT data FROM dead_letter WHERE id = ?", id)
	return refresh.OneLetter(id, letters, err)
}

func (s *Snapshots) readLetters(ctx context.Context, query string, args ...any) (letters []refresh.DeadLetter, err error) {
	var data [][]byte
	err = s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, query, func(r *driver.Stmt) { data = append(data, readBlob(r, 0)) }, args...)
	})
	if err != nil {
		return nil, err
	}
	return decodeLetters(data)
}

func decodeLetters(data [][]byte) ([]refresh.DeadLetter, error) {
	letters := make([]refresh.DeadLetter, len(data))
	for i := range data {
		var err error
		if letters[i], err = refresh.DecodeLetter(data[i]); err != nil {
			return nil, err
		}
	}
	return letters, nil
}

// DeadLetterList implements refresh.DeadLetters.
func (s *Snapshots) DeadLetterList(ctx context.Context, q refresh.DeadLetterQuery) ([]refresh.DeadLetter, error) {
	query, args := letterQuery(q)
	return s.readLetters(ctx, query, args...)
}

func letterQuery(q refresh.DeadLetterQuery) (query string, args []any) {
	query = "SELECT data FROM dead_letter WHERE 1"
	for _, f := range []struct{ column, value string }{{"why", q.Why}, {"source", q.Source}, {"key", q.Key}} {
		if f.value != "" {
			query, args = query+" AND "+f.column+" = ?", append(args, f.value)
		}
	}
	if !q.Before.IsZero() {
		query, args = query+" AND (buried_at, id) < (?, ?)", append(args, q.Before, q.BeforeID)
	}
	return query + " ORDER BY buried_at DESC, id DESC LIMIT ?", append(args, domain.Limit(q.Limit))
}

// DeadLetterCounts implements refresh.DeadLetters.
func (s *Snapshots) DeadLetterCounts(ctx context.Context) (map[string]int64, error) {
	counts := map[string]int64{}
	err := s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, "SELECT why, count(*) FROM dead_letter GROUP BY why", func(r *driver.Stmt) { counts[r.ColumnText(0)] = r.ColumnInt64(1) })
	})
	return counts, err
}

// RemoveDeadLetters implements refresh.DeadLetters. The letters stand in the order of the
// ids.
func (s *Snapshots) RemoveDeadLetters(ctx context.Context, ids []string) ([]refresh.DeadLetter, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var letters []refresh.DeadLetter
	err := s.db.Write(ctx, func(c *driver.Conn) (err error) {
		var data [][]byte
		for _, id := range ids {
			err := Exec(c, "DELETE FROM dead_letter WHERE id = ? RETURNING data", func(r *driver.Stmt) { data = append(data, readBlob(r, 0)) }, id)
			if err != nil {
				return err
			}
		}
		// One that cannot be read is not removed.
		letters, err = decodeLetters(data)
		return err
	})
	return letters, err
}

// AgeOut implements refresh.DeadLetters. The oldest go first.
func (s *Snapshots) AgeOut(ctx context.Context, before time.Time, limit int) (removed int, err error) {
	err = s.db.Write(ctx, func(c *driver.Conn) error {
		err := Exec(c, "DELETE FROM dead_letter WHERE id IN (SELECT id FROM dead_letter WHERE buried_at < ? ORDER BY buried_at, id LIMIT ?)", nil,
			before, max(0, limit))
		removed = c.Changes()
		return err
	})
	return removed, err
}
