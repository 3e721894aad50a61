package kafka

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/internal/domain"
	"sluice/internal/refresh"
)

// Report is what a cluster looks like before it is used.
type Report struct {
	Brokers int
	// Missing are the topics that are created at the first start.
	Missing []string
	// Odd are those that have another number of partitions than they are made
	// with.
	Odd []string
}

// Examine looks at a cluster, and changes nothing.
func Examine(ctx context.Context, options Options) (r Report, err error) {
	if options, err = options.withDefaults(); err != nil {
		return r, err
	}
	if err := options.shakeHands(ctx); err != nil {
		return r, err
	}
	client, err := kgo.NewClient(options.common()...)
	if err != nil {
		return r, domain.Errorf(domain.CodeInvalid, "kafka: %w", err)
	}
	defer client.Close()
	l := &EventLog{options: options, client: client}
	limited, cancel := l.limited(ctx)
	defer cancel()
	state, err := bounded(limited, func() (topicState, error) { return l.topicState(limited) })
	if err != nil {
		return r, explain(failure(ctx, err))
	}
	r.Brokers = state.brokers
	for _, topic := range topics() {
		r.note(options.topic(topic), topic, state.partitions[topic])
	}
	return r, nil
}

func (r *Report) note(name string, topic refresh.Topic, partitions int) {
	switch partitions {
	case topic.Partitions():
	case 0:
		r.Missing = append(r.Missing, name)
	default:
		r.Odd = append(r.Odd, name)
	}
}
