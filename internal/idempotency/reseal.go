package idempotency

import "context"

// resealAtOnce is how many answers are read at once.
const resealAtOnce = 100

// Reseal seals the answers that are kept with the newest key of a vault, which key
// names, and returns how many. One that cannot be opened stays as it is: it ends
// within a day.
func Reseal(ctx context.Context, store Store, vault Vault, key string) (resealed int, err error) {
	var above ID
	for {
		found, err := store.SealedOtherwise(ctx, key, above, resealAtOnce)
		if err != nil || len(found) == 0 {
			return resealed, err
		}
		for _, r := range found {
			above = r.ID
			plain, err := vault.Open(r.Answer, owner(r.ID))
			if err != nil {
				continue
			}
			renewed, err := vault.Seal(plain, owner(r.ID))
			if err != nil {
				return resealed, err
			}
			replaced, err := store.Reseal(ctx, r.ID, r.Answer, renewed)
			if err != nil {
				return resealed, err
			}
			if replaced {
				resealed++
			}
		}
	}
}
