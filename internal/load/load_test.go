package load

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/domain"
	"sluice/internal/refresh"
)

func TestAFigureThatIsNotAsNeededIsMissed(t *testing.T) {
	r := Result{Figures: map[string]float64{}, Needed: map[string]string{}}
	r.note("requests", 3.14159)
	r.exactly("lost", 0, 0)
	r.exactly("calls", 2, 1)
	r.within("again", 3, 2, 3)
	r.within("never", 1, 2, 3)
	r.within("once", 1, 1, 1)
	r.atMost("largest_second", 500, 500)
	r.atMost("largest", 501, 500)
	r.atLeast("used", 445, 445)
	r.below("read_p95_ms", 5, 5)
	if want := []string{"calls", "never", "largest", "read_p95_ms"}; !slices.Equal(r.Missed, want) {
		t.Errorf("missed %v, want %v", r.Missed, want)
	}
	if r.Figures["requests"] != 3.14 || r.Needed["calls"] != "= 1" || r.Needed["never"] != "2 to 3" || r.Needed["once"] != "= 1" || r.Needed["requests"] != "" {
		t.Errorf("figures %v, needed %v", r.Figures, r.Needed)
	}
	if want := []string{"requests", "lost", "calls", "again", "never", "once", "largest_second", "largest", "used", "read_p95_ms"}; !slices.Equal(r.Order(), want) {
		t.Errorf("told in the order %v", r.Order())
	}
}

func TestPercentile(t *testing.T) {
	var took []time.Duration
	for i := range 100 {
		took = append(took, time.Duration(100-i)*time.Millisecond)
	}
	for percent, want := range map[int]float64{95: 95, 99: 99, 100: 100} {
		if got := percentile(took, percent); got != want {
			t.Errorf("the %dth percentile of 1 to 100 ms is %v ms", percent, got)
		}
	}
	if got := percentile(took[:1], 95); got != 1 {
		t.Errorf("of one alone it is %v", got)
	}
	if got := percentile(nil, 95); got != 0 {
		t.Errorf("of none it is %v", got)
	}
}

func entity(key string) refresh.Entity { return refresh.Entity{Source: Source, Key: key} }

func TestTheTrackerKnowsWhatIsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := newTracker(time.Minute)
		seen.expect([]refresh.Entity{entity("a"), entity("b")}, domain.PriorityHigh)
		seen.expect([]refresh.Entity{entity("c"), entity("d")}, domain.PriorityLow)
		record := func(key string) refresh.LogRecord {
			return refresh.LogRecord{Message: refresh.Message{Key: entity(key).String()}}
		}
		time.Sleep(time.Second)
		seen.saved([]refresh.Refreshed{{Entity: entity("a")}})
		seen.done([]refresh.LogRecord{record("a"), record("c")})
		seen.handed([]refresh.LogRecord{{Offset: 1}, {Offset: 2}, {Offset: 1, Partition: 1}, {Offset: 1, Topic: refresh.TopicLow}})
		if got := seen.handedAgain(); got != 0 {
			t.Errorf("%d were handed out again; none was", got)
		}
		seen.done([]refresh.LogRecord{{Offset: 1}, {Offset: 2}, {Offset: 2}})
		if got := seen.underWay(); got != 2 {
			t.Errorf("%d are under way; two are not done", got)
		}
		seen.handed([]refresh.LogRecord{{Offset: 2}, {Offset: 3}})
		if got := seen.underWay(); got != 4 {
			t.Errorf("%d are under way; one was handed out again, and another", got)
		}
		if got := seen.handedAgain(); got != 1 {
			t.Errorf("%d were handed out again; it is one", got)
		}
		if got := seen.tooEarly(); got != 1 {
			t.Errorf("%d are done too early; it is c alone", got)
		}
		go func() {
			time.Sleep(time.Second)
			seen.saved([]refresh.Refreshed{{Entity: entity("b")}, {Entity: entity("c")}})
		}()
		began := time.Now()
		if left := seen.await(t.Context(), domain.PriorityHigh); left != 0 || time.Since(began) != time.Second {
			t.Errorf("%d HIGH are left after %v", left, time.Since(began))
		}
		if got := seen.highTimes(); !slices.Equal(got, []time.Duration{time.Second, 2 * time.Second}) {
			t.Errorf("HIGH took %v", got)
		}
		if left := seen.await(t.Context(), everybody); left != 1 || time.Since(began) < time.Minute {
			t.Errorf("%d are left after %v; d never comes", left, time.Since(began))
		}
		seen.forget([]refresh.Entity{entity("d")})
		if left := seen.await(t.Context(), everybody); left != 0 {
			t.Errorf("%d are left", left)
		}
	})
}

func TestAStallHoldsUntilItsTimeOrItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s stall
		took := func(ctx context.Context) (time.Duration, error) {
			began := time.Now()
			err := s.wait(ctx)
			return time.Since(began), err
		}
		if d, err := took(t.Context()); d != 0 || err != nil {
			t.Errorf("without a stall it takes %v, %v", d, err)
		}
		s.begin(10 * time.Second)
		if d, err := took(t.Context()); d != 10*time.Second || err != nil {
			t.Errorf("it takes %v, %v", d, err)
		}
		go func() {
			time.Sleep(time.Second)
			s.end()
		}()
		if d, err := took(t.Context()); d != time.Second || err != nil {
			t.Errorf("it takes %v, %v although the stall ends before", d, err)
		}
		s.begin(10 * time.Second)
		limited, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if d, err := took(limited); d != time.Second || err == nil {
			t.Errorf("a caller who gives up waits for %v, %v", d, err)
		}
		if s.met.Load() != 3 {
			t.Errorf("%d calls met a stall", s.met.Load())
		}
	})
}

func TestSixteenScenariosWithDifferentNames(t *testing.T) {
	names := Names()
	slices.Sort(names)
	if len(slices.Compact(names)) != 16 {
		t.Errorf("the scenarios are %v", names)
	}
	for _, s := range Scenarios() {
		if s.Description == "" || s.instances < 1 || s.run == nil {
			t.Errorf("%s is not complete", s.Name)
		}
	}
}
