package statetest

import (
	"slices"
	"strings"
	"time"

	"sluice/internal/domain"
	"sluice/internal/state"
)

var collectionCases = []testCase{
	{"CursorsNeverGoBack", cursors},
	{"StoredPages", storedPages},
	{"QuotaWindows", quotaWindows},
	{"NewestQuotaWindowWins", newestWindow},
	{"QuotaWindowsConcurrently", windowsConcurrently},
}

// windows lists the stored windows in a fixed order.
func (x *fixture) windows() []domain.QuotaWindow {
	x.Helper()
	all, err := x.QuotaWindows(x.Context(), "")
	x.ok(err)
	slices.SortFunc(all, func(a, b domain.QuotaWindow) int {
		return strings.Compare(a.Owner+"\x00"+a.Bucket, b.Owner+"\x00"+b.Bucket)
	})
	return all
}

func cursors(x *fixture) {
	r, refs := x.running("octocat", "a", "b", "c")
	early, late := x.instant(), x.instant()
	move := func(ref domain.JobRef, at time.Time) {
		o := x.outcome(x.claim(ref.ID), domain.JobSucceeded)
		o.Cursors = []domain.Cursor{{AccountID: r.AccountID, Resource: "REPO repo:1", At: at}}
		x.finish(o)
	}
	read := func(account int64, resource string) time.Time {
		at, err := x.cursor(account, resource)
		x.ok(err)
		return at
	}
	want(x, "a cursor that never was", read(r.AccountID, "REPO repo:1"), time.Time{})
	move(refs[0], early)
	want(x, "cursor", read(r.AccountID, "REPO repo:1"), early)
	move(refs[1], late)
	want(x, "moved cursor", read(r.AccountID, "REPO repo:1"), late)
	move(refs[2], early)
	want(x, "cursor after an older one", read(r.AccountID, "REPO repo:1"), late)
	all, err := x.Cursors(x.Context(), r.AccountID)
	x.ok(err)
	want(x, "all cursors", all, map[string]time.Time{"REPO repo:1": late})
	all, err = x.Cursors(x.Context(), r.AccountID+1)
	x.ok(err)
	want(x, "cursors of another account", len(all), 0)
	want(x, "another resource", read(r.AccountID, "REPO repo:2"), time.Time{})
	want(x, "another account", read(r.AccountID+1, "REPO repo:1"), time.Time{})
}

func storedPages(x *fixture) {
	r, refs := x.running("octocat", "a", "b")
	p := domain.Page{AccountID: r.AccountID, Key: "GET /a?page=1", ETag: `W/"abc"`, Next: "https://x/a?page=2", Items: 100}
	q := domain.Page{AccountID: r.AccountID, Key: "GET /b"}
	o := x.outcome(x.claim(refs[0].ID), domain.JobSucceeded)
	o.Stored = []domain.Page{p, q}
	x.finish(o)
	for _, expected := range []domain.Page{p, q} {
		got, found, err := x.StoredPage(x.Context(), r.AccountID, expected.Key)
		x.ok(err)
		want(x, "found", found, true)
		want(x, "page", got, expected)
	}
	p.ETag, p.Next, p.Items = `"def"`, "", 3
	o = x.outcome(x.claim(refs[1].ID), domain.JobSucceeded)
	o.Stored = []domain.Page{p}
	x.finish(o)
	got, _, err := x.StoredPage(x.Context(), r.AccountID, p.Key)
	x.ok(err)
	want(x, "replaced page", got, p)
	_, found, err := x.StoredPage(x.Context(), r.AccountID+1, p.Key)
	x.ok(err)
	want(x, "another account's page", found, false)
}

func quotaWindows(x *fixture) {
	want(x, "windows of an empty store", len(x.windows()), 0)
	full := domain.QuotaWindow{
		Owner: "o1", Bucket: "core", Limit: 5000, Remaining: 17,
		Reset: x.instant(), Started: x.instant(), ParkedUntil: x.instant(), InFlight: 5, Points: 77, Touched: x.instant(), Seq: 3,
	}
	blank := domain.QuotaWindow{Owner: "o1", Bucket: "graphql", Limit: 5000, Remaining: -4, Seq: 9}
	x.ok(x.PutQuotaWindow(x.Context(), full))
	x.ok(x.PutQuotaWindow(x.Context(), blank))
	want(x, "windows", x.windows(), []domain.QuotaWindow{full, blank})
	other := domain.QuotaWindow{Owner: "o2", Bucket: "core", Limit: 1, Seq: 1}
	x.ok(x.PutQuotaWindow(x.Context(), other))
	own, err := x.QuotaWindows(x.Context(), "o2")
	x.ok(err)
	want(x, "windows of one owner", own, []domain.QuotaWindow{other})
	own, err = x.QuotaWindows(x.Context(), "nobody")
	x.ok(err)
	want(x, "windows of nobody", len(own), 0)
	x = x.on(x.Reopen(x.t))
	// The sequence survives as well: whoever restarts counts on from there.
	want(x, "windows after a restart", x.windows(), []domain.QuotaWindow{full, blank, other})
}

// newestWindow brings snapshots in the wrong order, in every way they can come.
func newestWindow(x *fixture) {
	_, refs := x.running("octocat", "a", "b", "c")
	snapshot := func(seq uint64) domain.QuotaWindow {
		return domain.QuotaWindow{Owner: "o", Bucket: "core", Limit: 100, Remaining: 100 - int(seq), Seq: seq}
	}
	stored := func(seq uint64) {
		x.Helper()
		want(x, "windows", x.windows(), []domain.QuotaWindow{snapshot(seq)})
	}
	x.ok(x.PutQuotaWindow(x.Context(), snapshot(5)))
	x.ok(x.PutQuotaWindow(x.Context(), snapshot(4)))
	stored(5)
	older, newer := snapshot(3), snapshot(8)
	j, err := x.take(state.Claim{Job: refs[0].ID, At: x.instant(), Window: &older})
	x.ok(err)
	stored(5)
	o := x.outcome(j, domain.JobSucceeded)
	o.Window = &newer
	x.finish(o)
	stored(8)
	late := snapshot(7)
	o = x.outcome(x.claim(refs[1].ID), domain.JobSucceeded)
	o.Window = &late
	x.finish(o)
	stored(8)
}

func windowsConcurrently(x *fixture) {
	_, refs := x.running("octocat", resources(crowd)...)
	at := x.instant()
	together(crowd, func(i int) {
		w := domain.QuotaWindow{Owner: "o", Bucket: "core", Limit: 1000, Remaining: 1000 - 2*i, Seq: uint64(2*i + 1)}
		j, err := x.take(state.Claim{Job: refs[i].ID, At: at, Window: &w})
		if err != nil {
			x.Errorf("claim: %v", err)
			return
		}
		settled := w
		settled.Remaining, settled.Seq = w.Remaining-1, w.Seq+1
		o := x.outcomeAt(j, domain.JobSucceeded, at)
		o.Window = &settled
		if _, err := x.Finish(x.Context(), o); err != nil {
			x.Errorf("finish: %v", err)
		}
	})
	want(x, "windows", x.windows(), []domain.QuotaWindow{
		{Owner: "o", Bucket: "core", Limit: 1000, Remaining: 1000 - 2*(crowd-1) - 1, Seq: 2 * crowd},
	})
}
