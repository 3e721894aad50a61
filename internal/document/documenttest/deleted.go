package documenttest

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"sluice/internal/document"
)

var deletedCases = []testCase{
	{"AbsentRepository", absentRepository},
	{"AbsentNumbers", absentNumbers},
	{"ANewerCopyIsBack", newerCopyIsBack},
}

// shelf stores issues and pull requests 1 to 5, and an event, of two
// repositories of two accounts, created at as many instants.
func (x *fixture) shelf() {
	var docs []document.Document
	for account := int64(1); account <= 2; account++ {
		for repository := int64(10); repository <= 11; repository++ {
			for number := int64(1); number <= 6; number++ {
				kind := document.KindIssue
				if number%2 == 0 {
					kind = document.KindPull
				}
				name := fmt.Sprintf("%d-%d", repository, number)
				if number == 6 {
					kind = document.KindEvent
				}
				docs = append(docs, document.Document{
					Key:     document.Key{Account: account, Kind: kind, Name: name},
					Version: instant(1), Raw: []byte(`{"kept":true}`),
					Fields: document.Fields{Repository: repository, Number: number, CreatedAt: instant(int(number)), Private: true},
				})
			}
		}
	}
	x.upsert(docs...)
}

// marked lists what is flagged, in order, and checks that nothing was lost.
func (x *fixture) marked() string {
	x.Helper()
	var names []string
	n := 0
	x.ok(x.Scan(x.Context(), document.Query{WithRaw: true}, func(d *document.Document) error {
		n++
		if string(d.Raw) != `{"kept":true}` || !d.Private {
			x.Errorf("%+v lost its payload or its other flags", d.Key)
		}
		if d.Deleted {
			names = append(names, fmt.Sprintf("%d/%s", d.Account, d.Name))
		}
		return nil
	}))
	if n != 24 {
		x.Errorf("%d documents are left of 24", n)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func (x *fixture) mark(want string, absences ...document.Absence) {
	x.Helper()
	x.ok(x.MarkDeleted(x.Context(), absences))
	if got := x.marked(); got != want {
		x.Errorf("marked %q, want %q", got, want)
	}
}

func absentRepository(x *fixture) {
	x.shelf()
	x.mark("")
	x.mark("2/11-1 2/11-2 2/11-3 2/11-4 2/11-5", document.Absence{Account: 2, Repository: 11})
}

func absentNumbers(x *fixture) {
	x.shelf()
	a := document.Absence{Account: 1, Repository: 10, Kind: document.KindIssue, UpTo: 3, Present: []int64{1}, CreatedBefore: instant(9)}
	x.mark("1/10-3", a)
	a.After, a.UpTo, a.Present, a.CreatedBefore = 3, math.MaxInt64, nil, instant(5)
	x.mark("1/10-3", a) // the fifth was created too late
	a.CreatedBefore = instant(6)
	x.mark("1/10-3 1/10-5", a)
	a.Kind, a.After = document.KindPull, 0
	a.CreatedBefore, a.Present = instant(9), []int64{2, 6, 99}
	x.mark("1/10-3 1/10-4 1/10-5", a)
}

func newerCopyIsBack(x *fixture) {
	x.shelf()
	x.mark("1/10-1 1/10-2 1/10-3 1/10-4 1/10-5", document.Absence{Account: 1, Repository: 10})
	x.upsert(document.Document{
		Key: document.Key{Account: 1, Kind: document.KindIssue, Name: "10-1"}, Version: instant(2), Raw: []byte(`{"kept":true}`),
		Fields: document.Fields{Repository: 10, Number: 1, CreatedAt: instant(1), Private: true},
	})
	if got := x.marked(); got != "1/10-2 1/10-3 1/10-4 1/10-5" {
		x.Errorf("after a newer copy came, %q are marked", got)
	}
}
