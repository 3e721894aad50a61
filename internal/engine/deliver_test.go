package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/engine/enginetest"
	"sluice/internal/source"
	"sluice/internal/wiring"
)

// hookedItems is told of items: an event's text has a login and the items that
// changed, none for everything.
type hookedItems struct{ *items }

func (h hookedItems) Notices(e source.Event) []source.Notice {
	words := strings.Fields(string(e.Text))
	n := source.Notice{Login: words[0]}
	for _, resource := range words[1:] {
		spec := enginetest.Item("CHANGED", resource)
		spec.PageKey = e.Delivery
		n.Jobs = append(n.Jobs, spec)
	}
	return []source.Notice{n}
}

func (s *service) deliver(id, text string) []domain.Run {
	s.t.Helper()
	runs, err := s.svc.Engine.Deliver(s.t.Context(), s.opt.Sources[0].Name(), source.Event{Name: "changed", Delivery: id, Text: []byte(text)})
	if err != nil {
		s.t.Fatal(err)
	}
	return runs
}

// TestEventsAreSmallRuns: an event of a collected account takes its own jobs alone,
// once, however often it comes.
func TestEventsAreSmallRuns(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		src := newItems(3)
		s := started(t, hookedItems{src}, wiring.Options{Engine: quick()})
		a := s.account("octocat")
		s.account("hubot")
		s.wait(s.run(a))
		first := s.deliver("one", "octocat changed:1 changed:2")
		if len(first) != 1 || first[0].Trigger != domain.TriggerWebhook || first[0].Priority != domain.PriorityHigh || first[0].AccountID != a.ID {
			t.Fatalf("the event brought %+v", first)
		}
		ended := s.wait(first[0])
		if ended.Status != domain.RunCompleted || ended.Succeeded != 2 || ended.Known != 2 {
			t.Errorf("its run ended as %+v", ended)
		}
		if again := s.deliver("one", "octocat changed:1 changed:2"); len(again) != 1 || again[0].ID != first[0].ID {
			t.Errorf("the same event again brought %+v", again)
		}
		if nobody := s.deliver("two", "stranger changed:1"); len(nobody) != 0 {
			t.Errorf("an event of a stranger brought %+v", nobody)
		}
		s.wait(s.deliver("three", "octocat changed:3")[0])

		// One that was never collected is, and so is one of which everything may have
		// changed.
		whole := s.deliver("four", "hubot changed:4")
		if ended := s.wait(whole[0]); ended.Trigger != domain.TriggerSignup || ended.Succeeded != 3 {
			t.Errorf("the run of an account that was not collected ended as %+v", ended)
		}
		if ended := s.wait(s.deliver("five", "octocat")[0]); ended.Succeeded != 3 {
			t.Errorf("the run of an event that names nothing ended as %+v", ended)
		}
		for resource, want := range map[string]int{"changed:1": 1, "changed:2": 1, "changed:3": 1, "changed:4": 0, "item:0": 3} {
			if got := src.calls(resource); got != want {
				t.Errorf("%s was asked for %d times, want %d", resource, got, want)
			}
		}
	})
}

func (s *items) calls(resource string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.called[resource]
}

// TestEventsJoinTheRunUnderWay, with priority over what is left of it, and are not lost
// with the process.
func TestEventsJoinTheRunUnderWay(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		src := newItems(2)
		gate := make(chan struct{})
		answer := src.Answer
		src.Answer = func(ctx context.Context, c source.Call) source.Result {
			if c.Job.Type == "ITEM" {
				select {
				case <-gate:
				case <-ctx.Done():
					return source.Result{Verdict: source.Wait, Free: true, Failure: &domain.Failure{Kind: domain.FailureConnection, Message: "stopped"}}
				}
			}
			return answer(ctx, c)
		}
		s := started(t, hookedItems{src}, wiring.Options{Engine: quick()})
		run := s.run(s.account("octocat"))
		joined := s.deliver("one", "octocat changed:1")
		if len(joined) != 1 || joined[0].ID != run.ID || joined[0].Known != 3 {
			t.Fatalf("the event brought %+v", joined)
		}
		s.until("the event is dealt with", func() bool { return src.calls("changed:1") == 1 })
		if again := s.deliver("one", "octocat changed:1"); len(again) != 1 || again[0].ID != run.ID {
			t.Errorf("the same event again brought %+v", again)
		}
		close(gate)
		if ended := s.wait(run); ended.Status != domain.RunCompleted || ended.Succeeded != 3 {
			t.Errorf("the run ended as %+v", ended)
		}
		if n := src.calls("changed:1"); n != 1 {
			t.Errorf("it was asked for %d times", n)
		}
	})
}

// TestEventsPutOffNoHarvest: they bring what was told, and only a run finds what was
// not.
func TestEventsPutOffNoHarvest(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		src := newItems(1)
		s := started(t, hookedItems{src}, harvesting(t, `{"every":"1h"}`, 1000))
		a := s.account("octocat")
		s.wait(s.run(a))
		next := func() (at time.Time) {
			s.until("a plan", func() bool {
				_, planned, err := s.svc.Engine.Schedule(t.Context(), a.ID)
				if err != nil {
					t.Fatal(err)
				}
				at = planned.At
				return !at.IsZero()
			})
			return at
		}
		planned := next()
		for i := range 4 {
			pass(10 * time.Minute)
			s.wait(s.deliver(strings.Repeat("x", i+1), "octocat changed:1")[0])
		}
		if still := next(); !still.Equal(planned) {
			t.Errorf("the next run is planned for %s; it was for %s", still, planned)
		}
		pass(time.Until(planned) + time.Minute)
		s.until("the harvest", func() bool { return src.calls("item:0") >= 2 })
	})
}
