package sqlite

import (
	"context"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/state"
)

// SealedOtherwise implements state.Seals.
func (s *accountStore) SealedOtherwise(ctx context.Context, key string, above int64, limit int) ([]state.SealedAccount, error) {
	var out []state.SealedAccount
	err := s.db.Read(ctx, func(c *driver.Conn) error {
		return Exec(c, "SELECT id, source, login, key_id, credential FROM account WHERE id > ? AND key_id <> ? AND key_id <> '' ORDER BY id LIMIT ?",
			func(r *driver.Stmt) {
				out = append(out, state.SealedAccount{
					Account: r.ColumnInt64(0), Source: r.ColumnText(1), Login: r.ColumnText(2),
					Credential: state.Sealed{KeyID: r.ColumnText(3), Data: readBlob(r, 4)},
				})
			}, above, key, limit)
	})
	return out, err
}

// Reseal implements state.Seals.
func (s *accountStore) Reseal(ctx context.Context, changes []state.Resealed) (int, error) {
	replaced := 0
	err := s.db.Write(ctx, func(c *driver.Conn) error {
		replaced = 0
		for _, one := range changes {
			err := Exec(c, "UPDATE account SET key_id = ?, credential = ? WHERE id = ? AND key_id = ? AND credential = ?", nil,
				one.New.KeyID, one.New.Data, one.Account, one.Old.KeyID, one.Old.Data)
			if err != nil {
				return err
			}
			replaced += c.Changes()
		}
		return nil
	})
	return replaced, err
}
