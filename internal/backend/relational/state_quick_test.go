package relational_test

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/backend/relational"
	"sluice/internal/domain"
	"sluice/internal/state"
)

func success(ref domain.JobRef, attempt int64) state.Outcome {
	return state.Outcome{Job: ref.ID, Attempt: attempt, At: time.Now(), To: domain.JobSucceeded, Items: 2}
}

// mixture prepares ten jobs and returns calls about them, of which some are
// plain and some come too late.
func mixture(t *testing.T, s *relational.State, login string) (run int64, claims []state.Claim, outcomes []state.Outcome) {
	t.Helper()
	refs := planned(t, s, login, 10)
	for _, ref := range refs[4:9] {
		if err := s.Claim(t.Context(), state.Claim{Job: ref.ID, At: time.Now()}); err != nil {
			t.Fatalf("claim: %v", err)
		}
	}
	if _, err := s.Finish(t.Context(), success(refs[6], 1)); err != nil {
		t.Fatalf("finish: %v", err)
	}
	claims = []state.Claim{
		{Job: refs[0].ID}, {Job: refs[1].ID, Account: 1}, {Job: refs[2].ID, Attempt: 5}, {Job: refs[3].ID, Account: 77},
		{Job: refs[8].ID, Attempt: 1}, // its worker has vanished
	}
	outcomes = []state.Outcome{success(refs[4], 1), success(refs[5], 3), success(refs[6], 1), success(refs[7], 1), success(refs[9], 0)}
	return refs[0].RunID, claims, outcomes
}

// told is what is left of jobs when their ids and times are taken away.
func told(t *testing.T, s *relational.State, run int64) (out []domain.Job) {
	t.Helper()
	jobs, err := s.Jobs(t.Context(), state.JobQuery{RunID: run})
	if err != nil {
		t.Fatalf("jobs: %v", err)
	}
	for _, j := range jobs {
		out = append(out, domain.Job{Status: j.Status, Attempt: j.Attempt, Lost: j.Lost, Items: j.Items, Error: j.Error})
	}
	return out
}

// TestMixedGroupIsAnsweredAsOneByOne: late calls in a group change neither
// their own answers nor those of others.
func TestMixedGroupIsAnsweredAsOneByOne(t *testing.T) {
	t.Parallel()
	eachServer(t, testMixedGroupIsAnsweredAsOneByOne)
}

func testMixedGroupIsAnsweredAsOneByOne(t *testing.T, on server) {
	s := mustOpenState(t, on.fresh(t)).State
	together, claims, outcomes := mixture(t, s, "together")
	before := s.QuickGroups()
	got, err := s.Together(t.Context(), claims, outcomes)
	if err != nil {
		t.Fatalf("together: %v", err)
	}
	if s.QuickGroups() != before {
		t.Errorf("a group with late calls was applied without a look at them")
	}
	single, claims, outcomes := mixture(t, s, "single")
	for i, c := range claims {
		if won := s.Claim(t.Context(), c) == nil; won != got.Claims[i] {
			t.Errorf("claim %d is won: %t, together: %t", i, won, got.Claims[i])
		}
	}
	for i, o := range outcomes {
		if _, err := s.Finish(t.Context(), o); domain.CodeOf(err) != domain.CodeOf(got.Errors[i]) {
			t.Errorf("outcome %d: %v, together: %v", i, err, got.Errors[i])
		}
	}
	if a, b := told(t, s, together), told(t, s, single); !slices.EqualFunc(a, b, func(a, b domain.Job) bool {
		return a.Status == b.Status && a.Attempt == b.Attempt && a.Lost == b.Lost && a.Items == b.Items
	}) {
		t.Errorf("together:\n%+v\none by one:\n%+v", a, b)
	}
	if a, b := wantSound(t, s, together), wantSound(t, s, single); a.RunCounts != b.RunCounts {
		t.Errorf("together %+v, one by one %+v", a.RunCounts, b.RunCounts)
	}
}

