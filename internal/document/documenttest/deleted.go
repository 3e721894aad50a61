package documenttest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice/internal/document"
	"sluice/internal/domain"
)

var deletedCases = []testCase{
	{"AbsentRepository", absentRepository},
	{"AbsentOfAKind", absentOfAKind},
	{"NotSeenSince", notSeenSince},
	{"SeenAgainWhateverTheVersion", seenAgain},
	{"SeenAgainInABatch", seenInABatch},
	{"AbsentWithOthers", absentWithOthers},
	{"AbsentByNumber", absentByNumber},
	{"InvalidAbsences", invalidAbsences},
	{"GoneIsNotForCallersToSay", callersCannotSay},
}

// seen is when everything on the shelf was seen, or minutes later: in the order of
// the numbers.
var seen = instant(100)

// shelf stores two repositories of two accounts, with issues and pull requests 1
// to 5 and an event.
func (x *fixture) shelf() {
	var docs []document.Document
	for account := int64(1); account <= 2; account++ {
		for repository := int64(10); repository <= 11; repository++ {
			docs = append(docs, shelved(account, repository, 0))
			for number := int64(1); number <= 6; number++ {
				docs = append(docs, shelved(account, repository, number))
			}
		}
	}
	x.upsert(docs...)
}

// shelved is a document of the shelf: 0 is the repository, 6 the event.
func shelved(account, repository, number int64) document.Document {
	kind := KindIssue
	switch {
	case number == 0:
		kind = KindRepository
	case number == 6:
		kind = KindEvent
	case number%2 == 0:
		kind = KindPull
	}
	return document.Document{
		Key:     document.Key{Account: account, Kind: kind, Name: fmt.Sprintf("%d-%d", repository, number)},
		Version: instant(1), SeenAt: instant(100 + int(number)), Raw: []byte(`{"kept":true}`),
		Fields: document.Fields{Repository: repository, Number: number, CreatedAt: instant(int(number)), Private: true},
	}
}

// sees stores a document of the shelf again, seen at an instant.
func (x *fixture) sees(account, repository, number int64, at time.Time) {
	x.Helper()
	d := shelved(account, repository, number)
	d.SeenAt = at
	x.upsert(d)
}

