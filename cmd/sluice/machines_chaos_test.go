package main_test

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/redis/rueidis"

	"sluice/internal/domain"
	"sluice/internal/engine"
	sim "sluice/internal/simulator/github"
	"sluice/internal/state"
	"sluice/internal/verify"
	"sluice/internal/wiring"
)

var (
	faultCount   = flag.Int("faults", 15, "how many faults the chaos test of several machines injects")
	accountCount = flag.Int("accounts", 15, "how many accounts the chaos test of several machines collects")
)

// TestChaosManyMachines collects with three workers and two schedulers while
// everything that can go wrong does. In the end every account is complete, the
// upstream saw no call too many, and every run was completed once.
func TestChaosManyMachines(t *testing.T) {
	random := seeded(t)
	m := newMachines(t, sim.Options{
		Seed: random.Uint64(), Accounts: *accountCount,
		// Many calls that bring few documents: the stand-in for MongoDB, where
		// there is one, searches everything it has for each of them.
		Shape: &sim.Shape{
			Repos: sim.Between(20, 40), Commits: sim.Between(0, 2), Issues: sim.Between(0, 1), Pulls: sim.Between(0, 1), Oddities: true,
		},
		Latency: sim.Latency{Fixed: 40 * time.Millisecond, Jitter: 40 * time.Millisecond},
		Limits:  sim.Limits{Window: machineWindow, Minute: machineWindow, CoreLimit: 12, GraphQLLimit: 12},
	}, true, 3, 2)
	runs := m.signup()
	pace := time.NewTicker(2 * time.Second)
	defer pace.Stop()
	for range *faultCount {
		<-pace.C
		f := faults[random.IntN(len(faults))]
		t.Log(f.name)
		f.do(m, random)
	}
	svc := m.look()
	// The stand-in for MongoDB takes many seconds for the statistics of each
	// account when there are many.
	under, cancel := context.WithTimeout(t.Context(), 2*time.Minute+time.Duration(*accountCount)*30*time.Second)
	defer cancel()
	for _, id := range runs {
		run, err := svc.WaitRun(under, id)
		if err != nil {
			t.Fatalf("run %d has not ended: %v\n%s\n%s", id, err, m.whatIsLeft(svc), m.lastWords())
		}
		if run.Status != domain.RunCompleted || run.Failed+run.Canceled+run.Pending != 0 {
			t.Errorf("run %d is %s with %+v: %s", id, run.Status, run.RunCounts, run.Reason)
		}
	}
	m.checkComplete(svc)
	m.checkOnce(runs)
	if audit := m.upstream.Audit(); audit.Violations != 0 {
		t.Errorf("the upstream counted violations: %+v", audit)
	} else {
		t.Logf("%d calls, %d of them repeated", audit.Calls, audit.Repeated+audit.RepeatedQueries)
	}
}

// look opens the shared stores from the test itself, to see what is in them.
func (m *machines) look() *wiring.Service {
	m.t.Helper()
	servers := wiring.Servers{State: m.sql.URL(), Redis: m.redis.URL(), KeyFile: m.key}
	if m.mongodb != nil {
		servers.Mongo = m.mongodb.URL()
	}
	svc, err := wiring.Open(m.t.Context(), wiring.Options{
		Servers: servers,
		Sources: noSources(m.t), Quota: wiring.NoQuota(), Engine: engine.Config{RequestsOnly: true},
	})
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = svc.Close(context.WithoutCancel(m.t.Context())) })
	if err := svc.Start(m.t.Context()); err != nil {
		m.t.Fatal(err)
	}
	return svc
}

