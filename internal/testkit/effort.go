package testkit

import "testing"

// Effort says how often tests repeat what chance decides: less often in the
// short form that `make test` runs, where each run tries others, than in the
// long one of `make chaos`. It returns the number of the form that is run.
func Effort(short, long int) int {
	if testing.Short() {
		return short
	}
	return long
}
