package timers_test

import (
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"sluice/internal/client"
	"sluice/internal/due"
	"sluice/internal/testkit"
	"sluice/internal/testkit/sluice"
)

const (
	timerServerCount = 5
	// timerPace is how often something goes wrong.
	timerPace = 2 * time.Second
	// timerSleep is longer than others wait for a silent server.
	timerSleep = due.DefaultGrace + time.Second
	// mostAway is how many servers may be down or asleep at once.
	mostAway = 3
)

// timerServers are processes with every role, and who gets their webhooks.
type timerServers struct {
	*sluice.Machines
	random   *rand.Rand
	receiver *receiver
	places   []*place
}

// place is where one server runs, life after life. What is not guarded belongs
// to the test's goroutine.
type place struct {
	*sluice.Member
	killed bool
	// awake tells when the server is to be woken; nil if it does not sleep.
	awake <-chan time.Time
	// begun is closed when the present life serves, or will not.
	begun chan struct{}

	mu  sync.Mutex
	api *client.Client // nil while it does not serve
}

func (p *place) client() *client.Client {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.api
}

func (p *place) serves(api *client.Client) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.api = api
}

// awaitService blocks until the server serves.
func (p *place) awaitService(t *testing.T) *client.Client {
	t.Helper()
	<-p.begun
	api := p.client()
	if api == nil {
		t.Fatalf("a server does not serve: %s", p.Now().Stderr.Text())
	}
	return api
}

func (p *place) away() bool { return p.killed || p.awake != nil }

// newTimerServers starts the servers and what they share.
func newTimerServers(t *testing.T, random *rand.Rand, c timerCase) *timerServers {
	t.Helper()
	m := &sluice.Machines{T: t, Redis: testkit.StartRedis(t, c.redis...), SQL: testkit.StartSQL(t), Key: sluice.KeyFile(t)}
	m.Env = []string{
		"SLUICE_STATE=" + m.SQL.URL(), "SLUICE_REDIS=" + m.Redis.URL(),
		"SLUICE_KEY_FILE=" + m.Key, "SLUICE_ADDR=127.0.0.1:0", "SLUICE_LOG_LEVEL=info", "SLUICE_TIMER_TRIGGER=" + c.trigger,
		"SLUICE_WEBHOOK_SECRET=" + "a secret of the tests", "SLUICE_WEBHOOK_ALLOW_PRIVATE=true",
	}
	if c.mongo {
		m.Mongo = testkit.StartMongo(t)
		m.Env = append(m.Env, "SLUICE_MONGO="+m.Mongo.URL())
	}
	s := &timerServers{Machines: m, random: random, receiver: newReceiver(t)}
	for range timerServerCount {
		p := &place{Member: &sluice.Member{Role: "api,worker,scheduler"}}
		s.places, m.Members = append(s.places, p), append(m.Members, p.Member)
		s.begin(p)
	}
	for _, p := range s.places {
		p.awaitService(t)
	}
	return s
}

// begin begins a life of a server, and tells the callers where it serves once
// it does.
func (s *timerServers) begin(p *place) {
	s.Revive(p.Member)
	p.killed = false
	life, begun := p.Now(), make(chan struct{})
	p.begun = begun
	go func() {
		defer close(begun)
		said, ok := life.Stderr.Await("sluice serves ")
		if !ok {
			return
		}
		all := sluice.Address.FindAllString(said, -1)
		// A client of its own, so that connections to those who have died are
		// not kept.
		api, err := client.New(all[len(all)-1], "", &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: timerCallers}})
		if err != nil || life.Ended() {
			return
		}
		p.serves(api)
	}()
}

// disturb lets something go wrong every now and then, until the span is over
// and all servers run again.
func (s *timerServers) disturb(span time.Duration) {
	until := time.Now().Add(time.Second + span)
	pace := time.NewTicker(timerPace)
	defer pace.Stop()
	// What takes longest comes first; the others in any order, each as often.
	s.fault(timerFaults[0])
	deck := s.random.Perm(len(timerFaults))
	deck = slices.DeleteFunc(deck, func(i int) bool { return i == 0 })
	for time.Now().Before(until) {
		<-pace.C
		s.tend(false)
		if len(deck) == 0 {
			deck = s.random.Perm(len(timerFaults))
		}
		s.fault(timerFaults[deck[0]])
		deck = deck[1:]
	}
	s.tend(true)
}

