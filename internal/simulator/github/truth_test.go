package github

import (
	"bytes"
	"encoding/json"
	"net/http"
	"reflect"
	"testing"
	"time"
)

// changes lists one of each explicit change, to be made in this order.
func changes(s *Server, repo Repo) []func() error {
	var issue, pull int
	return []func() error{
		func() error { return s.Push(repo, 4) },
		func() (err error) { issue, err = s.OpenIssue(repo); return err },
		func() (err error) { pull, err = s.OpenPull(repo); return err },
		func() error { return s.EditIssue(repo, 1) },
		func() error { return s.CloseIssue(repo, issue) },
		func() error { return s.MergePull(repo, pull) },
		func() error { return s.ReopenIssue(repo, issue) },
		func() error { return s.Star(repo, 2) },
		func() error { return s.DeleteIssue(repo, 2) },
		func() error { return s.MergeLate(repo, 3) },
		func() error { return s.DeleteIssue(repo, 3) },
		func() error { return s.ForcePush(repo, 6, 2) },
		func() error { return s.RestoreIssue(repo, 2) },
		func() error { return s.SetPrivate(repo, true) },
		func() error { return s.BlockRepo(repo) },
		func() error { return s.UnblockRepo(repo) },
		func() error { return s.WithdrawAccess(repo) },
		func() error { return s.DeleteRepo(repo) },
		func() error { return s.RestoreRepo(repo) },
		func() error { return s.GrantAccess(repo) },
		func() error { return s.Push(repo, 1) },
	}
}

// replay makes the first n changes two minutes apart and returns the instant a
// minute before each.
func replay(t *testing.T, s *Server, c *clock, repo Repo, n int) []time.Time {
	t.Helper()
	var before []time.Time
	for _, change := range changes(s, repo)[:n] {
		c.advance(time.Minute)
		before = append(before, c.Now())
		c.advance(time.Minute)
		if err := change(); err != nil {
			t.Fatal(err)
		}
	}
	return before
}

func mustTruth(t *testing.T, s *Server, login string, at time.Time) Truth {
	t.Helper()
	truth, err := s.Truth(login, at)
	if err != nil {
		t.Fatal(err)
	}
	return truth
}

func TestTruthAsOfAnInstant(t *testing.T) {
	build := func() (*Server, *clock) {
		c := newClock()
		o := plain(2, 10, 10, 10)
		o.Now = c.Now
		return New(o), c
	}
	s, c := build()
	login, _, repo := first(t, s)
	instants := replay(t, s, c, repo, len(changes(s, repo)))
	// Replay the changes up to each instant in a world of its own: what was
	// true then must be what the finished world says was true then.
	for i, at := range instants {
		replayed, rc := build()
		replay(t, replayed, rc, repo, i)
		then := mustTruth(t, replayed, login, time.Time{})
		if got := mustTruth(t, s, login, at); !reflect.DeepEqual(got, then) {
			t.Fatalf("truth before step %d differs:\n%+v\n%+v", i, got.Repositories[0].Issues, then.Repositories[0].Issues)
		}
	}
	now := mustTruth(t, s, login, time.Time{}).Repositories[0]
	// 10 + 4 + 1 merged, 3 + 1 merged late, 6 dropped, 2 + 1 pushed.
	if len(now.Commits) != 16 || len(now.Issues)+len(now.Pulls) != 21 || len(now.Lost) != 7 {
		t.Fatalf("%d commits, %d issues, %d pulls, lost %+v", len(now.Commits), len(now.Issues), len(now.Pulls), now.Lost)
	}
	early := mustTruth(t, s, login, time.Unix(worldBegin-1, 0))
	if len(early.Repositories) != 0 || len(early.Events) != 0 {
		t.Fatalf("before the world began: %+v", early)
	}
}

func TestTruthInTheBaseWorld(t *testing.T) {
	s := New(plain(1, 40, 40, 40))
	login, _, _ := first(t, s)
	full := mustTruth(t, s, login, time.Time{}).Repositories[0]
	at := full.Commits[20].CommittedAt
	then := mustTruth(t, s, login, at).Repositories[0]
	if len(then.Commits) != 21 {
		t.Fatalf("%d commits, want 21", len(then.Commits))
	}
	if n := len(then.Issues); n == 0 || n == 40 {
		t.Fatalf("%d issues half-way through", n)
	}
	for _, it := range append(then.Issues, then.Pulls...) {
		if it.CreatedAt.After(at) || it.UpdatedAt.After(at) || it.ClosedAt != nil && it.ClosedAt.After(at) {
			t.Fatalf("%+v lies after %v", it, at)
		}
	}
}

