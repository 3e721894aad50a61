package redis

import (
	"context"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

// announceGap is the least time between two announcements of one process.
const announceGap = 200 * time.Millisecond

// changes is what a dispatcher knows of the signal that something changed.
type changes struct {
	mu sync.Mutex
	// resting is set while an announcement is less than announceGap old, and
	// again if another one is due when that time is over.
	resting, again bool
	listeners      map[chan struct{}]struct{}
	unsubscribe    context.CancelFunc
}

// Announce tells every process that something changed. It does not wait;
// announcements that follow each other closely become one, and the last of
// them is never left out.
func (d *Dispatcher) Announce(ctx context.Context) {
	d.changes.mu.Lock()
	defer d.changes.mu.Unlock()
	if d.changes.resting {
		d.changes.again = true
		return
	}
	task, done, ok := d.life.begin(context.WithoutCancel(ctx))
	if !ok {
		return
	}
	d.changes.resting = true
	go func() {
		defer done()
		d.announceUntilQuiet(task)
	}()
}

func (d *Dispatcher) announceUntilQuiet(ctx context.Context) {
	for {
		// What is left to say when the dispatcher is closed is still said.
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), graceTime)
		err := d.db.Client.Do(limited, d.db.Client.B().Publish().Channel(d.db.Key("changed")).Message("").Build()).Error()
		cancel()
		if err != nil {
			// Those who listen look for themselves when they are connected again.
			d.log.Debug("announce a change", "error", err)
		}
		sleep(ctx, announceGap)
		if !d.announceAgain() {
			return
		}
	}
}

// announceAgain says whether another announcement is due.
func (d *Dispatcher) announceAgain() bool {
	d.changes.mu.Lock()
	defer d.changes.mu.Unlock()
	again := d.changes.again
	d.changes.again, d.changes.resting = false, again
	return again
}

// Changes returns a channel that has a value after something changed, or may
// have changed while nobody could tell. Several changes may be one value. The
// function ends it. Redis is subscribed to while somebody listens.
func (d *Dispatcher) Changes(ctx context.Context) (<-chan struct{}, func()) {
	signal := make(chan struct{}, 1)
	c := &d.changes
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.listeners == nil {
		c.listeners = make(map[chan struct{}]struct{})
	}
	if len(c.listeners) == 0 {
		d.subscribe(ctx)
	}
	c.listeners[signal] = struct{}{}
	leave := sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.listeners, signal)
		if len(c.listeners) == 0 {
			c.unsubscribe()
		}
	})
	stop := context.AfterFunc(ctx, leave)
	return signal, func() {
		stop()
		leave()
	}
}

// subscribe listens until the last listener has left. The caller holds the
// lock.
func (d *Dispatcher) subscribe(ctx context.Context) {
	listening, cancel := context.WithCancel(context.WithoutCancel(ctx))
	d.changes.unsubscribe = cancel
	task, done, ok := d.life.begin(listening)
	if !ok {
		return
	}
	go func() {
		defer done()
		d.listen(task, d.db.Key("changed"), func(string) { d.changes.tell() }, d.changes.tell)
	}()
}

func (c *changes) tell() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for signal := range c.listeners {
		notify(signal)
	}
}

// notify puts a value into a channel that has room for one.
func notify(signal chan<- struct{}) {
	select {
	case signal <- struct{}{}:
	default:
	}
}

// listen subscribes to a channel until ctx ends, on a connection of its own.
// It calls missed whenever something may have been missed: after it has
// subscribed, at first and again after a lost connection, and after the loss.
func (d *Dispatcher) listen(ctx context.Context, channel string, message func(string), missed func()) {
	hooked := rueidis.WithOnSubscriptionHook(ctx, func(s rueidis.PubSubSubscription) {
		if s.Kind == "subscribe" {
			// The hook must not block: it runs where replies are read.
			go missed()
		}
	})
	for ctx.Err() == nil {
		conn, free := d.db.Client.Dedicate()
		err := conn.Receive(hooked, conn.B().Subscribe().Channel(channel).Build(), func(m rueidis.PubSubMessage) { message(m.Message) })
		if ctx.Err() == nil {
			d.log.Debug("subscription lost", "channel", channel, "error", err)
			conn.Close()
			missed()
			sleep(ctx, time.Second)
			continue
		}
		free()
	}
}

// sleep waits, or returns earlier if ctx ends.
func sleep(ctx context.Context, t time.Duration) {
	timer := time.NewTimer(t)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
