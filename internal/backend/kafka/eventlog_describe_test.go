package kafka_test

import (
	"testing"

	"sluice/internal/backend/kafka"
	"sluice/internal/refresh"
	"sluice/internal/testkit"
)

// TestBackend: the cluster tells of itself, and how much nobody has taken.
func TestBackend(t *testing.T) {
	t.Parallel()
	o := options(testkit.KafkaBrokers(testkit.Kafka(t)), testkit.Prefix(t))
	log, err := kafka.NewEventLog(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close(t.Context()) }()
	if err := log.Publish(t.Context(), refresh.TopicHigh, refresh.Message{Key: "a", Value: []byte("1")}, refresh.Message{Key: "b", Value: []byte("2")}); err != nil {
		t.Fatal(err)
	}
	b, err := log.Backend(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	has := map[string]float64{}
	for _, f := range b.Figures {
		has[f.Name] = f.Value
	}
	name := o.Prefix + string(refresh.TopicHigh)
	if b.Kind != "Kafka" || has["brokers"] < 1 || has[name+": partitions"] != float64(refresh.TopicHigh.Partitions()) || has[name+": records kept"] != 2 ||
		has[name+": not taken by "+o.Prefix+refresh.HighWorkers] != 2 {
		t.Errorf("it is %+v", b)
	}
}