func TestTruthOverHTTP(t *testing.T) {
	c := newClock()
	s := New(Options{Seed: seed(t), Accounts: 5, Now: c.Now})
	for _, login := range s.Logins() {
		if err := s.DeleteRepo(s.Repos(login)[0]); err != nil {
			t.Fatal(err)
		}
		want := mustTruth(t, s, login, time.Time{})
		for i := range want.Repositories { // JSON has no nil lists
			r := &want.Repositories[i]
			if r.Commits == nil {
				r.Commits = []TruthCommit{}
			}
			if r.Issues == nil {
				r.Issues = []TruthItem{}
			}
			if r.Pulls == nil {
				r.Pulls = []TruthItem{}
			}
		}
		var got Truth
		get(s, "", "/_sim/truth/"+login).decode(t, &got)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: streamed truth differs", login)
		}
		var counts TruthCounts
		get(s, "", "/_sim/truth/"+login+"?counts=1").decode(t, &counts)
		checkCounts(t, want, counts)
	}
	if !want404(s) {
		t.Fatal("an unknown login has a truth")
	}
	if r := get(s, "", "/_sim/truth/"+s.Logins()[0]+"?at=noon"); r.status != http.StatusBadRequest {
		t.Fatalf("bad instant: %d", r.status)
	}
	if calls := s.Audit().Calls; calls != 0 {
		t.Fatalf("the simulator's own endpoints count: %d", calls)
	}
	if err := s.WriteTruth(&bytes.Buffer{}, "nobody", time.Time{}); err == nil {
		t.Fatal("WriteTruth made somebody up")
	}
}

func want404(s *Server) bool { return get(s, "", "/_sim/truth/nobody").status == http.StatusNotFound }

// checkCounts recomputes the counts and the formula from the full truth.
func checkCounts(t *testing.T, truth Truth, got TruthCounts) {
	t.Helper()
	want := TruthCounts{Profile: truth.Profile, Events: len(truth.Events)}
	batched := 0
	for _, r := range truth.Repositories {
		if r.Deleted {
			continue
		}
		want.Repositories++
		want.Commits += len(r.Commits)
		want.Issues += len(r.Issues)
		want.Pulls += len(r.Pulls)
		want.Minimum.Commits += (len(r.Commits) + 99) / 100
		least := &want.Minimum.Standard
		if len(r.Issues)+len(r.Pulls) > 0 {
			least.Comments += max(1, (len(r.Parts[PartComment])+99)/100)
		}
		if len(r.Pulls) > 0 {
			least.ReviewComments += max(1, (len(r.Parts[PartReviewComment])+99)/100)
		}
		least.Reviews += (len(r.Pulls) + 99) / 100
		least.Releases += (len(r.Parts[PartRelease]) + 99) / 100
		least.Labels += (len(r.Parts[PartLabel]) + 99) / 100
		least.Milestones += (len(r.Parts[PartMilestone]) + 99) / 100
		if r.IssuesDisabled {
			want.Minimum.Pulls += (len(r.Pulls) + 99) / 100
		} else {
			want.Minimum.Issues += (len(r.Issues) + len(r.Pulls) + 99) / 100
			batched += len(r.Pulls)
		}
	}
	m := &want.Minimum
	m.Profile, m.Discovery, m.Events = 1, 2, max(1, (want.Events+99)/100)
	m.Pulls += (batched + 99) / 100
	s := &m.Standard
	s.Total = s.Comments + s.ReviewComments + s.Reviews + s.Releases + s.Labels + s.Milestones
	m.Total = m.Profile + m.Discovery + m.Commits + m.Issues + m.Pulls + m.Events
	if got != want {
		t.Fatalf("counts %+v, want %+v", got, want)
	}
}

