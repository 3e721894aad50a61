package certificate_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sluice/internal/certificate"
	"sluice/internal/domain"
	"sluice/internal/httpapi"
	"sluice/internal/testkit"
)

// install puts a certificate where a server has its own, as a program that renews
// it would.
func install(t *testing.T, from testkit.Certificate, cert, key string) {
	t.Helper()
	for source, target := range map[string]string{from.Cert: cert, from.Key: key} {
		text, err := os.ReadFile(source)
		if err == nil {
			err = os.WriteFile(target+".new", text, 0o600)
		}
		if err == nil {
			err = os.Rename(target+".new", target)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// name is whom the certificate is for that a server shows now.
func name(t *testing.T, s *certificate.Server) string {
	t.Helper()
	got, err := s.Certificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	return got.Leaf.Subject.CommonName
}

func TestRenewedCertificate(t *testing.T) {
	authority := testkit.NewAuthority(t)
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "tls.pem"), filepath.Join(dir, "tls.key")
	var log strings.Builder
	logger := slog.New(slog.NewTextHandler(&log, nil))
	if _, err := certificate.Open(cert, key, logger); domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), cert) {
		t.Errorf("without files: %v", err)
	}
	install(t, authority.Issue(t, "one", "localhost"), cert, key)
	s, err := certificate.Open(cert, key, logger)
	if err != nil {
		t.Fatal(err)
	}
	if got := name(t, s); got != "one" || log.Len() > 0 {
		t.Errorf("it shows %q, and the log says %s", got, log.String())
	}
	two := authority.Issue(t, "two", "localhost")
	install(t, two, cert, key)
	if got := name(t, s); got != "two" || !strings.Contains(log.String(), "renewed") {
		t.Errorf("it shows %q, and the log says %s", got, log.String())
	}
	// Half of a pair, something else, or nothing: the old one stays, and that is
	// said once.
	three := authority.Issue(t, "three", "localhost")
	for what, spoil := range map[string]func() error{
		"another's key": func() error { install(t, testkit.Certificate{Cert: three.Cert, Key: two.Key}, cert, key); return nil },
		"one that has ended": func() error {
			install(t, authority.IssueUntil(t, time.Now().Add(-time.Minute), "ended", "localhost"), cert, key)
			return nil
		},
		"a pipe": func() error {
			// Whoever opens it waits for somebody to write.
			return errors.Join(os.Remove(key), syscall.Mkfifo(key, 0o600))
		},
		"no PEM":  func() error { return os.WriteFile(cert, []byte("nonsense"), 0o600) },
		"nothing": func() error { return os.Remove(key) },
	} {
		install(t, two, cert, key)
		if got := name(t, s); got != "two" {
			t.Errorf("%s: it shows %q", what, got)
		}
		log.Reset()
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if got := name(t, s); got != "two" {
				t.Errorf("%s: it shows %q", what, got)
			}
		}
		if said := strings.Count(log.String(), "cannot be used; the old one is"); said != 1 {
			t.Errorf("%s: the log says %s", what, log.String())
		}
	}
	install(t, three, cert, key)
	if got := name(t, s); got != "three" {
		t.Errorf("it shows %q", got)
	}
}

// TestServer serves by TLS: to whom trusts the authority, or the certificate, and
// by no protocol that is too old.
func TestServer(t *testing.T) {
	authority, other := testkit.NewAuthority(t), testkit.NewAuthority(t)
	own := authority.Issue(t, "service", "service.example")
	server, err := certificate.Open(own.Cert, own.Key, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- httpapi.Serve(ctx, l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, r.Proto)
		}), httpapi.ServerOptions{TLS: server.Config(), Connections: 4, Patience: time.Second})
	}()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	trusting := func(file string) *tls.Config {
		c, err := certificate.Client(file)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	pinned := func(c *tls.Config, file string) *tls.Config {
		c, err := certificate.Pinned(c, file)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	named := trusting(authority.File)
	named.ServerName = "service.example"
	old := named.Clone()
	old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	for what, c := range map[string]struct {
		config *tls.Config
		fails  bool
	}{
		"the authority":             {named, false},
		"another name":              {trusting(authority.File), true},
		"another authority":         {trusting(other.File), true},
		"the system":                {trusting(""), true},
		"an old protocol":           {old, true},
		"the certificate itself":    {pinned(trusting(""), own.Cert), false},
		"another certificate":       {pinned(trusting(""), other.Issue(t, "x", "service.example").Cert), true},
		"an authority and the file": {pinned(named, other.File), false},
	} {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: c.config, ForceAttemptHTTP2: true}}
		res, err := client.Get("https://" + l.Addr().String())
		if (err != nil) != c.fails {
			t.Errorf("%s: %v", what, err)
		}
		if err != nil {
			continue
		}
		text, err := io.ReadAll(res.Body)
		if err := res.Body.Close(); err != nil {
			t.Error(err)
		}
		if err != nil || string(text) != "HTTP/2.0" {
			t.Errorf("%s: got %q, %v", what, text, err)
		}
		client.CloseIdleConnections()
	}
	res, err := http.Get("http://" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusBadRequest {
		t.Errorf("without TLS: %s", res.Status)
	}
}

func TestFilesThatAreNone(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.pem")
	if err := os.WriteFile(bad, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{bad, "/nowhere.pem"} {
		for what, open := range map[string]func() error{
			"client": func() error { _, err := certificate.Client(file); return err },
			"files":  func() error { _, err := certificate.Files(file, "", ""); return err },
			"own":    func() error { _, err := certificate.Files("", file, file); return err },
			"pinned": func() error {
				_, err := certificate.Pinned(&tls.Config{MinVersion: tls.VersionTLS12}, file)
				return err
			},
		} {
			if err := open(); domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), file) {
				t.Errorf("%s of %s: %v", what, file, err)
			}
		}
	}
}
