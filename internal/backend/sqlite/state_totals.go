package sqlite

import (
	"context"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/domain"
	"sluice/internal/state"
)

// Total implements state.Totals.
func (s *State) Total(ctx context.Context) (state.Total, error) {
	total := state.NewTotal()
	err := s.db.Read(ctx, func(c *driver.Conn) error {
		err := Exec(c, "SELECT state, COUNT(*) FROM account GROUP BY state", func(r *driver.Stmt) {
			total.Accounts[domain.AccountState(r.ColumnText(0))] = r.ColumnInt64(1)
		})
		if err != nil {
			return err
		}
		return Exec(c, "SELECT status, COUNT(*), SUM(pending) FROM run WHERE status <= 4 GROUP BY status", func(r *driver.Stmt) {
			total.Active[domain.RunStatus(r.ColumnInt(0))] = r.ColumnInt64(1)
			total.Pending += r.ColumnInt64(2)
		})
	})
	return total, err
}
