package relational

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"sluice/internal/domain"
	"sluice/internal/refresh"
)

// maxColumn is how much of a text is in the column it is looked for by.
const maxColumn = 255

// letterColumn is the part of a text that letters are looked for by.
func letterColumn(text string) []byte { return []byte(text[:min(len(text), maxColumn)]) }

func scanLetter(r *sql.Rows) (refresh.DeadLetter, error) {
	var data sql.RawBytes
	if err := r.Scan(&data); err != nil {
		return refresh.DeadLetter{}, err
	}
	return refresh.DecodeLetter(data)
}

var insertLetter = &Insert{
	Head:   "INSERT INTO dead_letter (id, why, source, entity_key, buried_at, data)",
	Upsert: Upsert{Key: "id"},
}

// AddDeadLetters implements refresh.DeadLetters.
func (s *Snapshots) AddDeadLetters(ctx context.Context, letters []refresh.DeadLetter) error {
	rows := make([]Row, len(letters))
	for i := range letters {
		l, r := &letters[i], &rows[i]
		data, err := refresh.EncodeLetter(*l)
		if err != nil {
			return err
		}
		r.Key = l.ID
		r.Write("(").Blob([]byte(l.ID)).Write(",").Blob(letterColumn(l.Why)).Write(",").Blob(letterColumn(l.Source)).Write(",").Blob(letterColumn(l.Key))
		r.Write(",").Time(l.FailedAt).Write(",").Blob(data).Write(")")
	}
	if len(rows) == 0 {
		return nil
	}
	return s.db.Tx(ctx, func(tx *Tx) error {
		_, err := insertLetter.Run(ctx, tx, rows)
		return err
	})
}

// DeadLetter implements refresh.DeadLetters.
func (s *Snapshots) DeadLetter(ctx context.Context, id string) (refresh.DeadLetter, error) {
	var find Statement
	letters, err := s.readLetters(ctx, find.Write("SELECT data FROM dead_letter WHERE id = ").Blob([]byte(id)))
	return refresh.OneLetter(id, letters, err)
}

func (s *Snapshots) readLetters(ctx context.Context, find *Statement) (letters []refresh.DeadLetter, err error) {
	err = s.db.Run(ctx, find, func(r *sql.Rows) error {
		l, err := scanLetter(r)
		letters = append(letters, l)
		return err
	})
	return letters, err
}

// DeadLetterList implements refresh.DeadLetters.
func (s *Snapshots) DeadLetterList(ctx context.Context, q refresh.DeadLetterQuery) ([]refresh.DeadLetter, error) {
	return s.readLetters(ctx, letterQuery(q))
}

func letterQuery(q refresh.DeadLetterQuery) *Statement {
	find := &Statement{}
	find.Write("SELECT data FROM dead_letter /*! FORCE INDEX (" + letterIndex(q) + ") */ WHERE 1 = 1")
	for _, f := range []struct{ column, value string }{{"why", q.Why}, {"source", q.Source}, {"entity_key", q.Key}} {
		if f.value != "" {
			find.Write(" AND " + f.column + " = ").Blob(letterColumn(f.value))
		}
	}
	if !q.Before.IsZero() {
		find.Write(" AND buried_at <= ").Time(q.Before).Write(" AND (buried_at < ").Time(q.Before).Write(" OR id < ").Blob([]byte(q.BeforeID)).Write(")")
	}
	return find.Write(" ORDER BY buried_at DESC, id DESC LIMIT ").Int(domain.Limit(q.Limit))
}

// letterIndex is the one along which letters are found, the newest first.
func letterIndex(q refresh.DeadLetterQuery) string {
	switch {
	case q.Why != "":
		return "dead_letter_why"
	case q.Source != "":
		return "dead_letter_entity"
	case q.Key != "":
		return "dead_letter_key"
	}
	return "dead_letter_buried"
}

// DeadLetterCounts implements refresh.DeadLetters.
func (s *Snapshots) DeadLetterCounts(ctx context.Context) (map[string]int64, error) {
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

// RemoveDeadLetters implements refresh.DeadLetters. The letters stand in the order of the
// ids.
func (s *Snapshots) RemoveDeadLetters(ctx context.Context, ids []string) (letters []refresh.DeadLetter, err error) {
	sorted := slices.Compact(slices.Sorted(slices.Values(ids)))
	found := map[string]refresh.DeadLetter{}
	err = s.db.Tx(ctx, func(tx *Tx) error {
		clear(found)
		for part := range slices.Chunk(sorted, maxIdentities) {
			var lock, remove Statement
			lock.Write("SELECT data FROM dead_letter /*! FORCE INDEX (PRIMARY) */ WHERE id IN (")
			err := writeIDs(&lock, part).Write(") ORDER BY id FOR UPDATE").Query(ctx, tx, func(r *sql.Rows) error {
				l, err := scanLetter(r)
				found[l.ID] = l
				return err
			})
			if err != nil {
				return err
			}
			remove.Write("DELETE /*! dead_letter */ FROM dead_letter /*! FORCE INDEX (PRIMARY) */ WHERE id IN (")
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
func (s *Snapshots) AgeOut(ctx context.Context, before time.Time, limit int) (removed int, err error) {
	err = s.db.Tx(ctx, func(tx *Tx) error {
		removed = 0
		var ids []string
		err := Query(ctx, tx, func(r *sql.Rows) error {
			var id string
			err := r.Scan(&id)
			ids = append(ids, id)
			return err
		}, "SELECT id FROM dead_letter /*! FORCE INDEX (dead_letter_buried) */ WHERE buried_at < ? ORDER BY buried_at, id LIMIT ?", Micros(before), max(0, limit))
		if err != nil {
			return err
		}
		slices.Sort(ids)
		for part := range slices.Chunk(ids, maxIdentities) {
			var remove Statement
			remove.Write("DELETE /*! dead_letter */ FROM dead_letter /*! FORCE INDEX (PRIMARY) */ WHERE id IN (")
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
