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
	"sluice/internal/faulty"
	"sluice/internal/quota"
	"sluice/internal/state"
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

// TestEveryMethodConsultsThePlan calls each method of each wrapper during an
// outage: the nil port behind it would end the test.
func TestEveryMethodConsultsThePlan(t *testing.T) {
	plan := faulty.NewPlan()
	plan.FailBefore(faulty.Any, -1)
	ports := map[reflect.Type]any{
		reflect.TypeFor[state.Store]():         faulty.NewState(nil, plan),
		reflect.TypeFor[document.Store]():      faulty.NewDocuments(nil, plan),
		reflect.TypeFor[quota.Keeper]():        faulty.NewQuota(nil, plan),
		reflect.TypeFor[dispatch.Dispatcher](): faulty.NewDispatch(nil, plan),
	}
	for port, wrapper := range ports {
		for m := range port.Methods() {
			if m.Name == "Close" {
				continue
			}
			method := reflect.ValueOf(wrapper).MethodByName(m.Name)
			args := []reflect.Value{reflect.ValueOf(t.Context())}
			for i := 1; i < method.Type().NumIn(); i++ {
				if method.Type().IsVariadic() && i == method.Type().NumIn()-1 {
					break
				}
				args = append(args, reflect.Zero(method.Type().In(i)))
			}
			out := method.Call(args)
			err, _ := out[len(out)-1].Interface().(error)
			wantFault(t, err, m.Name+" was not done")
			if plan.Calls(m.Name) == 0 {
				t.Errorf("%s.%s does not count", port, m.Name)
			}
		}
	}
}
