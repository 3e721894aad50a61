package redis_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"sluice/internal/backend/redis"
	"sluice/internal/domain"
	"sluice/internal/due/duetest"
	"sluice/internal/testkit"
)

func keyspace(ctx context.Context, db *redis.DB, o redis.DueSetOptions) (closer, error) {
	return redis.NewKeyspaceTrigger(ctx, db, o)
}

// quick returns a URL of a Redis that looks for expired keys more often than
// usual: the cases ask whether the trigger is right, not how late Redis is.
func quick(t *testing.T, url string) string {
	t.Helper()
	for _, node := range connect(t, url, "quick").Client.Nodes() {
		for name, value := range map[string]string{"hz": "100", "active-expire-effort": "10"} {
			if err := node.Do(t.Context(), node.B().ConfigSet().ParameterValue().ParameterValue(name, value).Build()).Error(); err != nil {
				t.Fatal(err)
			}
		}
	}
	return url
}

func TestKeyspaceConformance(t *testing.T) {
	t.Parallel()
	conformTrigger(t, keyspace, quick(t, testkit.Redis(t)), duetest.Features{Shared: true, Unordered: true})
}

func TestKeyspaceConformanceOnACluster(t *testing.T) {
	t.Parallel()
	conformTrigger(t, keyspace, quick(t, testkit.RedisCluster(t)), duetest.Features{Shared: true, Unordered: true})
}

// TestSettingIsWidened: what somebody else needs stays.
func TestSettingIsWidened(t *testing.T) {
	t.Parallel()
	for before, wanted := range map[string][]string{"": {"K", "x"}, "Elg": {"E", "l", "g", "K", "x"}, "AKE": {"A", "K", "E"}, "Kx": {"K", "x"}} {
		url := testkit.StartRedis(t, "--notify-keyspace-events", before).URL()
		openTrigger(t, keyspace, url, "setting", redis.DueSetOptions{})
		settings, err := newWatcher(t, url, "setting").do("CONFIG", "GET", "notify-keyspace-events").AsStrMap()
		if err != nil {
			t.Fatal(err)
		}
		got := settings["notify-keyspace-events"]
		for _, flag := range wanted {
			if !strings.Contains(got, flag) {
				t.Errorf("%q became %q, without %s", before, got, flag)
			}
		}
		if len(got) != len(wanted) {
			t.Errorf("%q became %q, want %v", before, got, wanted)
		}
	}
}

// TestSettingsAreSomebodyElses: where CONFIG is refused the setting may be
// there; if it is not, the error says what to do.
func TestSettingsAreSomebodyElses(t *testing.T) {
	t.Parallel()
	refuse := []string{"--user", "default", "on", "nopass", "~*", "&*", "+@all", "-config"}
	_, err := redis.NewKeyspaceTrigger(t.Context(), connect(t, testkit.StartRedis(t, refuse...).URL(), "refused"), redis.DueSetOptions{Log: slog.New(slog.DiscardHandler)})
	if domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), "set notify-keyspace-events to Kx") {
		t.Errorf("without the setting: %v", err)
	}
	url := testkit.StartRedis(t, append(refuse, "--notify-keyspace-events", "Kx")...).URL()
	trigger := openTrigger(t, keyspace, url, "refused", redis.DueSetOptions{})
	setTimers(t, trigger, time.Now().Add(50*time.Millisecond), "a")
	mustTake(t, trigger, "a")
}

// TestOtherDatabase: announcements name the database.
func TestOtherDatabase(t *testing.T) {
	t.Parallel()
	url := testkit.StartRedis(t).URL()
	trigger := openTrigger(t, keyspace, url+"/3", "a*[b]?", redis.DueSetOptions{})
	setTimers(t, trigger, time.Now().Add(50*time.Millisecond), "a")
	mustTake(t, trigger, "a")
}
