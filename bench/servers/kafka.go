package servers

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"sluice/internal/testkit"
)

// Kafka returns the address of an Apache Kafka of one process, broker and
// controller, whose settings are those of the tests: nothing is replicated, and
// the operating system decides when records reach the disk, as by default.
func (s *Set) Kafka(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kafka != "" {
		return s.kafka, nil
	}
	dir := filepath.Join(s.dir, "kafka")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	var ports [2]int
	for i := range ports {
		text, err := freePort(ctx)
		if err != nil {
			return "", err
		}
		if ports[i], err = strconv.Atoi(text); err != nil {
			return "", err
		}
	}
	// The server outlives the benchmark that asked for it first.
	cmd, err := testkit.KafkaCommand(context.WithoutCancel(ctx), dir, ports[0], ports[1])
	if err != nil {
		return "", err
	}
	p, err := launch(Kafka, dir, cmd, syscall.SIGTERM)
	if err != nil {
		return "", err
	}
	s.running = append(s.running, p)
	if err := p.await(ctx, func(ctx context.Context) error { return testkit.KafkaAnswers(ctx, ports[0]) }); err != nil {
		return "", err
	}
	version, err := testkit.KafkaVersion()
	if err != nil {
		return "", err
	}
	s.kafka = net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[0]))
	fmt.Fprintf(s.log, "bench: Apache Kafka %s at %s, one process, the settings of the tests\n", version, s.kafka)
	return s.kafka, nil
}

// kafkaPackages are what a broker needs and is missing: a Java that runs it,
// and Maven if its files are still to be fetched.
func kafkaPackages() string {
	var missing []string
	if _, err := exec.LookPath("java"); err != nil {
		missing = append(missing, "default-jre-headless")
	}
	files, err := filepath.Glob(filepath.Join(".tools", "kafka-*"))
	if _, none := exec.LookPath("mvn"); none != nil && (err != nil || len(files) == 0) {
		missing = append(missing, "maven")
	}
	return strings.Join(missing, " ")
}
