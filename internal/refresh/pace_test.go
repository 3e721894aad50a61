package refresh_test

import (
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/refresh"
)

// TestPrefetchOfSeveralProcesses: the target is that of all of them, also if it
// is small, and never more than LOW may call.
func TestPrefetchOfSeveralProcesses(t *testing.T) {
	for name, tc := range map[string]struct{ perSecond, low, want int }{
		"many": {perSecond: 20, low: 1000, want: 20}, "one": {perSecond: 1, low: 1000, want: 1}, "capped": {perSecond: 50, low: 10, want: 10},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				up := always(`"v"`)
				s := prefetching(t, up, 1000, tc.perSecond, func(s *stand) { s.limits.LowRate = tc.low })
				s.pass(25 * time.Hour)
				s.start()
				var others []*refresh.Pipeline
				for range 2 {
					settings := s.settings
					settings.Works = false
					other, err := refresh.NewPipeline(s.parts, settings)
					s.check(err)
					_ = other.Start(t.Context())
					others = append(others, other)
				}
				s.pass(20 * time.Second)
				if n := up.all(); n < 20*tc.want-2 || n > 20*tc.want+2+tc.want/5 {
					t.Errorf("%d calls in 20 s, want %d a second", n, tc.want)
				}
				for _, other := range others {
					_ = other.Stop(t.Context())
				}
			})
		})
	}
}
