package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	driver "zombiezen.com/go/sqlite"

	_ "github.com/jackc/pgx/v5/stdlib" // fills a database as fast as it takes rows

	"sluice/bench/report"
	"sluice/bench/servers"
	"sluice/internal/backend/sqlite"
	"sluice/internal/config"
	"sluice/internal/engine/enginetest"
	"sluice/internal/httpapi"
	"sluice/internal/metrics"
	"sluice/internal/source"
	"sluice/internal/source/github"
	"sluice/internal/wiring"
)

// What the lists are measured on: each account has one run of a hundred jobs. One
// job in fifty failed, and every two hundredth account is being collected.
const (
	listAccounts = 10_000
	listJobs     = 100
	listTarget   = 20.0 // ms
	scrapeTarget = 50.0 // ms
)

// lists measures what people wait for when they look at a large database: every
// list and every detail over HTTP, on every SQL store, beside a request that is
// answered without a store.
func lists(ctx context.Context, l *lab) error {
	accounts := l.size(listAccounts, 200)
	var failed error
	for _, open := range []func(context.Context, *lab) (*listing, error){listingEmbedded, listingMariaDB, listingPostgres} {
		failed = errors.Join(failed, func() error {
			x, err := open(ctx, l)
			if err != nil {
				return err
			}
			defer x.close()
			began := time.Now()
			if err := x.fill(ctx, accounts); err != nil {
				return fmt.Errorf("%s: fill: %w", x.name, err)
			}
			l.notef("%s: %d accounts and %d jobs in %.0f s", x.name, accounts, accounts*listJobs, time.Since(began).Seconds())
			return x.measure(l, accounts)
		}())
	}
	return failed
}

// listing is one store with its API.
type listing struct {
	name string
	api  http.Handler
	exec func(ctx context.Context, statement string) error
	// conn is that of exec, on SQLite.
	conn  *driver.Conn
	words fillWords
	close func()
}

// fillWords are what the databases say differently.
type fillWords struct {
	// hash is the expression of a hash of a text that ends with n.
	hash func(prefix string) string
	// columns tells whether tables have hashes beside their texts.
	hashed bool
	// insert makes a statement of a table, a list of columns and a query over the
	// numbers n below a limit.
	insert func(table, columns, query string, limit int) string
	after  []string
}

func (l *lab) listingOf(ctx context.Context, name string, o wiring.Options) (*listing, error) {
	// Documents are GitHub's, which nobody calls.
	declared, err := github.New(github.Options{BaseURL: "http://127.0.0.1:1"})
	if err != nil {
		return nil, err
	}
	o.Holder, o.Quota, o.Sources = "bench", wiring.NoQuota(), []source.Source{&enginetest.Noop{}, declared}
	svc, err := wiring.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	scrape, err := metrics.New(metrics.Sources{
		Engine: svc.Engine, State: svc.State, Statistics: svc.State, Dispatch: svc.Dispatch, Quota: svc.Quota, SQL: svc.SQL,
		Timers: svc.Timers, Notifications: svc.Notifications, Owners: 20,
	}, nil)
	if err != nil {
		return nil, errors.Join(err, svc.Close(ctx))
	}
	api := httpapi.New(httpapi.Deps{
		Metrics:      scrape,
		Orchestrator: svc.Engine, Observer: svc.Engine, Reader: svc.State, Quota: svc.Quota, Statistics: svc.Statistics,
		Documents: svc.Documents, Feed: svc.Feed, Finder: svc.Finder, Lister: svc.Lister, Queries: svc.Queries, Records: svc.Records, Timers: svc.Timers, Fleet: svc.Fleet, Sources: listedSources(),
	}, httpapi.Options{})
	return &listing{name: name, api: api, close: func() {
		if err := svc.Close(context.WithoutCancel(ctx)); err != nil {
			l.notef("close %s: %v", name, err)
		}
	}}, nil
}

func listedSources() []source.Description {
	return []source.Description{(&enginetest.Noop{}).Describe(), github.Describe()}
}

const recursive = "WITH RECURSIVE s (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < %d) "

