package wiring

import (
	"log/slog"

	"sluice/internal/backend/kafka"
	"sluice/internal/config"
)

// KafkaOptions are what was set about Kafka.
func KafkaOptions(c config.Config, log *slog.Logger) kafka.Options {
	k := c.Kafka
	return kafka.Options{URL: "kafka://" + c.Refresh.Kafka, Prefix: k.Prefix, Log: log, Security: kafka.Security{
		TLS: k.Encrypted(), CA: k.CA, Cert: k.Cert, Key: k.Key, Mechanism: k.SASL, User: k.User, Password: k.Password,
	}}
}
