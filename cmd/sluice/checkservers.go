package main

import (
	"context"
	"fmt"
	"time"

	"sluice/internal/cli"
	documentmongo "sluice/internal/document/mongo"
	"sluice/internal/mysqldb"
	"sluice/internal/redisdb"
	"sluice/internal/secret"
	"sluice/internal/wiring"
)

// notableSkew is a difference of clocks that people should know of.
const notableSkew = time.Second

// checkServers examines what several machines share.
func checkServers(ctx context.Context, s cli.Servers) []cli.Finding {
	var findings []cli.Finding
	if err := wiring.Servers(s).Check(); err != nil {
		findings = append(findings, cli.Finding{What: "configuration", Detail: err.Error(), Fix: "give what is missing"})
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

func checkSQL(ctx context.Context, url string) cli.Finding {
	f := cli.Finding{What: "state", Fix: "check --state, and that the user has all rights on its database"}
	r, err := mysqldb.Examine(ctx, url)
	if err != nil {
		f.Detail = err.Error()
		return f
	}
	f.Detail = fmt.Sprintf("%s, version %s, schema %d", mysqldb.Redact(url), r.Version, r.Have)
	switch {
	case r.Denied != "":
		f.Detail += "; not permitted: " + r.Denied
		return f
	case r.Have > r.Want:
		f.Detail += fmt.Sprintf(", but this program knows %d at most", r.Want)
		f.Fix = "use the version of the program that migrated it, or a newer one"
		return f
	case r.Have == 0:
		f.Detail += " (created at the first start)"
	case r.Have < r.Want:
		f.Detail += fmt.Sprintf(" (migrated to %d at the next start)", r.Want)
	}
	f.OK = true
	if r.FlushAtCommit != 1 {
		f.Warn(fmt.Sprintf("innodb_flush_log_at_trx_commit is %d: a power cut loses what was acknowledged; set it to 1", r.FlushAtCommit))
	}
	if r.Packet < 16<<20 {
		f.Warn(fmt.Sprintf("max_allowed_packet is %d MiB: large pages are refused; set it to 16M or more", r.Packet>>20))
	}
	warnSkew(&f, r.Ahead)
	return f
}

func checkRedis(ctx context.Context, s cli.Servers) cli.Finding {
	f := cli.Finding{What: "dispatch", Fix: "check --redis, and what its user may do"}
	db, err := redisdb.Open(ctx, redisdb.Options{URL: s.Redis, Prefix: s.RedisPrefix})
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
	f.Detail = fmt.Sprintf("%s, Redis %s, %s", redisdb.Redact(s.Redis), r.Version, kind)
	if r.Denied != "" {
		f.Detail += "; not permitted: " + r.Denied
		return f
	}
	f.OK = true
	switch {
	case r.KeepsNothing:
		f.Warn("it keeps nothing: a restart empties it, dispatch is rebuilt and quota counts as spent for a window; set appendonly yes to spare that")
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
	store, err := documentmongo.Open(ctx, documentmongo.Options{URL: url})
	if err != nil {
		f.Detail = err.Error()
		return f
	}
	defer func() { _ = store.Close(ctx) }() // nothing is left to lose
	version, err := store.Version(ctx)
	if err == nil {
		err = store.Check(ctx)
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
		f.Warn(fmt.Sprintf("its clock differs by %s; what is due goes by Redis' clock", ahead.Round(time.Millisecond)))
	}
}
