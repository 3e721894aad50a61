package statetest

import (
	"fmt"
	"strings"
	"time"

	"sluice/internal/domain"
	"sluice/internal/state"
)

var shareCases = []testCase{
	{"OneLeadsAResource", oneLeads},
	{"LeadIsTakenOver", leadTakenOver},
	{"LeadNeedsTheCredential", leadNeedsCredential},
	{"LeadOfAPurgedAccount", leadPurged},
	{"OneOfManyLeads", oneOfManyLeads},
	{"CursorsAndPagesOfAResource", ofAResource},
	{"LocalClaimsCountNoCall", localClaims},
}

// sharing is an account that has a credential together with others.
func (x *fixture) sharing(login, credential string) domain.Account {
	x.Helper()
	a, err := x.PutAccount(x.Context(), state.AccountSpec{
		Source: "github", Login: login, Name: credential, Credential: state.Sealed{KeyID: "key-1", Data: []byte("sealed " + credential)},
	})
	x.ok(err)
	return a
}

func (x *fixture) lead(q state.LeadQuery) []domain.Leader {
	x.Helper()
	leaders, err := x.Lead(x.Context(), q)
	x.ok(err)
	return leaders
}

func oneLeads(x *fixture) {
	a, b := x.sharing("octocat", "token"), x.sharing("golang/go", "token")
	run, refs := x.runningFor(a.ID, "a")
	other, _ := x.runningFor(b.ID, "a")
	mine := func(resource string, of domain.Run) domain.Leader {
		return domain.Leader{Resource: resource, Account: of.AccountID, Run: of.ID, Login: of.Login, Busy: true, Anchor: of.Anchor}
	}
	want(x, "the first", x.lead(state.LeadQuery{Account: a.ID, Run: run.ID, Resources: []string{"repo:2", "repo:1"}}),
		[]domain.Leader{mine("repo:2", run), mine("repo:1", run)})
	want(x, "the second", x.lead(state.LeadQuery{Account: b.ID, Run: other.ID, Resources: []string{"repo:1", "repo:3"}}),
		[]domain.Leader{mine("repo:1", run), mine("repo:3", other)})
	want(x, "asked again", x.lead(state.LeadQuery{Account: a.ID, Run: run.ID, Resources: []string{"repo:1", "repo:3"}}),
		[]domain.Leader{mine("repo:1", run), mine("repo:3", other)})
	idle := mine("repo:1", run)
	idle.Busy = false
	local := spec("b")
	local.Bucket = domain.LocalBucket
	x.succeed(refs[0].ID, local)
	want(x, "when it has no calls to make", x.lead(state.LeadQuery{Account: b.ID, Run: other.ID, Resources: []string{"repo:1"}}), []domain.Leader{idle})
	_, err := x.CancelRun(x.Context(), run.ID, "enough")
	x.ok(err)
	want(x, "when its run has ended", x.lead(state.LeadQuery{Account: b.ID, Run: other.ID, Resources: []string{"repo:1"}}), []domain.Leader{idle})
	again, _ := x.runningFor(a.ID, "a")
	want(x, "with another run", x.lead(state.LeadQuery{Account: a.ID, Run: again.ID, Resources: []string{"repo:1"}}), []domain.Leader{mine("repo:1", again)})
	want(x, "with another run, asked by the second", x.lead(state.LeadQuery{Account: b.ID, Run: other.ID, Resources: []string{"repo:1"}}),
		[]domain.Leader{mine("repo:1", again)})
	_, err = x.Lead(x.Context(), state.LeadQuery{Account: 1 << 40, Run: 1, Resources: []string{"repo:1"}})
	x.wantCode(err, domain.CodeNotFound)
}

func leadTakenOver(x *fixture) {
	a, b, c := x.sharing("a", "token"), x.sharing("b", "token"), x.sharing("c", "token")
	first := x.lead(state.LeadQuery{Account: a.ID, Run: 1, Resources: []string{"repo:1"}})[0]
	over := func(account, run int64) domain.Leader {
		return x.lead(state.LeadQuery{Account: account, Run: run, Resources: []string{"repo:1"}, Over: first})[0]
	}
	want(x, "who took over", over(b.ID, 2).Account, b.ID)
	want(x, "who came second", over(c.ID, 3).Account, b.ID)
	want(x, "who was taken over from", x.lead(state.LeadQuery{Account: a.ID, Run: 1, Resources: []string{"repo:1"}})[0].Account, b.ID)
	x.lead(state.LeadQuery{Account: a.ID, Run: 1, Resources: []string{"repo:2"}})
	want(x, "another resource of the one", x.lead(state.LeadQuery{Account: b.ID, Run: 2, Resources: []string{"repo:2"}, Over: first})[0].Account, a.ID)
}

