package mysqldb

import (
	"context"
	"database/sql"
	"fmt"
	"time"
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
	pool, err := newPool(config)
	if err != nil {
		return r, err
	}
	defer func() { _ = pool.Close() }() // nothing is left to lose
	d := &DB{pool: pool, name: config.Addr + "/" + config.DBName}
	before := time.Now()
	micros := int64(0)
	err = d.Query(ctx, func(rows *sql.Rows) error { return rows.Scan(&r.Version, &r.Packet, &r.FlushAtCommit, &micros) },
		"SELECT VERSION(), @@max_allowed_packet, @@innodb_flush_log_at_trx_commit, CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED)")
	if err != nil {
		return r, refused(d.name, err)
	}
	r.Ahead = ahead(Time(micros), before, time.Now())
	if err := checkVersion(r.Version); err != nil {
		return r, err
	}
	if r.Have, r.Want, err = d.SchemaVersion(ctx); err != nil {
		return r, err
	}
	r.Denied = d.denied(ctx)
	return r, nil
}

// ahead compares a clock that was read between two instants of ours.
func ahead(there, before, after time.Time) time.Duration {
	switch {
	case there.Before(before):
		return there.Sub(before)
	case there.After(after):
		return there.Sub(after)
	}
	return 0
}

func (d *DB) denied(ctx context.Context) string {
	for _, try := range []struct{ what, statement string }{
		{"create tables", "CREATE TABLE IF NOT EXISTS sluice_doctor (id BIGINT PRIMARY KEY) ENGINE = InnoDB"},
		{"alter tables", "ALTER TABLE sluice_doctor MODIFY id BIGINT NOT NULL"},
		{"write", "INSERT INTO sluice_doctor (id) VALUES (1) ON DUPLICATE KEY UPDATE id = id"},
		{"delete", "DELETE FROM sluice_doctor"},
		{"drop tables", "DROP TABLE sluice_doctor"},
	} {
		if _, err := d.Exec(ctx, try.statement); err != nil {
			return fmt.Sprintf("%s: %v", try.what, err)
		}
	}
	return ""
}
