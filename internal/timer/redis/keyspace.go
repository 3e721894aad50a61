package redis

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"sluice/internal/batch"
	"sluice/internal/redisdb"
	"sluice/internal/timer"
)

// Keyspace implements timer.Trigger on keys that expire: Redis announces the
// end of a key, and whoever hears of it first takes the timer.
//
// Redis promises less than the port asks for, and timer.MissedID makes up for
// it. Announcements are told to who listens at that moment and never repeated.
// Their order is any. A key that has expired is announced when Redis finds it,
// and by default it looks at some 200 keys in a second: the more timers wait,
// the later they are. A timer that is due and not taken yet when it is set to a
// later instant is due at that.
type Keyspace struct {
	Options
	db *redisdb.DB
	// names begins the names of a timer's two keys.
	names [2]string
	// channel is what the channels of announcements begin with.
	channel string
	// fixed is set if Redis does not let its settings be changed, and they do.
	fixed bool
	sets  *batch.Group[[]timer.Due]

	// seat holds a value while a call of Take looks or waits.
	seat  chan struct{}
	heard heard
	life  redisdb.Lifetime

	mu sync.Mutex
	// reading is of the last script that told the time; checked is when the
	// keys were last known to be there.
	reading reading
	checked time.Time
	// listening holds the nodes that are listened to, and what ends that.
	listening map[string]context.CancelFunc
}

var _ timer.Trigger = (*Keyspace)(nil)

// NewKeyspace returns a trigger on the keys of a database. It has Redis
// announce keys that expire, if it does not yet and lets itself be told to, and
// listens from then on.
func NewKeyspace(ctx context.Context, db *redisdb.DB, o Options) (*Keyspace, error) {
	k := &Keyspace{
		Options: o.withDefaults(), db: db,
		names: [2]string{db.Key("timer:schedule:"), db.Key("timer:processing:")},
		seat:  make(chan struct{}, 1), heard: newHeard(), listening: make(map[string]context.CancelFunc),
	}
	k.sets = batch.New(mostCallers, k.setAll)
	if err := k.prepare(ctx); err != nil {
		return nil, err
	}
	// What expires from now on is heard.
	for _, answered := range k.follow(ctx) {
		select {
		case <-answered:
		case <-ctx.Done():
			k.Close()
			return nil, ctx.Err()
		}
	}
	if err := k.check(ctx, false); err != nil {
		k.Close()
		return nil, err
	}
	return k, nil
}

// Close ends the calls that wait, and listening. The database stays open.
func (k *Keyspace) Close() { k.life.Close() }

// Set implements timer.Trigger. Concurrent calls share trips to Redis.
func (k *Keyspace) Set(ctx context.Context, dues ...timer.Due) error {
	if len(dues) == 0 {
		return ctx.Err()
	}
	return k.sets.Do(ctx, &dues)
}

func (k *Keyspace) setAll(ctx context.Context, calls []*[]timer.Due) error {
	var ids, args []string
	for _, dues := range calls {
		for _, d := range *dues {
			ids = append(ids, d.ID)
			args = append(args, ceilMillis(d.At))
		}
	}
	return k.runAll(ctx, scripts.keySet, ids, nil, args, 1)
}

// Remove implements timer.Trigger.
func (k *Keyspace) Remove(ctx context.Context, ids ...string) error {
	return k.runAll(ctx, scripts.keyRemove, ids, []string{k.graceMillis()}, nil, 0)
}

// Done implements timer.Trigger.
func (k *Keyspace) Done(ctx context.Context, taken ...timer.Taken) error {
	var ids, tokens []string
	for _, one := range taken {
		token := strconv.FormatInt(one.Token, 10)
		if one.ID != timer.RebuildID {
			ids, tokens = append(ids, one.ID), append(tokens, token)
			continue
		}
		keys := append(k.keysOf([]string{one.ID}), k.db.Key("timer:epoch"))
		if _, err := runScript(ctx, k.db, scripts.keyRebuilt, keys, []string{k.graceMillis(), token}); err != nil {
			return err
		}
	}
	return k.runAll(ctx, scripts.keyDone, ids, []string{k.graceMillis()}, tokens, 1)
}