func TestRepositoryDatesMoveAsOnGitHub(t *testing.T) {
	c := newClock()
	o := plain(1, 5, 5, 5)
	o.Now = c.Now
	s := New(o)
	_, token, repo := first(t, s)
	dates := func() (pushed, updated string) {
		var r struct {
			Pushed  string `json:"pushed_at"`
			Updated string `json:"updated_at"`
		}
		get(s, token, repo.path("")).decode(t, &r)
		return r.Pushed, r.Updated
	}
	pushed, updated := dates()
	for _, step := range []struct {
		name                  string
		act                   func() error
		movesPush, movesUpdat bool
	}{
		{"issue edit", func() error { return s.EditIssue(repo, 1) }, false, false},
		{"issue opened", func() error { _, err := s.OpenIssue(repo); return err }, false, false},
		{"star", func() error { return s.Star(repo, 1) }, false, true},
		{"push", func() error { return s.Push(repo, 1) }, true, true},
	} {
		c.advance(time.Hour)
		if err := step.act(); err != nil {
			t.Fatal(err)
		}
		p, u := dates()
		if (p != pushed) != step.movesPush || (u != updated) != step.movesUpdat {
			t.Errorf("%s: pushed %s → %s, updated %s → %s", step.name, pushed, p, updated, u)
		}
		pushed, updated = p, u
	}
}

func TestMutationIsDeterministic(t *testing.T) {
	n := seed(t)
	run := func() (string, Audit) {
		c := newClock()
		s := New(Options{Seed: n, Accounts: 3, MutateEvery: 2, Now: c.Now, Limits: Limits{Disabled: true}})
		for i := range 300 {
			login := s.Logins()[i%3]
			get(s, s.Token(login), "/users/"+login+"/repos")
			c.advance(time.Second)
		}
		var all bytes.Buffer
		for _, login := range s.Logins() {
			if err := s.WriteTruth(&all, login, time.Time{}); err != nil {
				t.Fatal(err)
			}
		}
		return all.String(), s.Audit()
	}
	one, audit := run()
	two, _ := run()
	if one != two {
		t.Fatal("the same requests changed the world in two ways")
	}
	if audit.Mutations != 150 {
		t.Fatalf("%d mutations, want 150", audit.Mutations)
	}
	still := New(Options{Seed: n, Accounts: 3})
	var base bytes.Buffer
	for _, login := range still.Logins() {
		if err := still.WriteTruth(&base, login, time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	if base.String() == one {
		t.Fatal("nothing changed")
	}
}

func TestMutationsKeepTruthAndListingsTogether(t *testing.T) {
	s := New(Options{Seed: seed(t), Accounts: 2, Limits: Limits{Disabled: true}})
	for range 300 {
		s.MutateOnce("")
	}
	for _, login := range s.Logins() {
		for _, r := range mustTruth(t, s, login, time.Time{}).Repositories {
			checkRepository(t, s, s.Token(login), r)
		}
	}
}

func TestDeletedAccount(t *testing.T) {
	s := New(plain(1, 1, 1, 1))
	login, token, _ := first(t, s)
	if err := s.DeleteAccount(login); err != nil {
		t.Fatal(err)
	}
	if get(s, token, "/user").status != 401 || get(s, "", "/users/"+login).status != 404 || len(s.Logins()) != 0 {
		t.Fatal("the account is still there")
	}
}

func TestExplicitChangesRefuseNonsense(t *testing.T) {
	s := New(plain(2, 1, 2, 2))
	login, _, repo := first(t, s)
	for name, err := range map[string]error{
		"push to nowhere":      s.Push(Repo{Owner: login, Name: "nothing-9"}, 1),
		"edit nothing":         s.EditIssue(repo, 99),
		"merge nothing":        s.MergePull(repo, 99),
		"rename to taken name": s.RenameRepo(repo, s.Repos(login)[1].Name),
		"delete nobody":        s.DeleteAccount("nobody"),
	} {
		if err == nil {
			t.Errorf("%s worked", name)
		}
	}
}

func TestTruthEncodesLikeItsTypes(t *testing.T) {
	encoded, err := json.Marshal(TruthRepository{})
	if err != nil || !bytes.HasSuffix(encoded, []byte(`"commits":null,"issues":null,"pulls":null}`)) {
		t.Fatalf("WriteTruth relies on the order of fields: %s %v", encoded, err)
	}
}
