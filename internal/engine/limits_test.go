package engine_test

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/engine"
	sim "sluice/internal/simulator/github"
	"sluice/internal/source/github"
	"sluice/internal/wiring"
)

// diary notes when requests came.
type diary struct {
	mu    sync.Mutex
	times map[string][]time.Time // by token
}

// keep is a hook that notes and lets pass.
func (d *diary) keep(r *http.Request, _ int) *sim.Fault {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.times == nil {
		d.times = map[string][]time.Time{}
	}
	token := r.Header.Get("Authorization")
	d.times[token] = append(d.times[token], time.Now())
	return nil
}

// between counts the requests of a token after one instant and before another.
func (d *diary) between(token string, after, before time.Time) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for _, at := range d.times["Bearer "+token] {
		if at.After(after) && at.Before(before) {
			n++
		}
	}
	return n
}

func TestSecondaryLimitIsWaitedOut(t *testing.T) {
	for _, c := range []struct {
		name       string
		retryAfter time.Duration
		silence    time.Duration
	}{
		{"with Retry-After", 90 * time.Second, 90 * time.Second},
		{"without", 0, time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) { secondaryLimit(t, c.retryAfter, c.silence) })
		})
	}
}

func secondaryLimit(t *testing.T, retryAfter, silence time.Duration) {
	w := newBubbleWorld(t, small(2), wiring.Options{Engine: engine.Config{Workers: 4}})
	logins := w.sim.Logins()
	notes := &diary{}
	w.sim.OnRequest(notes.keep)
	w.sim.FailNext(w.of(logins[0], "/events"), 1, sim.SecondaryLimit(retryAfter))
	began := time.Now()
	all := w.signupAll()

	w.until("a word about the limit", func() bool {
		p, err := w.svc.Engine.Progress(t.Context(), w.stored(all[0].run))
		return err == nil && len(p.Waits) > 0 && !p.Waits[0].Until.Before(began.Add(silence))
	})
	if run := w.wantWhole(all[1]); run.FinishedAt.Sub(began) >= time.Second {
		t.Errorf("the other account was slowed down: %s", run.FinishedAt.Sub(began))
	}
	run := w.wantWhole(all[0])
	if took := run.FinishedAt.Sub(began); took < silence || took > silence+5*time.Second {
		t.Errorf("the run took %s, with a silence of %s", took, silence)
	}
	if n := notes.between(w.sim.Token(logins[0]), began, began.Add(silence)); n != 0 {
		t.Errorf("%d calls were made while the owner was to stay away", n)
	}
	for _, job := range w.jobs(run) {
		if job.Failures != 0 {
			t.Errorf("job %d counts %d failures for a limit", job.ID, job.Failures)
		}
	}
	w.wantNoWaste()
}

// sharedToken makes the calls of somebody else who has the same ration, just
// before the given request.
type sharedToken struct {
	http.RoundTripper
	mu       sync.Mutex
	at, seen int
	use      func()
}

func (s *sharedToken) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.seen++
	if s.seen == s.at {
		s.use()
	}
	s.mu.Unlock()
	return s.RoundTripper.RoundTrip(r)
}

func TestSomebodyElseSpendsTheRation(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		o := small(1)
		o.Limits.CoreLimit = 12
		upstream := sim.New(o)
		login := upstream.Logins()[0]
		shared := &sharedToken{RoundTripper: direct{upstream}, at: 5}
		shared.use = func() {
			for range 10 {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://github.test/users/"+login, nil)
				if err != nil {
					t.Error(err)
				}
				r.Header.Set("Authorization", "Bearer "+upstream.Token2(login))
				r.Header.Set("User-Agent", "somebody else")
				if _, err := (direct{upstream}).RoundTrip(r); err != nil {
					t.Error(err)
				}
			}
		}
		w := worldOf(t, upstream, github.Options{BaseURL: "http://github.test", Transport: shared}, wiring.Options{Engine: engine.Config{Workers: 4}})
		began := time.Now()
		c := w.signup(login)
		w.until("a word about the ration", func() bool {
			p, err := w.svc.Engine.Progress(t.Context(), w.stored(c.run))
			return err == nil && len(p.Waits) > 0
		})
		run := w.wantWhole(c)
		if took := run.FinishedAt.Sub(began); took < time.Hour || took > time.Hour+time.Minute {
			t.Errorf("the run took %s, the window lasts an hour", took)
		}
		for _, job := range w.jobs(run) {
			if job.Failures != 0 || job.Status != domain.JobSucceeded {
				t.Errorf("job %d is %s with %d failures", job.ID, job.Status, job.Failures)
			}
		}
		// Only calls that were under way when the other took the rest are refused.
		if refused := w.sim.Audit().BeyondQuota; refused > w.opt.Engine.Workers {
			t.Errorf("%d calls beyond quota with %d workers", refused, w.opt.Engine.Workers)
		}
	})
}
