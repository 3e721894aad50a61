package testkit

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// SecureKafka is a broker that lets in whom it knows.
type SecureKafka struct {
	*KafkaServer
	// Login is where a user logs in by SASL over TLS, Known where a client shows a
	// certificate of the authority.
	Login, Known []string
	// User and Password are those of PLAIN; others can be made through Login.
	User, Password string
}

// StartSecureKafka starts a broker of Apache Kafka for this test alone with the
// listeners SASL_SSL and SSL, whose certificates are from an authority.
func StartSecureKafka(tb testing.TB, by *Authority) *SecureKafka {
	tb.Helper()
	prog, err := current.kafkaProgram()
	if err != nil {
		current.refuse(tb, err)
	}
	work, err := current.open()
	if err != nil {
		tb.Fatalf("testkit: %v", err)
	}
	var ports [2]int
	for i := range ports {
		if ports[i], err = work.port(); err != nil {
			tb.Fatalf("testkit: %v", err)
		}
	}
	s := &SecureKafka{
		Login: []string{address(ports[0])}, Known: []string{address(ports[1])}, User: "alice", Password: "the-password-of-alice",
	}
	own := by.Issue(tb, "kafka", loopback...)
	prepare, arguments := prog.prepare, prog.arguments
	prog.prepare = func(data string) error {
		if err := prepare(data); err != nil {
			return err
		}
		return s.secure(data, own, by)
	}
	prog.arguments = func(data string, port int) []string {
		more := "SASL_SSL://" + s.Login[0] + ",SSL://" + s.Known[0]
		args := arguments(data, port)
		for i, arg := range args {
			if strings.HasPrefix(arg, "listeners=") || strings.HasPrefix(arg, "advertised.listeners=") {
				args[i] = arg + "," + more
			}
		}
		return args
	}
	s.KafkaServer = &KafkaServer{Server: current.serve(tb, prog, kafkaURL)}
	current.sayKafka(tb, false)
	return s
}

// secure adds to the settings of a broker.
func (s *SecureKafka) secure(data string, own Certificate, by *Authority) error {
	f, err := os.OpenFile(kafkaSettings(data), os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("secure Kafka: %w", err)
	}
	_, err = fmt.Fprintf(f, `listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL,SSL:SSL
ssl.keystore.type=PEM
ssl.keystore.location=%s
ssl.truststore.type=PEM
ssl.truststore.location=%s
listener.name.ssl.ssl.client.auth=required
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512
listener.name.sasl_ssl.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_%s="%s";
listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
`, own.Both, by.File, s.User, s.Password)
	if failure := f.Close(); err == nil {
		err = failure
	}
	return err
}
