package peer

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
	"sync/atomic"

	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	_ "modernc.org/sqlite" // River takes a database/sql driver
)

// NewRiverSQLite returns River on SQLite files in dir, with the same
// durability as Sluice (WAL, synchronous=FULL) and the single connection that
// River's own tests use.
func NewRiverSQLite(dir string) *River[*sql.Tx] {
	var uses atomic.Int64
	return &River[*sql.Tx]{
		name: "River on SQLite",
		open: func(ctx context.Context) (riverdriver.Driver[*sql.Tx], func() error, error) {
			path := filepath.Join(dir, fmt.Sprintf("river-%d.db", uses.Add(1)))
			options := url.Values{
				"_pragma": {"journal_mode(WAL)", "synchronous(FULL)", "busy_timeout(5000)"},
				"_txlock": {"immediate"},
			}
			db, err := sql.Open("sqlite", "file:"+path+"?"+options.Encode())
			if err != nil {
				return nil, nil, err
			}
			db.SetMaxOpenConns(1)
			if err := db.PingContext(ctx); err != nil {
				return nil, nil, fmt.Errorf("open %s: %w", path, err)
			}
			return riversqlite.New(db), db.Close, nil
		},
	}
}
