package source

// Bound is implemented by sources whose address can be set, or changed in a file: what
// was given for one address is not for another.
type Bound interface {
	// With returns the source with values of its config that are an account's own; it
	// refuses those that it has not.
	With(set map[string]string) (Source, error)
	// Destination says where the credential of an account goes, as a text that is the
	// same as long as it goes nowhere else; "" if the upstream wants none.
	Destination(login, credential string) (string, error)
}