// Again implements timer.Trigger.
func (k *Keyspace) Again(ctx context.Context, again ...timer.Again) error {
	var ids, args []string
	for _, one := range again {
		ids = append(ids, one.ID)
		args = append(args, strconv.FormatInt(one.Token, 10), ceilMillis(one.At))
	}
	return k.runAll(ctx, scripts.keyAgain, ids, nil, args, 2)
}

// claim takes timers that were announced.
func (k *Keyspace) claim(ctx context.Context, ids []string) (timer.Batch, error) {
	token := 1 + rand.Int64N(1<<62)
	m, err := runScript(ctx, k.db, scripts.keyClaim, k.keysOf(ids), []string{strconv.FormatInt(token, 10), k.graceMillis()})
	if err != nil {
		return timer.Batch{}, err
	}
	answer, err := m.AsStrSlice()
	if err != nil || len(answer) != 1+len(ids) {
		return timer.Batch{}, redisdb.Failure(err)
	}
	taken := timer.Batch{Now: k.readClock(answer[0])}
	for i, id := range ids {
		if answer[1+i] == "1" {
			taken.Taken = append(taken.Taken, timer.Taken{ID: id, Token: token})
		}
	}
	return taken, nil
}

// check notices that the keys were lost, and asks for a look if announcements
// were missed.
func (k *Keyspace) check(ctx context.Context, missed bool) error {
	keys := append(k.keysOf([]string{timer.RebuildID, timer.MissedID}), k.db.Key("timer:epoch"))
	arg := "0"
	if missed {
		arg = "1"
	}
	m, err := runScript(ctx, k.db, scripts.keyCheck, keys, []string{arg})
	if err != nil {
		return err
	}
	answer, err := m.AsStrSlice()
	if err != nil || len(answer) != 1 {
		return redisdb.Failure(err)
	}
	k.readClock(answer[0])
	k.mu.Lock()
	defer k.mu.Unlock()
	k.checked = time.Now()
	return nil
}

// readClock takes in what Redis's clock says.
func (k *Keyspace) readClock(micros string) time.Time {
	// A script wrote it.
	now, _ := strconv.ParseInt(micros, 10, 64)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.reading = read(now)
	return time.UnixMicro(now).UTC()
}

func (k *Keyspace) clock() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.reading.clock()
}

// keysOf names the key that all timers share and those of these timers.
func (k *Keyspace) keysOf(ids []string) []string {
	keys := make([]string, 0, 1+len(k.names)*len(ids)+1)
	keys = append(keys, k.db.Key("timer:finished"))
	for _, id := range ids {
		for _, name := range k.names {
			keys = append(keys, name+id)
		}
	}
	return keys
}

// runAll calls a script for many timers, in pieces: with the arguments that
// every piece has, and so many for each timer.
func (k *Keyspace) runAll(ctx context.Context, script *redisdb.Script, ids, common, args []string, width int) error {
	for len(ids) > 0 {
		n := min(len(ids), mostAtOnce)
		piece := append(append([]string{}, common...), args[:n*width]...)
		if _, err := runScript(ctx, k.db, script, k.keysOf(ids[:n]), piece); err != nil {
			return err
		}
		ids, args = ids[n:], args[n*width:]
	}
	return nil
}

func (k *Keyspace) graceMillis() string {
	return strconv.FormatInt(max(1, k.Grace.Milliseconds()), 10)
}

// ceilMillis is an instant in milliseconds, never too early.
func ceilMillis(at time.Time) string {
	millis := at.UnixMilli()
	if at.Nanosecond()%int(time.Millisecond) > 0 {
		millis++
	}
	return strconv.FormatInt(max(millis, 0), 10)
}
