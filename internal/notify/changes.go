package notify

import (
	"context"
	"time"
)

// Changes carries out what becomes of messages, on every store alike: it locks a
// message, asks its rule, and writes it back. It implements Claim, Settle and Retry
// of Store.
type Changes struct {
	transact func(ctx context.Context, fn func(Rows) error) error
}

// Rows are what a store lends Changes within one transaction: they read and write
// messages and decide nothing.
type Rows interface {
	// LockMessage reads a message and keeps it from being changed by others until
	// the transaction ends. It reports false if there is none.
	LockMessage(ctx context.Context, id string) (Message, bool, error)
	// WriteMessage stores what became of it.
	WriteMessage(ctx context.Context, m *Message) error
}

// NewChanges returns changes to a store that writes in transactions T, whose rows
// it lends. It may do what it is given again if it has to give a transaction up.
func NewChanges[T any](write func(context.Context, func(T) error) error, rows func(T) Rows) Changes {
	return Changes{func(ctx context.Context, fn func(Rows) error) error {
		return write(ctx, func(t T) error { return fn(rows(t)) })
	}}
}

// Claim implements Store.
func (c Changes) Claim(ctx context.Context, id string, seen int64, now time.Time) (Message, bool, error) {
	return c.change(ctx, id, func(m *Message) (bool, error) { return m.Claim(seen, now), nil })
}

// Settle implements Store.
func (c Changes) Settle(ctx context.Context, s Settlement) error {
	_, _, err := c.change(ctx, s.ID, func(m *Message) (bool, error) { return s.Apply(m), nil })
	return err
}

// Retry implements Store.
func (c Changes) Retry(ctx context.Context, id string, now time.Time) (Message, error) {
	m, _, err := c.change(ctx, id, func(m *Message) (bool, error) {
		err := m.Retry(now)
		return err == nil, err
	})
	return m, err
}

// change has a message changed by a rule, and writes it back if that says so.
func (c Changes) change(ctx context.Context, id string, rule func(*Message) (bool, error)) (m Message, changed bool, err error) {
	err = c.transact(ctx, func(rows Rows) (err error) {
		changed = false
		var found bool
		if m, found, err = rows.LockMessage(ctx, id); err != nil {
			return err
		}
		if !found {
			return Missing(id)
		}
		if changed, err = rule(&m); err != nil || !changed {
			return err
		}
		return rows.WriteMessage(ctx, &m)
	})
	return m, changed, err
}
