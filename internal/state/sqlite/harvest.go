package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"sluice/internal/domain"
	"sluice/internal/sqlitedb"
)

// SetSchedule implements state.Harvests.
func (s *Store) SetSchedule(ctx context.Context, account int64, schedule []byte) error {
	return s.db.Write(ctx, func(c *sqlite.Conn) error {
		if _, err := findAccount(c, "a.id = ?", account); err != nil {
			return err
		}
		if len(schedule) == 0 {
			return sqlitedb.Exec(c, "DELETE FROM harvest_schedule WHERE account_id = ?", nil, account)
		}
		return sqlitedb.Exec(c, `INSERT INTO harvest_schedule (account_id, data) VALUES (?, ?)
			ON CONFLICT (account_id) DO UPDATE SET data = excluded.data`, nil, account, schedule)
	})
}

// Schedule implements state.Harvests.
func (s *Store) Schedule(ctx context.Context, account int64) (schedule []byte, err error) {
	err = s.db.Read(ctx, func(c *sqlite.Conn) error {
		if _, err := findAccount(c, "a.id = ?", account); err != nil {
			return err
		}
		return sqlitedb.Exec(c, "SELECT data FROM harvest_schedule WHERE account_id = ?",
			func(r *sqlite.Stmt) { schedule = sqlitedb.Blob(r, 0) }, account)
	})
	return schedule, err
}

const harvestColumns = "account_id, after_run, at, priority, resume_run, tries, reason"

func scanHarvest(r *sqlite.Stmt) domain.Harvest {
	return domain.Harvest{
		AccountID: r.ColumnInt64(0), After: r.ColumnInt64(1), At: sqlitedb.Time(r.ColumnInt64(2)),
		Priority: domain.Priority(r.ColumnInt(3)), Resume: r.ColumnInt64(4), Tries: r.ColumnInt(5), Reason: r.ColumnText(6),
	}
}

// PlanHarvest implements state.Harvests.
func (s *Store) PlanHarvest(ctx context.Context, h domain.Harvest) error {
	return s.db.Write(ctx, func(c *sqlite.Conn) error {
		if _, err := findAccount(c, "a.id = ?", h.AccountID); err != nil {
			return err
		}
		return sqlitedb.Exec(c, "INSERT INTO harvest ("+harvestColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (account_id) DO UPDATE SET after_run = excluded.after_run, at = excluded.at, priority = excluded.priority,
			resume_run = excluded.resume_run, tries = excluded.tries, reason = excluded.reason
			WHERE excluded.after_run >= harvest.after_run`, nil,
			h.AccountID, h.After, h.At, int64(h.Priority), h.Resume, h.Tries, h.Reason)
	})
}

// DropHarvest implements state.Harvests.
func (s *Store) DropHarvest(ctx context.Context, account int64) error {
	return s.db.Write(ctx, func(c *sqlite.Conn) error {
		return sqlitedb.Exec(c, "DELETE FROM harvest WHERE account_id = ?", nil, account)
	})
}

// Harvest implements state.Harvests.
func (s *Store) Harvest(ctx context.Context, account int64) (h domain.Harvest, found bool, err error) {
	err = s.db.Read(ctx, func(c *sqlite.Conn) error {
		return sqlitedb.Exec(c, "SELECT "+harvestColumns+" FROM harvest WHERE account_id = ?",
			func(r *sqlite.Stmt) { h, found = scanHarvest(r), true }, account)
	})
	return h, found, err
}

// Harvests implements state.Harvests. It is there once for an account, so that
// all of them fit into memory, and fn may take its time.
func (s *Store) Harvests(ctx context.Context, fn func(domain.Harvest) error) error {
	var all []domain.Harvest
	err := s.db.Read(ctx, func(c *sqlite.Conn) error {
		return sqlitedb.Exec(c, "SELECT "+harvestColumns+" FROM harvest ORDER BY account_id",
			func(r *sqlite.Stmt) { all = append(all, scanHarvest(r)) })
	})
	if err != nil {
		return err
	}
	for _, h := range all {
		if err := fn(h); err != nil {
			return err
		}
	}
	return nil
}
