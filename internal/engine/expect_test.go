package engine_test

import (
	"context"
	"testing"
	"time"

	"sluice/internal/backend/memory"
	"sluice/internal/engine"
	"sluice/internal/quota"
	"sluice/internal/quota/bucketed"
	"sluice/internal/source"
)

// TestWhatWasExpectedIsKept: what is forecast when everything is found stays with
// the run when it has ended, and nobody has to have looked.
func TestWhatWasExpectedIsKept(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		const workers = 4
		upstream := newItems(60 * workers)
		answer := upstream.Answer
		upstream.Answer = func(ctx context.Context, c source.Call) source.Result {
			time.Sleep(time.Second)
			r := answer(ctx, c)
			r.Quota = quota.Response{Known: true, Limit: 5000, Remaining: 4000, Reset: time.Now().Add(time.Hour)}
			return r
		}
		m := newTeam(t, upstream)
		worker := m.join(engine.Config{Workers: workers}, func(p *engine.Ports) {
			p.Quota = bucketed.New(quota.Config{Concurrency: 10, Buckets: map[string]quota.Limits{"core": {Limit: 5000, Window: time.Hour}}}, memory.NewRations(memory.RationsOptions{}), bucketed.Options{})
		})
		if err := worker.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		run := m.ends(worker, m.signup(worker, "octocat").ID)
		e := run.Expected
		if e.At.Before(run.CreatedAt) || !e.At.Before(run.FinishedAt) {
			t.Fatalf("of a run from %s to %s there was expected: %+v", run.CreatedAt, run.FinishedAt, e)
		}
		// Others claim between the looks at the run and at its jobs. Each has one job
		// under way and one ahead: twice as many, were they counted twice.
		if off := e.Calls - run.Calls; off > workers || off < -workers {
			t.Errorf("%d calls were expected, %d made", e.Calls, run.Calls)
		}
		took, expected := run.FinishedAt.Sub(run.CreatedAt), e.Ends.Sub(run.CreatedAt)
		if expected < took*8/10 || expected > took*12/10 {
			t.Errorf("it took %s, expected were %s", took, expected)
		}
	})
}
