package redis

import (
	"context"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"sluice/internal/batch"
	"sluice/internal/due"
	"sluice/internal/timer"
)

// KeyspaceTrigger implements due.Set for timers on keys that expire: Redis announces the
// end of a key, and whoever hears of it first takes the timer.
//
// Redis promises less than the port asks for, and due.MissedID makes up for
// it. Announcements are told to who listens at that moment and never repeated.
// Their order is any. A key that has expired is announced when Redis finds it,
// and by default it looks at some 200 keys in a second: the more timers wait,
// the later they are. A timer that is due and not taken yet when it is put to a
// later instant is due at that. When the server's clock was set back, the keys
// are made anew from the store within MaxWait.
type KeyspaceTrigger struct {
	DueSetOptions
	db *DB
	// names begins the names of a timer's two keys.
	names [2]string
	// channel is what the channels of announcements begin with.
	channel string
	// fixed is set if Redis does not let its settings be changed, and they do.
	fixed bool
	puts  *batch.Group[[]due.Entry]

	waiter   *due.Waiter
	expiries pendingExpiries
	life     lifetime

	mu sync.Mutex
	// reading is of the last script that told the time; checked is when the
	// keys were last known to be there.
	reading clockReading
	checked time.Time
	// listening holds the nodes that are listened to, and what ends that.
	listening map[string]context.CancelFunc
}

var _ due.Set = (*KeyspaceTrigger)(nil)

// NewKeyspaceTrigger returns a trigger on the keys of a database. It has Redis
// announce keys that expire, if it does not yet and lets itself be told to, and
// listens from then on.
func NewKeyspaceTrigger(ctx context.Context, db *DB, o DueSetOptions) (*KeyspaceTrigger, error) {
	k := &KeyspaceTrigger{
		DueSetOptions: o.withDefaults(), db: db, listening: make(map[string]context.CancelFunc),
		names: [2]string{db.Key("timer:schedule:"), db.Key("timer:processing:")},
	}
	k.waiter = due.NewWaiter(k.MaxWait)
	k.expiries = newPendingExpiries(k.waiter.Wake)
	k.puts = batch.New(mostCallers, k.putAll)
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
func (k *KeyspaceTrigger) Close() { k.life.close() }

// Put implements due.Set. Concurrent calls share trips to Redis.
func (k *KeyspaceTrigger) Put(ctx context.Context, entries ...due.Entry) error {
	if len(entries) == 0 {
		return ctx.Err()
	}
	return k.puts.Do(ctx, &entries)
}

func (k *KeyspaceTrigger) putAll(ctx context.Context, calls []*[]due.Entry) error {
	var ids, args []string
	for _, entries := range calls {
		for _, e := range *entries {
			ids = append(ids, e.ID)
			args = append(args, instantMillis(e.At))
		}
	}
	return k.runAll(ctx, keyspaceScripts.set, ids, []string{k.graceMillis()}, args, 1)
}

// Remove implements due.Set.
func (k *KeyspaceTrigger) Remove(ctx context.Context, ids ...string) error {
	return k.runAll(ctx, keyspaceScripts.remove, ids, []string{k.graceMillis()}, nil, 0)
}

// Done implements due.Set.
func (k *KeyspaceTrigger) Done(ctx context.Context, taken ...due.Taken) error {
	var ids, tokens []string
	for _, one := range taken {
		token := strconv.FormatInt(one.Token, 10)
		if one.ID != due.RebuildID {
			ids, tokens = append(ids, one.ID), append(tokens, token)
			continue
		}
		keys := append(k.keysOf([]string{one.ID}), k.db.Key("timer:epoch"))
		if _, err := keyspaceScripts.rebuilt.runWithin(ctx, scriptTime, k.db, keys, []string{k.graceMillis(), token}); err != nil {
			return err
		}
	}
	return k.runAll(ctx, keyspaceScripts.done, ids, []string{k.graceMillis()}, tokens, 1)
}

// Again implements due.Set.
func (k *KeyspaceTrigger) Again(ctx context.Context, again ...due.Again) error {
	var ids, args []string
	for _, one := range again {
		ids = append(ids, one.ID)
		args = append(args, strconv.FormatInt(one.Token, 10), instantMillis(one.At))
	}
	return k.runAll(ctx, keyspaceScripts.again, ids, nil, args, 2)
}

// claim takes timers that were announced.
func (k *KeyspaceTrigger) claim(ctx context.Context, ids []string) (due.Batch, error) {
	token := 1 + rand.Int64N(1<<62)
	m, err := keyspaceScripts.claim.runWithin(ctx, scriptTime, k.db, k.keysOf(ids), []string{strconv.FormatInt(token, 10), k.graceMillis()})
	if err != nil {
		return due.Batch{}, err
	}
	answer, err := m.AsStrSlice()
	if err != nil || len(answer) != 1+len(ids) {
		return due.Batch{}, failure(err)
	}
	taken := due.Batch{Now: k.readClock(answer[0])}
	for i, id := range ids {
		if answer[1+i] == "1" {
			taken.Taken = append(taken.Taken, due.Taken{ID: id, Token: token})
		}
	}
	return taken, nil
}

// check notices that the keys were lost or the clock was set back, and asks for a
// look if announcements were missed.
func (k *KeyspaceTrigger) check(ctx context.Context, missed bool) error {
	keys := append(k.keysOf([]string{due.RebuildID, due.MissedID}), k.db.Key("timer:epoch"))
	arg := "0"
	if missed {
		arg = "1"
	}
	m, err := keyspaceScripts.check.runWithin(ctx, scriptTime, k.db, keys, []string{arg, k.graceMillis()})
	if err != nil {
		return err
	}
	answer, err := m.AsStrSlice()
	if err != nil || len(answer) != 1 {
		return failure(err)
	}
	k.readClock(answer[0])
	k.mu.Lock()
	defer k.mu.Unlock()
	k.checked = time.Now()
	return nil
}

// readClock takes in what Redis's clock says.
func (k *KeyspaceTrigger) readClock(micros string) time.Time {
	// A script wrote it.
	now, _ := strconv.ParseInt(micros, 10, 64)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.reading = newClockReading(now)
	return time.UnixMicro(now).UTC()
}

func (k *KeyspaceTrigger) clock() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.reading.clock()
}

