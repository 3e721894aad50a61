// Package certificate reads certificates from files: those of a server, which are
// read again when the files change (Server), and those that a client trusts
// (Client).
package certificate

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"syscall"
	"time"

	"sluice/internal/domain"
)

// Server is a server's certificate in two files. They are looked at whenever
// somebody connects, and at no other time.
type Server struct {
	cert, key string
	log       *slog.Logger

	mu      sync.Mutex
	current *tls.Certificate
	// seen are the files as they were when they were last read.
	seen [2]fs.FileInfo
}

// Open reads a certificate chain and its key.
func Open(cert, key string, log *slog.Logger) (*Server, error) {
	s := &Server{cert: cert, key: key, log: log}
	seen, err := s.look()
	if err == nil {
		s.seen = seen
		s.current, err = Load(cert, key)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Load reads a certificate chain and its key, once.
func Load(cert, key string) (*tls.Certificate, error) {
	chain, err := readFile(cert)
	if err != nil {
		return nil, err
	}
	private, err := readFile(key)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(chain, private)
	if err != nil {
		return nil, domain.Errorf(domain.CodeInvalid, "the certificate %s and the key %s cannot be used; they are PEM files that belong together: %w", cert, key, err)
	}
	return &pair, nil
}

// mostOfFile bounds what is read of a file, far above what a certificate has.
const mostOfFile = 1 << 20

// readFile reads a file, and never waits for somebody to write it: what is no file,
// such as a pipe, is refused.
func readFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, domain.Errorf(domain.CodeInvalid, "the certificate cannot be read: %w", err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		return nil, domain.Errorf(domain.CodeInvalid, "%s is not a regular file; certificates and keys are PEM files", path)
	}
	var text []byte
	if err == nil {
		text, err = io.ReadAll(io.LimitReader(f, mostOfFile))
	}
	if err != nil {
		return nil, domain.Errorf(domain.CodeInvalid, "the certificate cannot be read: %w", err)
	}
	return text, nil
}

// worse says why a certificate must not replace one that is good: it has ended.
func worse(renewed, current *tls.Certificate, now time.Time) error {
	ended := func(c *tls.Certificate) bool { return now.After(c.Leaf.NotAfter) }
	if !ended(renewed) || ended(current) {
		return nil
	}
	return domain.Errorf(domain.CodeInvalid, "it was valid until %s only", renewed.Leaf.NotAfter.UTC().Format(time.RFC3339))
}

func (s *Server) look() (seen [2]fs.FileInfo, err error) {
	for i, path := range []string{s.cert, s.key} {
		if seen[i], err = os.Stat(path); err != nil {
			return seen, domain.Errorf(domain.CodeInvalid, "the certificate cannot be read: %w", err)
		}
	}
	return seen, nil
}

// same says whether a file was left alone.
func same(a, b fs.FileInfo) bool {
	return a != nil && b != nil && os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}

// Certificate returns what the files hold, or held when they were last good.
func (s *Server) Certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen, err := s.look()
	if same(seen[0], s.seen[0]) && same(seen[1], s.seen[1]) {
		return s.current, nil
	}
	// What is wrong is told once, until the files change again.
	known := err != nil && s.seen[0] == nil && s.seen[1] == nil
	s.seen = seen
	if err == nil {
		var renewed *tls.Certificate
		if renewed, err = Load(s.cert, s.key); err == nil {
			err = worse(renewed, s.current, time.Now())
		}
		if err == nil {
			s.current = renewed
			s.log.Info("the certificate was renewed", "file", s.cert, "until", renewed.Leaf.NotAfter.UTC().Format(time.RFC3339))
			return s.current, nil
		}
	} else {
		s.seen = [2]fs.FileInfo{}
	}
	if !known {
		s.log.Error("the new certificate cannot be used; the old one is", "error", err)
	}
	return s.current, nil
}

// Config is what a server is told.
func (s *Server) Config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: s.Certificate, NextProtos: []string{"h2", "http/1.1"}}
}

// Client is what a client is told that trusts the authorities of a PEM file beside
// the system's; "" is the system's alone.
func Client(authorities string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if authorities == "" {
		return config, nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if err := add(pool, authorities); err != nil {
		return nil, err
	}
	config.RootCAs = pool
	return config, nil
}

// Only is Client without the system's authorities.
func Only(authorities string) (*tls.Config, error) {
	pool := x509.NewCertPool()
	if err := add(pool, authorities); err != nil {
		return nil, err
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}, nil
}

func add(pool *x509.CertPool, path string) error {
	text, err := readFile(path)
	if err != nil {
		return domain.Errorf(domain.CodeInvalid, "the authorities to trust cannot be read: %w", err)
	}
	if !pool.AppendCertsFromPEM(text) {
		return domain.Errorf(domain.CodeInvalid, "%s holds no certificates; it must be a PEM file", path)
	}
	return nil
}

// Pinned adds to what a client trusts the certificate in a file itself, whatever
// its names are: that of a service on the same machine.
func Pinned(config *tls.Config, cert string) (*tls.Config, error) {
	text, err := readFile(cert)
	if err != nil {
		return nil, domain.Errorf(domain.CodeInvalid, "the service's certificate cannot be read: %w", err)
	}
	own := x509.NewCertPool()
	if !own.AppendCertsFromPEM(text) {
		return nil, domain.Errorf(domain.CodeInvalid, "%s holds no certificates; it must be a PEM file", cert)
	}
	pinned := config.Clone()
	pinned.InsecureSkipVerify = true // VerifyConnection does it, for the file's certificate too
	pinned.VerifyConnection = func(s tls.ConnectionState) error {
		leaf, between := s.PeerCertificates[0], x509.NewCertPool()
		for _, c := range s.PeerCertificates[1:] {
			between.AddCert(c)
		}
		_, err := leaf.Verify(x509.VerifyOptions{Roots: config.RootCAs, Intermediates: between, DNSName: s.ServerName})
		if err == nil {
			return nil
		}
		// Whoever shows a certificate also has its key.
		if _, known := leaf.Verify(x509.VerifyOptions{Roots: own, Intermediates: between}); known == nil {
			return nil
		}
		return err
	}
	return pinned, nil
}

// Files is what a client is told that trusts the authorities of one file alone, if
// that is given, and shows a certificate of its own, if that is. That one is read
// for every connection, so that it can be renewed.
func Files(authorities, cert, key string) (config *tls.Config, err error) {
	config = &tls.Config{MinVersion: tls.VersionTLS12}
	if authorities != "" {
		if config, err = Only(authorities); err != nil {
			return nil, err
		}
	}
	if cert == "" && key == "" {
		return config, nil
	}
	if _, err := Load(cert, key); err != nil {
		return nil, err
	}
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return Load(cert, key) }
	return config, nil
}
