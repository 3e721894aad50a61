package testkit

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"testing"
)

// EncryptedMongo returns the URL of an empty database on the server of Mongo that
// is reached by TLS, without an option that says so. Who connects must show a
// certificate of the authority. The server's end of TLS is in this process: what
// stands in for MongoDB where there is none speaks it in its own words.
func EncryptedMongo(tb testing.TB, by *Authority) string {
	tb.Helper()
	plain, err := url.Parse(Mongo(tb))
	if err != nil {
		tb.Fatalf("testkit: %v", err)
	}
	own := by.Issue(tb, "mongo", loopback...)
	pair, err := tls.LoadX509KeyPair(own.Cert, own.Key)
	if err != nil {
		tb.Fatalf("testkit: %v", err)
	}
	authority, err := os.ReadFile(by.File)
	if err != nil {
		tb.Fatalf("testkit: %v", err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(authority)
	var listen net.ListenConfig
	listener, err := listen.Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("testkit: %v", err)
	}
	tb.Cleanup(func() { _ = listener.Close() })
	go decrypt(tb.Context(), tls.NewListener(listener, &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: trusted,
	}), plain.Host)
	plain.Host = listener.Addr().String()
	return plain.String()
}

// decrypt passes on what comes, until the listener is closed.
func decrypt(ctx context.Context, listener net.Listener, to string) {
	for {
		client, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		go func() {
			defer client.Close()
			server, err := new(net.Dialer).DialContext(ctx, "tcp", to)
			if err != nil {
				return
			}
			defer server.Close()
			go func() {
				_, _ = io.Copy(client, server)
				_ = client.Close()
			}()
			_, _ = io.Copy(server, client)
		}()
	}
}
