package state

import "context"

// Seals renews what seals credentials, when the key is another one.
type Seals interface {
	// SealedOtherwise lists up to limit credentials of accounts above an id, in
	// the order of ids, that were sealed with another key than the one named. Accounts without a
	// credential, as those that were purged, are not among them.
	SealedOtherwise(ctx context.Context, key string, above int64, limit int) ([]SealedAccount, error)
	// Reseal replaces sealed credentials in one transaction. One that is not what
	// it was any more, as somebody renewed it meanwhile, stays. It returns how
	// many were replaced.
	Reseal(ctx context.Context, changes []Resealed) (int, error)
}

// SealedAccount is an account's credential and what it is sealed for.
type SealedAccount struct {
	Account       int64
	Source, Login string
	Credential    Sealed
}

// Resealed is a credential sealed once more.
type Resealed struct {
	Account  int64
	Old, New Sealed
}
