// Package redis dispatches through Redis, so that many processes share one
// queue. Everything is decided inside Redis by scripts, by its clock; this
// package merges what concurrent callers ask, waits in blocking reads, and
// runs the scheduler that lets instants have their effect on time.
//
// What is handed out lies in two streams with a consumer group, one for each
// priority. A lease is the stream's entry, delivered to a consumer, and the end
// of the lease in a sorted set. The streams hold what is leased and nothing
// else; they are never trimmed.
package redis

import (
	"cmp"
	"context"
	"crypto/rand"
	"embed"
	"io/fs"
	"log/slog"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"sluice/internal/batch"
	"sluice/internal/dispatch"
	"sluice/internal/domain"
	"sluice/internal/redisdb"
)

// Options configures a Dispatcher.
type Options struct {
	// Lease is how long a worker may be silent before its job is given to
	// another; dispatch.DefaultLease if zero.
	Lease time.Duration
	// LaneLimit is how many entries of one lane may be leased at once; zero is
	// no limit.
	LaneLimit int
	// OnLoss is pushed when Redis turns out to have lost the queue, or to have
	// come back with an old one. Nothing is pushed if its lane is empty.
	OnLoss dispatch.Entry
	// Name begins the name under which Redis knows this consumer.
	Name string
	// MaxWait caps every wait; dispatch.MaxWait if zero.
	MaxWait time.Duration
	// ConsumerIdle is how long a consumer that holds nothing may be silent
	// before the scheduler removes it; ten minutes if zero.
	ConsumerIdle time.Duration
	// Log is told what goes wrong in the background; slog.Default if nil.
	Log *slog.Logger
}

// Dispatcher implements dispatch.Dispatcher on Redis. An unknown priority
// counts as LOW, an unknown class as discovery. The entry of a lease carries no
// NotBefore.
type Dispatcher struct {
	db           *redisdb.DB
	log          *slog.Logger
	consumer     string
	maxWait      time.Duration
	consumerIdle time.Duration
	keys, header []string

	pushes, acks, releases, renewals *batch.Group[part]
	requests                         *batch.Group[request]

	seats   seats
	changes *redisdb.Signals
	life    redisdb.Lifetime
}

var _ dispatch.Dispatcher = (*Dispatcher)(nil)

// New returns a dispatcher on the queue of a database. It makes the group of
// consumers if there is none.
func New(ctx context.Context, db *redisdb.DB, o Options) (*Dispatcher, error) {
	d := &Dispatcher{
		db:           db,
		log:          cmp.Or(o.Log, slog.Default()),
		consumer:     consumerName(o.Name),
		maxWait:      cmp.Or(max(o.MaxWait, 0), dispatch.MaxWait),
		consumerIdle: cmp.Or(max(o.ConsumerIdle, 0), 10*time.Minute),
	}
	for _, name := range [...]string{
		"high", "low", "delayed", "waiting", "turns", "parked", "lanes", "records", "leases", "demand", "meta", "leader",
	} {
		d.keys = append(d.keys, db.Key("jobs:"+name))
	}
	lease := cmp.Or(max(o.Lease, 0), dispatch.DefaultLease)
	d.header = []string{
		db.Key("wake"), strconv.FormatInt(ceilMillis(lease), 10), strconv.Itoa(max(o.LaneLimit, 0)),
		strconv.FormatInt(o.OnLoss.Job, 10), rankOf(o.OnLoss.Priority, o.OnLoss.Class), o.OnLoss.Lane,
	}
	d.pushes = d.merge(scripts.push, pushWidth)
	d.acks = d.merge(scripts.ack, ackWidth)
	d.releases = d.merge(scripts.release, releaseWidth)
	d.renewals = d.merge(scripts.renew, renewWidth)
	d.requests = batch.New(mostRequests, d.answer)
	d.changes = redisdb.NewSignals(db, db.Key("changed"), d.log)
	if _, err := d.run(ctx, scripts.lease, d.consumer, "1"); err != nil {
		return nil, err
	}
	return d, nil
}

// Close ends the calls that wait and the schedulers, withdraws what is noted of
// them, and removes the consumer unless it still holds leases. The database
// stays open.
func (d *Dispatcher) Close() {
	d.life.Close()
	d.changes.Close()
	ctx, cancel := context.WithTimeout(context.Background(), graceTime)
	defer cancel()
	names := d.seats.close()
	if _, err := d.run(ctx, scripts.leave, append([]string{d.consumer}, names...)...); err != nil {
		// What was noted runs out by itself.
		d.log.Debug("leave the queue", "error", err)
	}
}

func consumerName(name string) string {
	if name == "" {
		return rand.Text()
	}
	return name + "-" + rand.Text()
}

// answerTime is how long Redis may take to answer. It is long enough for a
// server that forks or loads.
const answerTime = 10 * time.Second

// run calls a script with the arguments that all of them share and its own.
func (d *Dispatcher) run(ctx context.Context, script *redisdb.Script, args ...string) (rueidis.RedisMessage, error) {
	limited, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	all := make([]string, 0, len(d.header)+len(args))
	all = append(append(all, d.header...), args...)
	m, err := script.Run(limited, d.db, d.keys, all)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		err = domain.Errorf(domain.CodeUnavailable, "redis did not answer within %v", answerTime)
	}
	return m, err
}

//go:embed scripts/*.lua
var files embed.FS

// scripts are the scripts by name.
var scripts = loadScripts()

type scriptSet struct {
	push, lease, leave, ack, release, renew, park, resume, remove, stats, lead, resign *redisdb.Script
}

func loadScripts() scriptSet {
	folder, err := fs.Sub(files, "scripts")
	if err != nil {
		folder = files
	}
	load := func(name string) *redisdb.Script {
		return redisdb.LoadScript(folder, "common.lua", "lanes.lua", "leases.lua", "hand.lua", name+".lua")
	}
	return scriptSet{
		push: load("push"), lease: load("lease"), leave: load("leave"), ack: load("ack"), release: load("release"),
		renew: load("renew"), park: load("park"), resume: load("resume"), remove: load("remove"), stats: load("stats"),
		lead: load("lead"), resign: load("resign"),
	}
}
