package kafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"sluice/internal/certificate"
	"sluice/internal/domain"
)

// Security says how brokers and this client prove to each other who they are.
type Security struct {
	// TLS encrypts, and brokers show certificates.
	TLS bool
	// CA is a PEM file of the authorities that are trusted; "" means the system's.
	CA string
	// Cert and Key are PEM files of a certificate that the client shows, if it
	// does. They are read for every connection, so that they can be renewed.
	Cert, Key string
	// Mechanism is plain, scram-sha-256 or scram-sha-512; "" means that nobody
	// logs in.
	Mechanism      string
	User, Password string
}

// config is what the client's TLS is told; nil without TLS.
func (s Security) config() (*tls.Config, error) {
	if !s.TLS {
		return nil, nil
	}
	config, err := certificate.Files(s.CA, s.Cert, s.Key)
	if err != nil {
		return nil, domain.Errorf(domain.CodeInvalid, "kafka: %w; check --kafka-ca, --kafka-cert and --kafka-key", err)
	}
	return config, nil
}

func (s Security) mechanism() (sasl.Mechanism, error) {
	switch s.Mechanism {
	case "":
		return nil, nil
	case "plain":
		return plain.Auth{User: s.User, Pass: s.Password}.AsMechanism(), nil
	case "scram-sha-256":
		return scram.Auth{User: s.User, Pass: s.Password}.AsSha256Mechanism(), nil
	case "scram-sha-512":
		return scram.Auth{User: s.User, Pass: s.Password}.AsSha512Mechanism(), nil
	}
	return nil, domain.Errorf(domain.CodeInvalid, "kafka: there is no mechanism %q to log in by; use plain, scram-sha-256 or scram-sha-512", s.Mechanism)
}

// secured is what clients of Kafka are told of this.
func (s Security) secured() ([]kgo.Opt, error) {
	var options []kgo.Opt
	config, err := s.config()
	if err != nil {
		return nil, err
	}
	if config != nil {
		options = append(options, kgo.DialTLSConfig(config))
	}
	mechanism, err := s.mechanism()
	if err != nil {
		return nil, err
	}
	if mechanism != nil {
		options = append(options, kgo.SASL(mechanism))
	}
	return options, nil
}

// shakeHands tries whether brokers and this client accept each other's
// certificates: the library would try again until it has no time left, and then
// say only that.
func (o Options) shakeHands(ctx context.Context) error {
	config, err := o.Security.config()
	if err != nil || config == nil {
		return err
	}
	dialer := tls.Dialer{Config: config}
	for _, broker := range o.Brokers {
		limited, cancel := context.WithTimeout(ctx, o.Limit)
		conn, err := dialer.DialContext(limited, "tcp", broker)
		cancel()
		if err == nil {
			return conn.Close()
		}
		if why := distrust(err); why != "" {
			return domain.Errorf(domain.CodeInvalid, "kafka: %s: %s: %w", broker, why, err)
		}
	}
	// Whether they can be reached others find out.
	return nil
}

// distrust says why a handshake fails that will fail again; "" of anything else.
func distrust(err error) string {
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var plainText tls.RecordHeaderError
	var alert tls.AlertError
	switch {
	case errors.As(err, &unknown):
		return "the broker's certificate is from nobody who is trusted; name its authority with --kafka-ca"
	case errors.As(err, &host):
		return "the broker's certificate is for another name; connect by a name that is in it"
	case errors.As(err, &invalid):
		return "the broker's certificate cannot be accepted"
	case errors.As(err, &plainText), errors.Is(err, io.EOF):
		return "the broker does not speak TLS at this port; check the port, or leave --kafka-tls out"
	case errors.As(err, &alert):
		return "the broker refuses this client; check --kafka-cert and --kafka-key"
	}
	return ""
}

// explain says what a person can do about a cluster that lets nobody in.
func explain(err error) error {
	switch {
	case errors.Is(err, kerr.SaslAuthenticationFailed), errors.Is(err, kerr.UnsupportedSaslMechanism), errors.Is(err, kerr.IllegalSaslState):
		return domain.Errorf(domain.CodeInvalid, "kafka lets nobody in like this; check --kafka-sasl, --kafka-user and its password: %w", err)
	case errors.Is(err, kerr.TopicAuthorizationFailed), errors.Is(err, kerr.ClusterAuthorizationFailed), errors.Is(err, kerr.GroupAuthorizationFailed):
		return domain.Errorf(domain.CodeInvalid, "kafka does not let this user use its topics and groups; allow it to (docs/security.md), or choose --kafka-prefix: %w", err)
	}
	return err
}
