package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/internal/backend/mongo"
	"sluice/internal/backend/mysql"
	"sluice/internal/backend/postgres"
	"sluice/internal/backend/redis"
	"sluice/internal/cli"
	"sluice/internal/config"
	"sluice/internal/secret"
	"sluice/internal/sources"
)

// notableSkew is a difference of clocks that people should know of.
const notableSkew = time.Second

// checkServers examines what several machines share.
func checkServers(ctx context.Context, s config.Servers) []cli.Finding {
	var findings []cli.Finding
	var wrong config.Problems
	errors.As(s.Validate(), &wrong)
	for _, one := range wrong {
		findings = append(findings, cli.Finding{What: "configuration", Detail: one.Text, Fix: "give the missing settings"})
	}
	if s.KeyFile != "" {
		findings = append(findings, checkKey(s.KeyFile))
	}
	if s.State != "" {
		findings = append(findings, checkSQL(ctx, s.State))
	}
	if s.Redis != "" {
		findings = append(findings, checkRedis(ctx, s))
	}
	if s.Mongo != "" {
		findings = append(findings, checkMongo(ctx, s.Mongo))
	}
	return findings
}

func checkKey(path string) cli.Finding {
	f := cli.Finding{What: "key", Fix: "make one with `openssl rand -hex 32`, the same for every machine"}
	if _, err := secret.OpenFile(path); err != nil {
		f.Detail = err.Error()
		return f
	}
	f.OK, f.Detail = true, path
	return f
}

// examined is what there is to tell about a database, whichever it is.
type examined struct {
	told, version string
	// have is the version of its tables, and want the program's.
	have, want int64
	denied     string
	ahead      time.Duration
	warnings   []string
}

func examineSQL(ctx context.Context, url string) (e examined, err error) {
	if postgres.Speaks(url) {
		r, err := postgres.Examine(ctx, url)
		e = examined{told: postgres.Redact(url), version: r.Version, have: r.Have, want: r.Want, denied: r.Denied, ahead: r.Ahead}
		if !r.Durable {
			e.warnings = append(e.warnings, "fsync, full_page_writes or synchronous_commit is off: a power cut loses what was acknowledged; set them to on")
		}
		return e, err
	}
	r, err := mysql.Examine(ctx, url)
	e = examined{told: mysql.Redact(url), version: r.Version, have: r.Have, want: r.Want, denied: r.Denied, ahead: r.Ahead}
	if r.FlushAtCommit != 1 {
		e.warnings = append(e.warnings, fmt.Sprintf("innodb_flush_log_at_trx_commit is %d: a power cut loses what was acknowledged; set it to 1", r.FlushAtCommit))
	}
	if r.Packet < 16<<20 {
		e.warnings = append(e.warnings, fmt.Sprintf("max_allowed_packet is %d MiB: large pages are refused; set it to 16M or more", r.Packet>>20))
	}
	return e, err
}

func checkSQL(ctx context.Context, url string) cli.Finding {
	f := cli.Finding{What: "state", Fix: "check --state, and that the user has all rights on its database"}
	r, err := examineSQL(ctx, url)
	if err != nil {
		f.Detail = err.Error()
		return f
	}
	f.Detail = fmt.Sprintf("%s, version %s, schema %d", r.told, r.version, r.have)
	switch {
	case r.denied != "":
		f.Detail += "; not permitted: " + r.denied
		return f
	case r.have > r.want:
		f.Detail += fmt.Sprintf(", but this program knows at most %d", r.want)
		f.Fix = "use the version of the program that migrated it, or a newer one"
		return f
	case r.have == 0:
		f.Detail += " (created at the first start)"
	case r.have < r.want:
		f.Detail += fmt.Sprintf(" (migrated to %d at the next start)", r.want)
	}
	f.OK = true
	for _, warning := range r.warnings {
		f.Warn(warning)
	}
	warnSkew(&f, r.ahead)
	return f
}

func checkRedis(ctx context.Context, s config.Servers) cli.Finding {
	f := cli.Finding{What: "dispatch", Fix: "check --redis, and what its user may do"}
	db, err := redis.Open(ctx, redis.Options{URL: s.Redis, Prefix: s.RedisPrefix})
	if err != nil {
		f.Detail = err.Error()
		return f
	}
	defer db.Close()
	r, err := db.Examine(ctx)
	if err != nil {
		f.Detail = err.Error()
		return f
	}
	kind := "single"
	if r.Cluster {
		kind = "cluster"
	}
	f.Detail = fmt.Sprintf("%s, Redis %s, %s", redis.Redact(s.Redis), r.Version, kind)
	if r.Denied != "" {
		f.Detail += "; not permitted: " + r.Denied
		return f
	}
	f.OK = true
	switch {
	case r.KeepsNothing:
		f.Warn("nothing is persisted: a restart empties it and everything is rebuilt from the database; set appendonly yes to avoid that")
	case r.Persistence == "":
		f.Detail += ", persistence unknown"
	default:
		f.Detail += ", persistence: " + r.Persistence
	}
	if r.Evicts != "" {
		f.Warn("it drops keys when memory is full (" + r.Evicts + "); set maxmemory-policy noeviction")
	}
	warnSkew(&f, r.Ahead)
	return f
}

func checkMongo(ctx context.Context, url string) cli.Finding {
	f := cli.Finding{What: "documents", Fix: "check --mongo, and that its user may read and write the database"}
	db, err := mongo.Open(url)
	if err != nil {
		f.Detail = err.Error()
		return f
	}
	defer func() { _ = db.Close(ctx) }() // nothing is left to lose
	documents, err := mongo.NewDocuments(ctx, db, sources.Kinds())
	if err != nil {
		f.Detail = err.Error()
		return f
	}
	version, err := db.Version(ctx)
	if err == nil {
		err = documents.Check(ctx)
	}
	if err != nil {
		f.Detail = err.Error()
		return f
	}
	f.OK, f.Detail = true, "MongoDB "+version+" can be read and written"
	return f
}

func warnSkew(f *cli.Finding, ahead time.Duration) {
	if ahead.Abs() > notableSkew {
		f.Warn(fmt.Sprintf("its clock differs by %s; what is due is decided by Redis' clock", ahead.Round(time.Millisecond)))
	}
}
