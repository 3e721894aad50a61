package redis

import (
	"context"
	"log/slog"
	"time"

	"github.com/redis/rueidis"

	"sluice/internal/backoff"
)

// listener says what to listen to and whom to tell.
type listener struct {
	// Channel is the name of a channel, or what names have in common if
	// Pattern is set.
	Channel string
	Pattern bool
	// Prepare, if any, runs on the connection before every subscription.
	Prepare func(ctx context.Context, conn rueidis.DedicatedClient) error
	// Message is told what was said on which channel. It must not block.
	Message func(channel, text string)
	// Missed is told whenever something may have been missed: after the
	// subscription, at first and again after a lost connection, and after the
	// loss.
	Missed func()
	// Log is told of lost connections.
	Log *slog.Logger
}

// retryPause is how long a lost subscription waits before the next attempt.
const retryPause = time.Second

// listen subscribes until ctx ends, on a connection of its own. Redis passes
// what is published to every node of a cluster, so that any node will do.
func (d *DB) listen(ctx context.Context, l listener) { l.on(ctx, d.Client) }

// on subscribes at one node until ctx ends, on a connection of its own.
func (l listener) on(ctx context.Context, node rueidis.Client) {
	hooked := rueidis.WithOnSubscriptionHook(ctx, func(s rueidis.PubSubSubscription) {
		if s.Kind == "subscribe" || s.Kind == "psubscribe" {
			// The hook must not block: it runs where replies are read.
			go l.Missed()
		}
	})
	for ctx.Err() == nil {
		conn, free := node.Dedicate()
		err := l.receive(hooked, conn)
		if ctx.Err() == nil {
			l.Log.Debug("subscription lost", "channel", l.Channel, "error", err)
			closeInTime(conn.Close)
			l.Missed()
			backoff.Sleep(ctx, retryPause)
			continue
		}
		closeInTime(free)
	}
}

func (l listener) receive(ctx context.Context, conn rueidis.DedicatedClient) error {
	if l.Prepare != nil {
		if err := l.Prepare(ctx, conn); err != nil {
			return err
		}
	}
	command := conn.B().Subscribe().Channel(l.Channel).Build()
	if l.Pattern {
		command = conn.B().Psubscribe().Pattern(l.Channel).Build()
	}
	return conn.Receive(ctx, command, func(m rueidis.PubSubMessage) { l.Message(m.Channel, m.Message) })
}