func (s *timerServers) fault(f timerFault) {
	s.T.Log(f.name)
	f.do(s)
}

// tend starts those again that were killed, and wakes those that have slept
// long enough; all of them if everything is to run again.
func (s *timerServers) tend(all bool) {
	s.T.Helper()
	for _, p := range s.places {
		if p.awake != nil {
			if !all && len(p.awake) == 0 {
				continue
			}
			<-p.awake
			p.awake = nil
			p.Now().Signal(syscall.SIGCONT)
		}
		if !p.killed && p.Now().Ended() {
			// Whoever supervises it starts it again: no timer may be lost by it.
			text := p.Now().Stderr.Text()
			s.T.Errorf("a server ended by itself: …%s", text[max(0, len(text)-1000):])
			p.killed = true
		}
		if p.killed {
			s.begin(p)
		}
	}
}

// one picks a server that runs; nil if too few do.
func (s *timerServers) one() *place {
	var there []*place
	for _, p := range s.places {
		if !p.away() {
			there = append(there, p)
		}
	}
	if len(s.places)-len(there) >= mostAway {
		return nil
	}
	return there[s.random.IntN(len(there))]
}

// timerFault is something that goes wrong.
type timerFault struct {
	name string
	do   func(*timerServers)
}

var timerFaults = []timerFault{
	{"a server sleeps past the grace", func(s *timerServers) {
		if p := s.one(); p != nil {
			p.Now().Signal(syscall.SIGSTOP)
			p.awake = time.After(timerSleep)
		}
	}},
	{"a server is killed", func(s *timerServers) {
		if p := s.one(); p != nil {
			p.serves(nil)
			p.Now().Signal(syscall.SIGKILL)
			_ = p.Now().Wait()
			p.killed = true
		}
	}},
	{"Redis restarts with its data", func(s *timerServers) {
		sluice.RedisDo(s.T, s.Redis.URL(), "SAVE")
		s.Redis.Restart()
	}},
	{"Redis restarts with old data or none", func(s *timerServers) { s.Redis.Kill(); s.Redis.Start() }},
	{"Redis restarts empty", func(s *timerServers) {
		sluice.RedisDo(s.T, s.Redis.URL(), "FLUSHALL")
		sluice.RedisDo(s.T, s.Redis.URL(), "SAVE")
		s.Redis.Restart()
	}},
	{"Redis is emptied", func(s *timerServers) { sluice.RedisDo(s.T, s.Redis.URL(), "FLUSHALL") }},
	{"subscribers are cut off", func(s *timerServers) {
		sluice.RedisDo(s.T, s.Redis.URL(), "CLIENT", "KILL", "TYPE", "pubsub", "SKIPME", "yes")
	}},
	{"connections to Redis are cut", func(s *timerServers) {
		sluice.RedisDo(s.T, s.Redis.URL(), "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
	}},
	{"the database restarts", func(s *timerServers) { s.SQL.Restart() }},
	{"the database is killed", func(s *timerServers) { s.SQL.Kill(); s.SQL.Start() }},
	{"MongoDB restarts", func(s *timerServers) {
		if s.Mongo != nil {
			s.Mongo.Restart()
		}
	}},
}

// receiver gets the webhooks. It fails at one first call in ten.
type receiver struct {
	url string

	mu sync.Mutex
	// calls are those that it took, by the timer.
	calls map[string][]notice
	seen  map[string]bool
}

// notice is what a webhook says.
type notice struct {
	ID     string    `json:"id"`
	Fired  time.Time `json:"fired"`
	Server string    `json:"server"`
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{calls: map[string][]notice{}, seen: map[string]bool{}}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.url = server.URL + "/hook"
	return r
}

// ServeHTTP implements http.Handler.
func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	var n notice
	if err == nil {
		err = json.Unmarshal(body, &n)
	}
	if err != nil || n.ID == "" || n.ID != request.Header.Get("webhook-id") {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.seen[n.ID] {
		r.seen[n.ID] = true
		if len(r.seen)%10 == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
	}
	r.calls[n.ID] = append(r.calls[n.ID], n)
}
