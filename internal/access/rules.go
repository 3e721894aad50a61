package access

import (
	"slices"
	"time"

	"sluice/internal/domain"
)

// MayAdd refuses a token that does not fit to those that are there: a name that is
// in use, more than MostTokens, and one that is not an admin's where no admin
// would be left to revoke it.
func MayAdd(there []StoredToken, t Token, guarded bool) error {
	if slices.ContainsFunc(there, func(other StoredToken) bool { return other.Name == t.Name }) {
		return domain.Errorf(domain.CodeConflict, "there is a token %s already: revoke it first, or choose another name", t.Name)
	}
	if len(there) >= MostTokens {
		return domain.Errorf(domain.CodeConflict, "there are %d tokens, which is the most there can be: revoke some", len(there))
	}
	admin := func(other StoredToken) bool { return other.Role == Admin && other.valid(t.Created) }
	if t.Role != Admin && !guarded && !slices.ContainsFunc(there, admin) {
		return domain.Errorf(domain.CodeConflict, "the first token is an admin's: as soon as there is one, everybody needs one, and only an admin can make another")
	}
	return nil
}

// MayRemove refuses to remove a token that is not there, and the last of an admin
// while there are others, which nobody could revoke after it. One that ends is no
// other admin for one that does not: soon there would be none.
func MayRemove(there []StoredToken, name string, now time.Time, guarded bool) error {
	at := slices.IndexFunc(there, func(t StoredToken) bool { return t.Name == name })
	if at < 0 {
		return NoToken(name)
	}
	gone := there[at]
	if gone.Role != Admin || !gone.valid(now) || guarded || len(there) == 1 {
		return nil
	}
	lasting, ending := 0, 0
	for _, t := range there {
		switch {
		case t.Name == name || t.Role != Admin || !t.valid(now):
		case t.Expires.IsZero():
			lasting++
		default:
			ending++
		}
	}
	switch {
	case lasting > 0 || !gone.Expires.IsZero() && ending > 0:
		return nil
	case ending > 0:
		return domain.Errorf(domain.CodeConflict, "%s is the last token of an admin that does not end, and when the others have ended nobody could make or revoke any: make another admin's without --expires-in first, or revoke the other %d before it", name, len(there)-1)
	}
	return domain.Errorf(domain.CodeConflict, "%s is the last token of an admin, and nobody could revoke the other %d after it: revoke those first, or make another admin's", name, len(there)-1)
}
