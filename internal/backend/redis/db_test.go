package redis_test

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"sluice/internal/backend/redis"
	"sluice/internal/domain"
	"sluice/internal/testkit"
)

func TestKeysShareASlotOrHaveTheirOwn(t *testing.T) {
	db, err := redis.Open(t.Context(), redis.Options{URL: testkit.Redis(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if got := db.Key("jobs:high"); got != "{sluice}:jobs:high" {
		t.Errorf("key is %s", got)
	}
	if got := db.OwnKey("alice", "quota"); got != "{sluice:alice}:quota" {
		t.Errorf("key of its own is %s", got)
	}
}

func TestBadURLsAreExplainedWithoutTheirPassword(t *testing.T) {
	for _, url := range []string{"http://:hidden@127.0.0.1:1", "redis://:hidden@127.0.0.1:1/x", "redis://:hidden@127.0.0.1:1", "redis://u:hidden@[::1", "u:hidden@tcp(127.0.0.1)"} {
		_, err := redis.Open(t.Context(), redis.Options{URL: url})
		if err == nil || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: %v", redis.Redact(url), err)
		}
	}
	_, err := redis.Open(t.Context(), redis.Options{URL: testkit.Redis(t), Prefix: "a{b}"})
	if domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("a prefix with braces: %v", err)
	}
}

func TestScriptIsSentAgainAfterAFlush(t *testing.T) {
	script := redis.LoadScript(fstest.MapFS{
		"common.lua": {Data: []byte("local function double(n) return 2 * n end")},
		"double.lua": {Data: []byte("return double(tonumber(ARGV[1]))")},
	}, "common.lua", "double.lua")
	for name, url := range map[string]string{"single": testkit.Redis(t), "cluster": testkit.RedisCluster(t)} {
		t.Run(name, func(t *testing.T) {
			db := connectOwn(t, url)
			for range 2 {
				answer, err := script.Run(t.Context(), db, []string{db.Key("x")}, []string{"21"})
				if err != nil {
					t.Fatal(err)
				}
				if n, err := answer.AsInt64(); err != nil || n != 42 {
					t.Errorf("script returned %d, %v", n, err)
				}
				for _, node := range db.Client.Nodes() {
					if err := node.Do(t.Context(), node.B().ScriptFlush().Build()).Error(); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}

func TestUnavailableWhileRedisIsDown(t *testing.T) {
	server := testkit.StartRedis(t)
	db := connectOwn(t, server.URL())
	server.Kill()
	if err := db.Ping(t.Context()); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Errorf("while it is down: %v", err)
	}
	server.Start()
	if err := db.Ping(t.Context()); err != nil {
		t.Errorf("after it came back: %v", err)
	}
}

func TestExamine(t *testing.T) {
	for name, c := range map[string]struct {
		args         []string
		keepsNothing bool
		persistence  string
		evicts       string
	}{
		"keeps nothing": {nil, true, "none", ""},
		"append-only":   {[]string{"--appendonly", "yes"}, false, "append-only file, fsync everysec", ""},
		"snapshots":     {[]string{"--save", "60 1", "--maxmemory-policy", "allkeys-lru"}, false, "snapshots (save 60 1)", "allkeys-lru"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := connectOwn(t, testkit.StartRedis(t, c.args...).URL()).Examine(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if r.KeepsNothing != c.keepsNothing || r.Persistence != c.persistence || r.Evicts != c.evicts {
				t.Errorf("report is %+v", r)
			}
			if r.Version == "" || r.Cluster || r.Denied != "" || r.Ahead.Abs() > time.Minute {
				t.Errorf("report is %+v", r)
			}
		})
	}
}

func TestExamineNamesWhatIsDenied(t *testing.T) {
	db := connectOwn(t, testkit.StartRedis(t, "--user", "default", "on", "nopass", "~*", "&*", "+@all", "-eval", "-evalsha").URL())
	r, err := db.Examine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(r.Denied, "run scripts") {
		t.Errorf("denied is %q", r.Denied)
	}
}
