package memory_test

import (
	"fmt"
	"testing"
	"time"

	"sluice/internal/quota"
)

func TestQuotaForgetsIdleOwners(t *testing.T) {
	b := newQuotaBench(quota.Config{Buckets: map[string]quota.Limits{"core": {Limit: 10, Window: 30 * time.Minute}}}, nil)
	reserve := func(owner string) quota.Permit {
		t.Helper()
		d, err := b.keeper.Reserve(t.Context(), quota.Ask{Owner: owner, Bucket: "core"})
		if err != nil || !d.Granted {
			t.Fatalf("Reserve for %s: %+v, %v", owner, d, err)
		}
		return d.Permit
	}
	settle := func(p quota.Permit, r quota.Response) {
		t.Helper()
		if err := b.keeper.Settle(t.Context(), p, r); err != nil {
			t.Fatalf("Settle: %v", err)
		}
	}
	for i := range 500 {
		settle(reserve(fmt.Sprintf("idle %d", i)), quota.Response{})
	}
	reserve("in flight")
	settle(reserve("parked"), quota.Response{RetryAfter: 90 * time.Minute})
	b.Advance(time.Hour + time.Minute)
	reserve("new")

	windows, err := b.keeper.Windows(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, w := range windows {
		names = append(names, w.Owner)
	}
	if got := fmt.Sprint(names); got != "[in flight new parked]" {
		t.Fatalf("kept %s", got)
	}
}
