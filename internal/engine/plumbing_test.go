package engine_test

import (
	"context"
	"sync"
	"testing"

	"sluice/internal/domain"
	"sluice/internal/engine/enginetest"
	"sluice/internal/source"
	"sluice/internal/wiring"
)

// TestSecondRunKnowsTheFirst checks that cursors and stored pages travel from
// one run's results to the next run's calls.
func TestSecondRunKnowsTheFirst(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	calls := map[string]source.Call{}
	src := &enginetest.Script{
		Roots: []domain.JobSpec{enginetest.Item("ISSUES", "repo:1"), enginetest.Item("PLAIN", "repo:2")},
		Key: func(job domain.JobSpec) string {
			if job.Type == "ISSUES" {
				return "page of " + job.Resource
			}
			return ""
		},
	}
	src.Answer = func(_ context.Context, c source.Call) source.Result {
		mu.Lock()
		defer mu.Unlock()
		calls[c.Job.Type] = c
		r := source.Result{Verdict: source.Done}
		if c.Job.Type == "ISSUES" {
			r.Cursors = []domain.Cursor{{AccountID: c.Run.AccountID, Resource: "ISSUES repo:1", At: c.Run.Anchor}}
			r.Stored = []domain.Page{{AccountID: c.Run.AccountID, Key: "page of repo:1", ETag: `"abc"`, Next: "/page2", Items: 7}}
		}
		return r
	}
	s := started(t, src, wiring.Options{})
	a := s.account("octocat")

	first := s.wait(s.run(a))
	s.wantCompleted(first, 0)
	issues := calls["ISSUES"]
	if !issues.Since.IsZero() || len(issues.Cursors) != 0 || issues.Stored != nil {
		t.Errorf("the first run knows of an earlier one: %+v", issues)
	}
	if issues.Token != "token-of-octocat" || issues.Run.ID != first.ID || issues.Job.Attempt != 1 {
		t.Errorf("the call carries token %q, run %d and attempt %d", issues.Token, issues.Run.ID, issues.Job.Attempt)
	}

	s.wantCompleted(s.wait(s.run(a)), 0)
	issues, plain := calls["ISSUES"], calls["PLAIN"]
	if !issues.Since.Equal(first.Anchor) {
		t.Errorf("the second run collects since %s, the first had anchor %s", issues.Since, first.Anchor)
	}
	if at := plain.Cursors["ISSUES repo:1"]; !at.Equal(first.Anchor) || len(plain.Cursors) != 1 {
		t.Errorf("the second run's cursors are %v", plain.Cursors)
	}
	want := domain.Page{AccountID: a.ID, Key: "page of repo:1", ETag: `"abc"`, Next: "/page2", Items: 7}
	if issues.Stored == nil || *issues.Stored != want {
		t.Errorf("the remembered page is %+v", issues.Stored)
	}
	if !plain.Since.IsZero() || plain.Stored != nil {
		t.Errorf("a job without cursor and page got %s and %+v", plain.Since, plain.Stored)
	}

	// Another account shares none of it.
	s.wantCompleted(s.wait(s.run(s.account("hubot"))), 0)
	if other := calls["ISSUES"]; len(other.Cursors) != 0 || other.Stored != nil {
		t.Errorf("another account knows %v and %+v", other.Cursors, other.Stored)
	}
}

// TestAllJobsOfARunSeeTheSameCursors moves a cursor in the middle of a run.
func TestAllJobsOfARunSeeTheSameCursors(t *testing.T) {
	t.Parallel()
	src := &enginetest.Script{Roots: []domain.JobSpec{enginetest.Item("FIRST", "x")}}
	src.Answer = func(_ context.Context, c source.Call) source.Result {
		r := source.Result{Verdict: source.Done}
		switch c.Job.Type {
		case "FIRST":
			r.Next = []domain.JobSpec{enginetest.Item("SECOND", "x")}
			r.Cursors = []domain.Cursor{{AccountID: c.Run.AccountID, Resource: "SECOND x", At: c.Run.Anchor}}
		case "SECOND":
			if !c.Since.Before(c.Run.Anchor) {
				t.Errorf("a job sees the cursor that its own run moved: %s", c.Since)
			}
		}
		return r
	}
	s := started(t, src, wiring.Options{})
	a := s.account("octocat")
	for range 2 {
		s.wantCompleted(s.wait(s.run(a)), 0)
	}
}
