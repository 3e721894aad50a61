package documenttest

import (
	"time"

	"sluice/internal/document"
)

var goneCases = []testCase{
	{"ARepositoryComesBack", repositoryComesBack},
	{"OwnAbsencesStay", ownAbsencesStay},
	{"ClaimsAreRepeated", claimsRepeated},
	{"SightingsAndClaimsInAnyOrder", anyOrder},
	{"RandomAbsences", randomAbsences},
}

const all = "1/10-0 1/10-1 1/10-2 1/10-3 1/10-4 1/10-5"

// repositoryComesBack: what went with its repository comes back with it, when
// that is seen after it was said to be gone, in whatever version.
func repositoryComesBack(x *fixture) {
	x.shelf()
	x.mark(all, deleted(1, 10))
	x.sees(1, 11, 0, instant(300))
	x.sees(2, 10, 0, instant(300))
	x.sees(1, 10, 0, instant(199))
	x.sees(1, 10, 0, instant(200))
	x.sees(1, 10, 6, instant(300))
	x.wantGone("1/10-0 1/10-1 1/10-2 1/10-3 1/10-4 1/10-5")
	back := shelved(1, 10, 0)
	back.Version, back.SeenAt = instant(0), instant(201) // an older copy is as good a proof
	x.upsert(back)
	x.wantGone("")
	x.mark("", deleted(1, 10)) // an old claim
	again := deleted(1, 10)
	again.Since, again.Why = instant(300), document.GoneBlocked
	const why = "(blocked 300)"
	x.mark("1/10-0"+why+" 1/10-1"+why+" 1/10-2"+why+" 1/10-3"+why+" 1/10-4"+why+" 1/10-5"+why, again)
	// What is stored in it later, though it was seen before, went with it.
	x.ok(x.MarkDeleted(x.Context(), []document.Absence{deleted(2, 12)}))
	lost := issue(2, "12-1", 1)
	lost.Repository, lost.SeenAt = 12, instant(150)
	x.upsert(lost)
	lost.Deleted, lost.GoneWhy, lost.GoneSince = true, document.GoneDeleted, instant(200)
	x.expect(lost)
}

// ownAbsencesStay: what was deleted by itself stays so when its repository goes
// and comes back, and tells its own story meanwhile.
func ownAbsencesStay(x *fixture) {
	x.shelf()
	own := upTo(KindPull, 2)
	own.Since = instant(150)
	x.mark("1/10-2(deleted 150)", own)
	x.mark("1/10-0 1/10-1 1/10-2(deleted 150) 1/10-3 1/10-4 1/10-5", deleted(1, 10))
	// Seen alone, after both: nobody has seen the repository again.
	x.sees(1, 10, 5, instant(201))
	x.wantGone("1/10-0 1/10-1 1/10-2(deleted 150) 1/10-3 1/10-4 1/10-5(deleted 201)")
	// Seen after its own claim, but before its repository's.
	x.sees(1, 10, 2, instant(160))
	x.wantGone("1/10-0 1/10-1 1/10-2 1/10-3 1/10-4 1/10-5(deleted 201)")
	x.sees(1, 10, 4, instant(165)) // so that the next claim is not about it
	own.Since, own.NotSeenSince = instant(170), instant(161)
	x.mark("1/10-0 1/10-1 1/10-2(deleted 170) 1/10-3 1/10-4 1/10-5(deleted 201)", own)
	x.sees(1, 10, 0, instant(210))
	x.wantGone("1/10-2(deleted 170)")
	x.sees(1, 10, 2, instant(171))
	x.wantGone("")
}

// claimsRepeated: a claim keeps its first instant; another one replaces it if it
// is later.
func claimsRepeated(x *fixture) {
	x.shelf()
	own, home := upTo(KindPull, 2), deleted(1, 11)
	claim := func(why document.Reason, at time.Time) []document.Absence {
		own.Why, own.Since, home.Why, home.Since = why, at, why, at
		return []document.Absence{own, home}
	}
	want := func(since string) string {
		s := ""
		for _, name := range []string{"1/10-2", "1/11-0", "1/11-1", "1/11-2", "1/11-3", "1/11-4", "1/11-5"} {
			s += " " + name + since
		}
		return s[1:]
	}
	x.mark(want("(deleted 150)"), claim(document.GoneDeleted, instant(150))...)
	x.mark(want("(deleted 150)"), claim(document.GoneDeleted, instant(170))...)
	x.mark(want("(deleted 140)"), claim(document.GoneDeleted, instant(140))...)
	x.mark(want("(deleted 140)"), claim(document.GoneForbidden, instant(160))...)
	x.mark(want("(forbidden 180)"), claim(document.GoneForbidden, instant(180))...)
	x.mark(want("(forbidden 180)"), claim(document.GoneDeleted, instant(99))...) // seen later
	// What was seen between two claims was gone at the second.
	x.mark(want("(forbidden 180)"), claim(document.GoneForbidden, instant(190))...)
	x.sees(1, 11, 3, instant(185))
	x.sees(1, 10, 2, instant(185))
	x.wantGone("1/10-2(forbidden 185) 1/11-0(forbidden 180) 1/11-1(forbidden 180) 1/11-2(forbidden 180) " +
		"1/11-3(forbidden 185) 1/11-4(forbidden 180) 1/11-5(forbidden 180)")
}

// anyOrder: whether something is gone depends on when it was seen and found
// missing, not on what is stored first.
func anyOrder(x *fixture) {
	x.shelf()
	x.sees(1, 10, 0, instant(300))
	x.sees(1, 10, 1, instant(300))
	x.mark("", deleted(1, 10), upTo(KindIssue, 1)) // refuted before they came
	x.mark("1/10-3", upTo(KindIssue, 3))
	x.mark("1/10-3 1/11-0 1/11-1 1/11-2 1/11-3 1/11-4 1/11-5", deleted(1, 11))
	// A repository that was never seen can be gone, and be seen then.
	x.ok(x.MarkDeleted(x.Context(), []document.Absence{deleted(1, 12)}))
	x.sees(1, 12, 0, instant(201))
	x.expect(func() document.Document {
		d := shelved(1, 12, 0)
		d.SeenAt = instant(201)
		return d
	}())
}