// keysOf names the key that all timers share and those of these timers.
func (k *KeyspaceTrigger) keysOf(ids []string) []string {
	keys := make([]string, 0, 1+len(k.names)*len(ids)+1)
	keys = append(keys, k.db.Key("timer:finished"))
	for _, id := range ids {
		for _, name := range k.names {
			keys = append(keys, name+keyPart(id))
		}
	}
	return keys
}

// keyPart is what the keys of an entry are called after: the id of a timer, or
// the whole name of something else, which begins with a tilde as no timer's id
// does.
func keyPart(entry string) string {
	if id, ok := timer.FromDueID(entry); ok {
		return id
	}
	return entry
}

// entryID is the inverse of keyPart.
func entryID(part string) string {
	if strings.HasPrefix(part, "~") {
		return part
	}
	return timer.DueID(part)
}

// runAll calls a script for many timers, in pieces: with the arguments that
// every piece has, and so many for each timer.
func (k *KeyspaceTrigger) runAll(ctx context.Context, script *luaScript, ids, common, args []string, width int) error {
	for len(ids) > 0 {
		n := min(len(ids), dueBatch)
		piece := append(append([]string{}, common...), args[:n*width]...)
		if _, err := script.runWithin(ctx, scriptTime, k.db, k.keysOf(ids[:n]), piece); err != nil {
			return err
		}
		ids, args = ids[n:], args[n*width:]
	}
	return nil
}

func (k *KeyspaceTrigger) graceMillis() string {
	return strconv.FormatInt(max(1, k.Grace.Milliseconds()), 10)
}
