package relational

import (
	"context"
	"database/sql"
	"maps"
	"slices"
	"time"

	"sluice/internal/domain"
	"sluice/internal/refresh"
)

var (
	// The conditions are those of refresh.Pending: Accepts, Follows and Parks.
	acceptRequest = putRequest(`(excluded.version = refresh_request.version AND refresh_request.not_before IS NULL OR
		excluded.version > refresh_request.version AND
		(refresh_request.not_before IS NULL OR refresh_request.waits = 0 OR excluded.priority > refresh_request.priority))`,
		"not_before", "waits", "priority", "version")
	followRequest = putRequest(`(excluded.version = refresh_request.version AND refresh_request.not_before IS NULL AND refresh_request.waits = 0 OR
		excluded.version > refresh_request.version AND (refresh_request.not_before IS NULL OR refresh_request.waits = 0))`,
		"priority", "waits", "not_before", "version")
	parkRequest = putRequest(`excluded.version >= refresh_request.version AND
		(excluded.waits > 0 OR refresh_request.not_before IS NULL)`,
		"waits", "priority", "version", "not_before")
)

// putRequest replaces a request that is there under a condition; last are the
// columns that the condition reads, in the order of Upsert.Replace.
func putRequest(when string, last ...string) *Insert {
	return &Insert{
		Head:   "INSERT INTO refresh_request (identity, version, priority, waits, not_before, code, error, event)",
		Upsert: Upsert{Key: "identity", Replace: append([]string{"event", "code", "error"}, last...), When: when},
	}
}

// Accept implements refresh.Requests.
func (s *Snapshots) Accept(ctx context.Context, events []refresh.Event) error {
	requests := make([]refresh.Pending, len(events))
	for i := range events {
		requests[i].Event = events[i]
	}
	return s.putRequests(ctx, acceptRequest, requests)
}

// Follow implements refresh.Requests.
func (s *Snapshots) Follow(ctx context.Context, requests []refresh.Pending) error {
	return s.putRequests(ctx, followRequest, requests)
}

// Park implements refresh.Requests.
func (s *Snapshots) Park(ctx context.Context, requests []refresh.Pending) error {
	return s.putRequests(ctx, parkRequest, requests)
}

func (s *Snapshots) putRequests(ctx context.Context, insert *Insert, requests []refresh.Pending) error {
	rows := make([]Row, len(requests))
	for i := range requests {
		p, r := &requests[i], &rows[i]
		if err := p.Check(); err != nil {
			return err
		}
		text, err := p.Encode()
		if err != nil {
			return err
		}
		identity := entityIdentity(p.Entity)
		r.Key = string(identity[:])
		r.Write("(").Hash(identity).Write(",").Ints(p.Version, int64(p.Priority), int64(p.Waits)).Write(",")
		if p.NotBefore.IsZero() {
			r.Write("NULL")
		} else {
			r.Time(p.NotBefore)
		}
		r.Write(",").Text(p.Code[:min(len(p.Code), maxColumn)]).Write(",").Text(p.Error).Write(",").Blob(text).Write(")")
	}
	if len(rows) == 0 {
		return nil
	}
	return s.db.Tx(ctx, func(tx *Tx) error {
		_, err := insert.Run(ctx, tx, rows)
		return err
	})
}

const (
	nextRequestSQL = "SELECT MIN(not_before) FROM refresh_request /*! FORCE INDEX (refresh_request_due) */ WHERE not_before > ?"
	wakeSQL        = `SELECT event, code, error, not_before FROM refresh_request /*! FORCE INDEX (refresh_request_due) */
		WHERE not_before <= ? ORDER BY not_before LIMIT ? FOR UPDATE SKIP LOCKED`
)

// Wake implements refresh.Requests. If nothing waits it only reads. What another
// process is bringing back just now is left to that one.
func (s *Snapshots) Wake(ctx context.Context, now time.Time, lease time.Duration, limit int) (due []refresh.Pending, next time.Time, err error) {
	at := Micros(now)
	err = s.db.Query(ctx, scanInstant(&next), nextRequestSQL, -1)
	if err != nil || next.IsZero() || Micros(next) > at {
		return nil, next, err
	}
	err = s.db.Tx(ctx, func(tx *Tx) error {
		due = nil
		err := Query(ctx, tx, func(r *sql.Rows) error {
			p, err := scanPending(r)
			due = append(due, p)
			return err
		}, wakeSQL, at, max(0, limit))
		if err != nil {
			return err
		}
		// Those that are claimed, here or elsewhere, come again only if publishing
		// them fails.
		if next, err = earliestRequest(ctx, tx, at); err != nil || len(due) == 0 {
			return err
		}
		var claim Statement
		claim.Write("UPDATE refresh_request /*! FORCE INDEX (PRIMARY) */ SET not_before = ").Time(now.Add(lease)).Write(" WHERE identity IN (")
		_, err = writeIdentities(&claim, identitiesOf(due)).Write(")").Exec(ctx, tx)
		return err
	})
	if err != nil {
		return nil, next, err
	}
	if len(due) == limit {
		return due, now, nil
	}
	return due, next, nil
}

