package testkit_test

import (
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"sluice/internal/testkit"
)

func redisClient(t *testing.T, url string) rueidis.Client {
	t.Helper()
	option, err := rueidis.ParseURL(url)
	if err != nil {
		t.Fatalf("parse %s: %v", url, err)
	}
	option.DisableCache = true
	client, err := rueidis.NewClient(option)
	if err != nil {
		t.Fatalf("connect to %s: %v", url, err)
	}
	t.Cleanup(client.Close)
	return client
}

func TestRedisAnswers(t *testing.T) {
	url := testkit.Redis(t)
	client := redisClient(t, url)
	key := testkit.Prefix(t)
	if err := client.Do(t.Context(), client.B().Set().Key(key).Value("1").Build()).Error(); err != nil {
		t.Fatalf("set: %v", err)
	}
	if again := testkit.Redis(t); again != url {
		t.Errorf("the shared Redis is at %s and at %s", url, again)
	}
	if got, err := client.Do(t.Context(), client.B().Get().Key(key).Build()).ToString(); err != nil || got != "1" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestRedisOfOneTest(t *testing.T) {
	for name, c := range map[string]struct {
		args  []string
		keeps bool
	}{
		"forgets":                  {nil, false},
		"keeps what it is told to": {[]string{"--appendonly", "yes", "--appendfsync", "always"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			server := testkit.StartRedis(t, c.args...)
			client := redisClient(t, server.URL())
			if err := client.Do(t.Context(), client.B().Set().Key("k").Value("v").Build()).Error(); err != nil {
				t.Fatalf("set: %v", err)
			}
			server.Kill()
			server.Start()
			// A client that has seen the kill may still tell of it.
			client = redisClient(t, server.URL())
			n, err := client.Do(t.Context(), client.B().Exists().Key("k").Build()).AsInt64()
			if err != nil || (n == 1) != c.keeps {
				t.Errorf("after a kill %d keys are there (%v)", n, err)
			}
			server.Restart()
			client = redisClient(t, server.URL())
			if err := client.Do(t.Context(), client.B().Ping().Build()).Error(); err != nil {
				t.Errorf("after a restart: %v", err)
			}
		})
	}
}

func TestRedisCluster(t *testing.T) {
	client := redisClient(t, testkit.RedisCluster(t))
	nodes, err := client.Do(t.Context(), client.B().ClusterNodes().Build()).ToString()
	if err != nil || strings.Count(nodes, "master") != 3 {
		t.Errorf("the nodes are %s (%v), want three masters", nodes, err)
	}
	prefix := testkit.Prefix(t)
	// These lie in slots of the three masters: 15495, 3300 and 7365.
	for _, key := range []string{"a", "b", "c"} {
		key = prefix + ":{" + key + "}"
		if err := client.Do(t.Context(), client.B().Set().Key(key).Value(key).Build()).Error(); err != nil {
			t.Fatalf("set %s: %v", key, err)
		}
		if got, err := client.Do(t.Context(), client.B().Get().Key(key).Build()).ToString(); err != nil || got != key {
			t.Errorf("get %s: %q, %v", key, got, err)
		}
	}
	if got := len(client.Nodes()); got != 3 {
		t.Errorf("the client knows %d nodes, want 3", got)
	}
}
