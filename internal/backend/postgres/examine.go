package postgres

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"sluice/internal/backend/relational"
)

// Report is what doctor tells people about a database.
type Report struct {
	Version string
	// Have and Want are the schema's version and the program's; Have is 0
	// before the first start.
	Have, Want int64
	// Durable is whether fsync, full_page_writes and synchronous_commit are on:
	// otherwise a power cut loses what was acknowledged.
	Durable bool
	// Connections is how many the server takes from everybody.
	Connections int
	// Ahead is how far its clock is ahead of ours.
	Ahead time.Duration
	// Denied is what it does not let us do, "" if nothing.
	Denied string
}

// Examine looks at a database without migrating it. To prove what it may do it
// makes a table of its own and drops it again.
func Examine(ctx context.Context, url string) (r Report, err error) {
	config, err := parseURL(url)
	if err != nil {
		return r, err
	}
	d := newDB(config, 1)
	defer func() { _ = d.Close() }() // nothing is left to lose
	before := time.Now()
	micros, encoding := int64(0), ""
	err = d.Query(ctx, func(rows *sql.Rows) error {
		return rows.Scan(&r.Version, &encoding, &r.Durable, &r.Connections, &micros)
	}, `SELECT current_setting('server_version'), current_setting('server_encoding'),
		current_setting('fsync') = 'on' AND current_setting('full_page_writes') = 'on' AND current_setting('synchronous_commit') <> 'off',
		CAST(current_setting('max_connections') AS BIGINT), CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)`)
	if err != nil {
		return r, tooOld(d.Denied(err))
	}
	r.Ahead = relational.ClockAhead(relational.Time(micros), before, time.Now())
	if err := errors.Join(checkVersion(r.Version), checkEncoding(encoding)); err != nil {
		return r, err
	}
	if r.Have, r.Want, err = SchemaVersion(ctx, d); err != nil {
		return r, err
	}
	r.Denied = denied(ctx, d)
	return r, nil
}

func denied(ctx context.Context, d *relational.DB) string {
	return d.FirstDenied(ctx,
		relational.Right{What: "create tables", Statement: "CREATE TABLE IF NOT EXISTS sluice_doctor (id BIGINT PRIMARY KEY)"},
		relational.Right{What: "alter tables", Statement: "ALTER TABLE sluice_doctor ALTER COLUMN id SET NOT NULL"},
		relational.Right{What: "write", Statement: "INSERT INTO sluice_doctor (id) VALUES (1) ON CONFLICT (id) DO NOTHING"},
		relational.Right{What: "delete", Statement: "DELETE FROM sluice_doctor"},
		relational.Right{What: "drop tables", Statement: "DROP TABLE sluice_doctor"},
	)
}
