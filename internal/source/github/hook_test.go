package github

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/source"
	"sluice/internal/testkit"

	sim "sluice/internal/simulator/github"
)

// hear does what an event means for the driver's account, as a run of its own.
func (d *driver) hear(e source.Event, now time.Time) {
	d.t.Helper()
	for _, n := range d.src.Notices(e) {
		if strings.EqualFold(n.Login, d.login) {
			d.work(domain.Run{ID: 2, AccountID: testAccount, Source: "github", Login: d.login, Anchor: now}, n.Jobs)
			d.noFailures()
		}
	}
}

func eventOf(d sim.Delivery) source.Event {
	return source.Event{Name: d.Event, Delivery: d.ID, MediaType: "application/json", Text: d.Payload}
}

// hookWorld is a world whose changes are told, a driver that has collected an account
// of it, and the deliveries since.
type hookWorld struct {
	*world
	*clock
	d      *driver
	login  string
	repo   sim.Repo
	told   []sim.Delivery
	events []string
}

func newHookWorld(t *testing.T, target func(w *world) string) *hookWorld {
	t.Helper()
	h := &hookWorld{clock: newClock()}
	h.world = newWorld(t, sim.Options{Seed: 5, Accounts: 2, NoPollInterval: true, Now: h.Now, Shape: &sim.Shape{
		Repos: sim.Exactly(3), Commits: sim.Exactly(5), Issues: sim.Exactly(6), Pulls: sim.Exactly(3), Parts: sim.Exactly(3)}})
	h.login = target(h.world)
	owner, _ := splitTarget(h.login)
	h.repo = h.Repos(owner)[0]
	h.d = h.driver(t, Options{Now: h.Now, Resources: ResourceNames(), SweepEvery: 1000 * time.Hour}, h.login)
	h.d.token = h.Token(owner)
	h.d.run(h.Now())
	h.d.noFailures()
	h.OnDelivery(h.url, func(d sim.Delivery) { h.told = append(h.told, d) })
	h.events = mustTruth(t, h.world, h.login, time.Time{}).Events
	h.advance(time.Minute)
	return h
}

// matches compares with the truth. Events have a feed of their own, which webhooks do
// not bring.
func (h *hookWorld) matches(t *testing.T) {
	t.Helper()
	truth := mustTruth(t, h.world, h.login, time.Time{})
	truth.Events = h.events
	h.d.matches(truth, true)
}

func ownAccount(w *world) string { return w.Logins()[0] }

func oneRepository(w *world) string {
	r := w.Repos(w.Logins()[0])[0]
	return r.Owner + "/" + r.Name
}

