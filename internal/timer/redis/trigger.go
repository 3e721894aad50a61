// Package redis says when timers are due for many processes that share one
// Redis, by its clock.
//
// Trigger keeps them in one sorted set. Who waits knows the earliest instant
// and sleeps until then; an instant that becomes the earliest is announced over
// Pub/Sub. Keyspace, the alternative, has Redis announce the instants itself,
// as keys that expire: less is promised about when that happens.
package redis

import (
	"cmp"
	"context"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"sluice/internal/batch"
	"sluice/internal/domain"
	"sluice/internal/redisdb"
	"sluice/internal/timer"
)

const (
	// maxWait caps waits unless Options say otherwise. A process that waits
	// sends nothing else, and hears of everything by Pub/Sub; what it misses
	// there it finds then.
	maxWait = time.Minute
	// mostAtOnce is how many timers one script deals with, so that none runs
	// for long.
	mostAtOnce = 1000
	// mostCallers is how many concurrent calls of Set share a trip.
	mostCallers = 1000
	// answerTime is how long Redis may take to answer. It is long enough for a
	// server that forks or loads.
	answerTime = 10 * time.Second
	// graceTime is how long a call whose context ended waits for what is under
	// way, so that nothing is taken for it unseen.
	graceTime = time.Second
)

// Options configures a Trigger or a Keyspace.
type Options struct {
	// Grace is how long something may be taken before it is handed out again;
	// timer.DefaultGrace if zero.
	Grace time.Duration
	// MaxWait caps every wait, and is how seldom an idle process sends a
	// command; one minute if zero.
	MaxWait time.Duration
	// Log is told what goes wrong in the background; slog.Default if nil.
	Log *slog.Logger
}

func (o Options) withDefaults() Options {
	return Options{
		Grace:   cmp.Or(max(o.Grace, 0), timer.DefaultGrace),
		MaxWait: cmp.Or(max(o.MaxWait, 0), maxWait),
		Log:     cmp.Or(o.Log, slog.Default()),
	}
}

// Trigger implements timer.Trigger on a sorted set.
type Trigger struct {
	Options
	db      *redisdb.DB
	keys    []string
	channel string
	sets    *batch.Group[[]timer.Due]

	// seat holds a value while a call of Take looks or waits: one for the
	// whole process is enough.
	seat   chan struct{}
	wake   chan struct{}
	sight  sight
	listen sync.Once
	life   redisdb.Lifetime
}

var _ timer.Trigger = (*Trigger)(nil)

// New returns a trigger on the timers of a database.
func New(ctx context.Context, db *redisdb.DB, o Options) (*Trigger, error) {
	t := &Trigger{
		Options: o.withDefaults(), db: db,
		keys: []string{db.Key("timers:due"), db.Key("timers:epoch")}, channel: db.Key("timers:wake"),
		seat: make(chan struct{}, 1), wake: make(chan struct{}, 1), sight: newSight(),
	}
	t.sets = batch.New(mostCallers, t.setAll)
	if _, err := t.look(ctx, 0); err != nil {
		return nil, err
	}
	return t, nil
}

// Close ends the calls that wait, and listening. The database stays open.
func (t *Trigger) Close() { t.life.Close() }

// Set implements timer.Trigger. Concurrent calls share trips to Redis.
func (t *Trigger) Set(ctx context.Context, dues ...timer.Due) error {
	if len(dues) == 0 {
		return ctx.Err()
	}
	return t.sets.Do(ctx, &dues)
}

func (t *Trigger) setAll(ctx context.Context, calls []*[]timer.Due) error {
	earliest := never
	args := make([]string, 0, 2*len(calls))
	for _, dues := range calls {
		for _, d := range *dues {
			at := score(d.At)
			earliest = min(earliest, at)
			args = append(args, strconv.FormatInt(at, 10), d.ID)
		}
	}
	err := t.runAll(ctx, scripts.set, args, 2)
	// Own instants need not come back over the network.
	t.hint(earliest)
	return err
}

// Remove implements timer.Trigger.
func (t *Trigger) Remove(ctx context.Context, ids ...string) error {
	return t.runAll(ctx, scripts.remove, ids, 1)
}

// Done implements timer.Trigger.
func (t *Trigger) Done(ctx context.Context, taken ...timer.Taken) error {
	args := make([]string, 0, 2*len(taken))
	for _, one := range taken {
		args = append(args, strconv.FormatInt(one.Token, 10), one.ID)
	}
	return t.runAll(ctx, scripts.done, args, 2)
}

// Again implements timer.Trigger.
func (t *Trigger) Again(ctx context.Context, again ...timer.Again) error {
	earliest := never
	args := make([]string, 0, 3*len(again))
	for _, one := range again {
		at := score(one.At)
		earliest = min(earliest, at)
		args = append(args, strconv.FormatInt(one.Token, 10), one.ID, strconv.FormatInt(at, 10))
	}
	err := t.runAll(ctx, scripts.again, args, 3)
	t.hint(earliest)
	return err
}

// score is an instant in microseconds, never too early, and even: odd ones are
// tokens.
func score(at time.Time) int64 {
	micros := at.UnixMicro()
	if at.Nanosecond()%1000 > 0 {
		micros++
	}
	micros = max(micros, 0)
	return micros + micros%2
}

// runAll calls a script with many arguments, so many for each timer, in pieces.
func (t *Trigger) runAll(ctx context.Context, script *redisdb.Script, args []string, width int) error {
	for len(args) > 0 {
		n := min(len(args), width*mostAtOnce)
		if _, err := t.run(ctx, script, args[:n]...); err != nil {
			return err
		}
		args = args[n:]
	}
	return nil
}

// run calls a script with the argument that all of them share and its own.
func (t *Trigger) run(ctx context.Context, script *redisdb.Script, args ...string) (rueidis.RedisMessage, error) {
	all := make([]string, 0, 1+len(args))
	return runScript(ctx, t.db, script, t.keys, append(append(all, t.channel), args...))
}

// runScript calls a script that has to answer in time.
func runScript(ctx context.Context, db *redisdb.DB, script *redisdb.Script, keys, args []string) (rueidis.RedisMessage, error) {
	limited, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	m, err := script.Run(limited, db, keys, args)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		err = domain.Errorf(domain.CodeUnavailable, "redis did not answer within %v", answerTime)
	}
	return m, err
}