func listingEmbedded(ctx context.Context, l *lab) (*listing, error) {
	dir, remove, err := l.folder("lists")
	if err != nil {
		return nil, err
	}
	x, err := l.listingOf(ctx, "sqlite", wiring.Options{Config: config.Embedded(dir)})
	if err != nil {
		return nil, err
	}
	// A second connection to the file, as the service's own is not handed out.
	conn, err := driver.OpenConn(dir+"/"+sqlite.FileName, driver.OpenReadWrite)
	if err != nil {
		return nil, err
	}
	conn.SetBusyTimeout(time.Minute)
	x.conn = conn
	x.exec = func(_ context.Context, statement string) error { return sqlite.Exec(conn, statement, nil) }
	x.words = fillWords{
		insert: func(table, columns, query string, limit int) string {
			return "INSERT INTO " + table + " (" + columns + ") " + fmt.Sprintf(recursive, limit-1) + query + " FROM s"
		},
	}
	closeService := x.close
	x.close = func() { closeService(); _ = conn.Close(); remove() }
	return x, nil
}

func listingMariaDB(ctx context.Context, l *lab) (*listing, error) {
	f, err := l.fleet(ctx)
	if err != nil {
		return nil, err
	}
	x, err := l.listingOf(ctx, "mariadb", wiring.Options{Config: config.Config{Servers: f.Servers}})
	if err != nil {
		return nil, err
	}
	address, name, _ := strings.Cut(strings.TrimPrefix(f.State, "mysql://root@"), "/")
	db, err := servers.OpenDatabase(address)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	x.exec = execOn(db)
	x.words = fillWords{
		hashed: true,
		hash:   func(prefix string) string { return "UNHEX(MD5(CONCAT('" + prefix + "', n)))" },
		insert: func(table, columns, query string, limit int) string {
			return "INSERT INTO " + table + " (" + columns + ") " + fmt.Sprintf(recursive, limit-1) + query + " FROM s"
		},
		after: []string{"ANALYZE TABLE account, run, job"},
	}
	for _, first := range []string{"USE " + name, "SET SESSION max_recursive_iterations = 100000000"} {
		if err := x.exec(ctx, first); err != nil {
			return nil, err
		}
	}
	return f.closing(x, db), nil
}

func listingPostgres(ctx context.Context, l *lab) (*listing, error) {
	f, err := l.fleet(ctx)
	if err != nil {
		return nil, err
	}
	url, err := l.servers.Postgres(ctx)
	if err != nil {
		return nil, err
	}
	f.State = url + "/postgres"
	x, err := l.listingOf(ctx, "postgres", wiring.Options{Config: config.Config{Servers: f.Servers}})
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("pgx", f.State)
	if err != nil {
		return nil, err
	}
	x.exec = execOn(db)
	x.words = fillWords{
		hashed: true,
		hash:   func(prefix string) string { return "decode(md5('" + prefix + "' || n), 'hex')" },
		insert: func(table, columns, query string, limit int) string {
			return fmt.Sprintf("INSERT INTO %s (%s) %s FROM generate_series(0, %d) AS s (n)", table, columns, query, limit-1)
		},
		after: []string{"ANALYZE account", "ANALYZE run", "ANALYZE job"},
	}
	return f.closing(x, db), nil
}

func execOn(db *sql.DB) func(context.Context, string) error {
	return func(ctx context.Context, statement string) error {
		_, err := db.ExecContext(ctx, statement)
		return err
	}
}

// closing has everything of a listing on servers closed with it.
func (f *fleet) closing(x *listing, db *sql.DB) *listing {
	closeService := x.close
	x.close = func() {
		closeService()
		_ = db.Close()
		f.drop()
	}
	return x
}