// TestPlainGroupsAreQuick, and others are not.
func TestPlainGroupsAreQuick(t *testing.T) {
	t.Parallel()
	eachServer(t, testPlainGroupsAreQuick)
}

func testPlainGroupsAreQuick(t *testing.T, on server) {
	url := on.fresh(t)
	s := mustOpenState(t, url).State
	refs := planned(t, s, "octocat", 40)
	run := func(name string, quick uint64, claims []state.Claim, outcomes ...state.Outcome) {
		t.Helper()
		before := s.QuickGroups()
		a, err := s.Together(t.Context(), claims, outcomes)
		if err != nil || slices.Contains(a.Claims, false) || slices.ContainsFunc(a.Errors, func(err error) bool { return err != nil }) {
			t.Errorf("%s: %v, %+v", name, err, a)
		}
		if got := s.QuickGroups() - before; got != quick {
			t.Errorf("%s: %d quick groups, want %d", name, got, quick)
		}
	}
	claim := func(refs ...domain.JobRef) (out []state.Claim) {
		for _, ref := range refs {
			out = append(out, state.Claim{Job: ref.ID, Account: 1, At: time.Now()})
		}
		return out
	}
	with := func(ref domain.JobRef, change func(*state.Outcome)) state.Outcome {
		o := success(ref, 1)
		change(&o)
		return o
	}
	run("claims", 1, claim(refs[:20]...))
	run("claims and outcomes", 1, claim(refs[20:30]...), success(refs[0], 1), success(refs[1], 1))
	run("outcomes", 1, nil, success(refs[2], 1), success(refs[3], 1))
	run("outcomes that bring about more", 1, claim(refs[30]),
		with(refs[4], func(o *state.Outcome) {
			o.Next = []domain.JobSpec{{Type: "NEXT", Bucket: "core", Class: domain.ClassChild}}
			o.Window = &domain.QuotaWindow{Owner: "o", Bucket: "core", Limit: 100, Seq: 1}
		}),
		with(refs[5], func(o *state.Outcome) {
			o.Cursors = []domain.Cursor{{AccountID: refs[5].AccountID, Resource: "a", At: o.At}}
			o.Stored = []domain.Page{{AccountID: refs[5].AccountID, Key: "a", ETag: "b"}}
		}))
	run("a job that waits again", 0, nil, success(refs[6], 1), with(refs[7], func(o *state.Outcome) { o.To = domain.JobReady }))
	run("a failure", 0, nil, with(refs[8], func(o *state.Outcome) { o.To = domain.JobFailed }))
	run("a dropped resource", 0, nil, with(refs[9], func(o *state.Outcome) { o.DropResource = "none" }))
	run("a job whose worker vanished", 0, []state.Claim{{Job: refs[10].ID, Attempt: 1, At: time.Now()}})
	run("a repeated outcome", 0, claim(refs[31]), success(refs[0], 1))
	run("a job twice", 0, claim(refs[32]), success(refs[32], 1))
	run("an owner", 0, nil, with(refs[11], func(o *state.Outcome) { o.Owner = "someone" }))
	run("a paused account", 0, nil, with(refs[12], func(o *state.Outcome) { o.PauseAccount = "why" }))
	run("a failed run", 0, nil, with(refs[13], func(o *state.Outcome) { o.FailRun = "why" }))
	wantSound(t, s, refs[0].RunID)
	refs = planned(t, s, "hubot", 3)
	s = mustOpenState(t, url).State
	run("jobs of another process", 0, claim(refs[:2]...))
	run("jobs met before", 1, nil, success(refs[0], 1), success(refs[1], 1))
	if _, err := s.Load(t.Context(), []int64{refs[2].ID}); err != nil {
		t.Fatalf("load: %v", err)
	}
	run("a job that was read", 1, claim(refs[2]))
	before := s.QuickGroups()
	e, err := s.Finish(t.Context(), success(refs[2], 1))
	if err != nil || e.Closed == nil || e.Closed.Succeeded != 3 || s.QuickGroups() != before+1 {
		t.Errorf("the last job of a run: %+v, %v", e, err)
	}
}

