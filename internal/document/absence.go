package document

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"sluice/internal/domain"
)

var reasons = []Reason{GoneDeleted, GoneTransferred, GoneForbidden, GoneBlocked, GoneRewritten}

// Check says what an absence lacks to be a claim: whose, of what, why and since
// when. The error is of code invalid.
func (a *Absence) Check() error {
	switch {
	case a.Account == 0 || a.Repository == 0:
		return domain.Errorf(domain.CodeInvalid, "an absence needs an account and a repository; got %+v", *a)
	case !slices.Contains(reasons, a.Why):
		return domain.Errorf(domain.CodeInvalid, "an absence needs a reason, one of %q; got %+v", reasons, *a)
	case a.Since.Unix() <= 0:
		return domain.Errorf(domain.CodeInvalid, "an absence needs the instant at which it was found; got %+v", *a)
	case len(a.With) > 0 && (a.Kind == "" || !a.NotSeenSince.IsZero() || len(a.Numbers) > 0):
		return domain.Errorf(domain.CodeInvalid, "what goes with others is of a kind, and needs nothing else; got %+v", *a)
	case len(a.With) > 0:
	case a.Kind == "" && len(a.Numbers) > 0:
		return domain.Errorf(domain.CodeInvalid, "only the absence of a kind has numbers; got %+v", *a)
	case (a.Kind == "") != a.NotSeenSince.IsZero():
		return domain.Errorf(domain.CodeInvalid, "an absence of a kind needs the instant since which it was not seen, and only that; got %+v", *a)
	}
	return nil
}

// numbersAtOnce is of how many things that are gone others are flagged at once.
const numbersAtOnce = 500

// Followers are the absences of what belongs to things that are gone, which have these
// numbers.
func (a *Absence) Followers(gone map[int64]bool) (all []Absence) {
	for part := range slices.Chunk(slices.Sorted(maps.Keys(gone)), numbersAtOnce) {
		all = append(all, Absence{Account: a.Account, Repository: a.Repository, Why: a.Why, Since: a.Since, Kind: a.Kind,
			NotSeenSince: a.Since.Add(time.Microsecond), Numbers: part})
	}
	return all
}

// NumberOf is the number that things have which belong to one of a name and a number; 0
// if none can.
func (a *Absence) NumberOf(name string, number int64) int64 {
	if !a.Named {
		return number
	}
	n, err := strconv.ParseInt(name, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// CheckAbsences checks several absences.
func CheckAbsences(absences []Absence) error {
	for i := range absences {
		if err := absences[i].Check(); err != nil {
			return err
		}
	}
	return nil
}

// Mark is what a store keeps of the absences that were claimed of one thing: a
// document, or a repository with everything in it. The zero Mark is none.
type Mark struct {
	Why Reason
	// Since is when the claim was made first, zero if that is not known; Last
	// is when it was made last.
	Since, Last time.Time
}

// Holds reports whether the absence holds for what was last seen at an instant:
// not if that was after the last claim.
func (m Mark) Holds(seen time.Time) bool { return m.Why != "" && !seen.After(m.Last) }

// Claim returns the mark of a thing, last seen at an instant, after one more
// absence was claimed of it: what was seen later is spared, a claim that is
// repeated keeps its first instant, and of different claims the last one counts.
// Whether something is gone does not depend on the order in which claims and
// sightings arrive.
func (m Mark) Claim(seen time.Time, why Reason, since time.Time) Mark {
	switch {
	case seen.After(since):
		return m
	case !m.Holds(seen), m.Why != why && since.After(m.Last):
		return Mark{Why: why, Since: since, Last: since}
	case m.Why != why:
		return m
	}
	if since.Before(m.Since) {
		m.Since = since
	}
	if since.After(m.Last) {
		m.Last = since
	}
	return m
}

// setGone sets what the document says of its absence: its own, or else that of
// its repository, the zero Mark if that is there. A document that was seen after
// its repository was found gone does not bring itself back: the call may have been
// under way, or have met a repository that was back for a moment. Once the
// repository is seen again, all that is in it is.
func (d *Document) setGone(own, repository Mark) {
	d.Deleted, d.GoneWhy, d.GoneSince = false, "", time.Time{}
	m := own
	if !own.Holds(d.SeenAt) {
		m = repository
	}
	if m.Why == "" {
		return
	}
	d.Deleted, d.GoneWhy, d.GoneSince = true, m.Why, m.Since
	// It was there after all when the absence was claimed first.
	if d.SeenAt.After(m.Since) {
		d.GoneSince = d.SeenAt
	}
}

// Sighting is when a container, such as a repository, was last seen.
type Sighting struct {
	Account, Repository int64
	At                  time.Time
}