// fill puts the accounts, their runs and jobs in, in a few statements.
func (x *listing) fill(ctx context.Context, accounts int) error {
	w := x.words
	account, accountValues := "credential_name", "'c' || n"
	login, owner := "'user-' || n", "'owner-' || n"
	if w.hashed {
		account, accountValues = "identity, credential_hash", w.hash("i")+", "+w.hash("c")
	}
	if x.name == "mariadb" {
		login, owner = "CONCAT('user-', n)", "CONCAT('owner-', n)"
	}
	empty, divided := "''", "n / 100"
	if x.name == "mariadb" {
		divided = "n DIV 100"
	}
	job, jobValues := "page_key", resourceOf(x.name)
	if w.hashed {
		job, jobValues = "ledger_hash, page_hash", w.hash("l")+", "+w.hash("p")
	}
	now := time.Now().UnixMicro()
	active := fmt.Sprintf("(%s) %% 200 = 0", divided)
	status := fmt.Sprintf("CASE WHEN n %% 50 = 7 THEN 6 WHEN %s AND n %% 100 = 50 THEN 3 WHEN %s THEN 1 ELSE 5 END", active, active)
	done := fmt.Sprintf("CASE WHEN n %% 50 = 7 THEN 1 WHEN %s THEN 0 ELSE 1 END", active)
	statements := []string{
		w.insert("account", "id, source, login, state, reason, owner, key_id, credential, created_at, updated_at, "+account,
			fmt.Sprintf("SELECT n + 1, 'noop', %s, CASE WHEN n %% 100 = 0 THEN 'paused' ELSE 'active' END, '', %s, '', %s, %d, %d, %s", login, owner, empty, now, now, accountValues), accounts),
		w.insert("run", "id, account_id, trigger_by, priority, status, anchor, reason, created_at, finished_at, known, succeeded, failed",
			fmt.Sprintf("SELECT n + 1, n + 1, 'manual', 1, CASE WHEN n %% 200 = 0 THEN 3 WHEN n %% 300 = 1 THEN 6 ELSE 5 END, %d, '', %d, %d, 100, 98, 2", now, now, now), accounts),
		w.insert("job", "id, run_id, account_id, parent_id, type, resource, bucket, class, priority, params, expected, status, done, attempt, error_kind, error, items, created_at, started_at, finished_at, "+job,
			fmt.Sprintf("SELECT n + 1, %s + 1, %s + 1, 0, CASE WHEN n %% 1000 = 3 THEN 'RARE' ELSE 'LIST' END, %s, 'core', 1, 1, %s, 1, %s, %s, 1, CASE WHEN n %% 50 = 7 THEN CASE WHEN n %% 100 = 7 THEN 'server' ELSE 'timeout' END ELSE '' END, '', 30, %d, %d, %d, %s",
				divided, divided, resourceOf(x.name), empty, status, done, now, now, now, jobValues), accounts*listJobs),
	}
	for _, statement := range append(statements, w.after...) {
		if err := x.exec(ctx, statement); err != nil {
			return fmt.Errorf("%.120s…: %w", statement, err)
		}
	}
	return nil
}

// resourceOf is a text that differs from job to job.
func resourceOf(store string) string {
	if store == "mariadb" {
		return "CONCAT('repo:', n)"
	}
	return "'repo:' || n"
}

