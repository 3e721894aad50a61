package github

// Why something that was there is gone, as the truth words it.
const (
	GoneDeleted      = "deleted"
	GoneTransferred  = "transferred"   // to another owner
	GoneNoPermission = "no_permission" // it exists, but the account's tokens may not see it
	GoneBlocked      = "blocked"       // for legal reasons
	GoneRewritten    = "rewritten"     // a force push took the commit off the default branch
)

// absence is a span of time in which something was gone; until is zero while it
// lasts.
type absence struct {
	why         string
	from, until int64
}

func (a absence) covers(at int64) bool {
	return a.from <= at && (a.until == 0 || at < a.until)
}

// absences is when and why one thing was gone. Spans of different reasons may
// overlap: what is blocked can be deleted as well.
type absences []absence

// at gives the absence that holds at an instant; being deleted outweighs the
// rest, and being blocked is shown only of what one may see.
func (a absences) at(when int64) (absence, bool) {
	for _, why := range []string{GoneDeleted, GoneNoPermission, GoneRewritten, GoneBlocked} {
		for _, span := range a {
			if span.why == why && span.covers(when) {
				return span, true
			}
		}
	}
	return absence{}, false
}

// because tells whether the thing is gone now for this reason.
func (a absences) because(why string) bool {
	for _, span := range a {
		if span.why == why && span.covers(latest) {
			return true
		}
	}
	return false
}

// begin adds an absence unless one of the same reason lasts.
func (a absences) begin(why string, now int64) absences {
	if a.because(why) {
		return a
	}
	return append(a, absence{why: why, from: now})
}

// end closes the absence that lasts for this reason; false when there is none.
func (a absences) end(why string, now int64) bool {
	for i := range a {
		if a[i].why == why && a[i].until == 0 {
			a[i].until = max(now, a[i].from)
			return true
		}
	}
	return false
}
