package database_test

import (
	"testing"

	"sluice/internal/sink/sinktest"
	"sluice/internal/testkit"
)

// The case in which a server is away needs one of its own.

func TestPostgresIsDown(t *testing.T) { isDown(t, testkit.StartPostgres(t), sinktest.PostgresSQL) }

func TestMySQLIsDown(t *testing.T) { isDown(t, testkit.StartMariaDB(t), sinktest.MySQL) }

func isDown(t *testing.T, server *testkit.Server, in sinktest.SQL) {
	p := place(t, server.URL(), testkit.OpenSQL(t, server.URL()), in)
	p.Cut = func(testing.TB) { server.Kill() }
	p.Mend = func(testing.TB) { server.Start() }
	sinktest.RunDown(t, p)
}
