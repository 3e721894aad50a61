package collection_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/internal/backoff"
	sim "sluice/internal/simulator/github"
	"sluice/internal/source/github"
	"sluice/internal/testkit/sluice"
)

// overlapping is a world in which an organisation, a user and single repositories of
// both are collected with one token.
type overlapping struct {
	*sluice.Upstream
	t *testing.T
	// wide are targets of which none has a repository of another, and narrow those
	// that have nothing of their own.
	wide, narrow []string
	token        []string
	// resources are what is collected.
	resources string
}

func newOverlapping(t *testing.T, o sim.Options) *overlapping {
	o.Seed, o.Accounts, o.Organizations = 12, 3, 1
	u := sluice.NewUpstream(t, o)
	org := u.Organizations()[0]
	lead := u.Lead(org)
	w := &overlapping{Upstream: u, t: t, wide: []string{org, lead}, resources: "all", token: []string{"SLUICE_GITHUB_TOKEN=" + u.Token(lead)}}
	for _, login := range w.wide {
		for _, r := range u.Repos(login)[:2] {
			w.narrow = append(w.narrow, r.Owner+"/"+r.Name)
		}
	}
	return w
}

func (w *overlapping) args(dir string, targets ...string) []string {
	return append([]string{"collect", "--resources", w.resources, "--data-dir", dir, "--github-url", w.URL, "--no-check", "--output", "json"}, targets...)
}

// paid is what the upstream has charged so far: an answer that nothing has changed is
// free, and queries are counted by points.
func (w *overlapping) paid() int {
	a := w.Audit()
	return a.ByBucket["core"] - a.NotModified + a.GraphQLPoints
}

// collect collects targets, and returns what the upstream charged for that.
func (w *overlapping) collect(dir string, targets ...string) int {
	w.t.Helper()
	paid, calls := w.paid(), w.Audit().Calls
	s := sluice.Decode[sluice.Summary](w.t, sluice.Run(w.t, w.token, w.args(dir, targets...)...).Expect(w.t, 0).Out)
	if s.Runs["COMPLETED"] != len(targets) {
		w.t.Errorf("got %+v", s)
	}
	if made := w.Audit().Calls - calls; s.Calls != made {
		w.t.Errorf("the runs say that they made %d calls, the upstream was called %d times", s.Calls, made)
	}
	return w.paid() - paid
}

func (w *overlapping) all() []string { return append(append([]string{}, w.wide...), w.narrow...) }

// check compares targets with the truth, and the ledgers of their runs with what is
// stored.
func (w *overlapping) check(dir string, targets ...string) {
	w.t.Helper()
	kinds := github.ResourceKinds()
	if w.resources == "standard" {
		kinds = github.StandardKinds()
	}
	sluice.CheckTargets(w.t, w.Upstream, dir, targets, kinds...)
}

// aFew is how much a target takes beside what its repositories take: to find them, and
// to see whether the lists changed of which discovery does not tell.
const aFew = 6

// TestRepositoriesOfSeveralTargetsAreCollectedOnce collects targets that have
// repositories in common: all at once, and one after the other. None is paid twice, and
// what is paid when nothing has changed is what it would be without the others.
func TestRepositoriesOfSeveralTargetsAreCollectedOnce(t *testing.T) {
	alone := newOverlapping(t, sim.Options{})
	wide, unchanged := alone.collect(t.TempDir(), alone.wide...), 0
	for _, target := range alone.all() {
		dir := t.TempDir()
		alone.collect(dir, target)
		unchanged += alone.collect(dir, target)
	}
	for name, groups := range map[string]func(w *overlapping) [][]string{
		"at once":      func(w *overlapping) [][]string { return [][]string{w.all()} },
		"wide first":   func(w *overlapping) [][]string { return [][]string{w.wide, w.narrow} },
		"narrow first": func(w *overlapping) [][]string { return [][]string{w.narrow, w.wide} },
	} {
		t.Run(name, func(t *testing.T) {
			w, dir := newOverlapping(t, sim.Options{}), t.TempDir()
			paid := 0
			for _, targets := range groups(w) {
				paid += w.collect(dir, targets...)
			}
			if most := wide + aFew*len(w.narrow); paid > most {
				t.Errorf("%d calls and points were paid, want at most %d: the targets that have everything take %d", paid, most, wide)
			}
			if a := w.Audit(); a.Repeated+a.RepeatedQueries != 0 || a.Violations != 0 {
				t.Errorf("asked for again what was known: %+v", a)
			}
			w.check(dir, w.all()...)
			again := w.collect(dir, w.all()...)
			t.Logf("%d paid for the wide targets alone, %d for all; %d when nothing has changed, %d without the others", wide, paid, again, unchanged)
			if again > unchanged {
				t.Errorf("%d were paid when nothing had changed, want at most %d", again, unchanged)
			}
			w.check(dir, w.all()...)
		})
	}
}

// TestSharedCollectionIsKilled kills the program while one target waits for what
// another collects, and goes on.
func TestSharedCollectionIsKilled(t *testing.T) {
	random := sluice.Seeded(t)
	w, dir := newOverlapping(t, sim.Options{Latency: sim.Latency{Fixed: 40 * time.Millisecond}}), t.TempDir()
	for range 4 {
		w.killed(dir, time.Duration(random.IntN(1500))*time.Millisecond, w.all()...)
	}
	sluice.Run(t, w.token, w.args(dir, w.all()...)...).Expect(t, 0)
	w.check(dir, w.all()...)
}

