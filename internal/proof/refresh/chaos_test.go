package refresh_test

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

	"sluice/internal/backend/redis"
	"sluice/internal/testkit/sluice"
)

var (
	refreshFaults  = flag.Int("refresh-faults", 7, "how many faults the proof of refreshes on several machines injects")
	refreshSeconds = flag.Int("refresh-seconds", 14, "over how many seconds they are injected, and refreshes asked for")
)

// refreshEnd ends what hangs: how long everything may take when the faults are
// over. Locks of those that were killed, leases and breakers have to run out, on
// a machine that others keep busy.
const refreshEnd = 5 * time.Minute

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
			random := sluice.Seeded(t)
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
			{"the database restarts", func(m *refreshMachines) { m.SQL.Restart() }},
			{"the database is killed", func(m *refreshMachines) { m.SQL.Kill(); m.SQL.Start() }},
			{"connections to the database are cut", func(m *refreshMachines) { sluice.CutSQL(m.T, m.SQL.URL()) }},
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
	if m.Redis != nil {
		all = append(all,
			refreshFault{"Redis restarts", func(m *refreshMachines) { m.Redis.Restart() }},
			refreshFault{"Redis is killed", func(m *refreshMachines) { m.Redis.Kill(); m.Redis.Start() }})
	}
	return all
}

// redisDo gives an order to every node.
func (m *refreshMachines) redisDo(command ...string) {
	m.T.Helper()
	nodes := m.nodes
	if m.Redis != nil {
		nodes = []string{m.Redis.URL()}
	}
	for _, node := range nodes {
		sluice.RedisDo(m.T, node, command...)
	}
}

func (m *refreshMachines) kill() {
	w := m.one()
	w.Now().Signal(syscall.SIGKILL)
	_ = w.Now().Wait()
	w.killed = true
}

func (m *refreshMachines) sleep() {
	w := m.one()
	w.Now().Signal(syscall.SIGSTOP)
	lease := redis.DefaultEventLogLease
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
