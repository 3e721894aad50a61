package relational

import (
	"context"
	"database/sql"

	"sluice/internal/state"
)

// SealedOtherwise implements state.Seals.
func (s *accountStore) SealedOtherwise(ctx context.Context, key string, above int64, limit int) ([]state.SealedAccount, error) {
	var out []state.SealedAccount
	err := s.db.Query(ctx, func(r *sql.Rows) error {
		var one state.SealedAccount
		err := r.Scan(&one.Account, &one.Source, &one.Login, &one.Credential.KeyID, &one.Credential.Data)
		out = append(out, one)
		return err
	}, "SELECT id, source, login, key_id, credential FROM account WHERE id > ? AND key_id <> ? AND key_id <> '' ORDER BY id LIMIT ?", above, key, limit)
	return out, err
}

// Reseal implements state.Seals.
func (s *accountStore) Reseal(ctx context.Context, changes []state.Resealed) (int, error) {
	var replaced int64
	err := s.db.Tx(ctx, func(tx *Tx) error {
		replaced = 0
		for _, one := range changes {
			changed, err := tx.ExecContext(ctx, "UPDATE account SET key_id = ?, credential = ? WHERE id = ? AND key_id = ? AND credential = ?",
				one.New.KeyID, one.New.Data, one.Account, one.Old.KeyID, one.Old.Data)
			if err != nil {
				return err
			}
			n, err := changed.RowsAffected()
			if err != nil {
				return err
			}
			replaced += n
		}
		return nil
	})
	return int(replaced), err
}
