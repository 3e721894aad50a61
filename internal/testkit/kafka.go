package testkit

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// KafkaServer is a broker of one test, which may end it and start it again.
type KafkaServer struct {
	*Server
	// Fake says that it is kfake: this machine cannot run Apache Kafka.
	Fake bool
}

// Brokers returns where the broker is, as clients want it.
func (s *KafkaServer) Brokers() []string { return KafkaBrokers(s.URL()) }

// KafkaBrokers returns the addresses that a URL names.
func KafkaBrokers(url string) []string {
	return strings.Split(strings.TrimPrefix(url, "kafka://"), ",")
}

// Kafka returns the URL (kafka://127.0.0.1:PORT) of a broker that the tests of
// this process share; use a prefix of your own (Prefix) for topics and groups.
func Kafka(tb testing.TB) string {
	tb.Helper()
	prog, fake := current.kafkaOrFake(tb)
	url := current.use(tb, "kafka", func() (string, error) {
		p, err := current.launch(prog)
		if err != nil {
			return "", err
		}
		return kafkaURL(p.port), nil
	})
	current.sayKafka(tb, fake)
	return url
}

// StartKafka starts a broker for this test alone: Apache Kafka as one process
// that is broker and controller, or kfake where that cannot be had.
func StartKafka(tb testing.TB) *KafkaServer {
	tb.Helper()
	prog, fake := current.kafkaOrFake(tb)
	server := &KafkaServer{Server: current.serve(tb, prog, kafkaURL), Fake: fake}
	current.sayKafka(tb, fake)
	return server
}

func kafkaURL(port int) string { return "kafka://" + address(port) }

// kafkaProgram runs Apache Kafka from the files in a folder.
func (k *kit) kafkaProgram() (program, error) {
	java, err := findJava()
	if err != nil {
		return program{}, err
	}
	folder, err := k.remember("files of Kafka", func() (string, error) { return k.getKafka(java) })
	if err != nil {
		return program{}, &missingError{"Apache Kafka", err.Error()}
	}
	jars, err := kafkaJars(folder)
	if err != nil {
		return program{}, err
	}
	return k.kafkaOf(java, jars, "-XX:SharedArchiveFile="+filepath.Join(folder, kafkaClasses)), nil
}

// kafkaOf runs Apache Kafka with a machine's Java. What the virtual machine is
// told keeps it small and quick to start; a broker of tests does not live long
// enough for anything else.
func (k *kit) kafkaOf(java string, jars []string, option string) program {
	return program{
		name:    "kafka",
		path:    java,
		prepare: k.prepareKafka,
		arguments: func(data string, port int) []string {
			return append([]string{"-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", option}, kafkaArguments(jars, data, port)...)
		},
		answers: kafkaAnswers,
	}
}

// kafkaArguments are those that follow upon the options of the virtual machine.
func kafkaArguments(jars []string, data string, port int) []string {
	return []string{
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
		"-cp", strings.Join(jars, string(os.PathListSeparator)),
		"kafka.Kafka", kafkaSettings(data),
		"--override", "listeners=PLAINTEXT://" + address(port) + ",CONTROLLER://" + kafkaController(data),
		"--override", "advertised.listeners=PLAINTEXT://" + address(port),
	}
}

func kafkaSettings(data string) string { return filepath.Join(filepath.Dir(data), "server.properties") }

// kafkaController reads back where a broker's controller listens: it stays
// there when the broker is started again.
func kafkaController(data string) string {
	text, err := os.ReadFile(kafkaSettings(data))
	if err != nil {
		// A broker that is told nothing useful ends and says why.
		return "unknown"
	}
	_, after, _ := strings.Cut(string(text), "controller.quorum.voters=1@")
	controller, _, _ := strings.Cut(after, "\n")
	return controller
}

// prepareKafka fills the folder of a broker whose controller has a port of its
// own.
func (k *kit) prepareKafka(data string) error {
	work, err := k.open()
	if err != nil {
		return err
	}
	controller, err := work.port()
	if err != nil {
		return err
	}
	return layOutKafka(data, controller)
}

// layOutKafka writes the settings of a broker, and what formatting its folder
// would write: that takes a Java of its own, and seconds.
func layOutKafka(data string, controller int) error {
	settings := fmt.Sprintf(`process.roles=broker,controller
node.id=1
controller.quorum.voters=1@%s
controller.listener.names=CONTROLLER
log.dirs=%s
auto.create.topics.enable=false
broker.session.timeout.ms=6000
broker.heartbeat.interval.ms=200
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=100
offsets.topic.num.partitions=4
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
log.index.size.max.bytes=131072
log.cleaner.dedupe.buffer.size=2097152
num.network.threads=2
num.io.threads=2
`, address(controller), data)
	if err := os.WriteFile(kafkaSettings(data), []byte(settings), 0o600); err != nil {
		return fmt.Errorf("write the settings of Kafka: %w", err)
	}
	// Both names are sixteen bytes in base 64, as Kafka wants them.
	const names = "version=1\nnode.id=1\ncluster.id=c2x1aWNlLXRlc3Qta2l0LQ\ndirectory.id=c2x1aWNlLWRpcmVjdG9yeQ\n"
	if err := os.WriteFile(filepath.Join(data, "meta.properties"), []byte(names), 0o600); err != nil {
		return fmt.Errorf("format the folder of Kafka: %w", err)
	}
	return nil
}

// sayKafka logs which broker is used, once: what a test proves depends on it.
func (k *kit) sayKafka(tb testing.TB, fake bool) {
	tb.Helper()
	switch {
	case !k.once("version of Kafka"):
	case fake:
		tb.Logf("Kafka protocol: kfake (Apache Kafka cannot be had on this machine)")
	default:
		java, err := findJava()
		if err != nil {
			k.refuse(tb, err)
		}
		version, err := kafkaVersion()
		if err != nil {
			tb.Fatalf("testkit: %v", err)
		}
		tb.Logf("Kafka protocol: Apache Kafka %s on Java %d", version, javaVersion(context.Background(), java))
	}
}
