package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sluice/bench/peer"
	"sluice/bench/proc"
	"sluice/bench/redisinfo"
	"sluice/bench/servers"
	"sluice/internal/config"
	"sluice/internal/engine"
	"sluice/internal/source"
	"sluice/internal/wiring"
)

// machineServers are what several machines share.
var machineServers = []servers.Kind{servers.Redis, servers.MariaDB}

// fleet is what the processes of one measurement share: a database, keys in
// Redis, and the key that seals credentials. They are used by nobody else.
type fleet struct {
	config.Servers
	drop func()
}

// fleet makes an empty one. Redis, which the peers use as well, is emptied only
// by emptyRedis.
func (l *lab) fleet(ctx context.Context) (*fleet, error) {
	redis, err := l.servers.Redis(ctx)
	if err != nil {
		return nil, err
	}
	state, drop, err := l.servers.Database(ctx)
	if err != nil {
		return nil, err
	}
	dir, remove, err := l.folder("fleet")
	if err != nil {
		return nil, err
	}
	key := filepath.Join(dir, "key")
	if err := os.WriteFile(key, []byte(strings.Repeat("0a", 32)), 0o600); err != nil {
		return nil, err
	}
	return &fleet{
		Servers: config.Servers{State: state, Redis: "redis://" + redis, RedisPrefix: filepath.Base(dir), KeyFile: key},
		drop: func() {
			remove()
			if err := drop(); err != nil {
				l.notef("drop %s: %v", state, err)
			}
		},
	}, nil
}

// options assemble a process with every role.
func (f *fleet) options(workers int, src source.Source) wiring.Options {
	return wiring.Options{
		Holder: "bench", Config: config.Config{Servers: f.Servers}, Quota: wiring.NoQuota(),
		Engine:  engine.Config{Workers: workers},
		Sources: []source.Source{src},
	}
}

// asynq is the peer of all benchmarks on Redis.
func (l *lab) asynq(ctx context.Context) (*peer.Asynq, error) {
	if l.onRedis != nil {
		return l.onRedis, nil
	}
	redis, err := l.servers.Redis(ctx)
	if err != nil {
		return nil, err
	}
	l.onRedis = peer.NewAsynq(redis)
	return l.onRedis, nil
}

// emptyRedis lets everybody begin with the same.
func (l *lab) emptyRedis(ctx context.Context) (addr string, err error) {
	if addr, err = l.servers.Redis(ctx); err != nil {
		return "", err
	}
	_, err = redisinfo.Do(ctx, addr, "FLUSHALL")
	return addr, err
}

// serverTime is the processor time of servers. They share the processors with
// whoever uses them, so it tells where a job's time goes.
type serverTime map[servers.Kind]time.Duration

func (l *lab) serverTime(kinds ...servers.Kind) (serverTime, error) {
	used := serverTime{}
	for _, kind := range kinds {
		usage, err := proc.Read(l.servers.Pid(kind))
		if err != nil {
			return nil, err
		}
		used[kind] = time.Duration(usage.Ticks) * time.Second / proc.TicksPerSecond
	}
	return used, nil
}

// perJob says what each of the servers took for each of n jobs since earlier.
func (t serverTime) perJob(earlier serverTime, n int) string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(t)) {
		parts = append(parts, fmt.Sprintf("%s %.0f", kind, float64((t[kind]-earlier[kind]).Microseconds())/float64(n)))
	}
	return strings.Join(parts, ", ")
}
