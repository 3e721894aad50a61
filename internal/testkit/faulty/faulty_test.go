package faulty_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"sluice/internal/dispatch"
	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/due"
	"sluice/internal/quota"
	"sluice/internal/quota/rate"
	"sluice/internal/ration/keeper"
	"sluice/internal/refresh"
	"sluice/internal/state"
	"sluice/internal/testkit/faulty"
	"sluice/internal/timer"
)

// The fakes count the calls that come through. A method they do not have
// comes from the nil interface and would end the test.
type fakeState struct {
	state.Store
	done int
	err  error
}

func (f *fakeState) Claim(context.Context, state.Claim) error {
	f.done++
	return f.err
}

func (f *fakeState) Close() error { f.done++; return nil }

func claim(t *testing.T, s state.Store) (domain.Job, error) {
	t.Helper()
	if err := s.Claim(t.Context(), state.Claim{Job: 7}); err != nil {
		return domain.Job{}, err
	}
	return domain.Job{ID: 7}, nil
}

func wantFault(t *testing.T, err error, text string) {
	t.Helper()
	if domain.CodeOf(err) != domain.CodeUnavailable || !strings.Contains(err.Error(), text) {
		t.Errorf("got %v, want code unavailable and %q", err, text)
	}
}

func TestWithoutFaultsNothingChanges(t *testing.T) {
	inner, plan := &fakeState{}, faulty.NewPlan()
	s := faulty.NewState(inner, plan)
	job, err := claim(t, s)
	if err != nil || job.ID != 7 || inner.done != 1 || plan.Calls("Claim") != 1 || plan.Faults(faulty.Any) != 0 {
		t.Errorf("got %+v, %v after %d calls", job, err, inner.done)
	}
}

func TestFailBeforeDoesNothing(t *testing.T) {
	inner, plan := &fakeState{}, faulty.NewPlan()
	s := faulty.NewState(inner, plan)
	plan.FailBefore("Claim", 2)
	plan.FailBefore("Finish", 1)
	for range 2 {
		_, err := claim(t, s)
		wantFault(t, err, "Claim was not done")
	}
	if inner.done != 0 {
		t.Errorf("%d calls came through", inner.done)
	}
	if _, err := claim(t, s); err != nil || inner.done != 1 {
		t.Errorf("the third call: %v", err)
	}
	if plan.Calls("Claim") != 3 || plan.Faults("Claim") != 2 || plan.Unmet() != 1 {
		t.Errorf("%d calls, %d faults, %d unmet", plan.Calls("Claim"), plan.Faults("Claim"), plan.Unmet())
	}
}

func TestFailAfterDoesIt(t *testing.T) {
	inner, plan := &fakeState{}, faulty.NewPlan()
	s := faulty.NewState(inner, plan)
	plan.FailAfter(faulty.Any, 1)
	job, err := claim(t, s)
	wantFault(t, err, "its answer is lost")
	if inner.done != 1 || job.ID != 0 {
		t.Errorf("%d calls came through, the answer is %+v", inner.done, job)
	}
	plan.FailAfter("Claim", 1)
	inner.err = errors.New("its own")
	if _, err := claim(t, s); !errors.Is(err, inner.err) {
		t.Errorf("a call that failed by itself: %v", err)
	}
}

func TestOutageAndHeal(t *testing.T) {
	inner, plan := &fakeState{}, faulty.NewPlan()
	s := faulty.NewState(inner, plan)
	plan.FailBefore(faulty.Any, -1)
	for range 5 {
		_, err := claim(t, s)
		wantFault(t, err, "not done")
	}
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	plan.Heal()
	if _, err := claim(t, s); err != nil {
		t.Errorf("healed: %v", err)
	}
}

func TestBlock(t *testing.T) {
	inner, plan := &fakeState{}, faulty.NewPlan()
	s := faulty.NewState(inner, plan)
	arrived, release := plan.Block("Claim")
	result := make(chan error, 1)
	go func() { _, err := claim(t, s); result <- err }()
	<-arrived
	select {
	case err := <-result:
		t.Fatalf("a blocked call returned %v", err)
	default:
	}
	release()
	release()
	if err := <-result; err != nil || inner.done != 1 {
		t.Errorf("a released call: %v", err)
	}
	plan.Block("Claim")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Claim(ctx, state.Claim{}); !errors.Is(err, context.Canceled) || inner.done != 1 {
		t.Errorf("a blocked call whose context ended: %v", err)
	}
}

func TestRandomIsRepeatable(t *testing.T) {
	walk := func(seed uint64) (fates []bool, done int, plan *faulty.Plan) {
		inner, plan := &fakeState{}, faulty.Random(seed, 0.2, 0.3)
		s := faulty.NewState(inner, plan)
		for range 1000 {
			_, err := claim(t, s)
			fates = append(fates, err == nil)
		}
		return fates, inner.done, plan
	}
	a, done, plan := walk(1)
	b, _, _ := walk(1)
	c, _, _ := walk(2)
	if !reflect.DeepEqual(a, b) || reflect.DeepEqual(a, c) {
		t.Errorf("the same seed gives the same faults: %v; another gives others: %v", reflect.DeepEqual(a, b), !reflect.DeepEqual(a, c))
	}
	faults := plan.Faults("Claim")
	if done < 740 || done > 860 || faults < 430 || faults > 570 {
		t.Errorf("of 1000 calls %d were done and %d failed, want about 800 and 500", done, faults)
	}
}

