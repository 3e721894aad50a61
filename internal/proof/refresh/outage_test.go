package refresh_test

import (
	"strings"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
	"sluice/internal/refresh"
	"sluice/internal/testkit/sluice"
)

// TestReadsWithoutRedis: while Redis is down, what is stored is read as ever and
// what should be asked for is refused, with the reason; then everything goes on.
func TestReadsWithoutRedis(t *testing.T) {
	m := newRefreshMachines(t, sluice.Seeded(t), refreshCase{name: "Redis"}, "200")
	keys := m.game.Ocids()[:3]
	ask := func(keys ...string) error {
		_, err := m.API.Refresh(t.Context(), wire.RefreshRequest{Source: "maplestory", Keys: keys, Priority: "HIGH"})
		return err
	}
	eventually := func(what string, holds func() bool) {
		t.Helper()
		again := time.NewTicker(feedEvery)
		defer again.Stop()
		for deadline := time.After(sluice.Patience); !holds(); {
			select {
			case <-again.C:
			case <-deadline:
				t.Fatalf("never: %s\n%s", what, m.LastWords())
			}
		}
	}
	read := func(key string) {
		t.Helper()
		answer, err := m.API.Snapshot(t.Context(), refresh.Entity{Source: "maplestory", Key: key})
		if err != nil || answer.Freshness != refresh.Fresh {
			t.Errorf("%s is %s, %v", key, answer.Freshness, err)
		}
		m.game.IsTrue(key, answer.Snapshot)
	}
	if err := ask(keys...); err != nil {
		t.Fatal(err)
	}
	// Nobody reads them here, so that nobody has them cached.
	db := m.database()
	eventually("all are stored", func() bool {
		n := 0
		err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM snapshot").Scan(&n)
		return err == nil && n == len(keys)
	})
	read(keys[0])
	m.Redis.Kill()
	calls := m.game.Audit().Calls
	for _, key := range keys { // the others were never read before
		read(key)
	}
	if err := ask(keys[0]); domain.CodeOf(err) != domain.CodeUnavailable || !strings.Contains(err.Error(), "refreshes cannot be requested now") {
		t.Errorf("a request while Redis is down: %v", err)
	}
	if made := m.game.Audit().Calls - calls; made != 0 {
		t.Errorf("%d calls were made while nobody could count them", made)
	}
	m.Redis.Start()
	eventually("requests are accepted again", func() bool { return ask(keys[0]) == nil })
	eventually("and carried out", func() bool { return m.game.Audit().Calls > calls })
}