// number finds an issue or a pull request that is open.
func (h *hookWorld) number(t *testing.T, pull bool) int {
	t.Helper()
	for _, r := range mustTruth(t, h.world, h.login, time.Time{}).Repositories {
		if r.FullName != h.repo.Owner+"/"+h.repo.Name {
			continue
		}
		items := r.Issues
		if pull {
			items = r.Pulls
		}
		for _, it := range items {
			if strings.EqualFold(it.State, "open") {
				return it.Number
			}
		}
	}
	number, err := h.OpenIssue(h.repo)
	if pull {
		number, err = h.OpenPull(h.repo)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range h.told {
		h.d.hear(eventOf(d), h.Now())
	}
	h.told = nil
	h.advance(time.Minute)
	return number
}

// TestEventsTakeTheFewestCalls makes each kind of change, and counts what it takes to
// have it.
func TestEventsTakeTheFewestCalls(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(t *testing.T, h *hookWorld) error
		calls  int
	}{
		"an issue is opened":   {func(_ *testing.T, h *hookWorld) error { _, err := h.OpenIssue(h.repo); return err }, 0},
		"an issue is edited":   {func(t *testing.T, h *hookWorld) error { return h.EditIssue(h.repo, h.number(t, false)) }, 0},
		"an issue is closed":   {func(t *testing.T, h *hookWorld) error { return h.CloseIssue(h.repo, h.number(t, false)) }, 1},
		"an issue is deleted":  {func(t *testing.T, h *hookWorld) error { return h.DeleteIssue(h.repo, h.number(t, false)) }, 1},
		"a pull is opened":     {func(_ *testing.T, h *hookWorld) error { _, err := h.OpenPull(h.repo); return err }, 3},
		"a pull is edited":     {func(t *testing.T, h *hookWorld) error { return h.EditIssue(h.repo, h.number(t, true)) }, 1},
		"a pull is merged":     {func(t *testing.T, h *hookWorld) error { return h.MergePull(h.repo, h.number(t, true)) }, 3},
		"commits are pushed":   {func(_ *testing.T, h *hookWorld) error { return h.Push(h.repo, 3) }, 2},
		"history is rewritten": {func(_ *testing.T, h *hookWorld) error { return h.ForcePush(h.repo, 2, 1) }, 3},
		"a star is given":      {func(_ *testing.T, h *hookWorld) error { return h.Star(h.repo, 1) }, 2},
		"a comment is made":    {func(t *testing.T, h *hookWorld) error { return h.AddPart(h.repo, sim.PartComment, h.number(t, false)) }, 0},
		"a comment on a pull":  {func(t *testing.T, h *hookWorld) error { return h.AddPart(h.repo, sim.PartComment, h.number(t, true)) }, 1},
		"a line is remarked": {func(t *testing.T, h *hookWorld) error {
			return h.AddPart(h.repo, sim.PartReviewComment, h.number(t, true))
		}, 1},
		"a release is made":     {func(_ *testing.T, h *hookWorld) error { return h.AddPart(h.repo, sim.PartRelease, 0) }, 1},
		"a label is deleted":    {func(_ *testing.T, h *hookWorld) error { return h.DeletePart(h.repo, sim.PartLabel, 1) }, 1},
		"a milestone is moved":  {func(_ *testing.T, h *hookWorld) error { return h.EditPart(h.repo, sim.PartMilestone, 1) }, 0},
		"a milestone goes":      {func(_ *testing.T, h *hookWorld) error { return h.DeletePart(h.repo, sim.PartMilestone, 1) }, 1},
		"a workflow runs":       {func(_ *testing.T, h *hookWorld) error { return h.AddPart(h.repo, "workflow_run", 0) }, 0},
		"a workflow runs again": {func(_ *testing.T, h *hookWorld) error { return h.EditPart(h.repo, "workflow_run", 1) }, 0},
		"it is deployed":        {func(_ *testing.T, h *hookWorld) error { return h.AddPart(h.repo, "deployment", 0) }, 0},
		"a discussion begins":   {func(_ *testing.T, h *hookWorld) error { return h.AddPart(h.repo, "discussion", 0) }, 1},
		"a discussion goes":     {func(_ *testing.T, h *hookWorld) error { return h.DeletePart(h.repo, "discussion", 1) }, 1},
		"a branch is made":      {func(_ *testing.T, h *hookWorld) error { return h.AddPart(h.repo, "branch", 0) }, 1},
		"a branch is deleted":   {func(_ *testing.T, h *hookWorld) error { return h.DeletePart(h.repo, "branch", 1) }, 1},
		"a tag is made":         {func(_ *testing.T, h *hookWorld) error { return h.AddPart(h.repo, "tag", 0) }, 1},
		"an alert is found":     {func(_ *testing.T, h *hookWorld) error { return h.AddPart(h.repo, "dependabot_alert", 0) }, 1},
		"it is private":         {func(_ *testing.T, h *hookWorld) error { return h.SetPrivate(h.repo, true) }, 1},
		"it is renamed":         {func(_ *testing.T, h *hookWorld) error { return h.RenameRepo(h.repo, "renamed") }, 1},
		"it is deleted":         {func(_ *testing.T, h *hookWorld) error { return h.DeleteRepo(h.repo) }, 1},
	} {
		for kind, target := range map[string]func(*world) string{"account": ownAccount, "repository": oneRepository} {
			if kind == "repository" && name == "it is deleted" {
				continue // nothing would be left to compare
			}
			t.Run(name+" of "+kind, func(t *testing.T) {
				h := newHookWorld(t, target)
				if err := tc.change(t, h); err != nil {
					t.Fatal(err)
				}
				before := h.Audit().Calls
				for _, d := range h.told {
					h.advance(time.Second)
					h.d.hear(eventOf(d), h.Now())
				}
				if calls := h.Audit().Calls - before; calls != tc.calls || len(h.told) == 0 {
					t.Errorf("%d deliveries took %d calls, want %d", len(h.told), calls, tc.calls)
				}
				h.matches(t)

				// What was brought up to date is as a run would have left it.
				h.advance(time.Hour)
				h.events = mustTruth(t, h.world, h.login, time.Time{}).Events
				h.d.run(h.Now())
				h.d.noFailures()
				h.matches(t)
			})
		}
	}
}

