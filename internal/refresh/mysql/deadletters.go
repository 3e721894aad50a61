package mysql

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"sluice/internal/domain"
	"sluice/internal/mysqldb"
	"sluice/internal/refresh"
)

// record is a dead letter as it is stored. What could not be read has no
// priority, which has no name either: it is kept as a number.
type record struct {
	refresh.DeadLetter
	Priority uint8 `json:"priority"`
}

const (
	// maxID bounds the ids of dead letters.
	maxID = 255
	// maxColumn is how much of a text is in the column it is looked for by.
	maxColumn    = 255
	defaultLimit = 100
)

// column is the part of a text that letters are looked for by.
func column(text string) []byte { return []byte(text[:min(len(text), maxColumn)]) }

// encodeLetter also makes the instants as exact as those of everything else.
func encodeLetter(l refresh.DeadLetter) ([]byte, error) {
	if l.ID == "" || len(l.ID) > maxID {
		return nil, domain.Errorf(domain.CodeInvalid, "a dead letter needs an id of up to %d bytes", maxID)
	}
	for _, at := range []*time.Time{&l.RequestedAt, &l.FirstAt, &l.BuriedAt} {
		*at = mysqldb.Time(mysqldb.Micros(*at))
	}
	data, err := json.Marshal(record{DeadLetter: l, Priority: uint8(l.Priority)})
	if err != nil {
		return nil, fmt.Errorf("encode dead letter: %w", err)
	}
	return data, nil
}

func scanLetter(r *sql.Rows) (refresh.DeadLetter, error) {
	var data sql.RawBytes
	if err := r.Scan(&data); err != nil {
		return refresh.DeadLetter{}, err
	}
	var l record
	if err := json.Unmarshal(data, &l); err != nil {
		return refresh.DeadLetter{}, domain.Errorf(domain.CodeCorrupt, "a stored dead letter cannot be read: %w", err)
	}
	l.DeadLetter.Priority = domain.Priority(l.Priority)
	return l.DeadLetter, nil
}

var insertLetter = &mysqldb.Insert{
	Head: "INSERT INTO dead_letter (id, why, source, entity_key, buried_at, data)",
	Tail: "ON DUPLICATE KEY UPDATE id = id",
}

// Bury implements refresh.DeadLetters.
func (s *Store) Bury(ctx context.Context, letters []refresh.DeadLetter) error {
	rows := make([]mysqldb.Row, len(letters))
	for i := range letters {
		l, r := &letters[i], &rows[i]
		data, err := encodeLetter(*l)
		if err != nil {
			return err
		}
		r.Key = l.ID
		r.Write("(").Blob([]byte(l.ID)).Write(",").Blob(column(l.Why)).Write(",").Blob(column(l.Source)).Write(",").Blob(column(l.Key))
		r.Write(",").Time(l.BuriedAt).Write(",").Blob(data).Write(")")
	}
	if len(rows) == 0 {
		return nil
	}
	return s.db.Tx(ctx, func(tx *sql.Tx) error {
		_, err := insertLetter.Run(ctx, tx, rows)
		return err
	})
}

// DeadLetter implements refresh.DeadLetters.
func (s *Store) DeadLetter(ctx context.Context, id string) (refresh.DeadLetter, error) {
	var find mysqldb.Statement
	letters, err := s.readLetters(ctx, find.Write("SELECT data FROM dead_letter WHERE id = ").Blob([]byte(id)))
	if err == nil && len(letters) == 0 {
		err = domain.Errorf(domain.CodeNotFound, "there is no dead letter %s", id)
	}
	if err != nil {
		return refresh.DeadLetter{}, err
	}
	return letters[0], nil
}

func (s *Store) readLetters(ctx context.Context, find *mysqldb.Statement) (letters []refresh.DeadLetter, err error) {
	err = s.db.Run(ctx, find, func(r *sql.Rows) error {
		l, err := scanLetter(r)
		letters = append(letters, l)
		return err
	})
	return letters, err
}

// DeadLetterList implements refresh.DeadLetters.
func (s *Store) DeadLetterList(ctx context.Context, q refresh.DeadLetterQuery) ([]refresh.DeadLetter, error) {
	return s.readLetters(ctx, letterQuery(q))
}

