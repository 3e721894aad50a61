package kafka

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sluice/internal/refresh"
)

const (
	// mostReplicas is how many brokers keep a record, if there are so many.
	mostReplicas = 3
	// readyInterval is how often new topics are looked at.
	readyInterval = 50 * time.Millisecond
)

// createTopics creates those topics that are missing, and waits until all of
// them can be used.
func (l *EventLog) createTopics(ctx context.Context) error {
	limited, cancel := l.limited(ctx)
	defer cancel()
	state, err := bounded(limited, func() (topicState, error) { return l.topicState(limited) })
	if err != nil {
		return failure(ctx, err)
	}
	request := kmsg.NewPtrCreateTopicsRequest()
	request.TimeoutMillis = int32(l.options.Limit.Milliseconds())
	for _, topic := range topics() {
		switch parts := state.partitions[topic]; parts {
		case 0:
			request.Topics = append(request.Topics, l.newTopic(topic, state.brokers))
		case topic.Partitions():
		default:
			l.options.Log.Warn("kafka: a topic has another number of partitions than it is made with",
				"topic", l.options.topic(topic), "partitions", parts, "expected", topic.Partitions())
		}
	}
	if len(request.Topics) > 0 {
		response, err := bounded(limited, func() (*kmsg.CreateTopicsResponse, error) { return request.RequestWith(limited, l.client) })
		if err != nil {
			return failure(ctx, fmt.Errorf("create topics: %w", err))
		}
		for _, one := range response.Topics {
			// Another process may have been quicker.
			err := kerr.ErrorForCode(one.ErrorCode)
			if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
				return failure(ctx, fmt.Errorf("create topic %s: %w", one.Topic, err))
			}
		}
	}
	return failure(ctx, l.awaitTopics(limited))
}

func topics() []refresh.Topic {
	return []refresh.Topic{refresh.TopicHigh, refresh.TopicLow, refresh.TopicDead}
}

// newTopic says how a topic is made in a cluster of so many brokers.
func (l *EventLog) newTopic(topic refresh.Topic, brokers int) kmsg.CreateTopicsRequestTopic {
	one := kmsg.NewCreateTopicsRequestTopic()
	one.Topic = l.options.topic(topic)
	one.NumPartitions = int32(topic.Partitions())
	one.ReplicationFactor = int16(min(mostReplicas, brokers))
	retention := kmsg.NewCreateTopicsRequestTopicConfig()
	retention.Name = "retention.ms"
	retention.Value = kmsg.StringPtr(strconv.FormatInt(topic.Retention().Milliseconds(), 10))
	one.Configs = append(one.Configs, retention)
	if one.ReplicationFactor == mostReplicas {
		// What was acknowledged survives the loss of a broker, and losing one
		// does not stop the others.
		replicas := kmsg.NewCreateTopicsRequestTopicConfig()
		replicas.Name, replicas.Value = "min.insync.replicas", kmsg.StringPtr("2")
		one.Configs = append(one.Configs, replicas)
	}
	return one
}

// topicState is what Kafka says about the topics.
type topicState struct {
	brokers int
	// partitions is how many partitions a topic has that is there.
	partitions map[refresh.Topic]int
	// unready is why not all topics can be used yet, if they cannot.
	unready error
}

func (l *EventLog) topicState(ctx context.Context) (topicState, error) {
	request := kmsg.NewPtrMetadataRequest()
	names := map[string]refresh.Topic{}
	for _, topic := range topics() {
		one := kmsg.NewMetadataRequestTopic()
		one.Topic = kmsg.StringPtr(l.options.topic(topic))
		request.Topics = append(request.Topics, one)
		names[*one.Topic] = topic
	}
	response, err := request.RequestWith(ctx, l.client)
	if err != nil {
		return topicState{}, err
	}
	state := topicState{brokers: len(response.Brokers), partitions: map[refresh.Topic]int{}}
	for _, topic := range response.Topics {
		if topic.Topic == nil {
			continue
		}
		if err := kerr.ErrorForCode(topic.ErrorCode); err != nil {
			state.unready = fmt.Errorf("topic %s: %w", *topic.Topic, err)
			continue
		}
		state.partitions[names[*topic.Topic]] = len(topic.Partitions)
		for _, partition := range topic.Partitions {
			if err := kerr.ErrorForCode(partition.ErrorCode); err != nil {
				state.unready = fmt.Errorf("topic %s: %w", *topic.Topic, err)
			}
		}
	}
	return state, nil
}

// awaitTopics waits until every partition has a broker that leads it: a
// consumer that looks earlier would look again only much later.
func (l *EventLog) awaitTopics(ctx context.Context) error {
	pause := time.NewTicker(readyInterval)
	defer pause.Stop()
	for {
		state, err := bounded(ctx, func() (topicState, error) { return l.topicState(ctx) })
		if err != nil {
			return err
		}
		if state.unready == nil {
			return nil
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return state.unready
		}
	}
}