// TestEventsThatAreLostAreHealed changes a world at random, tells of it badly, and runs
// once: whatever came, twice or late or never, the store equals the truth. Before that
// nothing that was told late has taken the place of something newer.
func TestEventsThatAreLostAreHealed(t *testing.T) {
	random := rand.New(rand.NewPCG(testkit.Seed(t), 1))
	h := newHookWorld(t, ownAccount)
	repos := h.Repos(h.login)
	for range 60 {
		repo := repos[random.IntN(len(repos))]
		number := 1 + random.IntN(9)
		// What is not possible, such as to merge what is merged, changes nothing.
		_ = []func() error{
			func() error { return h.Push(repo, 1+random.IntN(3)) },
			func() error { _, err := h.OpenIssue(repo); return err },
			func() error { _, err := h.OpenPull(repo); return err },
			func() error { return h.EditIssue(repo, number) },
			func() error { return h.CloseIssue(repo, number) },
			func() error { return h.ReopenIssue(repo, number) },
			func() error { return h.MergePull(repo, number) },
			func() error { return h.AddPart(repo, sim.PartComment, number) },
			func() error { return h.AddPart(repo, sim.PartRelease, 0) },
			func() error { return h.Star(repo, 1) },
			func() error { return h.EditPart(repo, "workflow_run", random.IntN(3)) },
			func() error { return h.EditPart(repo, sim.PartMilestone, random.IntN(3)) },
			func() error { return h.AddPart(repo, "deployment", 0) },
		}[random.IntN(13)]()
		h.advance(time.Duration(1+random.IntN(120)) * time.Second)
	}
	for _, i := range random.Perm(len(h.told)) {
		for range []int{0, 1, 1, 2}[random.IntN(4)] {
			h.d.hear(eventOf(h.told[i]), h.Now())
			h.advance(time.Second)
		}
	}
	truth := mustTruth(t, h.world, h.login, time.Time{})
	newest := map[string]time.Time{}
	for _, r := range truth.Repositories {
		for _, it := range slices.Concat(r.Issues, r.Pulls) {
			newest[fmt.Sprint(r.ID, it.Number)] = it.UpdatedAt
		}
	}
	for _, doc := range h.d.docs {
		if at, ok := newest[fmt.Sprint(doc.Repository, doc.Number)]; ok && (doc.Kind == KindIssue || doc.Kind == KindPull) && doc.UpdatedAt.After(at) {
			t.Errorf("%v is from %s, after the truth's %s", doc.Key, doc.UpdatedAt, at)
		}
	}
	h.advance(time.Hour)
	h.events = truth.Events
	h.d.run(h.Now())
	h.d.noFailures()
	h.matches(t)
}

