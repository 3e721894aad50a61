package redis

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"sluice/internal/fleet"
)

// NodeStats is how one Redis server fares.
type NodeStats struct {
	Address           string `json:"address"`
	Role              string `json:"role"`
	Version           string `json:"version"`
	UptimeSeconds     int64  `json:"uptime_seconds"`
	Keys              int64  `json:"keys"`
	UsedMemory        int64  `json:"used_memory_bytes"`
	PeakMemory        int64  `json:"peak_memory_bytes"`
	MaxMemory         int64  `json:"max_memory_bytes"`
	Clients           int64  `json:"clients"`
	BlockedClients    int64  `json:"blocked_clients"`
	CommandsPerSecond int64  `json:"commands_per_second"`
	Commands          int64  `json:"commands"`
	ExpiredKeys       int64  `json:"expired_keys"`
	EvictedKeys       int64  `json:"evicted_keys"`
	// Channels counts what somebody listens to.
	Channels int64 `json:"pubsub_channels"`
}

// Stats tells how each server fares, by address. It asks for counters alone:
// no command of it looks at keys or waits for anything.
func (d *DB) Stats(ctx context.Context) ([]NodeStats, error) {
	nodes := []NodeStats{}
	for address, node := range d.Client.Nodes() {
		answers := node.DoMulti(ctx, node.B().Info().Build(), node.B().Dbsize().Build())
		info, err := answers[0].ToString()
		if err != nil {
			return nil, failure(err)
		}
		one := nodeStats(address, info)
		if one.Keys, err = answers[1].AsInt64(); err != nil {
			return nil, failure(err)
		}
		nodes = append(nodes, one)
	}
	slices.SortFunc(nodes, func(a, b NodeStats) int { return strings.Compare(a.Address, b.Address) })
	return nodes, nil
}

func nodeStats(address, info string) NodeStats {
	number := func(name string) int64 {
		// What a server does not tell counts as nothing.
		n, _ := strconv.ParseInt(infoField(info, name), 10, 64)
		return n
	}
	return NodeStats{
		Address: address, Role: infoField(info, "role"), Version: infoField(info, "redis_version"), UptimeSeconds: number("uptime_in_seconds"),
		UsedMemory: number("used_memory"), PeakMemory: number("used_memory_peak"), MaxMemory: number("maxmemory"),
		Clients: number("connected_clients"), BlockedClients: number("blocked_clients"),
		CommandsPerSecond: number("instantaneous_ops_per_sec"), Commands: number("total_commands_processed"),
		ExpiredKeys: number("expired_keys"), EvictedKeys: number("evicted_keys"), Channels: number("pubsub_channels"),
	}
}

// Lengths counts the members of sorted sets and the entries of streams, by
// key; a key that is not there has none.
func (d *DB) Lengths(ctx context.Context, sets, streams []string) (map[string]int64, error) {
	commands := make(rueidis.Commands, 0, len(sets)+len(streams))
	for _, key := range sets {
		commands = append(commands, d.Client.B().Zcard().Key(key).Build())
	}
	for _, key := range streams {
		commands = append(commands, d.Client.B().Xlen().Key(key).Build())
	}
	out := make(map[string]int64, len(commands))
	keys := slices.Concat(sets, streams)
	for i, answer := range d.Client.DoMulti(ctx, commands...) {
		n, err := answer.AsInt64()
		if err != nil {
			return nil, failure(err)
		}
		out[keys[i]] = n
	}
	return out, nil
}

// Backend implements fleet.Teller.
func (d *DB) Backend(ctx context.Context) (fleet.Backend, error) {
	b := fleet.Backend{Kind: "Redis"}
	nodes, err := d.Stats(ctx)
	if err != nil {
		return b, err
	}
	var sum NodeStats
	var addresses []string
	for _, n := range nodes {
		addresses = append(addresses, n.Address)
		b.Version = n.Version
		if n.Role == "master" {
			sum.Keys += n.Keys
		}
		sum.UsedMemory += n.UsedMemory
		sum.Clients += n.Clients
		sum.CommandsPerSecond += n.CommandsPerSecond
		sum.EvictedKeys += n.EvictedKeys
	}
	b.Address = strings.Join(addresses, ", ")
	b.Figures = []fleet.Figure{
		{Name: "nodes", Value: float64(len(nodes))}, {Name: "keys", Value: float64(sum.Keys)},
		{Name: "memory", Value: float64(sum.UsedMemory), Unit: fleet.Bytes}, {Name: "connections", Value: float64(sum.Clients)},
		{Name: "commands", Value: float64(sum.CommandsPerSecond), Unit: fleet.PerSecond}, {Name: "evicted keys", Value: float64(sum.EvictedKeys)},
	}
	return b, nil
}
