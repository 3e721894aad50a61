package engine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/quota"
	sim "sluice/internal/simulator/github"
	"sluice/internal/wiring"
)

// sharing is a world of one user, whose repository is collected by itself as well.
type sharing struct {
	*world
	// held lets the calls for issues go on.
	held       chan struct{}
	user, repo collection
}

// newSharing begins to collect a user and then one of its repositories, with one token,
// while the issues of none are answered.
func newSharing(t *testing.T, o wiring.Options) *sharing {
	w := &sharing{world: newBubbleWorld(t, small(1), o), held: make(chan struct{})}
	login := w.sim.Logins()[0]
	arrived := make(chan struct{}, 2)
	w.sim.Before(sim.PathContains("/issues"), sim.Forever, func() {
		select {
		case arrived <- struct{}{}:
		default:
		}
		<-w.held
	})
	w.user = w.signup(login)
	// That a job is claimed is not announced; that its call arrives is.
	for range cap(arrived) {
		<-arrived
	}
	r := w.sim.Repos(login)[0]
	w.repo = w.signupWith(r.Owner+"/"+r.Name, w.sim.Token(login))
	w.until("a wait for who collects the repository", func() bool {
		waits := w.jobsOf(w.repo.run, "COPY_REPO", domain.JobReady)
		return len(waits) > 0 && waits[0].Attempt > 1
	})
	return w
}

// jobsOf are the jobs of a run that have a type and a status.
func (w *world) jobsOf(run domain.Run, typ string, status domain.JobStatus) (jobs []domain.Job) {
	w.t.Helper()
	for _, j := range w.jobs(run, status) {
		if j.Type == typ {
			jobs = append(jobs, j)
		}
	}
	return jobs
}

// TestARepositoryIsCollectedForAllThatReachIt: who comes second waits, makes no call for
// what the first collects, and has the same in the end.
func TestARepositoryIsCollectedForAllThatReachIt(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newSharing(t, wiring.Options{Engine: quick()})
		for _, c := range []collection{w.user, w.repo} {
			p, err := w.svc.Engine.Progress(t.Context(), w.stored(c.run))
			said := slices.ContainsFunc(p.Waits, func(wait engine.LaneWait) bool {
				return strings.Contains(wait.Reason, w.user.account.Login+" collects "+w.repo.account.Login)
			})
			if err != nil || said != (c == w.repo) {
				t.Errorf("%s waits for %+v (%v)", c.account.Login, p.Waits, err)
			}
		}
		close(w.held)
		w.wantWhole(w.user)
		if run := w.wantWhole(w.repo); run.Calls != 1 {
			t.Errorf("%d calls were made, want one: to find the repository", run.Calls)
		}
		w.wantNoWaste()
	})
}

// TestARepositoryIsTakenOver: who waited collects what the first does not bring: its run
// is canceled, it is paused, it gets another token, it is purged.
func TestARepositoryIsTakenOver(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(w *sharing) error{
		"canceled": func(w *sharing) error {
			_, err := w.svc.Engine.CancelRun(w.t.Context(), w.user.run.ID, "a person")
			return err
		},
		"paused": func(w *sharing) error {
			return w.svc.Engine.PauseAccount(w.t.Context(), w.user.account.ID, "a person")
		},
		"purged": func(w *sharing) error {
			_, err := w.svc.Engine.PurgeAccount(w.t.Context(), w.user.account.ID, true)
			return err
		},
		"another token": func(w *sharing) error {
			_, err := w.svc.Engine.PutAccount(w.t.Context(), engine.Signup{Source: "github", Login: w.user.account.Login, Token: "ghp_of_somebody_else"})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				w := newSharing(t, wiring.Options{Engine: quick()})
				if err := leave(w); err != nil {
					t.Fatal(err)
				}
				close(w.held)
				if run := w.wantWhole(w.repo); run.Calls < 2 {
					t.Errorf("%d calls were made: the repository was not collected", run.Calls)
				}
			})
		})
	}
}

// TestCopiesNeedNoRation: what another account has is copied when none of the ration is
// left.
func TestCopiesNeedNoRation(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newBubbleWorld(t, small(1), wiring.Options{Engine: quick()})
		login := w.sim.Logins()[0]
		w.wantWhole(w.signup(login))
		r := w.sim.Repos(login)[0]
		a, err := w.svc.Engine.PutAccount(t.Context(), engine.Signup{Source: "github", Login: r.Owner + "/" + r.Name, Token: w.sim.Token(login)})
		if err != nil {
			t.Fatal(err)
		}
		// Of REST nothing is left, of GraphQL as much as it takes to find the repository.
		for bucket, left := range map[string]int{"core": 0, "graphql": 3} {
			d, err := w.svc.Quota.Reserve(t.Context(), quota.Ask{Owner: a.Owner, Bucket: bucket, Cost: 1, Points: 1})
			if err != nil || !d.Granted {
				t.Fatal(d, err)
			}
			told := quota.Response{Known: true, Limit: 5000, Remaining: left, Reset: time.Now().Add(time.Hour), Date: time.Now()}
			if err := w.svc.Quota.Settle(t.Context(), d.Permit, told); err != nil {
				t.Fatal(err)
			}
		}
		run := w.run(a)
		if ended := w.wantWhole(collection{a, run}); ended.FinishedAt.Sub(run.CreatedAt) > time.Minute {
			t.Errorf("it took %v", ended.FinishedAt.Sub(run.CreatedAt))
		}
	})
}
