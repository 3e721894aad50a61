package versions_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sluice/internal/client"
	"sluice/internal/config"
	"sluice/internal/refresh"
	sim "sluice/internal/simulator/github"
	maplesim "sluice/internal/simulator/maplestory"
	"sluice/internal/testkit"
	"sluice/internal/testkit/sluice"
	"sluice/internal/wiring"
)

// upstream is the world that the data was collected from; calls is what each
// account may make of them in a window. What was spent when the data was kept is
// over when it is opened.
func upstream(t *testing.T, calls int, window time.Duration) *sluice.Upstream {
	t.Helper()
	return sluice.NewUpstream(t, sim.Options{
		Seed: 11, Accounts: 4, NoPollInterval: true,
		Shape: &sim.Shape{
			Repos: sim.Between(1, 4), Commits: sim.Between(5, 260), Issues: sim.Between(0, 130), Pulls: sim.Between(0, 130), Oddities: true,
		},
		Latency: sim.Latency{Fixed: 50 * time.Millisecond},
		Limits:  sim.Limits{Window: window, CoreLimit: calls, GraphQLLimit: calls},
	})
}

// content is what is known of kept data.
type content struct {
	// Completed and Unfinished are runs.
	Completed, Unfinished []int
	// Snapshots are characters whose snapshot was stored; Waiting those whose
	// refresh was accepted by a log that is part of the data.
	Snapshots, Waiting []string
	// Letter is a key whose refresh was given up.
	Letter string
}

// The timers of all data.
const (
	timerFired    = "fired"    // before it was kept
	timerSoon     = "soon"     // due since
	timerHooked   = "hooked"   // due since, and nobody answers its webhook
	timerLater    = "later"    // due in the far future
	timerCanceled = "canceled" // due since, but for that
)

// sharedKey sealed what is kept of servers; a data folder has its own.
var sharedKey = strings.Repeat("0b", 32)

var farFuture = time.Date(2199, 1, 2, 3, 4, 5, 0, time.UTC)

// kind is how data is kept.
type kind struct {
	name string // of the file that it is kept in
	// shared data is in a server, and the refresh log is not part of it.
	shared bool
	open   func(testing.TB) *testkit.Server
	load   func(*testing.T, string, string)
	schema func(*testing.T, string) []string
}

var kinds = []kind{
	{name: "sqlite.tar.gz", load: unpack, schema: schemaOfFolder},
	{name: "mariadb.sql.gz", shared: true, open: testkit.StartMariaDB, load: loadMariaDB, schema: schemaOfMariaDB},
	{name: "postgres.sql.gz", shared: true, open: testkit.StartPostgres, load: loadPostgres, schema: schemaOfPostgres},
}

// place is where data lies while a program works on it.
type place struct {
	t *testing.T
	kind
	// dir is the data folder; key seals what is in shared data.
	dir, key   string
	sql, redis *testkit.Server
}

func newPlace(t *testing.T, k kind, dir string) *place {
	t.Helper()
	p := &place{t: t, kind: k, dir: dir, key: filepath.Join(dir, "sluice.key")}
	if k.shared {
		p.sql, p.redis = k.open(t), testkit.StartRedis(t)
		if err := os.WriteFile(p.key, []byte(sharedKey), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// where names what schema and load work on.
func (p *place) where() string {
	if p.shared {
		return p.sql.URL()
	}
	return p.dir
}

// config opens the data.
func (p *place) config() config.Config {
	if !p.shared {
		return config.Embedded(p.dir)
	}
	return config.Config{
		Service: config.Service{Roles: config.Roles{config.RoleAPI}},
		Servers: config.Servers{State: p.sql.URL(), Redis: p.redis.URL(), KeyFile: p.key},
	}
}

// look opens the data from the test itself.
func (p *place) look() *wiring.Service {
	p.t.Helper()
	svc, err := wiring.Open(p.t.Context(), wiring.Options{Config: p.config(), Sources: sluice.NoSources(p.t), Quota: wiring.NoQuota()})
	if err != nil {
		p.t.Fatal(err)
	}
	return svc
}

// up runs the program on the data.
func (p *place) up(u *sluice.Upstream, g *sluice.Game, more ...string) *sluice.Service {
	p.t.Helper()
	env := []string{
		"SLUICE_MAPLESTORY_KEY=" + maplesim.DefaultKey, "SLUICE_MAPLESTORY_URL=" + g.URL, "SLUICE_PREFETCH=0", "SLUICE_FLOOR=0",
		"SLUICE_WEBHOOK_SECRET=" + "a secret of the tests", "SLUICE_WEBHOOK_ALLOW_PRIVATE=true", "SLUICE_LOG_LEVEL=info",
		// A run goes on with what the version that began it set out to collect.
		"SLUICE_RESOURCES=none",
	}
	if p.shared {
		env = append(env, "SLUICE_STATE="+p.sql.URL(), "SLUICE_REDIS="+p.redis.URL(), "SLUICE_KEY_FILE="+p.key)
	}
	return sluice.UpIn(p.t, u, p.dir, env, more...)
}

// client calls a service as other programs do.
func (p *place) client(s *sluice.Service) *client.Client {
	p.t.Helper()
	c, err := client.New(s.URL, s.Token, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	return c
}

// completes follows the timers that fire, from the first that is known, until one has
// completed.
func (p *place) completes(s *sluice.Service, timer string) completion {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), sluice.Patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/api/v1/completions/events?after=0", nil)
	if err != nil {
		p.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		if c := sluice.Decode[completion](p.t, data); c.Timer == timer && c.Status == "COMPLETED" {
			return c
		}
	}
	p.t.Fatalf("the timer %s never completed: %v\n%s", timer, lines.Err(), s.Stderr.Text())
	return completion{}
}

// fresh follows a snapshot until it is fresh.
func (p *place) fresh(c *client.Client, ocid string) (last refresh.Answer) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), sluice.Patience)
	defer cancel()
	for answer, err := range c.WatchSnapshot(ctx, refresh.Entity{Source: "maplestory", Key: ocid}) {
		if err != nil {
			p.t.Fatalf("the snapshot of %s is %s: %v", ocid, last.Freshness, err)
		}
		last = answer
	}
	return last
}

// Answers of the API.
type (
	timerAnswer struct {
		Status string
		At     time.Time
	}
	completion struct {
		Timer, Status string
		Payload       json.RawMessage
	}
	snapshotAnswer struct {
		Snapshot  json.RawMessage
		Freshness string
	}
)