// killed begins to collect targets and kills the program after a while.
func (w *overlapping) killed(dir string, after time.Duration, targets ...string) {
	w.t.Helper()
	p := sluice.Start(w.t, w.token, w.args(dir, targets...)...)
	p.Says("RUNNING")
	backoff.Sleep(w.t.Context(), after)
	// It may have ended.
	_ = p.Cmd.Process.Kill()
	p.Ends()
}

// TestWhoCollectedIsNotNeededAnyMore has the target that collected for the others
// purged, and given another owner's token, before and after they have what it had.
func TestWhoCollectedIsNotNeededAnyMore(t *testing.T) {
	for name, leave := range map[string]func(w *overlapping, dir, target string){
		"purged": func(w *overlapping, dir, target string) {
			sluice.Run(w.t, nil, "account", "purge", target, "--yes", "--cancel", "--data-dir", dir).Expect(w.t, 0)
		},
		"another owner's token": func(w *overlapping, dir, target string) {
			token := filepath.Join(w.t.TempDir(), "token")
			other := slices.DeleteFunc(w.Logins(), func(login string) bool { return slices.Contains(w.wide, login) })[0]
			if err := os.WriteFile(token, []byte(w.Token(other)), 0o600); err != nil {
				w.t.Fatal(err)
			}
			sluice.Run(w.t, nil, "account", "set", target, "--token-file", token, "--no-check", "--data-dir", dir, "--github-url", w.URL).Expect(w.t, 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, dir := newOverlapping(t, sim.Options{Latency: sim.Latency{Fixed: 40 * time.Millisecond}}), t.TempDir()
			random := sluice.Seeded(t)
			// In the midst: some of it is copied, some is not.
			w.killed(dir, time.Duration(random.IntN(1500))*time.Millisecond, w.all()...)
			leave(w, dir, w.wide[0])
			sluice.Run(t, w.token, w.args(dir, append(w.narrow, w.wide[1])...)...).Expect(t, 0)
			w.check(dir, append(w.narrow, w.wide[1])...)
			// When everything is copied.
			leave(w, dir, w.wide[1])
			w.check(dir, w.narrow...)
			sluice.Run(t, w.token, w.args(dir, w.narrow...)...).Expect(t, 0)
			w.check(dir, w.narrow...)
		})
	}
}

// TestChangesOfSharedRepositoriesAreCollectedOnce changes repositories that several
// targets have, and collects all of them again: together, and one group after the
// other. What changed is paid once, and what was deleted is gone from all of them.
func TestChangesOfSharedRepositoriesAreCollectedOnce(t *testing.T) {
	alone, dir := newStandard(t), t.TempDir()
	alone.collect(dir, alone.wide...)
	alone.change()
	wide := alone.collect(dir, alone.wide...)
	for name, groups := range map[string]func(w *overlapping) [][]string{
		"at once":      func(w *overlapping) [][]string { return [][]string{w.all()} },
		"wide first":   func(w *overlapping) [][]string { return [][]string{w.wide, w.narrow} },
		"narrow first": func(w *overlapping) [][]string { return [][]string{w.narrow, w.wide} },
	} {
		t.Run(name, func(t *testing.T) {
			w, dir := newStandard(t), t.TempDir()
			w.collect(dir, w.all()...)
			w.change()
			paid := 0
			for _, targets := range groups(w) {
				paid += w.collect(dir, targets...)
			}
			t.Logf("%d paid for the wide targets alone, %d for all", wide, paid)
			if most := wide + aFew*len(w.narrow); paid > most {
				t.Errorf("%d calls and points were paid, want at most %d: the targets that have everything take %d", paid, most, wide)
			}
			w.check(dir, w.all()...)
			w.collect(dir, w.all()...)
			w.check(dir, w.all()...)
		})
	}
}

// newStandard is a world in which an organisation and its repositories are collected,
// of which discovery tells what changed. A user's events are asked for once in a minute
// only.
func newStandard(t *testing.T) *overlapping {
	w := newOverlapping(t, sim.Options{})
	w.resources, w.wide = "standard", w.wide[:1]
	w.narrow = slices.DeleteFunc(w.narrow, func(name string) bool { return !strings.HasPrefix(name, w.wide[0]+"/") })
	return w
}

// change changes each repository that several targets have, and returns in another
// second: instants have whole ones.
func (w *overlapping) change() {
	w.t.Helper()
	defer func() {
		backoff.Sleep(w.t.Context(), time.Until(time.Now().Truncate(time.Second).Add(time.Second)))
	}()
	for _, name := range w.narrow {
		owner, repository, _ := strings.Cut(name, "/")
		repo := sim.Repo{Owner: owner, Name: repository}
		issue, err := w.OpenIssue(repo)
		if err == nil {
			err = w.Push(repo, 3)
		}
		if err == nil {
			_, err = w.OpenPull(repo)
		}
		if err == nil {
			err = w.EditIssue(repo, issue)
		}
		if err == nil {
			err = w.AddPart(repo, sim.PartComment, issue)
		}
		if err == nil {
			err = w.AddPart(repo, sim.PartLabel, 0)
		}
		if err != nil {
			w.t.Fatal(err)
		}
	}
}
