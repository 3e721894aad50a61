package relational

import (
	"context"
	"database/sql"
	"encoding/hex"
	"slices"

	"sluice/internal/domain"
	"sluice/internal/refresh"
)

// What a row of standings is about.
const (
	aboutSnapshot = iota
	aboutStatus
	aboutRequest
)

// Standings implements refresh.Requests, with one statement for many.
func (s *Snapshots) Standings(ctx context.Context, entities []refresh.Entity) ([]refresh.Standing, error) {
	places := make(map[Hash][]int, len(entities))
	identities := make([]Hash, len(entities))
	for i, e := range entities {
		identities[i] = entityIdentity(e)
		places[identities[i]] = append(places[identities[i]], i)
	}
	standings := make([]refresh.Standing, len(entities))
	for part := range slices.Chunk(identities, maxIdentities) {
		var find Statement
		find.Write("SELECT 0, identity, seen_version, checked_at, 0, 0 FROM snapshot /*! FORCE INDEX (PRIMARY) */ WHERE identity IN (")
		writeIdentities(&find, part).Write(") UNION ALL SELECT 1, identity, version, 0, 0, 0 FROM snapshot_status /*! FORCE INDEX (PRIMARY) */ WHERE code = ")
		find.Text(string(refresh.StatusFailed)).Write(" AND identity IN (")
		writeIdentities(&find, part).Write(") UNION ALL SELECT 2, identity, version, COALESCE(not_before, 0), priority, waits FROM refresh_request /*! FORCE INDEX (PRIMARY) */ WHERE identity IN (")
		err := s.db.Run(ctx, writeIdentities(&find, part).Write(")"), func(r *sql.Rows) error {
			var about, priority, waits int
			var identity sql.RawBytes
			var version, at int64
			if err := r.Scan(&about, &identity, &version, &at, &priority, &waits); err != nil {
				return err
			}
			for _, i := range places[Hash(identity)] {
				switch t := &standings[i]; about {
				case aboutSnapshot:
					t.Seen, t.CheckedAt = version, optionalTime(at)
				case aboutStatus:
					t.Failed = version
				case aboutRequest:
					t.Request, t.NotBefore, t.Priority, t.Waits = version, optionalTime(at), domain.Priority(priority), waits
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return standings, nil
}

// Unfinished implements refresh.Requests. They are in the order of their
// identities.
func (s *Snapshots) Unfinished(ctx context.Context, p domain.Priority, after string, limit int) (requests []refresh.Pending, last string, err error) {
	var from Hash
	find := Statement{}
	find.Write("SELECT event, code, error, not_before, identity FROM refresh_request /*! FORCE INDEX (PRIMARY) */ WHERE priority = ").Int(int64(p)).Write(" AND not_before IS NULL")
	if after != "" {
		text, err := hex.DecodeString(after)
		if err != nil || len(text) != len(from) {
			return nil, "", domain.Errorf(domain.CodeInvalid, "%q is no cursor of requests", after)
		}
		find.Write(" AND identity > ").Hash(Hash(text))
	}
	last = after
	find.Write(" ORDER BY identity LIMIT ").Int(int64(max(0, limit)))
	err = s.db.Run(ctx, &find, func(r *sql.Rows) error {
		var identity []byte
		one, err := scanPending(r, &identity)
		requests, last = append(requests, one), hex.EncodeToString(identity)
		return err
	})
	if err != nil {
		return nil, after, err
	}
	return requests, last, nil
}

// Waiting implements refresh.Requests.
func (s *Snapshots) Waiting(ctx context.Context) (n int64, err error) {
	err = s.db.Query(ctx, func(r *sql.Rows) error { return r.Scan(&n) },
		"SELECT COUNT(*) FROM refresh_request /*! FORCE INDEX (refresh_request_due) */ WHERE not_before IS NOT NULL")
	return n, err
}

// LogEpoch implements refresh.Requests.
func (s *Snapshots) LogEpoch(ctx context.Context, topic string) (epoch string, err error) {
	err = s.db.Query(ctx, func(r *sql.Rows) error { return r.Scan(&epoch) }, "SELECT epoch FROM refresh_log WHERE topic = ?", topic)
	return epoch, err
}

// SetLogEpoch implements refresh.Requests.
func (s *Snapshots) SetLogEpoch(ctx context.Context, topic, epoch string) error {
	var put Statement
	put.Write("INSERT INTO refresh_log (topic, epoch) VALUES (").Text(topic).Write(",").Text(epoch).Write(") ")
	put.Write(s.db.Dialect().Upsert(Upsert{Key: "topic", Set: Overwrite("epoch")}))
	return s.exec(ctx, &put)
}

// VersionMark implements refresh.Requests.
func (s *Snapshots) VersionMark(ctx context.Context) (mark int64, err error) {
	err = s.db.Query(ctx, func(r *sql.Rows) error { return r.Scan(&mark) }, "SELECT mark FROM refresh_version WHERE id = 1")
	return mark, err
}

// RaiseVersionMark implements refresh.Requests.
func (s *Snapshots) RaiseVersionMark(ctx context.Context, version int64) error {
	var raise Statement
	raise.Write("UPDATE refresh_version SET mark = ").Int(version).Write(" WHERE id = 1 AND mark < ").Int(version)
	return s.exec(ctx, &raise)
}

func (s *Snapshots) exec(ctx context.Context, statement *Statement) error {
	return s.db.Tx(ctx, func(tx *Tx) error {
		_, err := statement.Exec(ctx, tx)
		return err
	})
}