func letterQuery(q refresh.DeadLetterQuery) *mysqldb.Statement {
	find := &mysqldb.Statement{}
	find.Write("SELECT data FROM dead_letter WHERE 1 = 1")
	for _, f := range []struct{ column, value string }{{"why", q.Why}, {"source", q.Source}, {"entity_key", q.Key}} {
		if f.value != "" {
			find.Write(" AND " + f.column + " = ").Blob(column(f.value))
		}
	}
	if !q.Before.IsZero() {
		find.Write(" AND buried_at <= ").Time(q.Before).Write(" AND (buried_at < ").Time(q.Before).Write(" OR id < ").Blob([]byte(q.BeforeID)).Write(")")
	}
	limit := q.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	return find.Write(" ORDER BY buried_at DESC, id DESC LIMIT ").Int(int64(limit))
}

// DeadLetterCounts implements refresh.DeadLetters.
func (s *Store) DeadLetterCounts(ctx context.Context) (map[string]int64, error) {
	counts := map[string]int64{}
	err := s.db.Query(ctx, func(r *sql.Rows) error {
		var why string
		var n int64
		err := r.Scan(&why, &n)
		counts[why] = n
		return err
	}, "SELECT why, COUNT(*) FROM dead_letter GROUP BY why")
	return counts, err
}

// writeIDs adds ids with commas in between.
func writeIDs(s *mysqldb.Statement, ids []string) *mysqldb.Statement {
	for i, id := range ids {
		if i > 0 {
			s.Write(",")
		}
		s.Blob([]byte(id))
	}
	return s
}

// Unbury implements refresh.DeadLetters. The letters stand in the order of the
// ids.
func (s *Store) Unbury(ctx context.Context, ids []string) (letters []refresh.DeadLetter, err error) {
	sorted := slices.Compact(slices.Sorted(slices.Values(ids)))
	found := map[string]refresh.DeadLetter{}
	err = s.db.Tx(ctx, func(tx *sql.Tx) error {
		clear(found)
		for part := range slices.Chunk(sorted, maxIdentities) {
			var lock, remove mysqldb.Statement
			lock.Write("SELECT data FROM dead_letter FORCE INDEX (PRIMARY) WHERE id IN (")
			err := writeIDs(&lock, part).Write(") ORDER BY id FOR UPDATE").Query(ctx, tx, func(r *sql.Rows) error {
				l, err := scanLetter(r)
				found[l.ID] = l
				return err
			})
			if err != nil {
				return err
			}
			remove.Write("DELETE dead_letter FROM dead_letter FORCE INDEX (PRIMARY) WHERE id IN (")
			if _, err := writeIDs(&remove, part).Write(")").Exec(ctx, tx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if l, there := found[id]; there {
			letters = append(letters, l)
			delete(found, id)
		}
	}
	return letters, nil
}

// AgeOut implements refresh.DeadLetters. The oldest go first; they are looked
// for without locks, and each is counted by whoever removes it.
func (s *Store) AgeOut(ctx context.Context, before time.Time, limit int) (removed int, err error) {
	err = s.db.Tx(ctx, func(tx *sql.Tx) error {
		removed = 0
		var ids []string
		err := mysqldb.Query(ctx, tx, func(r *sql.Rows) error {
			var id string
			err := r.Scan(&id)
			ids = append(ids, id)
			return err
		}, "SELECT id FROM dead_letter FORCE INDEX (dead_letter_buried) WHERE buried_at < ? ORDER BY buried_at, id LIMIT ?", mysqldb.Micros(before), max(0, limit))
		if err != nil {
			return err
		}
		slices.Sort(ids)
		for part := range slices.Chunk(ids, maxIdentities) {
			var remove mysqldb.Statement
			remove.Write("DELETE dead_letter FROM dead_letter FORCE INDEX (PRIMARY) WHERE id IN (")
			result, err := writeIDs(&remove, part).Write(")").Exec(ctx, tx)
			if err != nil {
				return err
			}
			n, err := result.RowsAffected()
			if err != nil {
				return err
			}
			removed += int(n)
		}
		return nil
	})
	return removed, err
}
