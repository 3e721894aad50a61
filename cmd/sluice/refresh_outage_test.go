package main_test

import (
	"strings"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
	"sluice/internal/refresh"
)

// TestReadsWithoutRedis: while Redis is down, what is stored is read as ever and
// what should be asked for is refused, with the reason; then everything goes on.
func TestReadsWithoutRedis(t *testing.T) {
	m := newRefreshMachines(t, seeded(t), refreshCase{name: "Redis"}, "200")
	keys := m.game.ocids()[:3]
	ask := func(keys ...string) error {
		_, err := m.api.Refresh(t.Context(), wire.RefreshRequest{Source: "maplestory", Keys: keys, Priority: "HIGH"})
		return err
	}
	eventually := func(what string, holds func() bool) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); !holds(); {
			if time.Now().After(deadline) {
				t.Fatalf("never: %s", what)
			}
		}
	}
	read := func(key string) {
		t.Helper()
		answer, err := m.api.Snapshot(t.Context(), refresh.Entity{Source: "maplestory", Key: key})
		if err != nil || answer.Freshness != refresh.Fresh {
			t.Errorf("%s is %s, %v", key, answer.Freshness, err)
		}
		m.game.isTrue(key, answer.Snapshot)
	}
	if err := ask(keys...); err != nil {
		t.Fatal(err)
	}
	eventually("all are stored", func() bool {
		view, err := m.api.RefreshOverview(t.Context())
		return err == nil && view.Sources[0].Counts.Snapshots == int64(len(keys))
	})
	read(keys[0])
	m.redis.Kill()
	calls := m.game.audit().Calls
	for _, key := range keys { // the others were never read before
		read(key)
	}
	if err := ask(keys[0]); domain.CodeOf(err) != domain.CodeUnavailable || !strings.Contains(err.Error(), "no refreshes can be asked for now") {
		t.Errorf("a request while Redis is down: %v", err)
	}
	if made := m.game.audit().Calls - calls; made != 0 {
		t.Errorf("%d calls were made while nobody could count them", made)
	}
	m.redis.Start()
	eventually("requests are accepted again", func() bool { return ask(keys[0]) == nil })
	eventually("and carried out", func() bool { return m.game.audit().Calls > calls })
}
