package redis

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"sluice/internal/domain"
)

const (
	// notifySetting is what Redis announces changes of keys by: K is for channels
	// named after the key, x for keys that expire, A for all kinds.
	notifySetting = "notify-keyspace-events"
	// probeTime is how long an announcement may take while it is found out
	// whether there are any.
	probeTime, probeGap = 3 * time.Second, 20 * time.Millisecond
)

// commander is what commands are sent with.
type commander interface {
	B() rueidis.Builder
	Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult
}

// prepare sees to it that Redis announces what expires.
func (k *KeyspaceTrigger) prepare(ctx context.Context) error {
	number, err := k.database(ctx)
	if err != nil {
		return err
	}
	k.channel = "__keyspace@" + number + "__:"
	var refused error
	for _, node := range k.db.Client.Nodes() {
		err := widen(ctx, node)
		if _, refusal := rueidis.IsRedisErr(err); refusal {
			refused = err
		} else if err != nil {
			return failure(err)
		}
	}
	if refused == nil {
		return nil
	}
	// Where settings are somebody else's, he may have made this one.
	if !k.probe(ctx) {
		return domain.Errorf(domain.CodeInvalid,
			"Redis does not announce keys that expire, and does not let its settings be changed (%w); set %s to Kx at the server or in its hosting, or use the due set instead",
			refused, notifySetting)
	}
	k.fixed = true
	return nil
}

// database returns the number of the database, which is part of the channels.
func (k *KeyspaceTrigger) database(ctx context.Context) (string, error) {
	if k.db.Client.Mode() == rueidis.ClientModeCluster {
		return "0", nil
	}
	info, err := k.db.Client.Do(ctx, k.db.Client.B().ClientInfo().Build()).ToString()
	if err != nil {
		return "", failure(err)
	}
	for fact := range strings.FieldsSeq(info) {
		if number, ok := strings.CutPrefix(fact, "db="); ok {
			return number, nil
		}
	}
	return "0", nil
}

// widen adds to what a node announces, and takes nothing away.
func widen(ctx context.Context, node commander) error {
	settings, err := node.Do(ctx, node.B().ConfigGet().Parameter(notifySetting).Build()).AsStrMap()
	if err != nil {
		return err
	}
	flags := settings[notifySetting]
	wanted := flags
	if !strings.Contains(wanted, "K") {
		wanted += "K"
	}
	if !strings.ContainsAny(wanted, "xA") {
		wanted += "x"
	}
	if wanted == flags {
		return nil
	}
	return node.Do(ctx, node.B().ConfigSet().ParameterValue().ParameterValue(notifySetting, wanted).Build()).Error()
}

// probe finds out whether a key that expires is announced.
func (k *KeyspaceTrigger) probe(ctx context.Context) bool {
	limited, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	key := k.db.Key("timer:probe")
	announced := make(chan struct{}, 1)
	l := listener{Channel: k.channel + key, Missed: func() {}, Log: k.Log, Message: func(_, what string) {
		if what == "expired" {
			notify(announced)
		}
	}}
	for _, node := range k.db.Client.Nodes() {
		go l.on(limited, node)
	}
	tick := time.NewTicker(probeGap)
	defer tick.Stop()
	b := k.db.Client.B
	for {
		// Redis notices at once that a key has expired if it is asked for it.
		k.db.Client.DoMulti(limited, b().Exists().Key(key).Build(), b().Set().Key(key).Value("").PxMilliseconds(1).Build())
		select {
		case <-tick.C:
		case <-announced:
			return true
		case <-limited.Done():
			return false
		}
	}
}

// follow listens to every node: each announces its own keys only, and the keys
// move when a node fails. The channels that it returns are closed when the
// nodes that are new have answered or failed.
func (k *KeyspaceTrigger) follow(ctx context.Context) (answered []<-chan struct{}) {
	nodes := k.db.Client.Nodes()
	k.mu.Lock()
	defer k.mu.Unlock()
	for address, stop := range k.listening {
		if _, there := nodes[address]; !there {
			stop()
			delete(k.listening, address)
		}
	}
	for address, node := range nodes {
		if _, listens := k.listening[address]; listens {
			continue
		}
		task, done, ok := k.life.begin(context.WithoutCancel(ctx))
		if !ok {
			return nil
		}
		listening, stop := context.WithCancel(task)
		k.listening[address] = stop
		first := make(chan struct{})
		answered = append(answered, first)
		go func() {
			defer done()
			k.listener(sync.OnceFunc(func() { close(first) })).on(listening, node)
		}()
	}
	return answered
}

// listener hears announcements. It calls answered, at least once, after it has
// subscribed or failed to.
func (k *KeyspaceTrigger) listener(answered func()) listener {
	l := listener{
		// The first letters of schedule and processing.
		Channel: escapePattern(k.channel+k.db.Key("timer:")) + "[sp]*:*", Pattern: true, Log: k.Log,
		Message: k.announced, Missed: func() { k.expiries.miss(); answered() },
	}
	if !k.fixed {
		// A server that was started again has its old settings.
		l.Prepare = func(ctx context.Context, conn rueidis.DedicatedClient) error { return widen(ctx, conn) }
	}
	return l
}

// announced hears of a timer whose instant has come, or whose taker was silent
// for the grace.
func (k *KeyspaceTrigger) announced(channel, what string) {
	if what != "expired" {
		return
	}
	key := strings.TrimPrefix(channel, k.channel)
	for _, name := range k.names {
		if id, ok := strings.CutPrefix(key, name); ok {
			k.expiries.add(entryID(id))
			return
		}
	}
}

// escapePattern writes a text as a pattern that matches nothing else.
func escapePattern(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(text)
}
