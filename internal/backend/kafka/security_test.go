package kafka_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"

	"sluice/internal/backend/kafka"
	"sluice/internal/domain"
	"sluice/internal/refresh"
	"sluice/internal/testkit"
)

// TestSecurity logs in to a broker in every way it knows, and in some that it must
// not accept. The short form leaves scrambled passwords out.
func TestSecurity(t *testing.T) {
	t.Parallel()
	authority := testkit.NewAuthority(t)
	broker := testkit.StartSecureKafka(t, authority)
	const scram = "the-scrambled-password"
	if !testing.Short() {
		addScram(t, broker, authority, "bob", scram)
	}
	client, stranger := authority.Issue(t, "client"), testkit.NewAuthority(t).Issue(t, "stranger")

	var log lockedText
	try := func(brokers []string, prefix string, s kafka.Security) kafka.Options {
		o := options(brokers, prefix)
		o.Log, o.Security = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})), s
		return o
	}
	login := func(mechanism, user, password string) kafka.Security {
		return kafka.Security{TLS: true, CA: authority.File, Mechanism: mechanism, User: user, Password: password}
	}
	for name, o := range map[string]kafka.Options{
		"plain":         try(broker.Login, testkit.Prefix(t), login("plain", broker.User, broker.Password)),
		"scram-sha-256": try(broker.Login, testkit.Prefix(t), login("scram-sha-256", "bob", scram)),
		"scram-sha-512": try(broker.Login, testkit.Prefix(t), login("scram-sha-512", "bob", scram)),
		"certificate":   try(broker.Known, testkit.Prefix(t), kafka.Security{TLS: true, CA: authority.File, Cert: client.Cert, Key: client.Key}),
	} {
		if !testing.Short() || !strings.HasPrefix(name, "scram") {
			carry(t, name, o)
		}
	}
	for name, c := range map[string]struct {
		options kafka.Options
		says    string
	}{
		"wrong password":    {try(broker.Login, "x", login("plain", broker.User, "guessed-password")), "--kafka-user"},
		"wrong scram":       {try(broker.Login, "x", login("scram-sha-512", "bob", "guessed-password")), "--kafka-user"},
		"another mechanism": {try(broker.Login, "x", login("scram-sha-256", broker.User, broker.Password)), "--kafka-user"},
		"unknown authority": {try(broker.Login, "x", kafka.Security{TLS: true, Mechanism: "plain", User: broker.User, Password: broker.Password}), "--kafka-ca"},
		"no TLS there":      {try(broker.Brokers(), "x", login("plain", broker.User, broker.Password)), "does not speak TLS"},
		"no files":          {try(broker.Known, "x", kafka.Security{TLS: true, CA: "/nowhere/ca.pem"}), "--kafka-ca"},
		"another's key":     {try(broker.Known, "x", kafka.Security{TLS: true, CA: authority.File, Cert: client.Cert, Key: stranger.Key}), "--kafka-cert"},
	} {
		began := time.Now()
		_, err := kafka.NewEventLog(t.Context(), c.options)
		if domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v (%s), want it to say %q", name, err, domain.CodeOf(err), c.says)
		}
		if _, examined := kafka.Examine(t.Context(), c.options); examined == nil || !strings.Contains(examined.Error(), c.says) {
			t.Errorf("%s: examined as %v", name, examined)
		}
		for _, secret := range []string{"guessed-password", broker.Password, scram} {
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("%s: the error shows a password: %v", name, err)
			}
		}
		t.Logf("%s after %v: %v", name, time.Since(began), err)
	}
	o := try(broker.Known, "x", kafka.Security{TLS: true, CA: authority.File, Cert: stranger.Cert, Key: stranger.Key})
	o.Limit = 2 * time.Second
	if _, err := kafka.NewEventLog(t.Context(), o); err == nil {
		t.Error("a stranger's certificate is accepted")
	}
	for _, secret := range []string{"guessed-password", broker.Password, scram} {
		if strings.Contains(log.String(), secret) {
			t.Error("the log shows a password")
		}
	}
}

// lockedText is written by many.
type lockedText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// carry sends a message through a log and takes it.
func carry(t *testing.T, name string, o kafka.Options) {
	t.Helper()
	log, err := kafka.NewEventLog(t.Context(), o)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	defer func() {
		if err := log.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("%s: close: %v", name, err)
		}
	}()
	if err := log.Publish(t.Context(), refresh.TopicHigh, refresh.Message{Key: "k", Value: []byte("carried")}); err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	c, err := log.Join(t.Context(), refresh.HighWorkers, refresh.TopicHigh)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	for tries := 0; ; {
		records, err := c.Take(t.Context(), 1)
		if tries++; domain.CodeOf(err) == domain.CodeUnavailable && tries < 5 {
			// A machine that stands still for longer than a session lasts leaves the group.
			t.Logf("%s: %v", name, err)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		if len(records) > 0 {
			if string(records[0].Value) != "carried" {
				t.Errorf("%s: took %q", name, records[0].Value)
			}
			if err := c.Done(t.Context(), records...); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			return
		}
	}
}

// addScram makes a user whose password a broker knows scrambled.
func addScram(t *testing.T, broker *testkit.SecureKafka, authority *testkit.Authority, user, password string) {
	t.Helper()
	text, err := os.ReadFile(authority.File)
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(text)
	a := admin(t, broker.Login, kgo.DialTLSConfig(&tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}),
		kgo.SASL(plain.Auth{User: broker.User, Pass: broker.Password}.AsMechanism()))
	for _, mechanism := range []kadm.ScramMechanism{kadm.ScramSha256, kadm.ScramSha512} {
		answers, err := a.AlterUserSCRAMs(t.Context(), nil, []kadm.UpsertSCRAM{{User: user, Mechanism: mechanism, Iterations: 4096, Password: password}})
		if err == nil {
			err = answers.Error()
		}
		if err != nil {
			t.Fatalf("make a user: %v", err)
		}
	}
}
