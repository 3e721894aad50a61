package testkit_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/internal/testkit"
)

// kafkaWait is how long a broker may take for something: other tests may keep
// the machine busy.
const kafkaWait = 60 * time.Second

func kafkaClient(t *testing.T, brokers ...string) *kgo.Client {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.DefaultProduceTopic("letters"),
		kgo.ConsumeTopics("letters"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatalf("connect to %v: %v", brokers, err)
	}
	t.Cleanup(client.Close)
	return client
}

// TestKafkaAnswers ends a broker in both ways: what it had accepted stays.
func TestKafkaAnswers(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*kafkaWait)
	defer cancel()
	server := testkit.StartKafka(t)
	if want := []string{strings.TrimPrefix(server.URL(), "kafka://")}; len(server.Brokers()) != 1 || server.Brokers()[0] != want[0] {
		t.Errorf("the brokers are %v, want %v", server.Brokers(), want)
	}
	client := kafkaClient(t, server.Brokers()...)
	if _, err := kadm.NewClient(client).CreateTopic(ctx, 1, 1, nil, "letters"); err != nil {
		t.Fatalf("create a topic: %v", err)
	}
	end := []func(){func() {}, func() { server.Kill(); server.Start() }, server.Restart}
	for i, letter := range []string{"a", "b", "c"} {
		began := time.Now()
		end[i]()
		t.Logf("started again within %v", time.Since(began))
		client := kafkaClient(t, server.Brokers()...)
		if err := client.ProduceSync(ctx, kgo.StringRecord(letter)).FirstErr(); err != nil {
			t.Fatalf("produce %s: %v", letter, err)
		}
		got := ""
		for len(got) <= i {
			fetches := client.PollFetches(ctx)
			if err := fetches.Err(); err != nil {
				t.Fatalf("fetch after %q: %v", got, err)
			}
			fetches.EachRecord(func(r *kgo.Record) { got += string(r.Value) })
		}
		if want := "abc"[:i+1]; got != want {
			t.Errorf("the topic holds %q, want %q", got, want)
		}
	}
}

// TestSharedKafka is one broker for all.
func TestSharedKafka(t *testing.T) {
	url := testkit.Kafka(t)
	if again := testkit.Kafka(t); again != url {
		t.Errorf("the shared broker is at %s and at %s", url, again)
	}
	ctx, cancel := context.WithTimeout(t.Context(), kafkaWait)
	defer cancel()
	if err := kafkaClient(t, testkit.KafkaBrokers(url)...).Ping(ctx); err != nil {
		t.Errorf("ping: %v", err)
	}
}

// TestKafkaWithoutJava runs a test where only Go is: kfake stands in, unless
// everything must be the real thing.
func TestKafkaWithoutJava(t *testing.T) {
	program, err := exec.LookPath("go")
	if err != nil {
		t.Fatalf("kfake cannot be built: %v", err)
	}
	folder, list := t.TempDir(), filepath.Join(t.TempDir(), "fallbacks")
	if err := os.Symlink(program, filepath.Join(folder, "go")); err != nil {
		t.Fatal(err)
	}
	out, err := again(t, "TestKafkaAnswers", "PATH="+folder, "SLUICE_TEST_REQUIRE=", "SLUICE_TEST_FALLBACKS="+list).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Kafka protocol: kfake") {
		t.Errorf("kfake does not stand in (%v):\n%s", err, out)
	}
	text, err := os.ReadFile(list)
	if err != nil || strings.Count(string(text), "Apache Kafka did not run: there is no java on PATH") != 1 {
		t.Errorf("the list of what did not run is %q (%v)", text, err)
	}
	out, err = again(t, "TestKafkaAnswers", "PATH="+folder, "SLUICE_TEST_REQUIRE=all").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "run scripts/test-servers") {
		t.Errorf("a test that must run says (%v):\n%s", err, out)
	}
}
