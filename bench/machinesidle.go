package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"sluice/bench/proc"
	"sluice/bench/redisinfo"
	"sluice/bench/report"
	"sluice/bench/servers"
	"sluice/internal/dispatch"
)

// machinesSettle is longer than a lease: the end of the one that the start's
// own chore had is looked at once.
const machinesSettle = dispatch.DefaultLease + settle

// machinesIdle measures what the real program asks of Redis and MariaDB while
// it has nothing to do, and then what asynq asks of the same Redis.
func machinesIdle(ctx context.Context, l *lab) error {
	span := time.Duration(l.size(60, 10)) * time.Second
	ours, statements, err := l.idleFleet(ctx, span)
	if err != nil {
		return err
	}
	l.notef("sluice up over %.0f s: %s", ours.span.Seconds(), ours)
	theirs, err := l.idleOnRedis(ctx, span)
	if err != nil {
		return err
	}
	l.notef("asynq over %.0f s: %s", theirs.span.Seconds(), theirs)
	peer := "asynq on Redis"
	redis := report.Line{
		Name: "machines_idle_redis", Value: perTen(ours.sent, ours.span), Unit: "commands/10 s",
		Detail: fmt.Sprintf("sent over %.0f s: %s; asynq: %s", ours.span.Seconds(), ours, theirs),
	}
	executed := report.Line{
		Name: "machines_idle_executed", Value: perTen(ours.executed, ours.span), Unit: "commands/10 s",
		Detail: "what Redis executed for it, each command of a script counted",
	}
	sql := report.Line{Name: "machines_idle_sql", Value: float64(statements), Unit: "statements", Detail: fmt.Sprintf("over %.0f s", ours.span.Seconds())}
	cpu := report.Line{
		Name: "machines_idle_cpu", Value: ours.cpu(), Unit: "% of a core",
		Detail: fmt.Sprintf("%s by the scheduler, %d voluntary context switches; asynq: %s, %d", ours.used.Run, ours.used.Voluntary, theirs.used.Run, theirs.used.Voluntary),
	}
	return errors.Join(
		l.report.Add(redis.Against(peer, perTen(theirs.sent, theirs.span)).Aim("<= 1", redis.Value <= 1)),
		l.report.Add(executed.Against(peer, perTen(theirs.executed, theirs.span))),
		l.report.Add(sql.Aim("0", statements == 0)),
		l.report.Add(cpu.Against(peer, theirs.cpu())),
	)
}

// quiet is what an idle process did.
type quiet struct {
	span time.Duration
	used proc.Usage
	// sent counts the commands that it sent to Redis, executed those that
	// Redis executed for it: scripts execute several.
	sent, executed map[string]int64
}

// perTen is how many commands there are in ten seconds.
func perTen(counts map[string]int64, span time.Duration) float64 {
	return 10 * float64(sum(counts)) / span.Seconds()
}

func (q quiet) cpu() float64 { return 100 * q.used.Run.Seconds() / q.span.Seconds() }

func (q quiet) String() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(q.sent)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, q.sent[name]))
	}
	return fmt.Sprintf("%d sent (%s), %d executed with those of scripts", sum(q.sent), strings.Join(parts, ", "), sum(q.executed))
}

func sum(counts map[string]int64) (total int64) {
	for _, n := range counts {
		total += n
	}
	return total
}

// watchQuiet observes an idle process and what reaches Redis meanwhile.
func watchQuiet(ctx context.Context, addr string, pid int, span time.Duration) (q quiet, err error) {
	before, err := redisinfo.Calls(ctx, addr)
	if err != nil {
		return q, err
	}
	monitor, err := redisinfo.Watch(ctx, addr)
	if err != nil {
		return q, err
	}
	figures, err := observe(ctx, []int{pid}, span)
	sent, stopped := monitor.Stop()
	if err := errors.Join(err, stopped); err != nil {
		return q, err
	}
	after, err := redisinfo.Calls(ctx, addr)
	if err != nil {
		return q, err
	}
	for name, n := range before {
		after[name] -= n
	}
	return quiet{span: figures.span, used: figures.used[0], sent: sent, executed: after}, nil
}

// idleFleet observes the program with every role. It also counts the SQL
// statements.
func (l *lab) idleFleet(ctx context.Context, span time.Duration) (q quiet, statements int64, err error) {
	addr, err := l.emptyRedis(ctx)
	if err != nil {
		return q, 0, err
	}
	f, err := l.fleet(ctx)
	if err != nil {
		return q, 0, err
	}
	defer f.drop()
	dir, remove, err := l.folder("up")
	if err != nil {
		return q, 0, err
	}
	defer remove()
	up, err := l.startUp(ctx, "--data-dir", dir, "--state", f.State, "--redis", f.Redis, "--redis-prefix", f.RedisPrefix, "--key-file", f.KeyFile)
	if err != nil {
		return q, 0, err
	}
	defer func() { err = errors.Join(err, up.stop()) }()
	count, end, err := questions(ctx, f.State)
	if err != nil {
		return q, 0, err
	}
	defer func() { err = errors.Join(err, end()) }()
	if err := pause(ctx, time.Duration(l.size(int(machinesSettle), int(settle)))); err != nil {
		return q, 0, err
	}
	before, err := count()
	if err != nil {
		return q, 0, err
	}
	if q, err = watchQuiet(ctx, addr, up.cmd.Process.Pid, span); err != nil {
		return q, 0, err
	}
	after, err := count()
	// The second count is a statement itself.
	return q, after - before - 1, err
}

// questions returns how to ask a MariaDB server how many statements it got.
func questions(ctx context.Context, state string) (count func() (int64, error), end func() error, err error) {
	u, err := url.Parse(state)
	if err != nil {
		return nil, nil, err
	}
	db, err := servers.OpenDatabase(u.Host)
	if err != nil {
		return nil, nil, err
	}
	// One connection, so that nothing but the question itself is counted.
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	count = func() (n int64, err error) {
		var name sql.NullString
		err = conn.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Questions'").Scan(&name, &n)
		return n, err
	}
	return count, func() error { return errors.Join(conn.Close(), db.Close()) }, nil
}

// idleOnRedis observes asynq with nothing to do.
func (l *lab) idleOnRedis(ctx context.Context, span time.Duration) (q quiet, err error) {
	addr, err := l.emptyRedis(ctx)
	if err != nil {
		return q, err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	asynq, err := startIdler(running, "asynq", "idle-asynq", addr)
	if err != nil {
		return q, err
	}
	if err = pause(ctx, settle); err == nil {
		q, err = watchQuiet(ctx, addr, asynq.cmd.Process.Pid, span)
	}
	stop()
	return q, errors.Join(err, asynq.wait())
}
