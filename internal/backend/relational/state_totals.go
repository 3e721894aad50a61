package relational

import (
	"context"
	"database/sql"

	"sluice/internal/domain"
	"sluice/internal/state"
)

// Total implements state.Totals.
func (s *State) Total(ctx context.Context) (state.Total, error) {
	total := state.NewTotal()
	err := s.db.Query(ctx, func(r *sql.Rows) error {
		var name domain.AccountState
		var n int64
		err := r.Scan(&name, &n)
		total.Accounts[name] = n
		return err
	}, "SELECT state, COUNT(*) FROM account GROUP BY state")
	if err != nil {
		return total, err
	}
	err = s.db.Query(ctx, func(r *sql.Rows) error {
		var status domain.RunStatus
		var n, pending int64
		err := r.Scan(&status, &n, &pending)
		total.Active[status] = n
		total.Pending += pending
		return err
	}, "SELECT status, COUNT(*), SUM(pending) FROM run WHERE active_account IS NOT NULL GROUP BY status")
	return total, err
}