// measure asks for every list and detail, each time with other values.
func (x *listing) measure(l *lab, accounts int) error {
	asks := []struct {
		name string
		path func(i int) string
	}{
		{"accounts", func(i int) string { return fmt.Sprintf("accounts?limit=100&cursor=%d", 1+i*97%accounts) }},
		{"accounts_paused", func(int) string { return "accounts?limit=100&state=paused" }},
		{"account", func(i int) string { return fmt.Sprintf("accounts/%d", 1+i*97%accounts) }},
		{"runs", func(i int) string { return fmt.Sprintf("runs?limit=100&cursor=%d", 1+i*97%accounts) }},
		{"runs_failed", func(int) string { return "runs?limit=100&status=FAILED" }},
		{"runs_active", func(int) string { return "runs?limit=100&active=true" }},
		{"runs_account", func(i int) string { return fmt.Sprintf("runs?account=%d", 1+i*97%accounts) }},
		{"run", func(i int) string { return fmt.Sprintf("runs/%d", 1+i*97%accounts) }},
		{"jobs", func(i int) string { return fmt.Sprintf("jobs?limit=100&cursor=%d", 1+i*7919%(accounts*listJobs)) }},
		{"jobs_run", func(i int) string { return fmt.Sprintf("jobs?limit=100&run=%d", 1+i*97%accounts) }},
		{"jobs_account", func(i int) string { return fmt.Sprintf("jobs?limit=100&account=%d", 1+i*97%accounts) }},
		{"jobs_failed", func(i int) string {
			return fmt.Sprintf("jobs?limit=100&status=FAILED&cursor=%d", 1+i*7919%(accounts*listJobs))
		}},
		{"jobs_error", func(int) string { return "jobs?limit=100&status=FAILED&error=timeout" }},
		{"jobs_running", func(int) string { return "jobs?limit=100&status=RUNNING" }},
		{"jobs_type_rare", func(i int) string {
			return fmt.Sprintf("jobs?limit=100&type=RARE&cursor=%d", 1+i*7919%(accounts*listJobs))
		}},
		{"jobs_type_none", func(i int) string {
			return fmt.Sprintf("jobs?limit=100&type=NONE&cursor=%d", 1+i*7919%(accounts*listJobs))
		}},
		{"jobs_canceled", func(int) string { return "jobs?limit=100&status=CANCELED" }},
		{"job", func(i int) string { return fmt.Sprintf("jobs/%d", 1+i*7919%(accounts*listJobs)) }},
		{"quota", func(int) string { return "quota?limit=100" }},
		{"dead_letters", func(int) string { return "dlq?limit=100" }},
		{"timers", func(int) string { return "timers?limit=100" }},
	}
	rounds := l.size(200, 20)
	nothing, err := x.times("/livez", rounds)
	if err != nil {
		return err
	}
	var failed error
	for _, ask := range asks {
		took := make([]float64, 0, rounds)
		for i := range rounds + 5 {
			one, err := x.time("/api/v1/" + ask.path(i))
			if err != nil {
				return err
			}
			if i >= 5 { // the first ones fill caches
				took = append(took, one)
			}
		}
		p95 := report.Quantile(took, 0.95)
		failed = errors.Join(failed, l.report.Add(report.Line{
			Name: "lists_" + ask.name + "_" + x.name, Value: p95, Unit: "ms",
			Detail: fmt.Sprintf("p95 of %d requests; p50 %.2f ms; %d accounts, %d jobs", rounds, report.Quantile(took, 0.5), accounts, accounts*listJobs),
		}.Against("a request that asks no store", report.Quantile(nothing, 0.95)).Aim("< 20 ms", p95 < listTarget)))
	}
	return errors.Join(failed, x.measureScrapes(l, accounts, rounds, report.Quantile(nothing, 0.95)))
}

// measureScrapes scrapes the metrics. For the first one everything is counted,
// however long that takes.
func (x *listing) measureScrapes(l *lab, accounts, rounds int, nothing float64) error {
	first, err := x.time("/metrics")
	if err != nil {
		return err
	}
	took, err := x.times("/metrics", rounds)
	if err != nil {
		return err
	}
	p95 := report.Quantile(took, 0.95)
	return l.report.Add(report.Line{
		Name: "lists_scrape_" + x.name, Value: p95, Unit: "ms",
		Detail: fmt.Sprintf("p95 of %d scrapes of /metrics; p50 %.2f ms, the first %.2f ms; %d accounts", rounds, report.Quantile(took, 0.5), first, accounts),
	}.Against("a request that asks no store", nothing).Aim("< 50 ms", p95 < scrapeTarget))
}

func (x *listing) times(path string, n int) ([]float64, error) {
	took := make([]float64, n)
	for i := range took {
		var err error
		if took[i], err = x.time(path); err != nil {
			return nil, err
		}
	}
	return took, nil
}

// time makes one request and returns how long it took, in ms.
func (x *listing) time(path string) (float64, error) {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil)
	began := time.Now()
	x.api.ServeHTTP(w, r)
	took := float64(time.Since(began).Microseconds()) / 1000
	if w.Code != http.StatusOK {
		return 0, fmt.Errorf("%s: GET %s: %d %s", x.name, path, w.Code, w.Body)
	}
	return took, nil
}
