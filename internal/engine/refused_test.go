package engine_test

import (
	"context"
	"strings"
	"testing"

	"sluice/internal/domain"
	"sluice/internal/state"
	"sluice/internal/wiring"
)

// refusing is a store that does not take what brings results, and never will.
type refusing struct {
	state.Store
	with domain.Code
	// all says that it does not even take that a job has failed.
	all bool
}

func (s *refusing) Finish(ctx context.Context, o state.Outcome) (state.Effect, error) {
	if s.all || o.To == domain.JobSucceeded {
		return state.Effect{}, domain.Errorf(s.with, "page 17 is damaged")
	}
	return s.Store.Finish(ctx, o)
}

// TestRefusedResultIsPaidOnce: a result that the store will never take fails its
// job, with the reason, and the call is not made again.
func TestRefusedResultIsPaidOnce(t *testing.T) {
	t.Parallel()
	for _, code := range []domain.Code{domain.CodeInvalid, domain.CodeInternal} {
		bubble(t, func(t *testing.T) {
			src := newItems(5)
			s := started(t, src, wiring.Options{Engine: quick(), WrapState: func(s state.Store) state.Store {
				return &refusing{Store: s, with: code}
			}})
			run := s.wait(s.run(s.account("octocat")))
			s.wantCompleted(run, 5)
			src.wantEachOnce(t)
			for _, job := range s.jobs(run) {
				if job.Status != domain.JobFailed || job.Lost != 0 || !strings.Contains(job.Error, "page 17 is damaged") {
					t.Errorf("job %d is %s, lost %d times: %s", job.ID, job.Status, job.Lost, job.Error)
				}
			}
			if err := s.svc.Engine.Err(); err != nil {
				t.Errorf("the engine stopped: %v", err)
			}
		})
	}
}

// TestDamagedStoreStopsTheEngine: nothing is called any more, whoever waits for
// a run hears why, and so does whoever asks whether the service is ready.
func TestDamagedStoreStopsTheEngine(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]*refusing{
		"corrupt":         {with: domain.CodeCorrupt},
		"refuses a plain": {with: domain.CodeInvalid, all: true},
	} {
		bubble(t, func(t *testing.T) {
			src := newItems(50)
			cfg := quick()
			s := started(t, src, wiring.Options{Engine: cfg, WrapState: func(s state.Store) state.Store {
				store.Store = s
				return store
			}})
			run := s.run(s.account("octocat"))
			_, err := s.svc.WaitRun(t.Context(), run.ID)
			if err == nil || !strings.Contains(err.Error(), "page 17 is damaged") {
				t.Errorf("%s: whoever waits hears %v", name, err)
			}
			<-s.svc.Engine.Failed()
			if err := s.svc.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "page 17 is damaged") {
				t.Errorf("%s: the check says %v", name, err)
			}
			if err := s.svc.Engine.Stop(t.Context()); err != nil {
				t.Errorf("%s: stop: %v", name, err)
			}
			src.mu.Lock()
			defer src.mu.Unlock()
			for resource, n := range src.called {
				if n != 1 {
					t.Errorf("%s: %s was called %d times", name, resource, n)
				}
			}
			// Each worker may have had one in hand and one ahead.
			if most := 2 * cfg.Workers; len(src.called) > most {
				t.Errorf("%s: %d calls were made, want at most %d", name, len(src.called), most)
			}
		})
	}
}
