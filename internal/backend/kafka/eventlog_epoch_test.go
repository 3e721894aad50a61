package kafka_test

import (
	"testing"
	"time"

	"sluice/internal/refresh"
	"sluice/internal/testkit"
)

// TestATopicMadeAnewHasAnotherEpoch: what was accepted into the old one is not there
// any more.
func TestATopicMadeAnewHasAnotherEpoch(t *testing.T) {
	t.Parallel()
	for name, brokers := range map[string]func(*testing.T) []string{
		"kafka": func(t *testing.T) []string { t.Helper(); return testkit.KafkaBrokers(testkit.Kafka(t)) }, "kfake": fake,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(brokers(t), testkit.Prefix(t))
			epochs := map[string]bool{}
			look := func(log refresh.EventLog) {
				t.Helper()
				for deadline := time.Now().Add(2 * time.Minute); ; <-time.After(50 * time.Millisecond) {
					epoch, err := log.Epoch(t.Context(), refresh.TopicHigh)
					if err == nil {
						epochs[epoch] = true
						return
					}
					if time.Now().After(deadline) {
						t.Fatal(err)
					}
				}
			}
			first := open(t, o)
			look(first)
			look(open(t, o))
			if len(epochs) != 1 {
				t.Errorf("one topic has the epochs %v", epochs)
			}
			beside := admin(t, o.Brokers)
			topic := o.Prefix + string(refresh.TopicHigh)
			if _, err := beside.DeleteTopic(t.Context(), topic); err != nil {
				t.Fatal(err)
			}
			// It takes a broker a while to be rid of it.
			for deadline := time.Now().Add(2 * time.Minute); ; <-time.After(50 * time.Millisecond) {
				_, err := beside.CreateTopic(t.Context(), int32(refresh.TopicHigh.Partitions()), 1, nil, topic)
				if err == nil {
					break
				}
				if time.Now().After(deadline) {
					t.Fatal(err)
				}
			}
			look(open(t, o))
			if len(epochs) != 2 {
				t.Errorf("after the topic was made anew the epochs are %v", epochs)
			}
		})
	}
}
