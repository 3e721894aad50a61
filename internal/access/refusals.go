package access

// Refusal is why a caller of the API was refused.
type Refusal string

// The refusals.
const (
	// RefusedNoToken and RefusedWrongToken: none was shown, or one that is not
	// known.
	RefusedNoToken    Refusal = "no_token"
	RefusedWrongToken Refusal = "wrong_token"
	// RefusedLockedOut: there were too many wrong tokens from the same address.
	RefusedLockedOut Refusal = "locked_out"
	// RefusedOrigin: it is from elsewhere, where only this machine is served.
	RefusedOrigin Refusal = "origin"
	// RefusedRole: the role of the token does not allow it.
	RefusedRole Refusal = "role"
)

// Refusals are all of them.
func Refusals() []Refusal {
	return []Refusal{RefusedNoToken, RefusedWrongToken, RefusedLockedOut, RefusedOrigin, RefusedRole}
}
