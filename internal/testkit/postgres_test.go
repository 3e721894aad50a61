package testkit_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/internal/testkit"
)

func openPostgres(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

func ask(t *testing.T, conn *pgx.Conn, query string) (n int) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

func tell(t *testing.T, conn *pgx.Conn, statement string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func TestPostgresDatabasesAreApart(t *testing.T) {
	first, second := openPostgres(t, testkit.Postgres(t)), openPostgres(t, testkit.Postgres(t))
	tell(t, first, "CREATE TABLE a (n INT)")
	const tables = "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'public'"
	if n, m := ask(t, first, tables), ask(t, second, tables); n != 1 || m != 0 {
		t.Errorf("the databases have %d and %d tables, want 1 and 0", n, m)
	}
}

func TestPostgresSurvivesAKill(t *testing.T) {
	server := testkit.StartPostgres(t)
	conn := openPostgres(t, server.URL())
	tell(t, conn, "CREATE TABLE a (n INT PRIMARY KEY)")
	tell(t, conn, "INSERT INTO a VALUES (1), (2), (3)")
	server.Kill()
	if err := conn.Ping(t.Context()); err == nil {
		t.Fatal("a killed server answers")
	}
	server.Start()
	if n := ask(t, openPostgres(t, server.URL()), "SELECT count(*) FROM a"); n != 3 {
		t.Errorf("%d rows are left of 3", n)
	}
	server.Restart() // although somebody is connected
	if n := ask(t, openPostgres(t, server.URL()), "SELECT count(*) FROM a"); n != 3 {
		t.Errorf("%d rows are left of 3 after an orderly restart", n)
	}
}

// TestPausedPostgresIsSilent, also to who was connected before.
func TestPausedPostgresIsSilent(t *testing.T) {
	server := testkit.StartPostgres(t)
	conn := openPostgres(t, server.URL())
	server.Pause()
	answered := make(chan error, 1)
	go func() { answered <- conn.Ping(context.WithoutCancel(t.Context())) }()
	select {
	case err := <-answered:
		t.Errorf("a paused server answers: %v", err)
	case <-time.After(300 * time.Millisecond):
	}
	limited, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := pgx.Connect(limited, server.URL()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a paused server lets somebody in: %v", err)
	}
	server.Continue()
	if err := <-answered; err != nil {
		t.Errorf("it goes on: %v", err)
	}
}
