package statetest

import (
	"fmt"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/state"
)

var purgeCases = []testCase{
	{"PurgeRemovesEverything", purgeEverything},
	{"PurgeRefused", purgeRefused},
	{"PurgeGoesOn", purgeGoesOn},
	{"PurgeKeepsSharedWindows", purgeShared},
	{"PurgedWritesNothing", purgedWritesNothing},
}

// collected is an account of which every table has something, and whose run has
// ended.
func (x *fixture) collected(login string, pages int) (domain.Account, domain.Run) {
	x.Helper()
	a := x.account(login)
	r, refs := x.runningFor(a.ID, resources(pages)...)
	for i, ref := range refs {
		o := x.outcome(x.claim(ref.ID), domain.JobSucceeded)
		resource := fmt.Sprintf("repo:%d", i)
		o.Items = 1
		o.Cursors = []domain.Cursor{{AccountID: a.ID, Resource: resource, At: x.instant()}}
		o.Stored = []domain.Page{{AccountID: a.ID, Key: resource, ETag: "etag", Items: 1}}
		if x.Documents != nil {
			o.Documents = []document.Document{doc(a.ID, resource, o.At)}
		}
		o.Window = &domain.QuotaWindow{Owner: a.Owner, Bucket: "core", Limit: 5000, Remaining: 4000, Seq: uint64(i + 1)}
		x.finish(o)
	}
	_, err := x.CompleteRun(x.Context(), r.ID, []byte(`{"commits":1}`))
	x.ok(err)
	x.ok(x.SetSchedule(x.Context(), a.ID, []byte(`{"every":"6h"}`)))
	x.ok(x.PlanHarvest(x.Context(), domain.Harvest{AccountID: a.ID, After: r.ID, At: x.instant(), Priority: domain.PriorityLow}))
	return a, x.run(r.ID)
}

// purge goes to the end, and says what was removed.
func (x *fixture) purge(account int64, rows int) state.Purged {
	x.Helper()
	x.ok(x.BeginPurge(x.Context(), account))
	sum := state.Purged{}
	for {
		batch, err := x.PurgeBatch(x.Context(), account, rows)
		x.ok(err)
		if batch.Total() == 0 {
			break
		}
		if batch.Total() > int64(rows) {
			x.Fatalf("a batch of %d removed %v", rows, batch)
		}
		sum.Add(batch)
	}
	_, err := x.EndPurge(x.Context(), account)
	x.ok(err)
	return sum
}

func purgeEverything(x *fixture) {
	const pages = 7
	gone, run := x.collected("octocat", pages)
	stays, kept := x.collected("hubot", pages)
	before := x.snapshotOf(stays, kept)
	removed := x.purge(gone.ID, 3)
	for kind, n := range map[string]int64{
		state.PurgedJobs: pages, state.PurgedCursors: pages, state.PurgedPages: pages, state.PurgedStatistics: 1, state.PurgedSchedules: 2, state.PurgedWindows: 1, state.PurgedRuns: 1,
	} {
		want(x, kind, removed[kind], n)
	}
	if x.Documents != nil {
		want(x, "documents", removed[state.PurgedDocuments], int64(pages))
	}
	x.nothingOf(gone, run)
	want(x, "the other account", x.snapshotOf(stays, kept), before)
	// The row stays, without a name, an owner or a credential.
	tombstone, err := x.Account(x.Context(), gone.ID)
	x.ok(err)
	want(x, "state", tombstone.State, domain.AccountPurged)
	want(x, "login and owner", []string{tombstone.Login, tombstone.Owner}, []string{domain.PurgedLogin(gone.ID), ""})
	sealed, err := x.Credential(x.Context(), gone.ID)
	x.ok(err)
	want(x, "credential", len(sealed.Data)+len(sealed.KeyID), 0)
	_, err = x.AccountByLogin(x.Context(), "github", "octocat")
	x.wantCode(err, domain.CodeNotFound)
	// Whoever signs up again is somebody else.
	last := x.jobsOf(kept.ID)[pages-1].ID
	x.purge(stays.ID, 100)
	later := x.on(x.Reopen(x.t))
	again, refs := later.running("octocat", "a")
	if again.AccountID <= stays.ID || again.ID <= kept.ID || refs[0].ID <= last {
		x.Fatalf("ids were used again: account %d, run %d, job %d", again.AccountID, again.ID, refs[0].ID)
	}
}

