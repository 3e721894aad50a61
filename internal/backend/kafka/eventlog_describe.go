package kafka

import (
	"context"
	"strings"

	"sluice/internal/fleet"
	"sluice/internal/refresh"
)

// Backend implements fleet.Teller.
func (l *EventLog) Backend(ctx context.Context) (fleet.Backend, error) {
	b := fleet.Backend{Kind: "Kafka", Address: strings.Join(l.options.Brokers, ", ")}
	if l.isClosed() {
		return b, errClosed()
	}
	limited, cancel := l.limited(ctx)
	defer cancel()
	state, err := bounded(limited, func() (topicState, error) { return l.topicState(limited) })
	if err != nil {
		return b, failure(ctx, err)
	}
	b.Figures = append(b.Figures, fleet.Figure{Name: "brokers", Value: float64(state.brokers)})
	for _, topic := range topics() {
		name := l.options.topic(topic)
		kept, err := bounded(limited, func() (int64, error) { return l.kept(limited, name) })
		if err != nil {
			return b, failure(ctx, err)
		}
		b.Figures = append(b.Figures,
			fleet.Figure{Name: name + ": partitions", Value: float64(state.partitions[topic])},
			fleet.Figure{Name: name + ": records kept", Value: float64(kept)})
	}
	for topic, group := range map[refresh.Topic]string{refresh.TopicHigh: refresh.HighWorkers, refresh.TopicLow: refresh.LowWorkers} {
		lag, err := l.Lag(limited, group, topic)
		if err != nil {
			return b, err
		}
		b.Figures = append(b.Figures, fleet.Figure{Name: l.options.topic(topic) + ": not taken by " + l.options.group(group), Value: float64(lag.Records)})
	}
	fleet.SortFigures(b.Figures[1:])
	return b, nil
}

// kept is how many records a topic has, also those that were dealt with.
func (l *EventLog) kept(ctx context.Context, topic string) (records int64, err error) {
	starts, err := l.admin.ListStartOffsets(ctx, topic)
	if err == nil {
		err = starts.Error()
	}
	if err != nil {
		return 0, err
	}
	ends, err := l.admin.ListEndOffsets(ctx, topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return 0, err
	}
	for number, end := range ends[topic] {
		records += end.Offset - starts[topic][number].Offset
	}
	return records, nil
}
