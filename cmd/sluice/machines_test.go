package main_test

import (
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"sluice/internal/client"
	"sluice/internal/engine"
	sim "sluice/internal/simulator/github"
	"sluice/internal/testkit"
)

// machines are processes that share their work, the servers they share it
// through, and the upstream they call.
type machines struct {
	t                   *testing.T
	upstream            *upstream
	redis, sql, mongodb *testkit.Server
	key                 string
	env                 []string
	api                 *client.Client
	members             []*member
}

// member is one process, which may be killed and started again.
type member struct {
	role  string
	lives []*program
}

// machineLease is short, so that a test can wait for it to run out.
const machineLease = 2 * time.Second

// machineWindow is how long a ration lasts; what Redis lost of it counts as
// spent for as long.
const machineWindow = 2 * time.Second

// newMachines starts the servers, a process that answers requests, workers and
// schedulers.
func newMachines(t *testing.T, o sim.Options, mongo bool, workers, schedulers int) *machines {
	t.Helper()
	m := &machines{
		t: t, upstream: newUpstream(t, o),
		redis: testkit.StartRedis(t), sql: testkit.StartMariaDB(t),
	}
	m.key = keyFile(t)
	m.env = []string{
		"SLUICE_STATE=" + m.sql.URL(), "SLUICE_REDIS=" + m.redis.URL(),
		"SLUICE_KEY_FILE=" + m.key, "SLUICE_ADDR=127.0.0.1:0", "SLUICE_LOG_LEVEL=info",
		"SLUICE_GITHUB_URL=" + m.upstream.url, "SLUICE_FLOOR=0", "SLUICE_LEASE=" + machineLease.String(), "SLUICE_WORKERS=4",
		"SLUICE_ASSUME_LIMIT=12", "SLUICE_ASSUME_WINDOW=" + o.Limits.Window.String(),
	}
	if mongo {
		m.mongodb = testkit.StartMongo(t)
		m.env = append(m.env, "SLUICE_MONGO="+m.mongodb.URL())
	}
	front := m.start("api")
	said := front.lives[0].says("sluice serves ")
	_, url, _ := strings.Cut(said, "sluice serves ")
	url, _, _ = strings.Cut(url, "/api/v1")
	var err error
	if m.api, err = client.New(url, "", nil); err != nil {
		t.Fatal(err)
	}
	for range workers {
		m.members = append(m.members, m.start("worker"))
	}
	for range schedulers {
		m.members = append(m.members, m.start("scheduler"))
	}
	return m
}

func (m *machines) start(role string) *member {
	one := &member{role: role}
	m.revive(one)
	return one
}

// revive begins another life of a process.
func (m *machines) revive(one *member) {
	one.lives = append(one.lives, start(m.t, m.env, "up", "--roles", one.role))
}

func (one *member) now() *program { return one.lives[len(one.lives)-1] }

// signup asks for the collection of every account.
func (m *machines) signup() (runs []int64) {
	m.t.Helper()
	for _, login := range m.upstream.Logins() {
		answer, err := m.api.Signup(m.t.Context(), engine.Signup{Source: "github", Login: login, Token: m.upstream.Token(login)})
		if err != nil {
			m.t.Fatal(err)
		}
		runs = append(runs, answer.Run.ID)
	}
	return runs
}

// fault is something that goes wrong now and then.
type fault struct {
	name string
	do   func(*machines, *rand.Rand)
}

var faults = []fault{
	{"a process is killed", func(m *machines, r *rand.Rand) {
		one := m.members[r.IntN(len(m.members))]
		one.now().signal(syscall.SIGKILL)
		_ = one.now().wait()
		m.revive(one)
	}},
	{"a process sleeps past its leases", func(m *machines, r *rand.Rand) {
		one := m.members[r.IntN(len(m.members))]
		one.now().signal(syscall.SIGSTOP)
		<-time.After(machineLease + time.Second)
		one.now().signal(syscall.SIGCONT)
	}},
	{"Redis restarts empty", func(m *machines, _ *rand.Rand) { m.redis.Restart() }},
	{"Redis is emptied", func(m *machines, _ *rand.Rand) { redisDo(m.t, m.redis.URL(), "FLUSHALL") }},
	{"Redis forgets its scripts", func(m *machines, _ *rand.Rand) { redisDo(m.t, m.redis.URL(), "SCRIPT", "FLUSH") }},
	{"connections to Redis are cut", func(m *machines, _ *rand.Rand) {
		redisDo(m.t, m.redis.URL(), "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
		redisDo(m.t, m.redis.URL(), "CLIENT", "KILL", "TYPE", "pubsub", "SKIPME", "yes")
	}},
	{"MariaDB restarts", func(m *machines, _ *rand.Rand) { m.sql.Restart() }},
	{"MariaDB is killed", func(m *machines, _ *rand.Rand) { m.sql.Kill(); m.sql.Start() }},
	{"connections to MariaDB are cut", func(m *machines, _ *rand.Rand) { cutSQL(m.t, m.sql.URL()) }},
	{"MongoDB restarts", func(m *machines, _ *rand.Rand) {
		if m.mongodb != nil {
			m.mongodb.Restart()
		}
	}},
}
