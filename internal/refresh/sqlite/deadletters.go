package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"

	"sluice/internal/domain"
	"sluice/internal/refresh"
	"sluice/internal/sqlitedb"
)

// record is a dead letter as it is stored. What could not be read has no
// priority, which has no name either: it is kept as a number.
type record struct {
	refresh.DeadLetter
	Priority uint8 `json:"priority"`
}

// maxID bounds the ids of dead letters.
const maxID = 255

// encodeLetter also makes the instants as exact as those of everything else.
func encodeLetter(l refresh.DeadLetter) ([]byte, error) {
	if l.ID == "" || len(l.ID) > maxID {
		return nil, domain.Errorf(domain.CodeInvalid, "a dead letter needs an id of up to %d bytes", maxID)
	}
	for _, at := range []*time.Time{&l.RequestedAt, &l.FirstAt, &l.BuriedAt} {
		*at = sqlitedb.Time(sqlitedb.Micros(*at))
	}
	data, err := json.Marshal(record{DeadLetter: l, Priority: uint8(l.Priority)})
	if err != nil {
		return nil, fmt.Errorf("encode dead letter: %w", err)
	}
	return data, nil
}

func decodeLetter(data []byte) (refresh.DeadLetter, error) {
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return refresh.DeadLetter{}, domain.Errorf(domain.CodeCorrupt, "a stored dead letter cannot be read: %w", err)
	}
	r.DeadLetter.Priority = domain.Priority(r.Priority)
	return r.DeadLetter, nil
}

// Bury implements refresh.DeadLetters.
func (s *Store) Bury(ctx context.Context, letters []refresh.DeadLetter) error {
	data := make([][]byte, len(letters))
	for i := range letters {
		var err error
		if data[i], err = encodeLetter(letters[i]); err != nil {
			return err
		}
	}
	if len(letters) == 0 {
		return nil
	}
	return s.db.Write(ctx, func(c *sqlite.Conn) error {
		for i := range letters {
			l := &letters[i]
			err := sqlitedb.Exec(c, "INSERT INTO dead_letter (id, why, source, key, buried_at, data) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", nil,
				l.ID, l.Why, l.Source, l.Key, l.BuriedAt, data[i])
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// DeadLetter implements refresh.DeadLetters.
func (s *Store) DeadLetter(ctx context.Context, id string) (refresh.DeadLetter, error) {
	letters, err := s.readLetters(ctx, "SELECT data FROM dead_letter WHERE id = ?", id)
	if err == nil && len(letters) == 0 {
		err = domain.Errorf(domain.CodeNotFound, "there is no dead letter %s", id)
	}
	if err != nil {
		return refresh.DeadLetter{}, err
	}
	return letters[0], nil
}

func (s *Store) readLetters(ctx context.Context, query string, args ...any) (letters []refresh.DeadLetter, err error) {
	var data [][]byte
	err = s.db.Read(ctx, func(c *sqlite.Conn) error {
		return sqlitedb.Exec(c, query, func(r *sqlite.Stmt) { data = append(data, sqlitedb.Blob(r, 0)) }, args...)
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
		if letters[i], err = decodeLetter(data[i]); err != nil {
			return nil, err
		}
	}
	return letters, nil
}

const defaultLimit = 100

// DeadLetterList implements refresh.DeadLetters.
func (s *Store) DeadLetterList(ctx context.Context, q refresh.DeadLetterQuery) ([]refresh.DeadLetter, error) {
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
	limit := q.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	return query + " ORDER BY buried_at DESC, id DESC LIMIT ?", append(args, limit)
}

// DeadLetterCounts implements refresh.DeadLetters.
func (s *Store) DeadLetterCounts(ctx context.Context) (map[string]int64, error) {
	counts := map[string]int64{}
	err := s.db.Read(ctx, func(c *sqlite.Conn) error {
		return sqlitedb.Exec(c, "SELECT why, count(*) FROM dead_letter GROUP BY why", func(r *sqlite.Stmt) { counts[r.ColumnText(0)] = r.ColumnInt64(1) })
	})
	return counts, err
}

// Unbury implements refresh.DeadLetters. The letters stand in the order of the
// ids.
func (s *Store) Unbury(ctx context.Context, ids []string) ([]refresh.DeadLetter, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var letters []refresh.DeadLetter
	err := s.db.Write(ctx, func(c *sqlite.Conn) (err error) {
		var data [][]byte
		for _, id := range ids {
			err := sqlitedb.Exec(c, "DELETE FROM dead_letter WHERE id = ? RETURNING data", func(r *sqlite.Stmt) { data = append(data, sqlitedb.Blob(r, 0)) }, id)
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
func (s *Store) AgeOut(ctx context.Context, before time.Time, limit int) (removed int, err error) {
	err = s.db.Write(ctx, func(c *sqlite.Conn) error {
		err := sqlitedb.Exec(c, "DELETE FROM dead_letter WHERE id IN (SELECT id FROM dead_letter WHERE buried_at < ? ORDER BY buried_at, id LIMIT ?)", nil,
			before, max(0, limit))
		removed = c.Changes()
		return err
	})
	return removed, err
}
