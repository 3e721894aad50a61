package sqlite

import (
	"context"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/domain"
)

const harvestColumns = "account_id, after_run, at, priority, resume_run, tries, reason"

func scanHarvest(r *driver.Stmt) domain.Harvest {
	return domain.Harvest{
		AccountID: r.ColumnInt64(0), After: r.ColumnInt64(1), At: fromMicros(r.ColumnInt64(2)),
		Priority: domain.Priority(r.ColumnInt(3)), Resume: r.ColumnInt64(4), Tries: r.ColumnInt(5), Reason: r.ColumnText(6),
	}
}

// DropHarvest implements state.Harvests.
func (s *recordStore) DropHarvest(ctx context.Context, account int64) error {
	return s.db.Write(ctx, func(c *driver.Conn) error {
		return Exec(c, "DELETE FROM harvest WHERE account_id = ?", nil, account)
	})
}

// Harvest implements state.Harvests.
func (s *recordStore) Harvest(ctx context.Context, account int64) (h domain.Harvest, found bool, err error) {
	err = s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, "SELECT "+harvestColumns+" FROM harvest WHERE account_id = ?",
			func(r *driver.Stmt) { h, found = scanHarvest(r), true }, account)
	})
	return h, found, err
}

// Harvests implements state.Harvests. It is there once for an account, so that
// all of them fit into memory, and fn may take its time.
func (s *recordStore) Harvests(ctx context.Context, fn func(domain.Harvest) error) error {
	var all []domain.Harvest
	err := s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, "SELECT "+harvestColumns+" FROM harvest ORDER BY account_id",
			func(r *driver.Stmt) { all = append(all, scanHarvest(r)) })
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
