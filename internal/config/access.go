package config

import (
	"path"
	"slices"
	"strings"

	"sluice/internal/access"
)

// Kafka is how brokers are reached, and what its topics are called.
type Kafka struct {
	// TLS encrypts; CA, Cert and Key imply it.
	TLS bool
	// CA holds the authorities that are trusted instead of the system's.
	CA string
	// Cert and Key are the files of the client's certificate.
	Cert, Key string
	// SASL is how User proves by Password who it is; "" means not at all.
	SASL           string
	User, Password string
	// Prefix begins the names of topics and groups.
	Prefix string
}

// The ways to prove who one is to Kafka.
const (
	SASLPlain       = "plain"
	SASLScramSHA256 = "scram-sha-256"
	SASLScramSHA512 = "scram-sha-512"
)

// SASLMechanisms are all of them.
func SASLMechanisms() []string { return []string{SASLPlain, SASLScramSHA256, SASLScramSHA512} }

// Encrypted says whether brokers are spoken to by TLS.
func (k Kafka) Encrypted() bool { return k.TLS || k.CA != "" || k.Cert != "" }

// accessing are the settings of TLS, proxies and the audit log.
func accessing() []Setting {
	const group = "Access"
	return []Setting{
		{Name: "tls-cert", Group: group, Help: "serve by TLS with the certificate chain in this PEM file; read again when it changes", Commands: []string{"up", "doctor", "health"},
			field: func(c *Config) any { return &c.HTTP.TLSCert }},
		{Name: "tls-key", Group: group, Help: "private key of --tls-cert, a PEM file that its owner alone can read", Commands: []string{"up", "doctor", "health"},
			field: func(c *Config) any { return &c.HTTP.TLSKey }},
		{Name: "trusted-proxies", Group: group, Help: "addresses or networks of reverse proxies, with commas; from them X-Forwarded-For tells where a request comes from", Commands: []string{"up"},
			field: func(c *Config) any { return &c.HTTP.TrustedProxies }},
		{Name: "path-prefix", Group: group, Help: "path under which a reverse proxy serves the dashboard and the API, such as /sluice", Commands: []string{"up"},
			field: func(c *Config) any { return &c.HTTP.PathPrefix }},
		{Name: "ca-file", Group: group, Help: "PEM file of authorities to trust beside the system's when --server is https://…", Commands: append([]string{"health"}, clients...),
			field: func(c *Config) any { return &c.HTTP.CAFile }},
		{Name: "keep-audit", Group: group, Help: "how long the audit log is kept; negative means forever", Commands: []string{"up"},
			field: func(c *Config) any { return &c.HTTP.KeepAudit }},
	}
}

// kafka are the settings of the way to Kafka.
func kafka() []Setting {
	const group = "Kafka"
	commands := []string{"up", "load", "doctor"}
	return []Setting{
		{Name: "kafka-tls", Group: group, Help: "speak to Kafka by TLS; --kafka-ca and --kafka-cert imply it", Commands: commands,
			field: func(c *Config) any { return &c.Kafka.TLS }},
		{Name: "kafka-ca", Group: group, Help: "PEM file of the authorities that Kafka's certificates are from; by default the system's", Commands: commands,
			field: func(c *Config) any { return &c.Kafka.CA }},
		{Name: "kafka-cert", Group: group, Help: "PEM file of the certificate that Kafka knows this client by", Commands: commands,
			field: func(c *Config) any { return &c.Kafka.Cert }},
		{Name: "kafka-key", Group: group, Help: "private key of --kafka-cert", Commands: commands,
			field: func(c *Config) any { return &c.Kafka.Key }},
		{Name: "kafka-sasl", Group: group, Help: "how to log in to Kafka: plain, scram-sha-256 or scram-sha-512; by default not at all", Commands: commands,
			field: func(c *Config) any { return &c.Kafka.SASL }},
		{Name: "kafka-user", Group: group, Help: "user of --kafka-sasl", Commands: commands,
			field: func(c *Config) any { return &c.Kafka.User }},
		{Name: "kafka-password", Group: group, Help: "password of --kafka-user, as @FILE; or set SLUICE_KAFKA_PASSWORD", Secrecy: Secret, Commands: commands,
			field: func(c *Config) any { return &c.Kafka.Password }},
		{Name: "kafka-prefix", Group: group, Help: "what the names of topics and groups begin with, where several installations share a cluster", Commands: commands,
			field: func(c *Config) any { return &c.Kafka.Prefix }},
	}
}

// prefixLetters are what a path in front of all others may have.
const prefixLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~/"

func (h HTTP) checkAccess(found *Problems) {
	if (h.TLSCert == "") != (h.TLSKey == "") {
		found.add("tls-cert", "--tls-cert and --tls-key go together: give both, or neither")
	}
	if _, err := access.ParseProxies(h.TrustedProxies); err != nil {
		found.add("trusted-proxies", "--trusted-proxies: %v", err)
	}
	if p := h.PathPrefix; p != "" && (p[0] != '/' || path.Clean(p) != p || p == "/" || strings.Trim(p, prefixLetters) != "") {
		found.add("path-prefix", "--path-prefix %q is not a path such as /sluice: it begins with a slash, ends without one, and has letters, digits and - _ . ~", p)
	}
	if h.KeepAudit == 0 {
		found.add("keep-audit", "--keep-audit is 0; it must be a duration such as 2160h, or negative to keep it for ever")
	}
}

func (c *Config) checkKafka(found *Problems) {
	k := c.Kafka
	if (k.Cert == "") != (k.Key == "") {
		found.add("kafka-cert", "--kafka-cert and --kafka-key go together: give both, or neither")
	}
	switch {
	case k.SASL == "" && (k.User != "" || k.Password != ""):
		found.add("kafka-sasl", "--kafka-user and its password need --kafka-sasl: %s", strings.Join(SASLMechanisms(), ", "))
	case k.SASL != "" && !slices.Contains(SASLMechanisms(), k.SASL):
		found.add("kafka-sasl", "--kafka-sasl is %s, not %q", strings.Join(SASLMechanisms(), ", "), k.SASL)
	case k.SASL != "" && (k.User == "" || k.Password == ""):
		found.add("kafka-sasl", "--kafka-sasl %s needs --kafka-user and its password, in SLUICE_KAFKA_PASSWORD or as --kafka-password @FILE", k.SASL)
	case k.SASL == SASLPlain && !k.Encrypted():
		found.add("kafka-sasl", "--kafka-sasl plain sends the password as it is, which needs --kafka-tls; or use scram-sha-512")
	}
}
