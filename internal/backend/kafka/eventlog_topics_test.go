package kafka_test

import (
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sluice/internal/backend/kafka"
	"sluice/internal/domain"
	"sluice/internal/refresh"
	"sluice/internal/testkit"
)

func TestParseURL(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"kafka://one:9092":          {"one:9092"},
		"kafka://one:1,two/":        {"one:1", "two:9092"},
		"kafka://[::1]:9092,[::2]":  {"[::1]:9092", "[::2]:9092"},
		"kafka://":                  nil,
		"redis://one":               nil,
		"one:9092":                  nil,
		"kafka://a,,b":              nil,
		"kafka://user:secret@one:1": nil,
		"kafka://one:1/path":        nil,
		"kafka://one:port":          nil,
	} {
		got, err := kafka.ParseURL(text)
		if !slices.Equal(got, want) || (err == nil) != (want != nil) {
			t.Errorf("%q names %v (%v), want %v", text, got, err, want)
		}
		if err != nil && domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("%q: code %s", text, domain.CodeOf(err))
		}
	}
}

// admin is a client beside the log, such as other tools are.
func admin(t *testing.T, brokers []string, more ...kgo.Opt) *kadm.Client {
	t.Helper()
	client, err := kgo.NewClient(append(more, kgo.SeedBrokers(brokers...))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return kadm.NewClient(client)
}

func TestTopicsAreMade(t *testing.T) {
	t.Parallel()
	brokers := testkit.KafkaBrokers(testkit.Kafka(t))
	o := options(brokers, testkit.Prefix(t))
	// Two processes that begin at once do not disturb each other.
	var beginning sync.WaitGroup
	for range 2 {
		beginning.Go(func() { open(t, o) })
	}
	beginning.Wait()
	beside := admin(t, brokers)
	for topic, hours := range map[refresh.Topic]int{refresh.TopicHigh: 24, refresh.TopicLow: 72, refresh.TopicDead: 168} {
		name := o.Prefix + string(topic)
		details, err := beside.ListTopics(t.Context(), name)
		if err != nil || len(details[name].Partitions) != topic.Partitions() {
			t.Errorf("%s has %d partitions (%v), want %d", topic, len(details[name].Partitions), err, topic.Partitions())
		}
		configs, err := beside.DescribeTopicConfigs(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		for _, config := range configs[0].Configs {
			if want := strconv.Itoa(hours * 3_600_000); config.Key == "retention.ms" && config.MaybeValue() != want {
				t.Errorf("%s keeps records for %s ms, want %s", topic, config.MaybeValue(), want)
			}
		}
	}
}

// TestTopicsThatAreThereStay: people may have made them as they like.
func TestTopicsThatAreThereStay(t *testing.T) {
	t.Parallel()
	brokers := fake(t)
	o := options(brokers, testkit.Prefix(t))
	beside := admin(t, brokers)
	name := o.Prefix + string(refresh.TopicHigh)
	if _, err := beside.CreateTopic(t.Context(), 3, 1, nil, name); err != nil {
		t.Fatal(err)
	}
	open(t, o)
	details, err := beside.ListTopics(t.Context(), name)
	if err != nil || len(details[name].Partitions) != 3 {
		t.Errorf("the topic has %d partitions by now (%v)", len(details[name].Partitions), err)
	}
}

func TestReplicas(t *testing.T) {
	t.Parallel()
	for brokers, want := range map[int]int16{1: 1, 2: 2, 3: 3, 5: 3} {
		cluster, err := kfake.NewCluster(kfake.NumBrokers(brokers))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(cluster.Close)
		var mu sync.Mutex
		var got []int16
		cluster.ControlKey(int16(kmsg.CreateTopics), func(request kmsg.Request) (kmsg.Response, error, bool) {
			cluster.KeepControl()
			mu.Lock()
			defer mu.Unlock()
			for _, topic := range request.(*kmsg.CreateTopicsRequest).Topics {
				got = append(got, topic.ReplicationFactor)
			}
			return nil, nil, false
		})
		open(t, options(cluster.ListenAddrs(), testkit.Prefix(t)))
		mu.Lock()
		if !slices.Equal(got, []int16{want, want, want}) {
			t.Errorf("with %d brokers the topics have %v replicas, want %d", brokers, got, want)
		}
		mu.Unlock()
	}
}

// TestPartitionsAreThoseOfOtherTools: the hashes are those that Kafka's own
// tests demand of its clients.
func TestPartitionsAreThoseOfOtherTools(t *testing.T) {
	t.Parallel()
	log := open(t, options(fake(t), testkit.Prefix(t)))
	c := join(t, log)
	hashes := map[string]int32{
		"21": -973932308, "foobar": -790332482, "a-little-bit-long-string": -985981536, "a-little-bit-longer-string": -1486304829,
		"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971, "abc": 479470107,
	}
	for key := range hashes {
		if err := log.Publish(t.Context(), refresh.TopicHigh, refresh.Message{Key: key}); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range take(t, c, len(hashes)) {
		if want := (hashes[r.Key] & 0x7fffffff) % 24; r.Partition != want {
			t.Errorf("key %s is in partition %d, want %d", r.Key, r.Partition, want)
		}
	}
}