// gone lists what is flagged, in order, with why and since how many minutes, and
// checks that nothing was lost and that a look at one tells the same.
func (x *fixture) gone() string {
	x.Helper()
	var names []string
	n := 0
	x.ok(x.Scan(x.Context(), document.Query{WithRaw: true}, func(d *document.Document) error {
		n++
		if string(d.Raw) != `{"kept":true}` || !d.Private {
			x.Errorf("%+v lost its payload or its other flags", d.Key)
		}
		if d.Deleted {
			names = append(names, fmt.Sprintf("%d/%s", d.Account, d.Name)+since(d))
		}
		x.expect(*d)
		return nil
	}))
	if n != 28 {
		x.Errorf("%d documents are left of 28", n)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// since tells why and since when a document is gone, if that is worth a word.
func since(d *document.Document) string {
	if d.GoneWhy == document.GoneDeleted && d.GoneSince.Equal(instant(200)) {
		return ""
	}
	return fmt.Sprintf("(%s %v)", d.GoneWhy, d.GoneSince.Sub(instant(0)).Minutes())
}

func (x *fixture) mark(want string, absences ...document.Absence) {
	x.Helper()
	x.ok(x.MarkDeleted(x.Context(), absences))
	x.wantGone(want)
}

func (x *fixture) wantGone(want string) {
	x.Helper()
	if got := x.gone(); got != want {
		x.Errorf("gone are %q, want %q", got, want)
	}
}

// deleted is the claim that a repository was found deleted at instant(200).
func deleted(account, repository int64) document.Absence {
	return document.Absence{Account: account, Repository: repository, Why: document.GoneDeleted, Since: instant(200)}
}

func absentRepository(x *fixture) {
	x.shelf()
	x.mark("")
	x.mark("2/11-0 2/11-1 2/11-2 2/11-3 2/11-4 2/11-5", deleted(2, 11))
}

// upTo is the claim that a kind's things with numbers up to one are gone, as they
// were seen on the shelf.
func upTo(kind document.Kind, number int) document.Absence {
	a := deleted(1, 10)
	a.Kind, a.NotSeenSince = kind, instant(100+number+1)
	return a
}

func absentOfAKind(x *fixture) {
	x.shelf()
	x.mark("1/10-1 1/10-3", upTo(KindIssue, 3))
	x.mark("1/10-1 1/10-3", upTo(KindIssue, 4)) // the fifth was seen later
	x.mark("1/10-1 1/10-3 1/10-5", upTo(KindIssue, 5))
	x.mark("1/10-1 1/10-3 1/10-5", upTo(KindPull, 1)) // of none
	x.mark("1/10-1 1/10-2 1/10-3 1/10-5", upTo(KindPull, 2))
	unbounded := upTo(KindPull, 0)
	unbounded.NotSeenSince = instant(1000)
	x.mark("1/10-1 1/10-2 1/10-3 1/10-4 1/10-5", unbounded)
	later := upTo(KindPull, 3)
	later.Since, later.Why = instant(300), document.GoneTransferred
	x.mark("1/10-1 1/10-2(transferred 300) 1/10-3 1/10-4 1/10-5", later)
}

// notSeenSince: what a walk to the end of a listing did not show is gone, also
// if nobody knows when it was last seen.
func notSeenSince(x *fixture) {
	x.shelf()
	unknown := shelved(1, 10, 3)
	unknown.Name, unknown.SeenAt, unknown.Number = "10-9", time.Time{}, 0
	x.upsert(unknown)
	walk := deleted(1, 10)
	walk.Kind, walk.Why, walk.NotSeenSince = KindIssue, document.GoneRewritten, seen
	gone := func() (names []string) {
		for _, d := range x.scan(document.Query{Account: 1}) {
			if d.Deleted && d.GoneWhy == document.GoneRewritten && d.GoneSince.Equal(instant(200)) {
				names = append(names, d.Name)
			}
		}
		return names
	}
	x.ok(x.MarkDeleted(x.Context(), []document.Absence{walk}))
	if got := gone(); !slices.Equal(got, []string{"10-9"}) {
		x.Errorf("gone are %q, want what nobody has seen", got)
	}
	x.sees(1, 10, 3, instant(150))
	x.sees(1, 10, 5, instant(201))
	walk.NotSeenSince = instant(150)
	x.ok(x.MarkDeleted(x.Context(), []document.Absence{walk}))
	if got := gone(); !slices.Equal(got, []string{"10-1", "10-9"}) {
		x.Errorf("gone are %q, want what was last seen before the walk", got)
	}
	walk.NotSeenSince = instant(300)
	x.ok(x.MarkDeleted(x.Context(), []document.Absence{walk}))
	if got := gone(); !slices.Equal(got, []string{"10-1", "10-3", "10-9"}) {
		x.Errorf("gone are %q, want all but what was seen after the claim", got)
	}
}

// seenAgain: a copy proves that a thing is there, whatever its version.
func seenAgain(x *fixture) {
	x.shelf()
	for i, version := range []time.Time{{}, instant(0), instant(1), instant(2)} {
		at := instant(300 + 10*i)
		gone := upTo(KindIssue, 1)
		gone.Since, gone.NotSeenSince = at, instant(1000)
		x.ok(x.MarkDeleted(x.Context(), []document.Absence{gone}))
		for _, seen := range []time.Time{instant(299), at, at.Add(time.Microsecond)} {
			d := shelved(1, 10, 1)
			d.Version, d.SeenAt = version, seen
			x.upsert(d)
			got, _, err := x.Get(x.Context(), d.Key)
			x.ok(err)
			if there := seen.After(at); got.Deleted == there {
				x.Errorf("a copy of version %v, seen at %v, of what was gone at %v: gone %t", version, seen, at, got.Deleted)
			}
		}
	}
	got, _, err := x.Get(x.Context(), shelved(1, 10, 1).Key)
	x.ok(err)
	if want := instant(330).Add(time.Microsecond); !got.SeenAt.Equal(want) || !got.Version.Equal(instant(2)) {
		x.Errorf("last seen at %v in version %v, want %v and the newest", got.SeenAt, got.Version, want)
	}
}

// seenInABatch: of several copies in one batch each was seen.
func seenInABatch(x *fixture) {
	x.shelf()
	x.mark("1/10-1 1/10-3", upTo(KindIssue, 3))
	batch := make([]document.Document, 0, 4)
	for _, copied := range []struct{ number, version, seen int }{{1, 9, 150}, {1, 3, 201}, {3, 3, 201}, {3, 9, 150}} {
		d := shelved(1, 10, int64(copied.number))
		d.Version, d.SeenAt = instant(copied.version), instant(copied.seen)
		batch = append(batch, d)
	}
	x.upsert(batch...)
	x.wantGone("")
	for _, d := range []document.Document{batch[0], batch[3]} {
		d.SeenAt = instant(201)
		x.expect(d)
	}
}

// absentByNumber: only things with the numbers that are named are flagged.
func absentByNumber(x *fixture) {
	x.shelf()
	a := upTo(KindIssue, 5)
	a.Numbers = []int64{2, 3}
	x.mark("1/10-3", a)
	a.Numbers = []int64{77}
	x.mark("1/10-3", a)
}

// absentWithOthers: what belongs to something goes and comes back with it, whatever was
// seen of it meanwhile.
func absentWithOthers(x *fixture) {
	x.shelf()
	// Remarks belong to issues and pull requests by their numbers, steps to runs by
	// their names.
	remark := func(name string, number int64) document.Document {
		d := shelved(1, 10, number)
		d.Kind, d.Name, d.SeenAt = KindCommit, name, instant(100)
		return d
	}
	x.upsert(remark("on1", 1), remark("on2", 2), remark("also on2", 2), remark("on3", 3), remark("of 4711", 4711))
	run := shelved(1, 10, 5)
	run.Kind, run.Name, run.SeenAt, run.Number = KindProfile, "4711", instant(100), 9
	other := remark("elsewhere", 2)
	other.Repository = 11
	x.upsert(run, other)
	gone := func() string {
		var names []string
		x.ok(x.Scan(x.Context(), document.Query{Account: 1, Kind: KindCommit}, func(d *document.Document) error {
			if d.Deleted {
				names = append(names, d.Name+since(d))
			}
			return nil
		}))
		return strings.Join(names, ", ")
	}
	with := document.Absence{Account: 1, Repository: 10, Kind: KindCommit, Why: document.GoneDeleted, Since: instant(200), With: []document.Kind{KindIssue, KindPull}}
	claim := func(want string, absences ...document.Absence) {
		x.Helper()
		x.ok(x.MarkDeleted(x.Context(), absences))
		if got := gone(); got != want {
			x.Errorf("gone are %q, want %q", got, want)
		}
	}
	claim("", with)
	claim("also on2, on1, on2", upTo(KindIssue, 2), upTo(KindPull, 2), with)
	claim("also on2, on1, on2", with)
	x.sees(1, 10, 1, instant(250))
	with.Since = instant(200)
	claim("also on2, on1, on2", with) // as it was known when that was claimed
	with.Since = instant(300)
	claim("also on2, on2", with)
	named := with
	named.With, named.Named = []document.Kind{KindProfile}, true
	runs := deleted(1, 10)
	runs.Kind, runs.NotSeenSince, runs.Since = KindProfile, instant(400), instant(400)
	named.Since = instant(400)
	claim("of 4711(deleted 400)", runs, named)
}

func invalidAbsences(x *fixture) {
	x.shelf()
	for name, spoil := range map[string]func(*document.Absence){
		"no account":     func(a *document.Absence) { a.Account = 0 },
		"no repository":  func(a *document.Absence) { a.Repository = 0 },
		"no reason":      func(a *document.Absence) { a.Why = "" },
		"unknown reason": func(a *document.Absence) { a.Why = "it rained" },
		"no instant":     func(a *document.Absence) { a.Since = time.Time{} },
		"events":         func(a *document.Absence) { a.Kind, a.NotSeenSince = KindEvent, instant(150) },
		"unseen of all":  func(a *document.Absence) { a.NotSeenSince = instant(150) },
		"all of a kind":  func(a *document.Absence) { a.Kind = KindIssue },
		"numbers of all": func(a *document.Absence) { a.Numbers = []int64{1} },
		"with, of all":   func(a *document.Absence) { a.With = []document.Kind{KindIssue} },
		"with and unseen": func(a *document.Absence) {
			a.Kind, a.With, a.NotSeenSince = KindPull, []document.Kind{KindIssue}, instant(150)
		},
	} {
		bad := deleted(1, 10)
		spoil(&bad)
		err := x.MarkDeleted(x.Context(), []document.Absence{deleted(2, 11), bad})
		if domain.CodeOf(err) != domain.CodeInvalid {
			x.Errorf("%s: %v, want code invalid", name, err)
		}
	}
	x.wantGone("")
}

func callersCannotSay(x *fixture) {
	d := issue(1, "one", 1)
	d.Deleted, d.GoneSince, d.GoneWhy = true, instant(1), document.GoneBlocked
	x.upsert(d)
	x.expect(issue(1, "one", 1))
}
