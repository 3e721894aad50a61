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
			// is waits for an epoch: a broker may tell of a topic a little later than it
			// has one.
			is := func(log refresh.EventLog, right func(epoch string) bool) string {
				t.Helper()
				for deadline := time.Now().Add(2 * time.Minute); ; <-time.After(50 * time.Millisecond) {
					epoch, err := log.Epoch(t.Context(), refresh.TopicHigh)
					if err == nil && right(epoch) {
						return epoch
					}
					if time.Now().After(deadline) {
						t.Fatalf("the epoch is %q, %v", epoch, err)
					}
				}
			}
			known := open(t, o)
			first := is(known, func(string) bool { return true })
			if again := is(open(t, o), func(string) bool { return true }); again != first {
				t.Errorf("one topic has the epochs %q and %q", first, again)
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
			second := is(open(t, o), func(epoch string) bool { return epoch != first })
			// Who was there all the while is told as well.
			is(known, func(epoch string) bool { return epoch == second })
		})
	}
}
