package mysql

import (
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"sluice/internal/certificate"
	"sluice/internal/domain"
)

// tlsModes are the values of ?tls= in a URL.
var tlsModes = []string{"true", "false", "skip-verify", "preferred"}

// parameters are what may follow a URL after the question mark: tls, and files of
// the authorities that the server's certificate is from, and of a certificate of
// the client's own.
var parameters = []string{"tls", "ca", "cert", "key"}

// parseURL turns mysql://user:password@host:port/database?tls=… into the
// driver's words. What is wrong is told without the URL, as it may hold the
// password.
func parseURL(text string) (*mysql.Config, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "mysql" || u.Hostname() == "" {
		return nil, domain.Errorf(domain.CodeInvalid,
			"the MySQL URL %s cannot be understood; it is like mysql://user:password@host:3306/database, with %%-escapes for special characters", Redact(text))
	}
	config := mysql.NewConfig()
	config.User = u.User.Username()
	config.Passwd, _ = u.User.Password()
	port := u.Port()
	if port == "" {
		port = "3306"
	}
	config.Net, config.Addr = "tcp", net.JoinHostPort(u.Hostname(), port)
	config.DBName = strings.TrimPrefix(u.Path, "/")
	if config.DBName == "" || strings.Contains(config.DBName, "/") {
		return nil, domain.Errorf(domain.CodeInvalid, "the MySQL URL %s names no database; it is like mysql://user:password@host:3306/database", Redact(text))
	}
	query := u.Query()
	for name, values := range query {
		if !slices.Contains(parameters, name) || len(values) != 1 || name == "tls" && !slices.Contains(tlsModes, values[0]) {
			return nil, domain.Errorf(domain.CodeInvalid, "the MySQL URL %s has an unknown parameter %s; there are tls=%s, and the files ca, cert and key",
				Redact(text), name, strings.Join(tlsModes, "|"))
		}
	}
	config.TLSConfig = query.Get("tls")
	if query.Has("ca") || query.Has("cert") || query.Has("key") {
		if config.TLSConfig != "" && config.TLSConfig != "true" {
			return nil, domain.Errorf(domain.CodeInvalid, "the MySQL URL %s has tls=%s beside ca, cert or key, which need tls=true", Redact(text), config.TLSConfig)
		}
		config.TLSConfig = ""
		if config.TLS, err = certificate.Files(query.Get("ca"), query.Get("cert"), query.Get("key")); err != nil {
			return nil, domain.Errorf(domain.CodeInvalid, "the MySQL URL %s: %w", Redact(text), err)
		}
		config.TLS.ServerName = u.Hostname()
	}
	return config, nil
}

// Redact returns a URL without its password. Where the password would be is
// not known of anything else, such as user:password@tcp(host)/database, so that
// nothing of it is returned.
func Redact(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return "(not a URL)"
	}
	return u.Redacted()
}

const (
	dialTimeout = 5 * time.Second
	// readTimeout is longer than any statement may wait for a lock.
	readTimeout  = 30 * time.Second
	writeTimeout = 30 * time.Second
)

// tune sets how the driver behaves.
func tune(config *mysql.Config) {
	config.Timeout, config.ReadTimeout, config.WriteTimeout = dialTimeout, readTimeout, writeTimeout
	// One round trip a statement instead of three; with utf8mb4 the escapes
	// that this needs are safe.
	config.InterpolateParams = true
	// A transaction begins with its first statement, in one trip, and Batch
	// sends several at once. What is joined is made of constants and numbers;
	// texts and bytes are never part of a statement but passed beside it, and
	// escaped, so that none of them can begin a statement of its own.
	config.MultiStatements = true
	// RowsAffected counts rows that changed: that tells an inserted row from
	// one that ON DUPLICATE KEY UPDATE left as it was, and spares the question.
	config.ClientFoundRows = false
	// The server is asked how large a packet may be.
	config.MaxAllowedPacket = 0
	// A server that became read-only is no longer the primary: the connection
	// is given up, so that the next one goes to whoever is.
	config.RejectReadOnly = true
	config.CheckConnLiveness = true
	// It would write to the standard error what is returned as an error anyway.
	config.Logger = &mysql.NopLogger{}
}
