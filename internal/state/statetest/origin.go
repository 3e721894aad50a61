package statetest

import (
	"testing"

	"sluice/internal/state"
)

// RunOrigins checks a store of origins that is empty.
func RunOrigins(t *testing.T, s state.Origins) {
	want := func(run int64, o state.Origin) {
		t.Helper()
		if got, err := s.Origin(t.Context(), run); err != nil || got != o {
			t.Errorf("run %d: got %+v, %v, want %+v", run, got, err, o)
		}
	}
	put := func(run int64, o state.Origin) {
		t.Helper()
		if err := s.PutOrigin(t.Context(), run, o); err != nil {
			t.Fatal(err)
		}
	}
	want(7, state.Origin{ID: "run-7"})
	first := state.Origin{ID: "request-1", Trace: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
	put(7, first)
	want(7, first)
	put(7, state.Origin{ID: "request-2"})
	want(7, first)
	put(8, state.Origin{ID: "request-2"})
	want(8, state.Origin{ID: "request-2"})
	want(9, state.OriginOfRun(9))
}