// snapshotOf is what is stored of an account.
func (x *fixture) snapshotOf(a domain.Account, r domain.Run) string {
	x.Helper()
	cursors, err := x.Cursors(x.Context(), a.ID)
	x.ok(err)
	_, page, err := x.StoredPage(x.Context(), a.ID, "repo:0")
	x.ok(err)
	windows, err := x.QuotaWindows(x.Context(), a.Owner)
	x.ok(err)
	statistics, _, err := x.AccountStatistics(x.Context(), a.ID)
	x.ok(err)
	schedule, err := x.Schedule(x.Context(), a.ID)
	x.ok(err)
	_, harvest, err := x.Harvest(x.Context(), a.ID)
	x.ok(err)
	documents := map[document.Kind]int64{}
	if x.Documents != nil {
		documents, err = x.Documents.Count(x.Context(), a.ID)
		x.ok(err)
	}
	runs, err := x.Runs(x.Context(), state.RunQuery{AccountID: a.ID})
	x.ok(err)
	return fmt.Sprint(len(cursors), page, len(windows), string(statistics), string(schedule), harvest, documents, len(runs), len(x.jobsOf(r.ID)))
}

func (x *fixture) nothingOf(a domain.Account, r domain.Run) {
	x.Helper()
	want(x, "what is left", x.snapshotOf(a, r), fmt.Sprint(0, false, 0, "", "", false, map[document.Kind]int64{}, 0, 0))
}

func purgeRefused(x *fixture) {
	x.wantCode(x.BeginPurge(x.Context(), 1<<40), domain.CodeNotFound)
	r, _ := x.running("octocat", "a")
	x.wantCode(x.BeginPurge(x.Context(), r.AccountID), domain.CodeConflict)
	a, err := x.Account(x.Context(), r.AccountID)
	x.ok(err)
	want(x, "state", a.State, domain.AccountActive)
	// Nothing is removed of an account whose purge was not begun.
	_, err = x.CancelRun(x.Context(), r.ID, "")
	x.ok(err)
	_, err = x.PurgeBatch(x.Context(), r.AccountID, 10)
	x.wantCode(err, domain.CodeConflict)
	_, err = x.EndPurge(x.Context(), r.AccountID)
	x.wantCode(err, domain.CodeConflict)
	want(x, "jobs", len(x.jobsOf(r.ID)), 1)
}

// purgeGoesOn has a process die in the middle.
func purgeGoesOn(x *fixture) {
	a, r := x.collected("octocat", 5)
	x.ok(x.BeginPurge(x.Context(), a.ID))
	_, err := x.PurgeBatch(x.Context(), a.ID, 4)
	x.ok(err)
	again := x.on(x.Reopen(x.t))
	again.ok(again.BeginPurge(again.Context(), a.ID))
	again.purge(a.ID, 4)
	again.nothingOf(a, r)
	// Once more changes nothing.
	want(again, "removed", again.purge(a.ID, 4).Total(), int64(0))
}

func purgeShared(x *fixture) {
	a, _ := x.collected("octocat", 1)
	twin, err := x.PutAccount(x.Context(), state.AccountSpec{Source: "github", Login: "twin", Name: "owner of octocat", Credential: state.Sealed{KeyID: "k", Data: []byte("s")}})
	x.ok(err)
	want(x, "owner", twin.Owner, a.Owner)
	want(x, "windows that were removed", x.purge(a.ID, 100)[state.PurgedWindows], int64(0))
	windows, err := x.QuotaWindows(x.Context(), a.Owner)
	x.ok(err)
	want(x, "windows", len(windows), 1)
}

// purgedWritesNothing has a worker whose call was under way when its run was
// canceled and its account purged.
func purgedWritesNothing(x *fixture) {
	r, refs := x.running("octocat", "a")
	job := x.claim(refs[0].ID)
	_, err := x.CancelRun(x.Context(), r.ID, "")
	x.ok(err)
	late := x.outcome(job, domain.JobSucceeded)
	late.Next, late.Items = specs("b"), 1
	late.Cursors = []domain.Cursor{{AccountID: r.AccountID, Resource: "a", At: x.instant()}}
	if x.Documents != nil {
		late.Documents = []document.Document{doc(r.AccountID, "late", late.At)}
	}
	x.ok(x.BeginPurge(x.Context(), r.AccountID))
	_, err = x.Finish(x.Context(), late)
	x.wantCode(err, domain.CodeStale)
	a, err := x.Account(x.Context(), r.AccountID)
	x.ok(err)
	x.purge(r.AccountID, 100)
	_, err = x.Finish(x.Context(), late)
	x.wantCode(err, domain.CodeNotFound)
	x.nothingOf(a, r)
}
