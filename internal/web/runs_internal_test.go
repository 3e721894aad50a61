package web

import (
	"testing"
	"time"

	"sluice/internal/domain"
)

// TestForecastBesideReality: a run that has ended is held against what was forecast of
// it; one that goes on, or of which nothing was forecast, is not.
func TestForecastBesideReality(t *testing.T) {
	began := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	ended := domain.Run{
		Status: domain.RunCompleted, CreatedAt: began, FinishedAt: began.Add(10 * time.Minute), RunCounts: domain.RunCounts{Calls: 12},
		Expected: domain.Expectation{At: began.Add(time.Minute), Calls: 10, Ends: began.Add(10 * time.Minute)},
	}
	if k := keptOf(ended); k == nil || k.Calls != 12 || k.ExpectedCalls != 10 || k.After != time.Minute || k.Says() != "it ended as was forecast" {
		t.Errorf("as forecast: %+v", k)
	}
	for after, says := range map[time.Duration]string{
		20 * time.Minute: "it took longer than was forecast", 5 * time.Minute: "it was done sooner than was forecast",
	} {
		other := ended
		other.FinishedAt = began.Add(after)
		if k := keptOf(other); k == nil || k.Says() != says {
			t.Errorf("after %s: %+v, want %q", after, k, says)
		}
	}
	running, short := ended, ended
	running.Status, short.Expected = domain.RunRunning, domain.Expectation{}
	if keptOf(running) != nil || keptOf(short) != nil {
		t.Error("a run that goes on, or was not forecast, is compared")
	}
}
