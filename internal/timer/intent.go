package timer

import (
	"context"
	"crypto/rand"
	"strconv"
	"strings"
	"sync"
	"time"

	"sluice/internal/due"
)

// intentPrefix begins the ids of intents: who takes one fills the trigger, since
// a server may have died that stored timers and had not told the trigger yet.
// The prefix is in triggers of earlier versions, and stays.
const intentPrefix = "~guard:"

func isIntent(id string) bool { return strings.HasPrefix(id, intentPrefix) }

const (
	// intentTime is how long after it was put an intent is due. No change takes
	// half of it.
	intentTime = time.Minute
	// intentIdle is how long an intent is kept that nothing needs.
	intentIdle = 3 * time.Second
)

// intents puts entries into a shared trigger before this process changes rows,
// and takes them away when the trigger knows all of those. An entry serves many
// changes, so that they pay for it once.
type intents struct {
	trigger due.Set
	// prefix begins the ids of this process's intents and of no other's: one that
	// has the name of a dead one must not take that one's intent away.
	prefix string
	now    func() time.Time

	// mu is not held while the trigger is asked.
	mu      sync.Mutex
	count   int
	current *intent // nil if there is none
	idle    *time.Timer
}

// intent is one entry.
type intent struct {
	id    string
	until time.Time
	// held counts the changes under way.
	held int
	// stays is set when one of them did not reach the trigger.
	stays bool

	// put is closed when the trigger has answered; err is what it said, and
	// gaveUp whether whoever asked it stopped waiting.
	put    chan struct{}
	err    error
	gaveUp bool
}

// newIntents returns nil where nobody shares the trigger: it dies with the
// process, and is filled when that starts again.
func newIntents(o Options) *intents {
	if o.Signals == nil {
		return nil
	}
	return &intents{trigger: o.Trigger, prefix: intentPrefix + o.Server + ":" + rand.Text() + ":", now: o.Now}
}

// hold sees to it that the trigger is filled later unless done is called with
// true.
func (i *intents) hold(ctx context.Context) (done func(told bool), err error) {
	if i == nil {
		return func(bool) {}, nil
	}
	for {
		held, before, mine := i.join()
		if mine {
			held.err = i.trigger.Put(ctx, due.Entry{ID: held.id, At: held.until})
			held.gaveUp = held.err != nil && ctx.Err() != nil
			close(held.put)
			if held.err == nil {
				i.remove(ctx, before)
			}
		}
		select {
		case <-held.put:
		case <-ctx.Done():
			i.done(ctx, held, true)
			return nil, ctx.Err()
		}
		if held.err == nil {
			return func(told bool) { i.done(ctx, held, told) }, nil
		}
		i.leave(held)
		// That another one stopped waiting says nothing about the trigger.
		if mine || !held.gaveUp {
			return nil, held.err
		}
	}
}

// join holds the current intent, or one that the caller has to put into the
// trigger: then mine is true, and before is an intent to remove, if any.
func (i *intents) join() (held, before *intent, mine bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	now := i.now()
	held = i.current
	if held == nil || held.stays || held.until.Sub(now) < intentTime/2 {
		i.count++
		before = held
		held = &intent{id: i.prefix + strconv.Itoa(i.count), until: now.Add(intentTime), put: make(chan struct{})}
		i.current, mine = held, true
	}
	held.held++
	i.stopIdle()
	return held, before.ifFree(), mine
}

// leave gives up an intent that could not be put.
func (i *intents) leave(held *intent) {
	i.mu.Lock()
	defer i.mu.Unlock()
	held.held--
	if i.current == held {
		i.current = nil
	}
}

func (i *intents) done(ctx context.Context, held *intent, told bool) {
	ctx = context.WithoutCancel(ctx)
	i.remove(ctx, i.drop(ctx, held, told))
}

// drop ends a change, and returns an intent to remove, if any.
func (i *intents) drop(ctx context.Context, held *intent, told bool) *intent {
	i.mu.Lock()
	defer i.mu.Unlock()
	held.held--
	held.stays = held.stays || !told
	if held != i.current {
		return held.ifFree()
	}
	if held.held == 0 {
		i.stopIdle()
		i.idle = time.AfterFunc(intentIdle, func() { i.release(ctx) })
	}
	return nil
}

// release takes the entry away if nothing needs it any more.
func (i *intents) release(ctx context.Context) {
	if i == nil {
		return
	}
	i.remove(ctx, i.retire())
}

// retire ends the use of the current intent if nothing holds it, and returns it
// if it is to be removed.
func (i *intents) retire() *intent {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.stopIdle()
	if i.current == nil || i.current.held > 0 {
		return nil
	}
	before := i.current
	i.current = nil
	return before.ifFree()
}

// ifFree returns the intent if nothing needs it any more, else nil.
func (one *intent) ifFree() *intent {
	if one == nil || one.held > 0 || one.stays {
		return nil
	}
	return one
}

func (i *intents) remove(ctx context.Context, one *intent) {
	if one == nil {
		return
	}
	// If it stays, the trigger is filled once more than it needs.
	_ = i.trigger.Remove(ctx, one.id)
}

func (i *intents) stopIdle() {
	if i.idle != nil {
		i.idle.Stop()
		i.idle = nil
	}
}