// TestTwoProcessesAreQuickAboutTheSameJobs: each group of claims is won by one
// of them, as a whole.
func TestTwoProcessesAreQuickAboutTheSameJobs(t *testing.T) {
	t.Parallel()
	eachServer(t, testTwoProcessesAreQuickAboutTheSameJobs)
}

func testTwoProcessesAreQuickAboutTheSameJobs(t *testing.T, on server) {
	url := on.fresh(t)
	stores := [2]*relational.State{mustOpenState(t, url).State, mustOpenState(t, url).State}
	const groups, size = 60, 10
	refs := planned(t, stores[0], "octocat", groups*size)
	if _, err := stores[1].Load(t.Context(), ids(refs)); err != nil {
		t.Fatalf("load: %v", err)
	}
	var closed, won atomic.Int64
	work := func(s *relational.State, part []domain.JobRef) {
		var claims []state.Claim
		var outcomes []state.Outcome
		for _, ref := range part {
			claims, outcomes = append(claims, state.Claim{Job: ref.ID}), append(outcomes, success(ref, 1))
		}
		a, err := s.Together(t.Context(), claims, nil)
		if err != nil || slices.Contains(a.Claims, true) && slices.Contains(a.Claims, false) {
			t.Errorf("claims: %v, %v", a.Claims, err)
			return
		}
		if !a.Claims[0] {
			return
		}
		won.Add(1)
		if a, err = s.Together(t.Context(), nil, outcomes); err != nil {
			t.Errorf("outcomes: %v", err)
		}
		for i := range a.Effects {
			if a.Errors[i] != nil {
				t.Errorf("outcome: %v", a.Errors[i])
			}
			if a.Effects[i].Closed != nil {
				closed.Add(1)
			}
		}
	}
	var all sync.WaitGroup
	for _, s := range stores {
		all.Go(func() {
			for part := range slices.Chunk(refs, size) {
				work(s, part)
			}
		})
	}
	all.Wait()
	run := wantSound(t, stores[0], refs[0].RunID)
	if run.Succeeded != groups*size || run.Calls != groups*size || closed.Load() != 1 || won.Load() != groups {
		t.Errorf("%+v, closed %d times, %d groups were won", run.RunCounts, closed.Load(), won.Load())
	}
	if quick := stores[0].QuickGroups() + stores[1].QuickGroups(); quick != 2*groups {
		t.Errorf("%d groups were quick, want %d", quick, 2*groups)
	}
}

func ids(refs []domain.JobRef) (out []int64) {
	for _, ref := range refs {
		out = append(out, ref.ID)
	}
	return out
}

// TestClaimDoesNotWaitForItsAccount: it goes by the version that is committed.
func TestClaimDoesNotWaitForItsAccount(t *testing.T) {
	t.Parallel()
	eachServer(t, testClaimDoesNotWaitForItsAccount)
}

func testClaimDoesNotWaitForItsAccount(t *testing.T, on server) {
	url := on.fresh(t)
	worker, other := mustOpenState(t, url), mustOpenState(t, url)
	refs := planned(t, worker.State, "octocat", 3)
	err := other.db.Tx(t.Context(), func(tx *relational.Tx) error {
		if _, err := tx.ExecContext(t.Context(), "UPDATE account SET version = version + 1"); err != nil {
			return err
		}
		if err := worker.Claim(t.Context(), state.Claim{Job: refs[0].ID, Account: 1}); err != nil {
			t.Errorf("claim while the account changes: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("change the account: %v", err)
	}
	if err := worker.Claim(t.Context(), state.Claim{Job: refs[1].ID, Account: 1}); domain.CodeOf(err) != domain.CodeStale {
		t.Errorf("claim by an old version: %v", err)
	}
	if err := worker.Claim(t.Context(), state.Claim{Job: refs[2].ID, Account: 2}); err != nil || worker.QuickGroups() != 2 {
		t.Errorf("claim by the new version: %v, %d quick groups", err, worker.QuickGroups())
	}
}
