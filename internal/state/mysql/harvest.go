package mysql

import (
	"context"
	"database/sql"

	"sluice/internal/domain"
	"sluice/internal/mysqldb"
)

// SetSchedule implements state.Harvests. The account is not locked: there are
// none that vanish.
func (s *Store) SetSchedule(ctx context.Context, account int64, schedule []byte) error {
	return s.db.Tx(ctx, func(tx *sql.Tx) error {
		if _, err := accountByID(ctx, tx, account); err != nil {
			return err
		}
		var set mysqldb.Statement
		if len(schedule) == 0 {
			set.Write("DELETE FROM harvest_schedule WHERE account_id = ").Int(account)
		} else {
			set.Write("INSERT INTO harvest_schedule (account_id, data) VALUES (").Int(account).Write(",").Blob(schedule)
			set.Write(") ON DUPLICATE KEY UPDATE data = VALUES(data)")
		}
		_, err := set.Exec(ctx, tx)
		return err
	})
}

// Schedule implements state.Harvests.
func (s *Store) Schedule(ctx context.Context, account int64) (schedule []byte, err error) {
	err = s.db.Read(ctx, func(q mysqldb.Querier) error {
		if _, err := accountByID(ctx, q, account); err != nil {
			return err
		}
		return mysqldb.Query(ctx, q, func(r *sql.Rows) error { return r.Scan(&schedule) },
			"SELECT data FROM harvest_schedule WHERE account_id = ?", account)
	})
	return schedule, err
}

const harvestColumns = "account_id, after_run, at, priority, resume_run, tries, reason"

func scanHarvest(r *sql.Rows) (domain.Harvest, error) {
	var h domain.Harvest
	var at int64
	err := r.Scan(&h.AccountID, &h.After, &at, &h.Priority, &h.Resume, &h.Tries, &h.Reason)
	h.At = mysqldb.Time(at)
	return h, err
}

// PlanHarvest implements state.Harvests. Assignments are made from left to
// right, so the run that the harvest follows comes last.
func (s *Store) PlanHarvest(ctx context.Context, h domain.Harvest) error {
	return s.db.Tx(ctx, func(tx *sql.Tx) error {
		if _, err := accountByID(ctx, tx, h.AccountID); err != nil {
			return err
		}
		var put mysqldb.Statement
		put.Write("INSERT INTO harvest ("+harvestColumns+") VALUES (").Ints(h.AccountID, h.After, mysqldb.Micros(h.At),
			int64(h.Priority), h.Resume, int64(h.Tries))
		put.Write(",").Text(h.Reason).Write(") ON DUPLICATE KEY UPDATE ")
		for _, column := range []string{"at", "priority", "resume_run", "tries", "reason"} {
			put.Write(column + " = IF(VALUES(after_run) >= after_run, VALUES(" + column + "), " + column + "), ")
		}
		put.Write("after_run = GREATEST(after_run, VALUES(after_run))")
		_, err := put.Exec(ctx, tx)
		return err
	})
}

// DropHarvest implements state.Harvests.
func (s *Store) DropHarvest(ctx context.Context, account int64) error {
	_, err := s.db.Exec(ctx, "DELETE FROM harvest WHERE account_id = ?", account)
	return err
}

// Harvest implements state.Harvests.
func (s *Store) Harvest(ctx context.Context, account int64) (h domain.Harvest, found bool, err error) {
	err = s.db.Query(ctx, func(r *sql.Rows) error {
		found = true
		h, err = scanHarvest(r)
		return err
	}, "SELECT "+harvestColumns+" FROM harvest WHERE account_id = ?", account)
	return h, found, err
}

// harvestPage is how many harvests are read at a time: a caller that is slow
// must not keep a query open.
const harvestPage = 1000

// Harvests implements state.Harvests.
func (s *Store) Harvests(ctx context.Context, fn func(domain.Harvest) error) error {
	for after := int64(0); ; {
		var page []domain.Harvest
		err := s.db.Query(ctx, func(r *sql.Rows) error {
			h, err := scanHarvest(r)
			page = append(page, h)
			return err
		}, "SELECT "+harvestColumns+" FROM harvest WHERE account_id > ? ORDER BY account_id LIMIT ?", after, harvestPage)
		if err != nil {
			return err
		}
		for _, h := range page {
			if err := fn(h); err != nil {
				return err
			}
			after = h.AccountID
		}
		if len(page) < harvestPage {
			return nil
		}
	}
}
