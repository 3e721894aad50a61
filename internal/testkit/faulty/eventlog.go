package faulty

import (
	"context"

	"sluice/internal/refresh"
)

// EventLog is a log of events with outages.
type EventLog struct {
	refresh.EventLog
	plan *Plan
}

var _ refresh.EventLog = (*EventLog)(nil)

// NewEventLog wraps a log of events.
func NewEventLog(inner refresh.EventLog, plan *Plan) *EventLog { return &EventLog{inner, plan} }

// Publish implements refresh.EventLog.
func (e *EventLog) Publish(ctx context.Context, topic refresh.Topic, messages ...refresh.Message) error {
	return do(ctx, e.plan, "Publish", func() error { return e.EventLog.Publish(ctx, topic, messages...) })
}

// Lag implements refresh.EventLog.
func (e *EventLog) Lag(ctx context.Context, group string, topic refresh.Topic) (refresh.Lag, error) {
	return get(ctx, e.plan, "Lag", func() (refresh.Lag, error) { return e.EventLog.Lag(ctx, group, topic) })
}

// Epoch implements refresh.EventLog.
func (e *EventLog) Epoch(ctx context.Context, topic refresh.Topic) (string, error) {
	return get(ctx, e.plan, "Epoch", func() (string, error) { return e.EventLog.Epoch(ctx, topic) })
}

// Check implements refresh.EventLog.
func (e *EventLog) Check(ctx context.Context) error {
	return do(ctx, e.plan, "Check", func() error { return e.EventLog.Check(ctx) })
}

// Join implements refresh.EventLog. The consumer goes by the same plan.
func (e *EventLog) Join(ctx context.Context, group string, topic refresh.Topic) (refresh.LogConsumer, error) {
	return get(ctx, e.plan, "Join", func() (refresh.LogConsumer, error) {
		c, err := e.EventLog.Join(ctx, group, topic)
		if err != nil {
			return nil, err
		}
		return NewConsumer(c, e.plan), nil
	})
}

// Consumer is a consumer of a log with outages.
type Consumer struct {
	refresh.LogConsumer
	plan *Plan
}

var _ refresh.LogConsumer = (*Consumer)(nil)

// NewConsumer wraps a consumer of a log.
func NewConsumer(inner refresh.LogConsumer, plan *Plan) *Consumer { return &Consumer{inner, plan} }

// Take implements refresh.LogConsumer.
func (c *Consumer) Take(ctx context.Context, n int) ([]refresh.LogRecord, error) {
	return get(ctx, c.plan, "Take", func() ([]refresh.LogRecord, error) { return c.LogConsumer.Take(ctx, n) })
}

// Done implements refresh.LogConsumer.
func (c *Consumer) Done(ctx context.Context, records ...refresh.LogRecord) error {
	return do(ctx, c.plan, "Done", func() error { return c.LogConsumer.Done(ctx, records...) })
}

// Pause implements refresh.LogConsumer; it never fails, and is counted as
// Consumer.Pause.
func (c *Consumer) Pause() {
	c.plan.note("Consumer.Pause")
	c.LogConsumer.Pause()
}

// Resume implements refresh.LogConsumer; it never fails, and is counted as
// Consumer.Resume.
func (c *Consumer) Resume() {
	c.plan.note("Consumer.Resume")
	c.LogConsumer.Resume()
}
