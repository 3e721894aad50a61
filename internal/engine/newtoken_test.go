package engine_test

import (
	"context"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/quota"
	"sluice/internal/source"
	"sluice/internal/source/github"
	"sluice/internal/wiring"
)

// TestNewTokenFreesWhatWaited: jobs wait for the window of a token's owner to
// end; a token of another owner lets them go on at once.
func TestNewTokenFreesWhatWaited(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		src := newItems(10)
		used := map[string]int{}
		src.Answer = func(_ context.Context, c source.Call) source.Result {
			src.mu.Lock()
			defer src.mu.Unlock()
			src.called[c.Job.Resource]++
			used[c.Token]++
			limit := 100
			if c.Token == "token-of-octocat" {
				limit = 3
			}
			return source.Result{Verdict: source.Done, Quota: quota.Response{
				Known: true, Limit: limit, Remaining: max(limit-used[c.Token], 0), Reset: time.Now().Truncate(time.Hour).Add(time.Hour), Date: time.Now(),
			}}
		}
		s := started(t, src, wiring.Options{Quota: github.Describe().Quota(0), Engine: engine.Config{Workers: 1}})
		a := s.account("octocat")
		run := s.run(a)
		s.until("the end of the ration", func() bool { return len(s.svc.Engine.Waits()) > 0 })
		began := time.Now()
		if _, err := s.svc.Engine.PutAccount(t.Context(), engine.Signup{Source: src.Name(), Login: a.Login, Token: "another"}); err != nil {
			t.Fatal(err)
		}
		run = s.wait(run)
		s.wantCompleted(run, 0)
		if took := time.Since(began); took > time.Minute {
			t.Errorf("the new token was used after %v", took)
		}
		src.wantEachOnce(t)
		if run.Status == domain.RunCompleted && used["another"] != 7 {
			t.Errorf("calls by token: %v", used)
		}
	})
}
