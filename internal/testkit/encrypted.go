package testkit

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// loopback is whom the certificates of servers are for.
var loopback = []string{"127.0.0.1", "localhost"}

// StartEncryptedRedis starts a Redis for this test alone that can be reached by
// TLS, and returns its URL (rediss://127.0.0.1:PORT).
func StartEncryptedRedis(tb testing.TB, by *Authority) string {
	tb.Helper()
	work, err := current.open()
	if err != nil {
		tb.Fatalf("testkit: %v", err)
	}
	port, err := work.port()
	if err != nil {
		tb.Fatalf("testkit: %v", err)
	}
	own := by.Issue(tb, "redis", loopback...)
	StartRedis(tb, "--tls-port", strconv.Itoa(port), "--tls-cert-file", own.Cert, "--tls-key-file", own.Key,
		"--tls-ca-cert-file", by.File, "--tls-auth-clients", "no")
	return "rediss://" + address(port)
}

// StartEncryptedPostgres starts a PostgreSQL for this test alone that can be
// reached by TLS, and returns the URL of an empty database, without an sslmode.
func StartEncryptedPostgres(tb testing.TB, by *Authority) string {
	tb.Helper()
	prog, err := current.postgresProgram()
	if err != nil {
		current.refuse(tb, err)
	}
	own := by.Issue(tb, "postgres", loopback...)
	prepare, arguments := prog.prepare, prog.arguments
	// It insists on a key that is its own user's.
	prog.prepare = func(data string) error {
		if err := prepare(data); err != nil {
			return err
		}
		for name, path := range map[string]string{"server.pem": own.Cert, "server.key": own.Key} {
			text, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(filepath.Join(data, name), text, 0o600)
			}
			if err != nil {
				return fmt.Errorf("give PostgreSQL its certificate: %w", err)
			}
		}
		return prog.user.own(filepath.Dir(data))
	}
	prog.arguments = func(data string, port int) []string {
		return append(arguments(data, port), "-c", "ssl=on", "-c", "ssl_cert_file=server.pem", "-c", "ssl_key_file=server.key")
	}
	server := current.serve(tb, prog, func(port int) string { return "postgres://" + postgresUser + "@" + address(port) + "/" + ownDatabase })
	if err := createPostgresDatabase(tb.Context(), server.process.port, ownDatabase); err != nil {
		tb.Fatalf("testkit: %v", err)
	}
	return server.URL()
}

// StartEncryptedMariaDB starts a MariaDB for this test alone that can be reached by
// TLS, and returns the URL of an empty database.
func StartEncryptedMariaDB(tb testing.TB, by *Authority) string {
	tb.Helper()
	prog, err := current.mariadbProgram()
	if err != nil {
		current.refuse(tb, err)
	}
	own := by.Issue(tb, "mariadb", loopback...)
	arguments := prog.arguments
	prog.arguments = func(data string, port int) []string {
		return append(arguments(data, port), "--ssl-ca="+by.File, "--ssl-cert="+own.Cert, "--ssl-key="+own.Key)
	}
	server := current.serve(tb, prog, func(port int) string { return mariadbURL(port, ownDatabase) })
	if err := createDatabase(tb.Context(), server.process.port, ownDatabase); err != nil {
		tb.Fatalf("testkit: %v", err)
	}
	return server.URL()
}