func leadNeedsCredential(x *fixture) {
	a, b := x.sharing("a", "token"), x.sharing("b", "token")
	ask := func(account int64) int64 {
		return x.lead(state.LeadQuery{Account: account, Run: account, Resources: []string{"repo:1"}})[0].Account
	}
	want(x, "the first", ask(a.ID), a.ID)
	want(x, "another credential", ask(x.sharing("stranger", "another token").ID), x.sharing("stranger", "another token").ID)
	x.sharing("a", "a new token")
	want(x, "when the leader has another credential", ask(b.ID), b.ID)
	want(x, "the former leader, with its own", ask(a.ID), a.ID)
	_, err := x.SetAccountState(x.Context(), b.ID, domain.AccountPaused, "a person")
	x.ok(err)
	c := x.sharing("c", "token")
	want(x, "when the leader is paused", ask(c.ID), c.ID)
	_, err = x.SetAccountState(x.Context(), c.ID, domain.AccountDeleted, "a person")
	x.ok(err)
	_, err = x.SetAccountState(x.Context(), b.ID, domain.AccountActive, "")
	x.ok(err)
	want(x, "when the leader is deleted", ask(b.ID), b.ID)
}

func leadPurged(x *fixture) {
	a, b := x.sharing("a", "token"), x.sharing("b", "token")
	x.lead(state.LeadQuery{Account: a.ID, Run: 1, Resources: []string{"repo:1", "repo:2"}})
	_, err := x.SetAccountState(x.Context(), a.ID, domain.AccountDeleted, "a person")
	x.ok(err)
	want(x, "rows that are removed", x.purge(a.ID, 100)[state.PurgedCursors], int64(2))
	want(x, "who leads then", x.lead(state.LeadQuery{Account: b.ID, Run: 2, Resources: []string{"repo:1"}})[0].Account, b.ID)
}

// oneOfManyLeads lets many ask at once, for lists in different orders.
func oneOfManyLeads(x *fixture) {
	var accounts []domain.Account
	for i := range crowd {
		accounts = append(accounts, x.sharing(fmt.Sprintf("account-%d", i), "token"))
	}
	resources := []string{"repo:1", "repo:2", "repo:3", "repo:4"}
	answers, errs := make([][]domain.Leader, crowd), make([]error, crowd)
	together(crowd, func(i int) {
		order := make([]string, len(resources))
		for n := range resources {
			order[n] = resources[(n+i)%len(resources)]
		}
		answers[i], errs[i] = x.Lead(x.Context(), state.LeadQuery{Account: accounts[i].ID, Run: int64(i + 1), Resources: order})
	})
	leads := map[string]int64{}
	for i := range crowd {
		x.ok(errs[i])
		for _, l := range answers[i] {
			if leads[l.Resource] == 0 {
				leads[l.Resource] = l.Account
			}
			want(x, "who leads "+l.Resource, l.Account, leads[l.Resource])
		}
	}
	want(x, "resources that somebody leads", len(leads), len(resources))
}

func ofAResource(x *fixture) {
	r, refs := x.running("octocat", "a")
	o := x.outcome(x.claim(refs[0].ID), domain.JobSucceeded)
	at := x.instant()
	for _, name := range []string{"COMMITS repo:1", "ISSUES repo:1", "COMMITS repo:12", "COMMITS repo:1 own"} {
		o.Cursors = append(o.Cursors, domain.Cursor{AccountID: r.AccountID, Resource: name, At: at})
		o.Stored = append(o.Stored, domain.Page{AccountID: r.AccountID, Key: name + " ", ETag: "of " + name, Next: "next", Items: 3})
	}
	o.Stored = append(o.Stored, domain.Page{AccountID: r.AccountID, Key: "COMMITS repo_1 p"}, domain.Page{AccountID: r.AccountID, Key: "repo:1"})
	x.finish(o)
	some, err := x.CursorsOf(x.Context(), r.AccountID, []string{"ISSUES repo:1", "COMMITS repo:12", "PULLS repo:1"})
	x.ok(err)
	want(x, "cursors", some, map[string]time.Time{"ISSUES repo:1": at, "COMMITS repo:12": at})
	none, err := x.CursorsOf(x.Context(), r.AccountID, nil)
	x.ok(err)
	want(x, "cursors of no name", len(none), 0)
	pages, err := x.PagesOf(x.Context(), r.AccountID, "repo:1")
	x.ok(err)
	var keys []string
	for _, p := range pages {
		keys = append(keys, p.Key)
	}
	want(x, "pages", strings.Join(keys, "|"), "COMMITS repo:1 |COMMITS repo:1 own |ISSUES repo:1 |repo:1")
	want(x, "a page", pages[2], domain.Page{AccountID: r.AccountID, Key: "ISSUES repo:1 ", ETag: "of ISSUES repo:1", Next: "next", Items: 3})
	pages, err = x.PagesOf(x.Context(), r.AccountID+1, "repo:1")
	x.ok(err)
	want(x, "pages of another account", len(pages), 0)
}

// localClaims alternates, as several claims may share a transaction.
func localClaims(x *fixture) {
	r, refs := x.running("octocat", "a", "b", "c", "d")
	together(len(refs), func(i int) {
		if err := x.Claim(x.Context(), state.Claim{Job: refs[i].ID, At: instant(int64(i)), Local: i > 0}); err != nil {
			x.Error(err)
		}
	})
	want(x, "calls", x.run(r.ID).Calls, int64(1))
	want(x, "attempts", x.job(refs[2].ID).Attempt, int64(1))
}
