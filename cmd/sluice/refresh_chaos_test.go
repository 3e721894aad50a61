package main_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	eventlogredis "sluice/internal/refresh/eventlog/redis"
)

var (
	refreshFaults  = flag.Int("refresh-faults", 7, "how many faults the proof of refreshes on several machines injects")
	refreshSeconds = flag.Int("refresh-seconds", 14, "over how many seconds they are injected, and refreshes asked for")
)

// refreshEnd is how long everything may take when the faults are over: locks of
// those that were killed, leases and breakers have to run out.
const refreshEnd = 2 * time.Minute

// refreshLong is from how many seconds on there are more keys, and a cluster.
const refreshLong = 60

// TestRefreshManyMachines asks for refreshes all the time while everything that
// can go wrong does. In the end each snapshot is what the game says, all that
// was accepted was carried out, nothing was stored out of order, and the game
// saw no call too many.
func TestRefreshManyMachines(t *testing.T) {
	characters := "1200"
	cases := []refreshCase{{name: "Redis"}, {name: "Kafka", kafka: true}}
	if *refreshSeconds >= refreshLong {
		characters = "3200"
		cases = append(cases, refreshCase{name: "Kafka and a cluster", kafka: true, cluster: true})
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			random := seeded(t)
			m := newRefreshMachines(t, random, c, characters)
			m.witness()
			span := time.Duration(*refreshSeconds) * time.Second
			t.Logf("everything runs after %s", time.Since(began).Round(time.Millisecond))
			under, cancel := context.WithTimeout(t.Context(), span+refreshEnd)
			defer cancel()
			f := m.feed(under, random.Uint64())
			m.disturb(*refreshFaults, span)
			f.stop()
			m.settle(under, f)
			t.Logf("faults: %s; %s in all", m.faults(), time.Since(began).Round(time.Millisecond))
		})
	}
}

// faults lists what went wrong, and how often.
func (m *refreshMachines) faults() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(m.happen)) {
		all = append(all, fmt.Sprintf("%s %d×", name, m.happen[name]))
	}
	return strings.Join(all, ", ")
}

// refreshFault is something that goes wrong.
type refreshFault struct {
	name string
	do   func(*refreshMachines)
}

// kinds are the faults that this composition can have. The last kind takes
// longest.
func (m *refreshMachines) kinds() [][]refreshFault {
	kinds := [][]refreshFault{
		{{"a worker is killed", (*refreshMachines).kill}},
		{{"a worker joins and another leaves", (*refreshMachines).exchange}},
		{
			{"MariaDB restarts", func(m *refreshMachines) { m.sql.Restart() }},
			{"MariaDB is killed", func(m *refreshMachines) { m.sql.Kill(); m.sql.Start() }},
			{"connections to MariaDB are cut", func(m *refreshMachines) { cutSQL(m.t, m.sql.URL()) }},
		},
		m.redisFaults(),
	}
	if m.broker != nil {
		kinds = append(kinds, []refreshFault{
			{"the broker restarts", func(m *refreshMachines) { m.broker.Restart() }},
			{"the broker is killed", func(m *refreshMachines) { m.broker.Kill(); m.broker.Start() }},
		})
	}
	return append(kinds, []refreshFault{{"a worker sleeps past its lease", (*refreshMachines).sleep}})
}

// redisFaults are those of Redis. Where it carries the requests it must not
// lose them; otherwise it may lose everything.
func (m *refreshMachines) redisFaults() []refreshFault {
	all := []refreshFault{
		{"connections to Redis are cut", func(m *refreshMachines) {
			m.redisDo("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
			m.redisDo("CLIENT", "KILL", "TYPE", "pubsub", "SKIPME", "yes")
		}},
		{"Redis forgets its scripts", func(m *refreshMachines) { m.redisDo("SCRIPT", "FLUSH") }},
	}
	if m.broker != nil {
		all = append(all, refreshFault{"Redis is emptied", func(m *refreshMachines) { m.redisDo("FLUSHALL") }})
	}
	if m.redis != nil {
		all = append(all,
			refreshFault{"Redis restarts", func(m *refreshMachines) { m.redis.Restart() }},
			refreshFault{"Redis is killed", func(m *refreshMachines) { m.redis.Kill(); m.redis.Start() }})
	}
	return all
}

// redisDo gives an order to every node.
func (m *refreshMachines) redisDo(command ...string) {
	m.t.Helper()
	nodes := m.nodes
	if m.redis != nil {
		nodes = []string{m.redis.URL()}
	}
	for _, node := range nodes {
		redisDo(m.t, node, command...)
	}
}

func (m *refreshMachines) kill() {
	w := m.one()
	w.now().signal(syscall.SIGKILL)
	_ = w.now().wait()
	w.killed = true
}

func (m *refreshMachines) sleep() {
	w := m.one()
	w.now().signal(syscall.SIGSTOP)
	lease := eventlogredis.DefaultLease
	if m.broker != nil {
		lease = kafkaSession
	}
	w.awake = time.After(lease + time.Second)
}

// exchange has the partitions shared out anew twice, under load.
func (m *refreshMachines) exchange() {
	m.join()
	m.leave(m.one())
}
