package relational

import (
	"context"
	"database/sql"

	"sluice/internal/domain"
)

const harvestColumns = "account_id, after_run, at, priority, resume_run, tries, reason"

func scanHarvest(r *sql.Rows) (domain.Harvest, error) {
	var h domain.Harvest
	var at int64
	err := r.Scan(&h.AccountID, &h.After, &at, &h.Priority, &h.Resume, &h.Tries, &h.Reason)
	h.At = Time(at)
	return h, err
}

// DropHarvest implements state.Harvests.
func (s *recordStore) DropHarvest(ctx context.Context, account int64) error {
	_, err := s.db.Exec(ctx, "DELETE FROM harvest WHERE account_id = ?", account)
	return err
}

// Harvest implements state.Harvests.
func (s *recordStore) Harvest(ctx context.Context, account int64) (h domain.Harvest, found bool, err error) {
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
func (s *recordStore) Harvests(ctx context.Context, fn func(domain.Harvest) error) error {
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
