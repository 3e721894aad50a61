package relational_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"sluice/internal/backend/mysql"
	"sluice/internal/backend/postgres"
	"sluice/internal/backend/relational"
	"sluice/internal/testkit"
)

func TestMain(m *testing.M) { os.Exit(testkit.Main(m)) }

// server is one of those that the stores are tested with.
type server struct {
	name string
	// bare returns the URL of a new database without tables: for tests that
	// change tables, or look at what the server counts by database. Others use
	// fresh.
	bare func(testing.TB) string
	// start starts a server of its own, to be killed.
	start func(testing.TB) *testkit.Server
	open  func(ctx context.Context, url string, connections int) (*relational.DB, error)
	shelf *shelf
}

// servers by the scheme of their URLs.
var servers = []server{
	{"mysql", testkit.MariaDB, testkit.StartMariaDB, func(ctx context.Context, url string, connections int) (*relational.DB, error) {
		return mysql.Open(ctx, mysql.Options{URL: url, MaxConnections: connections})
	}, &shelf{}},
	{"postgres", testkit.Postgres, testkit.StartPostgres, func(ctx context.Context, url string, connections int) (*relational.DB, error) {
		return postgres.Open(ctx, postgres.Options{URL: url, MaxConnections: connections})
	}, &shelf{}},
}

// eachServer runs a test with every server.
func eachServer(t *testing.T, test func(t *testing.T, on server)) {
	for _, on := range servers {
		t.Run(on.name, func(t *testing.T) {
			t.Parallel()
			test(t, on)
		})
	}
}

// someServer is eachServer for what takes long and is much the same on every
// server: the short form runs it with one of them, by chance.
func someServer(t *testing.T, test func(t *testing.T, on server)) {
	if !testing.Short() {
		eachServer(t, test)
		return
	}
	on := servers[testkit.Seed(t)%uint64(len(servers))]
	t.Run(on.name, func(t *testing.T) { test(t, on) })
}

// benchServer is the one that benchmarks measure: the first, or the one that
// SLUICE_BENCH_SERVER names.
func benchServer() server {
	for _, s := range servers {
		if s.name == os.Getenv("SLUICE_BENCH_SERVER") {
			return s
		}
	}
	return servers[0]
}

// connect opens the database of a URL.
func connect(ctx context.Context, url string) (*relational.DB, error) {
	for _, s := range servers {
		if strings.HasPrefix(url, s.name+"://") {
			db, err := s.open(ctx, url, 0)
			if err == nil {
				record(url, db)
			}
			return db, err
		}
	}
	return nil, fmt.Errorf("no server has the URL %s", url)
}

// open opens the database of a URL for the length of a test.
func open(tb testing.TB, url string) *relational.DB {
	tb.Helper()
	db, err := connect(tb.Context(), url)
	if err != nil {
		tb.Fatalf("open: %v", err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return db
}
