package engine_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/engine/enginetest"
	"sluice/internal/quota"
	"sluice/internal/source"
	"sluice/internal/wiring"
)

// pooled is an upstream that gives every token five calls an hour. Jobs of type
// PRIVATE need the account's own.
type pooled struct {
	*enginetest.Script
	revoked map[string]bool

	mu   sync.Mutex
	used map[string]int
	// made counts calls by the type of their job.
	made map[string]int
	// refused are calls with a revoked token, beyond those over the limit.
	refused, beyond int
}

const pooledLimit = 5

func newPooled(roots ...domain.JobSpec) *pooled {
	p := &pooled{revoked: map[string]bool{}, used: map[string]int{}, made: map[string]int{}}
	p.Script = &enginetest.Script{Roots: roots, Answer: p.answer}
	return p
}

func (p *pooled) Public(job domain.JobSpec) bool { return job.Type != "PRIVATE" }

func (p *pooled) answer(_ context.Context, c source.Call) source.Result {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.revoked[c.Token] {
		p.refused++
		return source.Result{Verdict: source.PauseAccount, Failure: &domain.Failure{Kind: domain.FailureCredential, Message: "the token of " + c.Run.Login + " is bad"}}
	}
	window := time.Now().Truncate(time.Hour)
	key := c.Token + window.String()
	p.used[key]++
	p.made[c.Job.Type]++
	if p.used[key] > pooledLimit {
		p.beyond++
	}
	return source.Result{Verdict: source.Done, Quota: quota.Response{
		Known: true, Limit: pooledLimit, Remaining: max(pooledLimit-p.used[key], 0), Reset: window.Add(time.Hour), Date: time.Now(),
	}}
}

// calls counts those made for jobs of a type, and those made with a token.
func (p *pooled) calls(typ, token string) (ofType, withToken int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, n := range p.used {
		if strings.HasPrefix(key, token) {
			withToken += n
		}
	}
	return p.made[typ], withToken
}

func specs(typ string, n int) (all []domain.JobSpec) {
	for i := range n {
		all = append(all, enginetest.Item(typ, fmt.Sprintf("%s:%d", typ, i)))
	}
	return all
}

func pooling(t *testing.T, src *pooled) *service {
	t.Helper()
	return started(t, src, wiring.Options{
		Engine: engine.Config{Workers: 8, PoolTokens: true},
		Quota:  quota.Config{Concurrency: 100, Buckets: map[string]quota.Limits{"core": {Limit: pooledLimit, Window: time.Hour}}},
	})
}

// put adds an account without a run.
func (s *service) put(login, token string) domain.Account {
	s.t.Helper()
	a, err := s.svc.Engine.PutAccount(s.t.Context(), engine.Signup{Source: "script", Login: login, Token: token})
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

// TestRevokedTokenOfALender: the lender's account is paused, at the cost of one
// call, and the borrower goes on with what others lend.
func TestRevokedTokenOfALender(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		src := newPooled(specs("ITEM", 12)...)
		src.revoked["bad"] = true
		s := pooling(t, src)
		borrower := s.put("borrower", "good")
		lender := s.put("lender", "bad")
		s.put("other", "better")
		began := time.Now()
		s.wantCompleted(s.wait(s.run(borrower)), 0)
		if src.refused != 1 || src.beyond != 0 {
			t.Errorf("%d calls with the revoked token, %d beyond the quota, want one and none", src.refused, src.beyond)
		}
		if took := time.Since(began); took < 50*time.Minute {
			t.Errorf("twelve calls took %v although ten may be made in an hour", took)
		}
		now := s.reread(lender)
		if now.State != domain.AccountPaused || !strings.Contains(now.Reason, "lender") || s.reread(borrower).State != domain.AccountActive {
			t.Errorf("the lender is %s (%s), the borrower %s", now.State, now.Reason, s.reread(borrower).State)
		}
	})
}

// TestPrivateJobsLeaveTheLaneOpen: they wait for their own ration, and what
// others lend is used for the public ones behind them.
func TestPrivateJobsLeaveTheLaneOpen(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		src := newPooled(append(specs("PRIVATE", 8), specs("ITEM", 10)...)...)
		s := pooling(t, src)
		borrower := s.put("borrower", "own")
		s.put("one", "first")
		s.put("two", "second")
		run := s.run(borrower)
		pass(10 * time.Minute)
		// Which jobs got the own ration depends on who asked first.
		if public, own := src.calls("ITEM", "own"); public != 10 || own != pooledLimit {
			t.Errorf("after ten minutes %d public calls were made and %d of the own ration, want all ten and all five", public, own)
		}
		s.wantCompleted(s.wait(run), 0)
		if src.beyond != 0 {
			t.Errorf("%d calls beyond the quota", src.beyond)
		}
	})
}

// TestLenderThatAnotherProcessPauses lends nothing from a minute later on.
func TestLenderThatAnotherProcessPauses(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		src := newPooled(specs("ITEM", 20)...)
		s := pooling(t, src)
		borrower, lender := s.put("borrower", "own"), s.put("lender", "lent")
		run := s.run(borrower)
		pass(10 * time.Minute)
		if p := s.stored(run); p.Done() != 10 {
			t.Fatalf("%d jobs are done after ten minutes, want ten", p.Done())
		}
		// Not by this engine, which therefore hears nothing of it.
		if _, err := s.raw.SetAccountState(t.Context(), lender.ID, domain.AccountPaused, "on holiday"); err != nil {
			t.Fatal(err)
		}
		s.wantCompleted(s.wait(run), 0)
		_, lent := src.calls("ITEM", "lent")
		if lent != pooledLimit || src.beyond != 0 {
			t.Errorf("%d calls were lent, want the %d of before; %d beyond the quota", lent, pooledLimit, src.beyond)
		}
	})
}
