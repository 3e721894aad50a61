package relational

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"sluice/internal/refresh"
)

var putStatus = &Insert{
	Head: "INSERT INTO snapshot_status (version, identity, source, code, tries, error, at, error_code, next_retry_at)",
	Upsert: Upsert{Key: "identity", Set: NewerWins("snapshot_status", "version",
		"code", "tries", "error", "at", "error_code", "next_retry_at")},
}

// SetStatus implements refresh.Snapshots. Of two statuses that of the later
// version stays, in whatever order they come, as VersionedStatus.Counts says.
func (s *Snapshots) SetStatus(ctx context.Context, statuses []refresh.VersionedStatus) error {
	entities := make(map[Hash]refresh.Entity, len(statuses))
	for i := range statuses {
		if err := statuses[i].Check(); err != nil {
			return err
		}
		entities[entityIdentity(statuses[i].Entity)] = statuses[i].Entity
	}
	if len(statuses) == 0 {
		return nil
	}
	return s.change(ctx, entities, func(tx *Tx, rows map[Hash]*entityRow) error {
		var puts []Row
		for i := range statuses {
			t := &statuses[i]
			known := rows[entityIdentity(t.Entity)]
			// Which of two statuses stays is decided by the statement.
			if !t.Counts(known.Seen, 0) {
				continue
			}
			known.changed = known.changed || !known.troubled
			known.troubled = true
			r := Row{Key: string(known.identity[:])}
			r.Write("(").Int(t.Version).Write(",").Hash(known.identity).Write(",").Blob([]byte(t.Source)).Write(",").Text(string(t.Code))
			r.Write(",").Int(int64(t.Tries)).Write(",").Text(t.Error).Write(",").Time(t.At).Write(",").Text(t.ErrorCode[:min(len(t.ErrorCode), maxColumn)])
			r.Write(",").Int(optionalMicros(t.NextRetryAt)).Write(")")
			puts = append(puts, r)
		}
		_, err := putStatus.Run(ctx, tx, puts)
		return err
	})
}

// endStatuses removes what was wrong with entities whose rows are locked.
func endStatuses(ctx context.Context, tx *Tx, healed []Hash) error {
	slices.SortFunc(healed, compareHashes)
	for part := range slices.Chunk(healed, maxIdentities) {
		var remove Statement
		remove.Write("DELETE FROM snapshot_status WHERE identity IN (")
		if _, err := writeIdentities(&remove, part).Write(")").Exec(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}

// Read implements refresh.Snapshots. Entities without a snapshot are left out.
// What was due later for its colder tier is due as if it had been Hot all
// along.
func (s *Snapshots) Read(ctx context.Context, reads []refresh.Read) error {
	if len(reads) == 0 {
		return nil
	}
	last := make(map[Hash]int64, len(reads))
	entities := make(map[Hash]refresh.Entity, len(reads))
	for _, r := range reads {
		identity := entityIdentity(r.Entity)
		last[identity] = max(last[identity], Micros(r.At))
		entities[identity] = r.Entity
	}
	identities := ascendingIdentities(entities)
	return s.db.Tx(ctx, func(tx *Tx) error {
		rows, err := lockEntities(ctx, tx, identities)
		if err != nil {
			return err
		}
		for identity, t := range rows {
			if t.Version == 0 {
				continue
			}
			t.MarkRead(last[identity], s.tiers.For(entities[identity]))
			t.changed = true
		}
		return writeEntities(ctx, tx, rows)
	})
}

// dueSQL waits for nobody: what another holds is being given to that one, or
// refreshed.
const dueSQL = "SELECT " + entityColumns + `, entity_key FROM snapshot /*! FORCE INDEX (snapshot_due) */
	WHERE source = ? AND due_at <= ? ORDER BY due_at LIMIT ? FOR UPDATE SKIP LOCKED`

// Due implements refresh.Snapshots. What another process is writing about just
// now is left for the next call. If nothing is due it only reads.
func (s *Snapshots) Due(ctx context.Context, q refresh.DueQuery) (due refresh.Due, err error) {
	if q.Limit <= 0 {
		return due, nil
	}
	at := Micros(q.Now)
	some := false
	err = s.db.Query(ctx, func(*sql.Rows) error { some = true; return nil },
		"SELECT 1 FROM snapshot /*! FORCE INDEX (snapshot_due) */ WHERE source = ? AND due_at <= ? LIMIT 1", []byte(q.Source), at)
	if err != nil || !some {
		return due, err
	}
	err = s.db.Tx(ctx, func(tx *Tx) (err error) {
		due, err = s.claimDue(ctx, tx, q, at)
		return err
	})
	return due, err
}

func (s *Snapshots) claimDue(ctx context.Context, tx *Tx, q refresh.DueQuery, at int64) (due refresh.Due, err error) {
	n, used := q.Limit, int64(0)
	if q.PerSecond > 0 {
		// All schedulers take turns at this row.
		next := int64(0)
		var lock Statement
		lock.Write("INSERT INTO refresh_pace (source, next_at) VALUES (").Blob([]byte(q.Source)).Write(",0) ")
		lock.Write(tx.Dialect().Upsert(Upsert{Key: "source", Set: "next_at = refresh_pace.next_at"}))
		if _, err := lock.Exec(ctx, tx); err != nil {
			return due, err
		}
		err := Query(ctx, tx, func(r *sql.Rows) error { return r.Scan(&next) }, "SELECT next_at FROM refresh_pace WHERE source = ?", []byte(q.Source))
		if err != nil {
			return due, err
		}
		if n, used = refresh.Pace(next, at, q.PerSecond, q.Limit); n == 0 {
			due.Next = Time(used)
			return due, nil
		}
	}
	rows := map[Hash]*entityRow{}
	err = Query(ctx, tx, func(r *sql.Rows) error {
		e := refresh.Entity{Source: q.Source}
		t, err := scanEntity(r, &e.Key)
		if err != nil {
			return err
		}
		t.MakeDue(at, s.tiers.For(e))
		t.changed = true
		rows[t.identity] = t
		due.Entities = append(due.Entities, e)
		return nil
	}, dueSQL, []byte(q.Source), at, n)
	if err == nil {
		err = writeEntities(ctx, tx, rows)
	}
	if err != nil || q.PerSecond <= 0 {
		return due, err
	}
	if len(due.Entities) == n {
		due.Next = Time(used)
	}
	var put Statement
	put.Write("INSERT INTO refresh_pace (source, next_at) VALUES (").Blob([]byte(q.Source)).Write(",").Int(used)
	_, err = put.Write(") ").Write(tx.Dialect().Upsert(Upsert{Key: "source", Set: Overwrite("next_at")})).Exec(ctx, tx)
	return due, err
}

// optionalMicros is how an instant is stored that need not be one.
func optionalMicros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return Micros(t)
}

func optionalTime(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return Time(micros)
}
