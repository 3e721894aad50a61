package peer

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
)

// poolSize is River's connections to PostgreSQL: enough that its fetches,
// completions and maintenance never wait for one.
const poolSize = 20

// NewRiverPostgres returns River on databases of the server at url, a new one
// for each use.
func NewRiverPostgres(url string) *River[pgx.Tx] {
	var uses atomic.Int64
	return &River[pgx.Tx]{
		name: "River on PostgreSQL",
		open: func(ctx context.Context) (riverdriver.Driver[pgx.Tx], func() error, error) {
			// Several processes may use one server.
			name := fmt.Sprintf("bench_%d_%d", os.Getpid(), uses.Add(1))
			if err := createDatabase(ctx, url, name); err != nil {
				return nil, nil, err
			}
			config, err := pgxpool.ParseConfig(url + "/" + name + "?sslmode=disable")
			if err != nil {
				return nil, nil, err
			}
			config.MaxConns = poolSize
			pool, err := pgxpool.NewWithConfig(ctx, config)
			if err != nil {
				return nil, nil, err
			}
			return riverpgxv5.New(pool), func() error { pool.Close(); return nil }, nil
		},
	}
}

func createDatabase(ctx context.Context, url, name string) error {
	conn, err := pgx.Connect(ctx, url+"/postgres?sslmode=disable")
	if err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return err
	}
	return conn.Close(ctx)
}
