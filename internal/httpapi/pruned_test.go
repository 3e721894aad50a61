package httpapi_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/httpapi/apitest"
	"sluice/internal/httpapi/wire"
)

// TestLedgerOfAPrunedRun: what is left of it is shown, and that it is not all,
// even while its jobs are being deleted.
func TestLedgerOfAPrunedRun(t *testing.T) {
	c := newCaller(t, apitest.Options{})
	s := c.service
	a, first, err := s.Engine.Signup(t.Context(), s.Signup(0))
	if err != nil {
		t.Fatal(err)
	}
	s.Wait(t, first.ID)
	second, err := s.Engine.StartRun(t.Context(), a.ID, domain.TriggerManual, domain.PriorityHigh)
	if err != nil {
		t.Fatal(err)
	}
	s.Wait(t, second.ID)
	show := func() wire.RunDetail {
		t.Helper()
		var detail wire.RunDetail
		c.do(http.MethodGet, fmt.Sprintf("/api/v1/runs/%d?ledger=true", first.ID), "", http.StatusOK, &detail)
		return detail
	}
	before := show().LedgerSummary
	if before.Pruned || before.PagesStored == 0 {
		t.Fatalf("before: %+v", before)
	}
	for removed := 1; removed > 0; {
		if removed, err = s.State.PruneRuns(t.Context(), a.ID, time.Now().Add(time.Hour), 2); err != nil {
			t.Fatal(err)
		}
		after := show()
		sum := after.LedgerSummary
		if !sum.Pruned || sum.PagesStored != before.PagesStored || sum.PagesKnown != before.PagesKnown || sum.Items != before.Items || sum.Gaps != 0 {
			t.Fatalf("after %d more jobs: %+v, want %+v", removed, sum, before)
		}
		if len(after.Ledger) == 0 || after.Ledger[0].Type == "" || after.Ledger[0].Resource != "" {
			t.Fatalf("the ledger is %+v", after.Ledger)
		}
	}
}