// scanInstant reads one that may be missing.
func scanInstant(into *time.Time) func(*sql.Rows) error {
	return func(r *sql.Rows) error {
		var at sql.NullInt64
		err := r.Scan(&at)
		*into = optionalTime(at.Int64)
		return err
	}
}

// earliestRequest is when the next request comes back after an instant.
func earliestRequest(ctx context.Context, tx *Tx, after int64) (next time.Time, err error) {
	err = Query(ctx, tx, scanInstant(&next), nextRequestSQL, after)
	return next, err
}

func scanPending(r *sql.Rows, more ...any) (p refresh.Pending, err error) {
	var text sql.RawBytes
	var at sql.NullInt64
	if err := r.Scan(append([]any{&text, &p.Code, &p.Error, &at}, more...)...); err != nil {
		return p, err
	}
	if p.Event, err = refresh.DecodeEvent(text); err != nil {
		return p, domain.Errorf(domain.CodeCorrupt, "a stored request cannot be read: %w", err)
	}
	p.NotBefore = optionalTime(at.Int64)
	return p, nil
}

// identitiesOf returns the identities of requests in the order of their locks.
func identitiesOf(requests []refresh.Pending) []Hash {
	identities := make([]Hash, len(requests))
	for i := range requests {
		identities[i] = entityIdentity(requests[i].Entity)
	}
	slices.SortFunc(identities, compareHashes)
	return slices.Compact(identities)
}

// Woken implements refresh.Requests.
func (s *Snapshots) Woken(ctx context.Context, requests []refresh.Pending) error {
	told := make(map[Hash]*refresh.Pending, len(requests))
	for i := range requests {
		told[entityIdentity(requests[i].Entity)] = &requests[i]
	}
	return s.changeRequests(ctx, slices.SortedFunc(maps.Keys(told), compareHashes),
		func(identity Hash, kept *refresh.Pending) bool { return kept.Wakes(told[identity]) },
		"UPDATE refresh_request /*! FORCE INDEX (PRIMARY) */ SET not_before = NULL WHERE identity IN (")
}

const endRequestsSQL = "DELETE /*! refresh_request */ FROM refresh_request /*! FORCE INDEX (PRIMARY) */ WHERE identity IN ("

// Settle implements refresh.Requests.
func (s *Snapshots) Settle(ctx context.Context, locks []refresh.Lock) error {
	told := make(map[Hash]int64, len(locks))
	for _, l := range locks {
		identity := entityIdentity(l.Entity)
		told[identity] = max(told[identity], l.Version)
	}
	return s.changeRequests(ctx, slices.SortedFunc(maps.Keys(told), compareHashes),
		func(identity Hash, kept *refresh.Pending) bool { return kept.Settles(told[identity]) }, endRequestsSQL)
}

// changeRequests applies a statement to the requests that suit.
func (s *Snapshots) changeRequests(ctx context.Context, identities []Hash, suits func(Hash, *refresh.Pending) bool, change string) error {
	for part := range slices.Chunk(identities, maxIdentities) {
		err := s.db.Tx(ctx, func(tx *Tx) error {
			var chosen []Hash
			var lock Statement
			lock.Write("SELECT identity, version, waits FROM refresh_request /*! FORCE INDEX (PRIMARY) */ WHERE identity IN (")
			err := writeIdentities(&lock, part).Write(") ORDER BY identity FOR UPDATE").Query(ctx, tx, func(r *sql.Rows) error {
				var identity sql.RawBytes
				var kept refresh.Pending
				if err := r.Scan(&identity, &kept.Version, &kept.Waits); err != nil {
					return err
				}
				if suits(Hash(identity), &kept) {
					chosen = append(chosen, Hash(identity))
				}
				return nil
			})
			if err != nil || len(chosen) == 0 {
				return err
			}
			var statement Statement
			_, err = writeIdentities(statement.Write(change), chosen).Write(")").Exec(ctx, tx)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// endRequests removes requests that are still of the versions that were seen.
func endRequests(ctx context.Context, tx *Tx, settled map[Hash]int64) error {
	for part := range slices.Chunk(slices.SortedFunc(maps.Keys(settled), compareHashes), maxIdentities) {
		var remove Statement
		writeIdentities(remove.Write(endRequestsSQL), part).Write(") AND (identity, version) IN (")
		for i, identity := range part {
			if i > 0 {
				remove.Write(",")
			}
			remove.Write("(").Hash(identity).Write(",").Int(settled[identity]).Write(")")
		}
		if _, err := remove.Write(")").Exec(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}
