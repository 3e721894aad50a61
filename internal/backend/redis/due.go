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
	"sluice/internal/due"
)

const (
	// dueMaxWait caps waits unless options say otherwise. A process that waits
	// sends nothing else, and hears of everything by Pub/Sub; what it misses
	// there it finds then.
	dueMaxWait = time.Minute
	// dueBatch is how many entries one script deals with, so that none runs
	// for long.
	dueBatch = 1000
	// mostCallers is how many concurrent calls of Put share a trip.
	mostCallers = 1000
)

// DueSetOptions configures a DueSet or a KeyspaceTrigger.
type DueSetOptions struct {
	// Grace is how long something may be taken before it is handed out again;
	// due.DefaultGrace if zero.
	Grace time.Duration
	// MaxWait caps every wait, and is how seldom an idle process sends a
	// command; one minute if zero.
	MaxWait time.Duration
	// Log is told what goes wrong in the background; slog.Default if nil.
	Log *slog.Logger
}

func (o DueSetOptions) withDefaults() DueSetOptions {
	return DueSetOptions{
		Grace:   cmp.Or(max(o.Grace, 0), due.DefaultGrace),
		MaxWait: cmp.Or(max(o.MaxWait, 0), dueMaxWait),
		Log:     cmp.Or(o.Log, slog.Default()),
	}
}

// DueSet implements due.Set on a sorted set.
type DueSet struct {
	DueSetOptions
	db      *DB
	keys    []string
	channel string
	puts    *batch.Group[[]due.Entry]

	// waiter lets one call wait for the whole process; next is what it knows.
	waiter *due.Waiter
	next   cachedNext
	listen sync.Once
	life   lifetime
}

var _ due.Set = (*DueSet)(nil)

// dueScripts are the scripts by name.
var dueScripts = loadDueScripts()

type dueScriptSet struct{ put, remove, take, done, again *luaScript }

func loadDueScripts() dueScriptSet {
	load := func(name string) *luaScript { return loadScript("due", "instants", "set", name) }
	return dueScriptSet{put: load("put"), remove: load("remove"), take: load("take"), done: load("done"), again: load("again")}
}

// NewDueSet returns a due set of a database, which is shared by all who give it
// the same name.
func NewDueSet(ctx context.Context, db *DB, name string, o DueSetOptions) (*DueSet, error) {
	set := db.Key("due:" + name)
	s := &DueSet{
		DueSetOptions: o.withDefaults(), db: db, keys: []string{set, set + ":epoch"}, channel: set + ":wake", next: newCachedNext(),
	}
	s.waiter = due.NewWaiter(s.MaxWait)
	s.puts = batch.New(mostCallers, s.putAll)
	if _, err := s.look(ctx, 0); err != nil {
		return nil, err
	}
	return s, nil
}

// Close ends the calls that wait, and listening. The database stays open.
func (s *DueSet) Close() { s.life.close() }

// Put implements due.Set. Concurrent calls share trips to Redis.
func (s *DueSet) Put(ctx context.Context, entries ...due.Entry) error {
	if len(entries) == 0 {
		return ctx.Err()
	}
	return s.puts.Do(ctx, &entries)
}

func (s *DueSet) putAll(ctx context.Context, calls []*[]due.Entry) error {
	earliest := never
	args := make([]string, 0, 2*len(calls))
	for _, entries := range calls {
		for _, e := range *entries {
			at := dueScore(e.At)
			earliest = min(earliest, at)
			args = append(args, strconv.FormatInt(at, 10), e.ID)
		}
	}
	err := s.runAll(ctx, dueScripts.put, args, 2)
	// Own instants need not come back over the network.
	s.hint(earliest)
	return err
}

// Remove implements due.Set.
func (s *DueSet) Remove(ctx context.Context, ids ...string) error {
	return s.runAll(ctx, dueScripts.remove, ids, 1)
}

// Done implements due.Set.
func (s *DueSet) Done(ctx context.Context, taken ...due.Taken) error {
	args := make([]string, 0, 2*len(taken))
	for _, one := range taken {
		args = append(args, strconv.FormatInt(one.Token, 10), one.ID)
	}
	return s.runAll(ctx, dueScripts.done, args, 2)
}

// Again implements due.Set.
func (s *DueSet) Again(ctx context.Context, again ...due.Again) error {
	earliest := never
	args := make([]string, 0, 3*len(again))
	for _, one := range again {
		at := dueScore(one.At)
		earliest = min(earliest, at)
		args = append(args, strconv.FormatInt(one.Token, 10), one.ID, strconv.FormatInt(at, 10))
	}
	err := s.runAll(ctx, dueScripts.again, args, 3)
	s.hint(earliest)
	return err
}

// dueScore is an instant in microseconds, never too early, and even: odd ones are
// tokens.
func dueScore(at time.Time) int64 {
	micros := at.UnixMicro()
	if at.Nanosecond()%1000 > 0 {
		micros++
	}
	micros = max(micros, 0)
	return micros + micros%2
}

// runAll calls a script with many arguments, so many for each entry, in pieces.
func (s *DueSet) runAll(ctx context.Context, script *luaScript, args []string, width int) error {
	for len(args) > 0 {
		n := min(len(args), width*dueBatch)
		if _, err := s.run(ctx, script, args[:n]...); err != nil {
			return err
		}
		args = args[n:]
	}
	return nil
}

// run calls a script with the argument that all of them share and its own.
func (s *DueSet) run(ctx context.Context, script *luaScript, args ...string) (rueidis.RedisMessage, error) {
	all := make([]string, 0, 1+len(args))
	return script.runWithin(ctx, scriptTime, s.db, s.keys, append(append(all, s.channel), args...))
}
