package refresh_test

import (
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"sluice/internal/client"
	maplesim "sluice/internal/simulator/maplestory"
	"sluice/internal/testkit"
	"sluice/internal/testkit/sluice"
)

const (
	refreshWorkers = 3
	// kafkaSession is how long Kafka waits for a silent worker.
	kafkaSession = 10 * time.Second
)

// refreshCase is what carries the requests, and where locks and rates are.
type refreshCase struct {
	name           string
	kafka, cluster bool
}

// refreshMachines are processes that keep snapshots fresh together, and the game
// that they call.
type refreshMachines struct {
	*sluice.Machines
	refreshCase
	random  *rand.Rand
	game    *sluice.Game
	broker  *testkit.KafkaServer // nil if Redis carries the requests
	nodes   []string             // of the cluster; nil if Redis is one server
	workers []*refreshWorker
	happen  map[string]int // faults by name
}

// refreshWorker is a process that carries refreshes out.
type refreshWorker struct {
	*sluice.Member
	killed bool
	// awake tells when it is to be woken; nil if it does not sleep.
	awake <-chan time.Time
}

func (w *refreshWorker) away() bool { return w.killed || w.awake != nil }

// newRefreshMachines starts the game, the servers, and the processes: one that
// answers requests, one that schedules, three that work.
func newRefreshMachines(t *testing.T, random *rand.Rand, c refreshCase, characters string) *refreshMachines {
	t.Helper()
	m := &refreshMachines{
		Machines: &sluice.Machines{T: t, SQL: testkit.StartSQL(t), Key: sluice.KeyFile(t)}, refreshCase: c, random: random,
		game: sluice.SimulateGame(t, "--characters", characters, "--body-size", "2000"), happen: map[string]int{},
	}
	var shared string
	if c.cluster {
		shared = testkit.RedisCluster(t)
		m.nodes = clusterNodes(t, shared)
	} else {
		var durable []string
		if !c.kafka {
			// What was accepted is in Redis alone: it must be on disk before
			// Redis says so.
			durable = []string{"--appendonly", "yes", "--appendfsync", "always"}
		}
		m.Redis = testkit.StartRedis(t, durable...)
		shared = m.Redis.URL()
	}
	m.Env = []string{
		"SLUICE_STATE=" + m.SQL.URL(), "SLUICE_REDIS=" + shared, "SLUICE_REDIS_PREFIX=" + testkit.Prefix(t),
		"SLUICE_KEY_FILE=" + m.Key, "SLUICE_ADDR=127.0.0.1:0", "SLUICE_LOG_LEVEL=info",
		"SLUICE_MAPLESTORY_URL=" + m.game.URL, "SLUICE_MAPLESTORY_KEY=" + maplesim.DefaultKey,
	}
	if *refreshSeconds < refreshLong {
		// Beside other tests the game is kept waiting, and then finds at once what
		// was sent in time. The long form has the machine to itself.
		m.Env = append(m.Env, "SLUICE_MAPLESTORY_PER_SECOND=400")
	}
	if c.kafka {
		m.broker = testkit.StartKafka(t)
		m.Env = append(m.Env, "SLUICE_KAFKA="+strings.Join(m.broker.Brokers(), ","))
	}
	front := m.enlist("api")
	var err error
	if m.API, err = client.New(sluice.AddressIn(t, front.Now().Says("sluice serves ")), "", &http.Client{Transport: &http.Transport{}}); err != nil {
		t.Fatal(err)
	}
	m.enlist("scheduler")
	for range refreshWorkers {
		m.join()
	}
	for _, w := range m.workers {
		w.Now().Says("sluice works")
	}
	return m
}

// enlist starts a process of another role.
func (m *refreshMachines) enlist(role string) *sluice.Member {
	one := m.Start(role)
	m.Members = append(m.Members, one)
	return one
}

// join starts another worker.
func (m *refreshMachines) join() {
	m.workers = append(m.workers, &refreshWorker{Member: m.enlist("refresh")})
}

// clusterNodes returns the URL of each node that a cluster's URL names.
func clusterNodes(t *testing.T, text string) (nodes []string) {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range append([]string{u.Host}, u.Query()["addr"]...) {
		nodes = append(nodes, "redis://"+host)
	}
	return nodes
}

// disturb lets something go wrong again and again: what takes longest first,
// then every kind in any order, each as often as the others.
func (m *refreshMachines) disturb(faults int, span time.Duration) {
	kinds := m.kinds()
	pace := time.NewTicker(span / time.Duration(max(faults, 1)))
	defer pace.Stop()
	deck := m.random.Perm(len(kinds) - 1)
	m.fault(kinds[len(kinds)-1])
	for range faults - 1 {
		<-pace.C
		m.tend(false)
		if len(deck) == 0 {
			deck = m.random.Perm(len(kinds))
		}
		m.fault(kinds[deck[0]])
		deck = deck[1:]
	}
	<-pace.C
	m.tend(true)
}

func (m *refreshMachines) fault(kind []refreshFault) {
	f := kind[m.random.IntN(len(kind))]
	m.T.Log(f.name)
	m.happen[f.name]++
	f.do(m)
}

// tend starts those again that were killed, and wakes those that have slept
// long enough; all of them if everything is to run again.
func (m *refreshMachines) tend(all bool) {
	m.T.Helper()
	for _, w := range m.workers {
		if w.awake != nil {
			if !all && len(w.awake) == 0 {
				continue
			}
			<-w.awake
			w.awake = nil
			w.Now().Signal(syscall.SIGCONT)
		}
		if !w.killed && w.Now().Ended() {
			text := w.Now().Stderr.Text()
			m.T.Errorf("a worker ended by itself: …%s", text[max(0, len(text)-1000):])
			w.killed = true
		}
		if w.killed {
			w.killed = false
			m.Revive(w.Member)
		}
	}
}

// one picks a worker that runs. If it is the last that does, another joins
// first.
func (m *refreshMachines) one() *refreshWorker {
	var there []*refreshWorker
	for _, w := range m.workers {
		if !w.away() {
			there = append(there, w)
		}
	}
	if len(there) < 2 {
		m.join()
	}
	return there[m.random.IntN(len(there))]
}

// leave lets a worker go in good order. It does not come back.
func (m *refreshMachines) leave(w *refreshWorker) {
	m.T.Helper()
	m.workers = slices.DeleteFunc(m.workers, func(other *refreshWorker) bool { return other == w })
	// One that has not begun yet knows no good order.
	w.Now().Says("sluice works")
	w.Now().Signal(syscall.SIGTERM)
	w.Now().Ends().Expect(m.T, 0)
}
