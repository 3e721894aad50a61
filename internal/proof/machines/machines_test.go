package machines_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/internal/client"
	"sluice/internal/engine"
	sim "sluice/internal/simulator/github"
	"sluice/internal/testkit"
	"sluice/internal/testkit/sluice"
)

// machines are processes that share their work, the servers they share it
// through, and the upstream they call.
type machines struct {
	*sluice.Machines
	upstream *sluice.Upstream
	clock    *testkit.ServerClock // of Redis
	// lines are what each process reaches the servers by.
	lines map[*sluice.Member]lines
	// frozen is when those that sleep for long may go on.
	frozen map[*sluice.Member]time.Time
}

// lines lead from one process to the servers.
type lines struct{ sql, redis *testkit.Forwarder }

// machineLease is short, so that a test can wait for it to run out.
const machineLease = 2 * time.Second

// machineWindow is how long a ration lasts; what Redis lost of it counts as
// spent for as long.
const machineWindow = 2 * time.Second

// newMachines starts the servers, a process that answers requests, workers and
// schedulers.
func newMachines(t *testing.T, o sim.Options, mongo bool, workers, schedulers int) *machines {
	t.Helper()
	return newMachinesWith(t, machineLease, o, mongo, workers, schedulers)
}

// newMachinesWith is newMachines with another lease.
func newMachinesWith(t *testing.T, lease time.Duration, o sim.Options, mongo bool, workers, schedulers int) *machines {
	t.Helper()
	redis, clock := testkit.StartRedisWithClock(t)
	m := &machines{
		Machines: &sluice.Machines{T: t, Redis: redis, SQL: testkit.StartSQL(t)},
		upstream: sluice.NewUpstream(t, o), clock: clock,
		lines: map[*sluice.Member]lines{}, frozen: map[*sluice.Member]time.Time{},
	}
	m.Key = sluice.KeyFile(t)
	m.Env = []string{
		"SLUICE_STATE=" + m.SQL.URL(), "SLUICE_REDIS=" + m.Redis.URL(),
		"SLUICE_KEY_FILE=" + m.Key, "SLUICE_ADDR=127.0.0.1:0", "SLUICE_LOG_LEVEL=info",
		"SLUICE_GITHUB_URL=" + m.upstream.URL, "SLUICE_FLOOR=0", "SLUICE_LEASE=" + lease.String(), "SLUICE_WORKERS=4",
		"SLUICE_ASSUME_LIMIT=" + strconv.Itoa(min(12, o.Limits.CoreLimit)), "SLUICE_ASSUME_WINDOW=" + o.Limits.Window.String(),
		// Long proofs take longer than it is until an account would be collected again.
		"SLUICE_HARVEST=false",
	}
	if o.Nasty == nil {
		// How many calls there are is chosen with care, so that faults meet them.
		m.Env = append(m.Env, "SLUICE_RESOURCES=none")
	} else {
		// What is deleted is to be noticed by the next run. A stream and a list stand for
		// all resources: the stand-in for MongoDB is slow.
		m.Env = append(m.Env, "SLUICE_SWEEP_EVERY=1s", "SLUICE_RESOURCES=comments,labels")
	}
	if mongo {
		m.Mongo = testkit.StartMongo(t)
		m.Env = append(m.Env, "SLUICE_MONGO="+m.Mongo.URL())
	}
	front := m.Start("api")
	said := front.Lives[0].Says("sluice serves ")
	_, url, _ := strings.Cut(said, "sluice serves ")
	url, _, _ = strings.Cut(url, "/api/v1")
	var err error
	if m.API, err = client.New(url, "", nil); err != nil {
		t.Fatal(err)
	}
	for range workers {
		m.join("worker")
	}
	for range schedulers {
		m.join("scheduler")
	}
	return m
}

// signup asks for the collection of every account.
func (m *machines) signup() (runs []int64) {
	m.T.Helper()
	for _, login := range m.upstream.Logins() {
		answer, err := m.API.Signup(m.T.Context(), engine.Signup{Source: "github", Login: login, Token: m.upstream.Token(login)})
		if err != nil {
			m.T.Fatal(err)
		}
		runs = append(runs, answer.Run.ID)
	}
	return runs
}

// join adds a process.
func (m *machines) join(role string) {
	one := &sluice.Member{Role: role}
	m.Members = append(m.Members, one)
	m.revive(one)
}

// revive begins another life of a process, on lines of its own.
func (m *machines) revive(one *sluice.Member) {
	m.T.Helper()
	var by lines
	var state, redis string
	by.sql, state = testkit.Forward(m.T, m.SQL.URL())
	by.redis, redis = testkit.Forward(m.T, m.Redis.URL())
	m.lines[one] = by
	delete(m.frozen, one)
	env := append(m.Env[:len(m.Env):len(m.Env)], "SLUICE_STATE="+state, "SLUICE_REDIS="+redis)
	one.Lives = append(one.Lives, sluice.Start(m.T, env, "up", "--roles", one.Role))
}
