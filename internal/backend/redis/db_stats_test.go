package redis_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"sluice/internal/domain"
	"sluice/internal/testkit"
)

// TestStatsLooksAtNoKeys uses a Redis that nobody else does, and reads from it
// what it was asked.
func TestStatsLooksAtNoKeys(t *testing.T) {
	server := testkit.StartRedis(t, "--maxmemory", "64mb")
	db := connectOwn(t, server.URL())
	b := db.Client.B
	for _, member := range []string{"a", "b", "c"} {
		if err := db.Client.Do(t.Context(), b().Zadd().Key(db.Key("due")).ScoreMember().ScoreMember(1, member).Build()).Error(); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Client.Do(t.Context(), b().Xadd().Key(db.Key("stream")).Id("*").FieldValue().FieldValue("a", "b").Build()).Error(); err != nil {
		t.Fatal(err)
	}
	before := commandCalls(t, db)
	nodes, err := db.Stats(t.Context())
	if err != nil || len(nodes) != 1 {
		t.Fatalf("%+v, %v", nodes, err)
	}
	lengths, err := db.Lengths(t.Context(), []string{db.Key("due"), db.Key("none")}, []string{db.Key("stream")})
	if err != nil || lengths[db.Key("due")] != 3 || lengths[db.Key("none")] != 0 || lengths[db.Key("stream")] != 1 {
		t.Errorf("lengths: %v, %v", lengths, err)
	}
	var used []string
	for name, calls := range commandCalls(t, db) {
		// The client may make another connection meanwhile.
		if before[name] != calls && name != "hello" && !strings.HasPrefix(name, "client|") {
			used = append(used, name)
		}
	}
	slices.Sort(used)
	if want := []string{"dbsize", "info", "xlen", "zcard"}; !slices.Equal(used, want) {
		t.Errorf("it used %v, want %v", used, want)
	}
	one := nodes[0]
	if one.Role != "master" || one.Version == "" || one.Keys != 2 || one.UsedMemory == 0 || one.PeakMemory < one.UsedMemory || one.MaxMemory != 64<<20 ||
		one.Clients < 1 || one.Commands < 4 || one.BlockedClients != 0 || !strings.HasSuffix(server.URL(), one.Address) {
		t.Errorf("the node fares %+v", one)
	}
	t.Logf("%+v, commands %v", one, slices.Sorted(maps.Keys(before)))
	server.Stop()
	if _, err := db.Stats(t.Context()); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Errorf("of a Redis that is down: %v", err)
	}
	if _, err := db.Lengths(t.Context(), []string{db.Key("due")}, nil); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Errorf("of a Redis that is down: %v", err)
	}
}

func TestStatsOfACluster(t *testing.T) {
	db := connectOwn(t, testkit.RedisCluster(t))
	nodes, err := db.Stats(t.Context())
	if err != nil || len(nodes) < 3 {
		t.Fatalf("%+v, %v", nodes, err)
	}
	for i, one := range nodes {
		if one.Version == "" || one.UsedMemory == 0 || i > 0 && nodes[i-1].Address >= one.Address {
			t.Errorf("node %d fares %+v", i, one)
		}
	}
	if lengths, err := db.Lengths(t.Context(), []string{db.Key("a"), db.OwnKey("b", "c")}, nil); err != nil || len(lengths) != 2 {
		t.Errorf("lengths: %v, %v", lengths, err)
	}
}
