package mysql

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"sluice/internal/domain"
	"sluice/internal/mysqldb"
	"sluice/internal/refresh"
)

var putStatus = &mysqldb.Insert{
	Head: "INSERT INTO snapshot_status (version, identity, source, code, tries, error, at)",
	// The version comes last: the others are compared with the one that is there.
	Tail: `ON DUPLICATE KEY UPDATE code = IF(VALUES(version) >= version, VALUES(code), code), tries = IF(VALUES(version) >= version, VALUES(tries), tries),
		error = IF(VALUES(version) >= version, VALUES(error), error), at = IF(VALUES(version) >= version, VALUES(at), at),
		version = GREATEST(version, VALUES(version))`,
}

// SetStatus implements refresh.Snapshots. Of two statuses that of the later
// version stays, in whatever order they come.
func (s *Store) SetStatus(ctx context.Context, statuses []refresh.VersionedStatus) error {
	entities := make(map[mysqldb.Hash]refresh.Entity, len(statuses))
	for i := range statuses {
		if err := checkStatus(&statuses[i].Status); err != nil {
			return err
		}
		entities[identityOf(statuses[i].Entity)] = statuses[i].Entity
	}
	if len(statuses) == 0 {
		return nil
	}
	return s.change(ctx, entities, func(tx *sql.Tx, rows map[mysqldb.Hash]*row) error {
		var puts []mysqldb.Row
		for i := range statuses {
			t := &statuses[i]
			known := rows[identityOf(t.Entity)]
			if known.seen > t.Version {
				continue
			}
			known.changed = known.changed || !known.troubled
			known.troubled = true
			r := mysqldb.Row{Key: string(known.identity[:])}
			r.Write("(").Int(t.Version).Write(",").Hash(known.identity).Write(",").Blob([]byte(t.Source)).Write(",").Text(string(t.Code))
			r.Write(",").Int(int64(t.Tries)).Write(",").Text(t.Error).Write(",").Time(t.At).Write(")")
			puts = append(puts, r)
		}
		_, err := putStatus.Run(ctx, tx, puts)
		return err
	})
}

func checkStatus(s *refresh.Status) error {
	if s.Code != refresh.StatusRetrying && s.Code != refresh.StatusFailed {
		return domain.Errorf(domain.CodeInvalid, "%q is no status of an entity", s.Code)
	}
	return checkEntity(s.Entity)
}

// endStatuses removes what was wrong with entities whose rows are locked.
func endStatuses(ctx context.Context, tx *sql.Tx, healed []mysqldb.Hash) error {
	slices.SortFunc(healed, compareHashes)
	for part := range slices.Chunk(healed, maxIdentities) {
		var remove mysqldb.Statement
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
func (s *Store) Read(ctx context.Context, reads []refresh.Read) error {
	if len(reads) == 0 {
		return nil
	}
	last := make(map[mysqldb.Hash]int64, len(reads))
	entities := make(map[mysqldb.Hash]refresh.Entity, len(reads))
	for _, r := range reads {
		identity := identityOf(r.Entity)
		last[identity] = max(last[identity], mysqldb.Micros(r.At))
		entities[identity] = r.Entity
	}
	identities := ascending(entities)
	return s.db.Tx(ctx, func(tx *sql.Tx) error {
		rows, err := lockRows(ctx, tx, identities)
		if err != nil {
			return err
		}
		for identity, t := range rows {
			if t.version == 0 {
				continue
			}
			t.due.Int64 -= s.tiers.Sooner(t.tier)
			t.tier, t.read, t.changed = refresh.Hot, max(t.read, last[identity]), true
		}
		return writeBack(ctx, tx, rows)
	})
}

// dueSQL waits for nobody: what another holds is being given to that one, or
// refreshed.
const dueSQL = "SELECT " + rowColumns + `, entity_key FROM snapshot FORCE INDEX (snapshot_due)
	WHERE source = ? AND due_at <= ? ORDER BY due_at LIMIT ? FOR UPDATE SKIP LOCKED`

// Due implements refresh.Snapshots. What another process is writing about just
// now is left for the next call.
func (s *Store) Due(ctx context.Context, source string, now time.Time, limit int) (due []refresh.Entity, err error) {
	if limit <= 0 {
		return nil, nil
	}
	at := mysqldb.Micros(now)
	err = s.db.Tx(ctx, func(tx *sql.Tx) error {
		due = nil
		rows := map[mysqldb.Hash]*row{}
		err := mysqldb.Query(ctx, tx, func(r *sql.Rows) error {
			e := refresh.Entity{Source: source}
			t, err := scanRow(r, &e.Key)
			if err != nil {
				return err
			}
			t.tier, t.changed = s.tiers.Fallen(t.tier, t.read, at), true
			t.due.Int64 = at + s.tiers.Interval(t.tier)
			rows[t.identity] = t
			due = append(due, e)
			return nil
		}, dueSQL, []byte(source), at, limit)
		if err != nil {
			return err
		}
		return writeBack(ctx, tx, rows)
	})
	return due, err
}
