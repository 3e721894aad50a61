package wiring_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sluice/internal/config"
	"sluice/internal/domain"
	"sluice/internal/engine/enginetest"
	"sluice/internal/quota"
	"sluice/internal/source"
	"sluice/internal/source/github"
	"sluice/internal/testkit"
	"sluice/internal/wiring"
)

// TestQuotaOfAnEarlierVersionGoesOn: what a version that stored windows had taken of them
// is not granted once more.
func TestQuotaOfAnEarlierVersionGoesOn(t *testing.T) {
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		goesOn(t, config.Embedded(t.TempDir()))
	})
	t.Run("shared", func(t *testing.T) {
		t.Parallel()
		key := filepath.Join(t.TempDir(), "sluice.key")
		if err := os.WriteFile(key, []byte(strings.Repeat("ab", 32)), 0o600); err != nil {
			t.Fatal(err)
		}
		goesOn(t, config.Config{Servers: config.Servers{State: testkit.SQL(t), Redis: testkit.Redis(t), RedisPrefix: "earlier:" + key, KeyFile: key}})
	})
}

func goesOn(t *testing.T, c config.Config) {
	open := func() *wiring.Service {
		t.Helper()
		svc, err := wiring.Open(t.Context(), wiring.Options{
			Config: c, Holder: "test", Quota: github.Describe().Quota(0), Sources: []source.Source{&enginetest.Noop{Jobs: 1, FanOut: 1}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return svc
	}
	svc := open()
	ask := quota.Ask{Owner: "ann", Bucket: github.BucketCore, Endpoint: "list", Cost: 1, Points: 1}
	end := time.Now().Add(30 * time.Minute)
	window := domain.QuotaWindow{
		Owner: ask.Owner, Bucket: ask.Bucket, Limit: 5000, Remaining: 2, Reset: end, Started: end.Add(-time.Hour), Touched: end.Add(-40 * time.Minute), Seq: 1 << 60,
	}
	if err := svc.State.PutQuotaWindow(t.Context(), window); err != nil {
		t.Fatal(err)
	}
	if err := svc.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		svc = open()
		granted := 0
		d, err := svc.Quota.Reserve(t.Context(), ask)
		for ; err == nil && d.Granted; d, err = svc.Quota.Reserve(t.Context(), ask) {
			granted++
			if err := svc.Quota.Settle(t.Context(), d.Permit, quota.Response{}); err != nil {
				t.Fatal(err)
			}
		}
		if err != nil || granted > 2 || d.Reason != quota.ReasonPrimary || d.RetryAt.Sub(end).Abs() > time.Second {
			t.Fatalf("%d calls, then %+v, %v; want two at most, and the next ones at %v", granted, d, err, end)
		}
		if err := svc.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