func TestPassAndThenFail(t *testing.T) {
	inner, plan := &fakeState{}, faulty.NewPlan()
	s := faulty.NewState(inner, plan)
	plan.Pass("Claim", 2)
	plan.FailAfter("Claim", 1)
	for i, fails := range []bool{false, false, true, false} {
		if _, err := claim(t, s); errors.Is(err, faulty.ErrInjected) != fails {
			t.Errorf("call %d: %v", i, err)
		}
	}
	if inner.done != 4 || plan.Faults("Claim") != 1 || plan.Unmet() != 0 {
		t.Errorf("%d were done, %d faults, %d unmet", inner.done, plan.Faults("Claim"), plan.Unmet())
	}
}

func TestBreakAndMend(t *testing.T) {
	inner, plan := &fakeState{}, faulty.NewPlan()
	s, own := faulty.NewState(inner, plan), errors.New("its own")
	plan.Break(func(context.Context) error { return own }, "Claim", "Finish")
	if _, err := claim(t, s); !errors.Is(err, own) || inner.done != 0 {
		t.Errorf("broken: %v", err)
	}
	slow := 0
	plan.Break(func(context.Context) error { slow++; return nil }, "Claim")
	if _, err := claim(t, s); err != nil || inner.done != 1 || slow != 1 {
		t.Errorf("slow: %v", err)
	}
	plan.Mend("Claim")
	if _, err := claim(t, s); err != nil || inner.done != 2 || slow != 1 {
		t.Errorf("mended: %v", err)
	}
}

// TestDying: a process answers so many calls; whether the last was done its caller
// cannot know, and nothing is done after it.
func TestDying(t *testing.T) {
	done := map[int]bool{}
	for seed := range uint64(20) {
		inner, plan := &fakeState{}, faulty.Dying(seed, 3)
		s := faulty.NewState(inner, plan)
		for i := range 6 {
			if plan.Dead() != (i > 2) {
				t.Fatalf("before call %d it is dead: %v", i, plan.Dead())
			}
			if _, err := claim(t, s); errors.Is(err, faulty.ErrInjected) != (i > 1) {
				t.Fatalf("call %d: %v", i, err)
			}
		}
		done[inner.done] = true
		plan.Heal()
		if _, err := claim(t, s); err != nil || plan.Dead() {
			t.Fatalf("healed: %v", err)
		}
	}
	if len(done) != 2 || !done[2] || !done[3] {
		t.Errorf("of three calls %v were done, want two or three", done)
	}
}

// TestEveryMethodConsultsThePlan calls each method of each wrapper during an
// outage: the nil port behind it would end the test.
func TestEveryMethodConsultsThePlan(t *testing.T) {
	ports := map[reflect.Type]func(*faulty.Plan) any{
		reflect.TypeFor[state.Store]():         func(p *faulty.Plan) any { return faulty.NewState(nil, p) },
		reflect.TypeFor[document.Store]():      func(p *faulty.Plan) any { return faulty.NewDocuments(nil, p) },
		reflect.TypeFor[quota.Keeper]():        func(p *faulty.Plan) any { return faulty.NewQuota(nil, p) },
		reflect.TypeFor[dispatch.Dispatcher](): func(p *faulty.Plan) any { return faulty.NewDispatch(nil, p) },
		reflect.TypeFor[state.Pending]():       func(p *faulty.Plan) any { return faulty.NewResults(nil, p) },
		reflect.TypeFor[timer.Store]():         func(p *faulty.Plan) any { return faulty.NewTimers(nil, p) },
		reflect.TypeFor[due.Set]():             func(p *faulty.Plan) any { return faulty.NewDueSet(nil, p) },
		reflect.TypeFor[timer.Log]():           func(p *faulty.Plan) any { return faulty.NewTimerLog(nil, p) },
		reflect.TypeFor[refresh.Snapshots]():   func(p *faulty.Plan) any { return faulty.NewSnapshots(nil, p) },
		reflect.TypeFor[refresh.Coalescer]():   func(p *faulty.Plan) any { return faulty.NewCoalescer(nil, p) },
		reflect.TypeFor[refresh.Cache]():       func(p *faulty.Plan) any { return faulty.NewCache(nil, p) },
		reflect.TypeFor[refresh.EventLog]():    func(p *faulty.Plan) any { return faulty.NewEventLog(nil, p) },
		reflect.TypeFor[refresh.LogConsumer](): func(p *faulty.Plan) any { return faulty.NewConsumer(nil, p) },
		reflect.TypeFor[rate.Keeper]():         func(p *faulty.Plan) any { return faulty.NewRate(nil, p) },
		reflect.TypeFor[keeper.Store]():        func(p *faulty.Plan) any { return faulty.NewRations(nil, p) },
	}
	for port, wrap := range ports {
		plan := faulty.NewPlan()
		plan.FailBefore(faulty.Any, -1)
		wrapper := wrap(plan)
		for m := range port.Methods() {
			if m.Name == "Close" || m.Type.NumIn() == 0 || m.Type.In(0) != reflect.TypeFor[context.Context]() {
				continue // what closes, or asks no server, does not fail
			}
			method := reflect.ValueOf(wrapper).MethodByName(m.Name)
			args := []reflect.Value{reflect.ValueOf(t.Context())}
			for i := 1; i < method.Type().NumIn(); i++ {
				if method.Type().IsVariadic() && i == method.Type().NumIn()-1 {
					break
				}
				args = append(args, reflect.Zero(method.Type().In(i)))
			}
			if out := method.Call(args); len(out) > 0 {
				err, _ := out[len(out)-1].Interface().(error)
				wantFault(t, err, m.Name+" was not done")
			}
			if plan.Calls(m.Name) == 0 {
				t.Errorf("%s.%s does not count", port, m.Name)
			}
		}
	}
}
