package testkit

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority issues certificates for one test.
type Authority struct {
	// File is its own certificate.
	File string

	folder string
	cert   *x509.Certificate
	key    *ecdsa.PrivateKey
}

// Certificate is a certificate and its key, as PEM files. Both holds the two of
// them in one.
type Certificate struct{ Cert, Key, Both string }

// NewAuthority makes an authority.
func NewAuthority(tb testing.TB) *Authority {
	tb.Helper()
	a := &Authority{folder: tb.TempDir()}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "an authority of tests"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	a.key = newKey(tb)
	der, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	if err != nil {
		tb.Fatalf("testkit: make an authority: %v", err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		tb.Fatalf("testkit: make an authority: %v", err)
	}
	a.File = writePEM(tb, filepath.Join(a.folder, "ca.pem"), &pem.Block{Type: "CERTIFICATE", Bytes: der})
	return a
}

// Issue makes a certificate for hosts: addresses or names. A client's needs none.
func (a *Authority) Issue(tb testing.TB, name string, hosts ...string) Certificate {
	tb.Helper()
	return a.IssueUntil(tb, time.Now().Add(12*time.Hour), name, hosts...)
}

// IssueUntil makes a certificate that ends, or has ended, at an instant.
func (a *Authority) IssueUntil(tb testing.TB, until time.Time, name string, hosts ...string) Certificate {
	tb.Helper()
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		tb.Fatalf("testkit: make a certificate: %v", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: until, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	key := newKey(tb)
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		tb.Fatalf("testkit: make a certificate: %v", err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		tb.Fatalf("testkit: make a certificate: %v", err)
	}
	cert, private := &pem.Block{Type: "CERTIFICATE", Bytes: der}, &pem.Block{Type: "PRIVATE KEY", Bytes: secret}
	path := filepath.Join(a.folder, name)
	return Certificate{
		Cert: writePEM(tb, path+".pem", cert), Key: writePEM(tb, path+".key", private), Both: writePEM(tb, path+".both", private, cert),
	}
}

func newKey(tb testing.TB) *ecdsa.PrivateKey {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatalf("testkit: make a key: %v", err)
	}
	return key
}

func writePEM(tb testing.TB, path string, blocks ...*pem.Block) string {
	tb.Helper()
	var text []byte
	for _, block := range blocks {
		text = append(text, pem.EncodeToMemory(block)...)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		tb.Fatalf("testkit: %v", err)
	}
	return path
}