// TestOldEventsChangeNothing tells of an issue's two states in the wrong order, and of
// one that was found deleted meanwhile.
func TestOldEventsChangeNothing(t *testing.T) {
	h := newHookWorld(t, ownAccount)
	number := h.number(t, false)
	for range 2 {
		h.advance(time.Minute)
		if err := h.EditIssue(h.repo, number); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []sim.Delivery{h.told[1], h.told[0], h.told[1], h.told[0]} {
		h.d.hear(eventOf(d), h.Now())
	}
	h.matches(t)
	h.advance(time.Minute)
	if err := h.DeleteIssue(h.repo, number); err != nil {
		t.Fatal(err)
	}
	h.advance(time.Minute)
	for _, i := range []int{2, 1, 0} {
		h.d.hear(eventOf(h.told[i]), h.Now())
	}
	h.matches(t)
}

// TestEventsBeforeTheFirstRun make no call: there is nothing to bring up to date.
func TestEventsBeforeTheFirstRun(t *testing.T) {
	h := newHookWorld(t, ownAccount)
	d := h.driver(t, Options{Now: h.Now}, h.login)
	if err := h.Push(h.repo, 1); err != nil {
		t.Fatal(err)
	}
	before := h.Audit().Calls
	d.hear(eventOf(h.told[0]), h.Now())
	if calls := h.Audit().Calls - before; calls != 0 || len(d.docs) != 0 {
		t.Errorf("%d calls, %d documents", calls, len(d.docs))
	}
}

// TestEventsOfAnUnknownRepository collect it.
func TestEventsOfAnUnknownRepository(t *testing.T) {
	h := newHookWorld(t, ownAccount)
	other := h.Repos(h.Logins()[1])[0]
	if err := h.TransferRepo(other, h.login); err != nil {
		t.Fatal(err)
	}
	moved := sim.Repo{Owner: h.login, Name: other.Name}
	if _, err := h.OpenIssue(moved); err != nil {
		t.Fatal(err)
	}
	h.d.hear(eventOf(h.told[len(h.told)-1]), h.Now())
	h.matches(t)
}

// TestATransferIsToldToWhoHadIt: the event names the new owner, and says who it was.
func TestATransferIsToldToWhoHadIt(t *testing.T) {
	for kind, target := range map[string]func(*world) string{"account": ownAccount, "repository": oneRepository} {
		h := newHookWorld(t, target)
		if err := h.TransferRepo(h.repo, "somebody-else"); err != nil {
			t.Fatal(err)
		}
		before := h.Audit().Calls
		h.d.hear(eventOf(h.told[0]), h.Now())
		if calls := h.Audit().Calls - before; calls != 1 {
			t.Errorf("%s: %d calls", kind, calls)
		}
		var flagged []document.Reason
		for _, a := range h.d.vanished {
			flagged = append(flagged, a.Why)
		}
		if want := map[string]int{"account": 1}[kind]; len(flagged) != want || want == 1 && flagged[0] != document.GoneTransferred {
			t.Errorf("%s: flagged %v", kind, flagged)
		}
		for _, doc := range h.d.docs {
			if kind == "repository" && doc.Kind == KindRepository && doc.Title != "somebody-else/"+h.repo.Name {
				t.Errorf("it is called %s", doc.Title)
			}
		}
	}
}

// TestEventsThatAreNotCollected lead to nothing, and those that cannot be told apart
// to a run of whom they name.
func TestEventsThatAreNotCollected(t *testing.T) {
	src, err := New(Options{Filter: Filter{Exclude: []string{"secret-*"}}})
	if err != nil {
		t.Fatal(err)
	}
	const repository = `"repository":{"id":7,"node_id":"R_7","full_name":"ann/%s","default_branch":"main","owner":{"login":"ann"}},"sender":{"login":"bob"}`
	about := func(name, more string) string { return "{" + more + fmt.Sprintf(repository, name) + "}" }
	for name, tc := range map[string]struct {
		event, text, media string
		want               string
	}{
		"no JSON":               {event: "issues", text: "nothing"},
		"a list":                {event: "issues", text: "[]"},
		"an event of others":    {event: "workflow_run", text: about("x", "")},
		"another branch":        {event: "push", text: about("x", `"ref":"refs/heads/other",`)},
		"a repository left out": {event: "push", text: about("secret-x", `"ref":"refs/heads/main",`), want: "ann/secret-x:COMMIT_STATS"},
		"a push":                {event: "push", text: about("x", `"ref":"refs/heads/main",`), want: "ann:COMMIT_STATS ann/x:COMMIT_STATS"},
		"a release, not wanted": {event: "release", text: about("x", `"action":"published",`)},
		"no id":                 {event: "push", text: `{"repository":{"full_name":"ann/x","owner":{"login":"ann"}},"sender":{"login":"bob"}}`, want: "ann: bob: ann/x:"},
		"the same twice":        {event: "push", text: `{"repository":{"owner":{"login":"ann"}},"sender":{"login":"ANN"}}`, want: "ann:"},
		"numbers for names":     {event: "push", text: `{"repository":{"id":"x","full_name":7},"sender":{"login":{}}}`},
		"a member":              {event: "organization", text: `{"organization":{"login":"acme","id":9}}`, want: "acme:ORG_MEMBERS,ORG_TEAMS"},
		"a form":                {event: "push", media: "application/x-www-form-urlencoded", text: "payload=" + url.QueryEscape(about("x", `"ref":"refs/heads/main",`)), want: "ann:COMMIT_STATS ann/x:COMMIT_STATS"},
		"a huge issue": {event: "issues", text: about("x", `"issue":{"state":"open","body":"`+strings.Repeat("x", mostTold)+`"},`),
			want: "ann:REPO_ISSUES ann/x:REPO_ISSUES"},
	} {
		var got []string
		for _, n := range src.Notices(source.Event{Name: tc.event, Delivery: "1", MediaType: tc.media, Text: []byte(tc.text)}) {
			var types []string
			for _, job := range n.Jobs {
				types = append(types, job.Type)
			}
			got = append(got, n.Login+":"+strings.Join(types, ","))
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
