package redis

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"sluice/internal/batch"
	"sluice/internal/dispatch"
)

// DispatcherOptions configures a Dispatcher.
type DispatcherOptions struct {
	// Lease is how long a worker may be silent before its job is given to
	// another; dispatch.DefaultLease if zero.
	Lease time.Duration
	// LaneLimit is how many entries of one lane may be leased at once; zero is
	// no limit.
	LaneLimit int
	// OnLoss is pushed when Redis turns out to have lost the queue, or to have
	// come back with an old one. Nothing is pushed if its lane is empty.
	OnLoss dispatch.Entry
	// OnLead, if set, is what a scheduler pushes when it has taken the lead in
	// a term: the one before it may not have come to the end of something.
	OnLead func(term int64) dispatch.Entry
	// Leads and Slept, if set, are told whether a scheduler of this process leads,
	// and how long it slept between two looks.
	Leads func(bool)
	Slept func(time.Duration)
	// Name begins the name under which Redis knows this consumer.
	Name string
	// MaxWait caps every wait; dispatch.MaxWait if zero.
	MaxWait time.Duration
	// ConsumerIdle is how long a consumer that holds nothing may be silent
	// before the scheduler removes it; ten minutes if zero.
	ConsumerIdle time.Duration
	// Log is told what goes wrong in the background; slog.Default if nil.
	Log *slog.Logger
	// Clock, in tests alone, stands for the server's clock and for the timers of
	// this process.
	Clock Clock
}

// Dispatcher implements dispatch.Dispatcher on Redis. An unknown priority
// counts as LOW, an unknown class as discovery. The entry of a lease carries no
// NotBefore.
type Dispatcher struct {
	db           *DB
	log          *slog.Logger
	consumer     string
	maxWait      time.Duration
	consumerIdle time.Duration
	clock        Clock
	onLead       func(term int64) dispatch.Entry
	leads        func(bool)
	slept        func(time.Duration)
	keys, header []string

	pushes, acks, releases, renewals *batch.Group[scriptPart]
	requests                         *batch.Group[leaseRequest]

	conns   blockedConns
	changes *Signals
	life    lifetime
	// parting is the time that Close has to take its leave.
	parting func() (context.Context, context.CancelFunc)
}

var _ dispatch.Dispatcher = (*Dispatcher)(nil)

// NewDispatcher returns a dispatcher on the queue of a database. It makes the group of
// consumers if there is none.
func NewDispatcher(ctx context.Context, db *DB, o DispatcherOptions) (*Dispatcher, error) {
	d := &Dispatcher{
		db:           db,
		log:          cmp.Or(o.Log, slog.Default()),
		consumer:     consumerName(o.Name),
		maxWait:      cmp.Or(max(o.MaxWait, 0), dispatch.MaxWait),
		consumerIdle: cmp.Or(max(o.ConsumerIdle, 0), 10*time.Minute),
		clock:        o.Clock,
		onLead:       o.OnLead,
		leads:        o.Leads,
		slept:        o.Slept,
	}
	for _, name := range [...]string{
		"high", "low", "delayed", "waiting", "turns", "parked", "lanes", "records", "leases", "demand", "meta", "leader", "lowturns",
	} {
		d.keys = append(d.keys, db.Key("jobs:"+name))
	}
	lease := cmp.Or(max(o.Lease, 0), dispatch.DefaultLease)
	d.header = []string{
		db.Key("wake"), strconv.FormatInt(durationMillis(lease), 10), strconv.Itoa(max(o.LaneLimit, 0)),
		o.OnLoss.ID, rankOf(o.OnLoss.Priority, o.OnLoss.Class), o.OnLoss.Lane,
	}
	d.pushes = d.merge(dispatchScripts.push, pushWidth)
	d.acks = d.merge(dispatchScripts.ack, ackWidth)
	d.releases = d.merge(dispatchScripts.release, releaseWidth)
	d.renewals = d.merge(dispatchScripts.renew, renewWidth)
	d.requests = batch.New(mostRequests, d.answer)
	d.changes = NewSignals(db, db.Key("changed"), d.log)
	d.parting = func() (context.Context, context.CancelFunc) {
		return context.WithTimeout(context.WithoutCancel(ctx), graceTime)
	}
	if _, err := d.run(ctx, dispatchScripts.lease, d.consumer, "1"); err != nil {
		return nil, err
	}
	return d, nil
}

// Close ends the calls that wait and the schedulers, withdraws what is noted of
// them, and removes the consumer unless it still holds leases. The database
// stays open.
func (d *Dispatcher) Close() {
	d.life.close()
	d.changes.Close()
	ctx, cancel := d.parting()
	defer cancel()
	names := d.conns.close()
	if _, err := d.run(ctx, dispatchScripts.leave, append([]string{d.consumer}, names...)...); err != nil {
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

// run calls a script with the arguments that all of them share and its own.
func (d *Dispatcher) run(ctx context.Context, script *luaScript, args ...string) (rueidis.RedisMessage, error) {
	all := make([]string, 0, len(d.header)+1+len(args))
	all = append(append(append(all, d.header...), d.serverTime()), args...)
	return script.runWithin(ctx, answerTime, d.db, d.keys, all)
}

// dispatchScripts are the scripts by name.
var dispatchScripts = loadDispatchScripts()

type dispatchScriptSet struct {
	push, lease, leave, ack, release, renew, park, resume, remove, stats, lead, resign *luaScript
}

func loadDispatchScripts() dispatchScriptSet {
	load := func(name string) *luaScript {
		return loadScript("dispatch", "due/instants", "common", "lanes", "leases", "hand", name)
	}
	return dispatchScriptSet{
		push: load("push"), lease: load("lease"), leave: load("leave"), ack: load("ack"), release: load("release"),
		renew: load("renew"), park: load("park"), resume: load("resume"), remove: load("remove"), stats: load("stats"),
		lead: load("lead"), resign: load("resign"),
	}
}
