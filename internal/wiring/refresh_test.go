package wiring_test

import (
	"maps"
	"slices"
	"testing"

	"sluice/internal/config"
	"sluice/internal/engine/enginetest"
	"sluice/internal/quota/rate"
	"sluice/internal/refresh"
	"sluice/internal/source"
	"sluice/internal/source/maplestory"
	"sluice/internal/wiring"
)

// TestBreakersOfOneProcess keeps snapshots without any server: there is no
// Redis to tell about.
func TestBreakersOfOneProcess(t *testing.T) {
	upstream, err := maplestory.New(maplestory.Options{BaseURL: "http://127.0.0.1:1", Key: "key"})
	if err != nil {
		t.Fatal(err)
	}
	svc, err := wiring.Open(t.Context(), wiring.Options{
		Config: config.Embedded(t.TempDir()), Holder: "test", Quota: wiring.NoQuota(), Sources: []source.Source{&enginetest.Noop{}},
		Refresh: wiring.Refresh{
			Upstreams: map[string]refresh.Upstream{"maplestory": upstream},
			Limits:    map[string]rate.Limits{"maplestory": {Hard: 500, Rate: 450, Burst: 25, LowRate: 350, LowBurst: 25}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if names := slices.Sorted(maps.Keys(svc.Refreshes.Breakers())); !slices.Equal(names, []string{"store", "upstream"}) {
		t.Errorf("the breakers are %v", names)
	}
	if err := svc.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
