package machines_test

import (
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"sluice/internal/testkit/sluice"
)

var onlyFaults = flag.String("only-faults", "", "inject only the faults whose names contain this")

// fault is something that goes wrong now and then.
type fault struct {
	name string
	do   func(*machines, *rand.Rand)
}

// faults are what can go wrong with processes and with the servers they share.
var faults = []fault{
	{"a process is killed", func(m *machines, r *rand.Rand) { m.kill(m.any(r)) }},
	{"a process sleeps past its leases", func(m *machines, r *rand.Rand) {
		m.freeze(m.any(r), machineLease+time.Second)
	}},
	{"a process sleeps for long", func(m *machines, r *rand.Rand) { m.freeze(m.any(r), *longSleep) }},
	{"a machine is lost: its connections stay open and silent", func(m *machines, r *rand.Rand) {
		one := m.any(r)
		m.lines[one].sql.Freeze()
		m.lines[one].redis.Freeze()
		m.kill(one)
	}},
	{"a process is killed after it has written to the database and before Redis heard of it", func(m *machines, r *rand.Rand) {
		one := m.any(r)
		m.lines[one].redis.Freeze()
		m.pass(time.Duration(100+r.IntN(500)) * time.Millisecond)
		m.lines[one].redis.Close()
		m.kill(one)
	}},
	{"Redis restarts empty", func(m *machines, _ *rand.Rand) { m.Redis.Restart() }},
	{"Redis comes back as it was some time ago", func(m *machines, r *rand.Rand) {
		sluice.RedisDo(m.T, m.Redis.URL(), "SAVE")
		m.pass(time.Duration(500+r.IntN(2500)) * time.Millisecond)
		folder := sluice.RedisSetting(m.T, m.Redis.URL(), "dir")
		m.Redis.Kill()
		m.Redis.Start()
		// The next time it starts, it is empty again.
		if err := os.Remove(filepath.Join(folder, "dump.rdb")); err != nil {
			m.T.Fatal(err)
		}
	}},
	{"the clock of Redis is set", func(m *machines, r *rand.Rand) {
		m.clock.Set(time.Duration(r.IntN(180)-60) * time.Minute)
	}},
	{"the clock of Redis is set right", func(m *machines, _ *rand.Rand) { m.clock.Set(0) }},
	{"Redis hangs", func(m *machines, r *rand.Rand) {
		m.Redis.Pause()
		m.pass(time.Duration(500+r.IntN(5000)) * time.Millisecond)
		m.Redis.Continue()
	}},
	{"Redis is emptied", func(m *machines, _ *rand.Rand) { sluice.RedisDo(m.T, m.Redis.URL(), "FLUSHALL") }},
	{"Redis forgets its scripts", func(m *machines, _ *rand.Rand) { sluice.RedisDo(m.T, m.Redis.URL(), "SCRIPT", "FLUSH") }},
	{"connections to Redis are cut", func(m *machines, _ *rand.Rand) {
		sluice.RedisDo(m.T, m.Redis.URL(), "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
		sluice.RedisDo(m.T, m.Redis.URL(), "CLIENT", "KILL", "TYPE", "pubsub", "SKIPME", "yes")
	}},
	{"the database restarts", func(m *machines, _ *rand.Rand) { m.SQL.Restart() }},
	{"the database is killed", func(m *machines, _ *rand.Rand) { m.SQL.Kill(); m.SQL.Start() }},
	{"connections to the database are cut", func(m *machines, _ *rand.Rand) { sluice.CutSQL(m.T, m.SQL.URL()) }},
	{"MongoDB restarts", func(m *machines, _ *rand.Rand) {
		if m.Mongo != nil {
			m.Mongo.Restart()
		}
	}},
}

// suffer injects faults, does something else after each, and leaves everything
// as it should be.
func (m *machines) suffer(n int, r *rand.Rand, each func()) {
	m.T.Helper()
	pace := time.NewTicker(2 * time.Second)
	defer pace.Stop()
	chosen := slices.DeleteFunc(slices.Clone(faults), func(f fault) bool { return !strings.Contains(f.name, *onlyFaults) })
	if len(chosen) == 0 {
		m.T.Fatalf("-only-faults=%q: there is no such fault", *onlyFaults)
	}
	// Each kind as often, in any order.
	deck := r.Perm(len(chosen))
	for i := range n {
		<-pace.C
		m.thaw(false)
		f := chosen[deck[i%len(deck)]]
		m.T.Log(f.name)
		f.do(m, r)
		each()
	}
	m.thaw(true)
	m.clock.Set(0)
}

// any picks a process.
func (m *machines) any(r *rand.Rand) *sluice.Member { return m.Members[r.IntN(len(m.Members))] }

// kill ends a process with SIGKILL and begins its next life.
func (m *machines) kill(one *sluice.Member) {
	one.Now().Signal(syscall.SIGKILL)
	_ = one.Now().Wait()
	m.revive(one)
}

// freeze lets a process sleep while others go on.
func (m *machines) freeze(one *sluice.Member, sleep time.Duration) {
	one.Now().Signal(syscall.SIGSTOP)
	m.frozen[one] = time.Now().Add(sleep)
}

// thaw wakes those whose time has come, or all.
func (m *machines) thaw(all bool) {
	for one, until := range m.frozen {
		if all || time.Now().After(until) {
			one.Now().Signal(syscall.SIGCONT)
			delete(m.frozen, one)
		}
	}
}

// pass lets a fault last for a while, in the real time that processes live in.
func (m *machines) pass(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-m.T.Context().Done():
		m.T.Fatal(m.T.Context().Err())
	}
}
