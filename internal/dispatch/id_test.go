package dispatch_test

import (
	"math"
	"testing"

	"sluice/internal/dispatch"
)

func TestJobIDs(t *testing.T) {
	for number, id := range map[int64]string{0: "job:0", 12: "job:12", math.MaxInt64: "job:9223372036854775807"} {
		if got := dispatch.JobID(number); got != id {
			t.Errorf("job %d is called %q instead of %q", number, got, id)
		}
		if back, ok := dispatch.JobNumber(id); !ok || back != number {
			t.Errorf("%q comes back as %d, %v", id, back, ok)
		}
	}
}

// Earlier versions called jobs by their number, and everything else by negative
// ones.
func TestJobIDsOfEarlierVersions(t *testing.T) {
	if number, ok := dispatch.JobNumber("12"); !ok || number != 12 {
		t.Errorf("12 is understood as %d, %v", number, ok)
	}
}

func TestWhatIsNoJob(t *testing.T) {
	for _, id := range []string{"", "job:", "job:x", "job:-3", "-129", "statistics:8", "timer:tea", "job:12:3", "jobs:12", "job:99999999999999999999"} {
		if number, ok := dispatch.JobNumber(id); ok {
			t.Errorf("%q is understood as job %d", id, number)
		}
	}
}
