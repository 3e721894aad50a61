package mysql

import (
	"context"
	"database/sql"
	"time"

	"sluice/internal/backend/relational"
)

// Report is what doctor tells people about a database.
type Report struct {
	Version string
	// Have and Want are the schema's version and the program's; Have is 0
	// before the first start.
	Have, Want int64
	// Packet is the largest statement that the server takes.
	Packet int
	// FlushAtCommit is innodb_flush_log_at_trx_commit: with anything but 1 a
	// power cut loses what was acknowledged.
	FlushAtCommit int
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
	tune(config)
	pool, err := newPool(config, false)
	if err != nil {
		return r, err
	}
	defer func() { _ = pool.Close() }() // nothing is left to lose
	d := relational.New(pool, relational.Options{Name: nameOf(config), Dialect: dialect})
	before := time.Now()
	micros := int64(0)
	err = d.Query(ctx, func(rows *sql.Rows) error { return rows.Scan(&r.Version, &r.Packet, &r.FlushAtCommit, &micros) },
		"SELECT VERSION(), @@max_allowed_packet, @@innodb_flush_log_at_trx_commit, CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED)")
	if err != nil {
		return r, d.Denied(err)
	}
	r.Ahead = relational.ClockAhead(relational.Time(micros), before, time.Now())
	if err := checkVersion(r.Version); err != nil {
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
		relational.Right{What: "create tables", Statement: "CREATE TABLE IF NOT EXISTS sluice_doctor (id BIGINT PRIMARY KEY) ENGINE = InnoDB"},
		relational.Right{What: "alter tables", Statement: "ALTER TABLE sluice_doctor MODIFY id BIGINT NOT NULL"},
		relational.Right{What: "write", Statement: "INSERT INTO sluice_doctor (id) VALUES (1) ON DUPLICATE KEY UPDATE id = id"},
		relational.Right{What: "delete", Statement: "DELETE FROM sluice_doctor"},
		relational.Right{What: "drop tables", Statement: "DROP TABLE sluice_doctor"},
	)
}