// checkComplete compares every account with the truth, and checks that it was
// collected by one run.
func (m *machines) checkComplete(svc *wiring.Service) {
	t := m.t
	t.Helper()
	for _, login := range m.upstream.Logins() {
		account, err := svc.State.AccountByLogin(t.Context(), "github", login)
		if err != nil {
			t.Fatal(err)
		}
		truth, err := m.upstream.Truth(login, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		differences, err := verify.Account(t.Context(), svc.Documents, account.ID, truth)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range differences {
			t.Errorf("%s: %s", login, d)
		}
		runs, err := svc.State.Runs(t.Context(), state.RunQuery{AccountID: account.ID})
		if err != nil || len(runs) != 1 {
			t.Fatalf("%s has %d runs, %v", login, len(runs), err)
		}
		checkRun(t, svc, runs[0], truth)
		if _, ok, err := svc.State.AccountStatistics(t.Context(), account.ID); err != nil || !ok {
			t.Errorf("%s has no statistics: %v", login, err)
		}
	}
}

var endedLine = regexp.MustCompile(`msg="run ended" run=(\d+)`)

// checkOnce reads in the logs that runs were completed once. The row is moved
// once whatever happens; but when a fault takes a lease from a process that is
// about to complete a run, another may be about to as well, and both say so.
// That happens less often than faults do.
func (m *machines) checkOnce(runs []int64) {
	m.t.Helper()
	ended := map[int64]int{}
	for _, one := range m.members {
		for _, life := range one.lives {
			checkNoSecret(m.t, "log", life.err.text())
			for _, found := range endedLine.FindAllStringSubmatch(life.err.text(), -1) {
				id, _ := strconv.ParseInt(found[1], 10, 64)
				ended[id]++
			}
		}
	}
	said, doubled := 0, 0
	for _, id := range runs {
		if ended[id] > 1 {
			m.t.Logf("%d processes say that they completed run %d", ended[id], id)
			doubled += ended[id] - 1
		}
		said += ended[id]
	}
	if doubled > *faultCount {
		m.t.Errorf("%d completions were said twice", doubled)
	}
	if said == 0 {
		m.t.Error("no process ever said that it completed a run")
	}
}

// whatIsLeft describes the runs that have not ended and what dispatch knows.
func (m *machines) whatIsLeft(svc *wiring.Service) string {
	var all strings.Builder
	active, err := svc.State.Runs(m.t.Context(), state.RunQuery{ActiveOnly: true, Limit: 100})
	fmt.Fprintf(&all, "%d active runs, %v\n", len(active), err)
	for _, run := range active {
		fmt.Fprintf(&all, "run %d is %s %+v\n", run.ID, run.Status, run.RunCounts)
		jobs, err := svc.State.Jobs(m.t.Context(), state.JobQuery{RunID: run.ID, Statuses: []domain.JobStatus{
			domain.JobReady, domain.JobEnqueued, domain.JobRunning, domain.JobPaused,
		}})
		if err != nil {
			fmt.Fprintln(&all, err)
		}
		for _, j := range jobs {
			fmt.Fprintf(&all, "  job %d %s %s is %s, attempt %d, lost %d, not before %s, %s\n", j.ID, j.Type, j.Resource, j.Status, j.Attempt, j.Lost, j.NotBefore, j.Error)
		}
	}
	stats, err := svc.Dispatch.Stats(m.t.Context())
	fmt.Fprintf(&all, "dispatch: %+v, %v\n", stats, err)
	return all.String()
}

// lastWords is the end of what each process said.
func (m *machines) lastWords() string {
	var all strings.Builder
	for _, one := range m.members {
		text := one.now().err.text()
		all.WriteString("--- " + one.role + "\n" + text[max(0, len(text)-3000):] + "\n")
	}
	return all.String()
}

func redisDo(t *testing.T, url string, command ...string) {
	t.Helper()
	option, err := rueidis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	option.DisableCache, option.ForceSingleClient = true, true
	c, err := rueidis.NewClient(option)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Do(t.Context(), c.B().Arbitrary(command...).Build()).Error(); err != nil {
		t.Fatalf("%v: %v", command, err)
	}
}

// cutSQL ends every connection to the database but its own.
func cutSQL(t *testing.T, url string) {
	t.Helper()
	address := strings.TrimPrefix(url, "mysql://root@")
	host, _, _ := strings.Cut(address, "/")
	cfg := mysql.NewConfig()
	cfg.User, cfg.Net, cfg.Addr = "root", "tcp", host
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	defer func() { _ = db.Close() }()
	rows, err := db.QueryContext(t.Context(), "SELECT id FROM information_schema.processlist WHERE user = 'root' AND id <> connection_id()")
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	_ = rows.Close()
	for _, id := range ids {
		// One may have ended by itself.
		_, _ = db.ExecContext(t.Context(), "KILL CONNECTION "+id)
	}
}
