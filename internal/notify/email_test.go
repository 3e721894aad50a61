package notify_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"math/big"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/internal/notify"
)

// mailServer speaks SMTP over real connections: enough of it to take messages,
// to want TLS and a login, and to refuse.
type mailServer struct {
	t        *testing.T
	listener net.Listener
	roots    *tls.Config
	config   *tls.Config
	// implicit begins with TLS; plain has no TLS at all; ways are those to log in.
	implicit, plain bool
	ways            string
	// refuse answers RCPT with a code, if set.
	mu     sync.Mutex
	refuse string
	took   []string
	logins []string
}

func startMailServer(t *testing.T, change func(*mailServer)) *mailServer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &mailServer{t: t, listener: listener, ways: "PLAIN LOGIN"}
	s.config, s.roots = certificate(t)
	change(s)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			if s.implicit {
				connection = tls.Server(connection, s.config)
			}
			go s.serve(connection)
		}
	}()
	return s
}

// certificate is that of 127.0.0.1, and whoever believes it.
func certificate(t *testing.T) (server, client *tls.Config) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.ParseIP("127.0.0.1")}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}, &tls.Config{RootCAs: pool}
}

// serve is one session.
func (s *mailServer) serve(connection net.Conn) {
	defer func() { _ = connection.Close() }()
	reader := bufio.NewReader(connection)
	say := func(text string) { _, _ = io.WriteString(connection, text+"\r\n") }
	secure := s.implicit
	say("220 mail.test ready")
	for {
		line, err := reader.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimSpace(line)
		verb, rest, _ := strings.Cut(line, " ")
		switch strings.ToUpper(verb) {
		case "EHLO":
			say("250-mail.test")
			if !secure && !s.plain {
				say("250-STARTTLS")
			}
			say("250 AUTH " + s.ways)
		case "STARTTLS":
			say("220 go on")
			connection = tls.Server(connection, s.config)
			reader, secure = bufio.NewReader(connection), true
		case "AUTH":
			s.login(rest, reader, say)
		case "RCPT":
			if answer := s.refusal(); answer != "" {
				say(answer)
				continue
			}
			say("250 ok")
		case "DATA":
			say("354 go on")
			s.take(reader)
			say("250 taken")
		case "QUIT":
			say("221 bye")
			return
		default:
			say("250 ok")
		}
	}
}

func (s *mailServer) refusal() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refuse
}

func (s *mailServer) login(rest string, reader *bufio.Reader, say func(string)) {
	decode := func(text string) string {
		b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
		if err != nil {
			s.t.Errorf("%q is no base64", text)
		}
		return string(b)
	}
	way, first, _ := strings.Cut(rest, " ")
	var given string
	if way == "PLAIN" {
		given = decode(first)
	} else {
		for _, ask := range []string{"Username:", "Password:"} {
			say("334 " + base64.StdEncoding.EncodeToString([]byte(ask)))
			line, err := reader.ReadString('\n')
			if err != nil {
				return
			}
			given += "\x00" + decode(line)
		}
	}
	s.mu.Lock()
	s.logins = append(s.logins, way)
	s.mu.Unlock()
	if given != "\x00sluice\x00canary-password" {
		say("535 5.7.8 canary-password is wrong")
		return
	}
	say("235 welcome")
}

func (s *mailServer) take(reader *bufio.Reader) {
	var text strings.Builder
	for {
		line, err := reader.ReadString('\n')
		if err != nil || line == ".\r\n" {
			break
		}
		text.WriteString(line)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.took = append(s.took, text.String())
}

func (s *mailServer) target(t *testing.T, security, password string) notify.Targets {
	text := fmt.Sprintf("name: mail, type: email, server: '%s', security: %s, from: 'Sluice <sluice@example.com>', to: [ada@example.com, bob@example.com]", s.listener.Addr(), security)
	if password != "" {
		text += ", user: sluice, password: '@" + secretFile(t, password) + "'"
	}
	return targets(t, "[{"+text+"}]")
}

func TestEmail(t *testing.T) {
	for name, c := range map[string]struct {
		security, ways  string
		implicit, plain bool
		password        string
		login           string
	}{
		"STARTTLS and PLAIN": {security: "starttls", ways: "PLAIN LOGIN", password: "canary-password", login: "PLAIN"},
		"STARTTLS and LOGIN": {security: "starttls", ways: "LOGIN", password: "canary-password", login: "LOGIN"},
		"TLS and PLAIN":      {security: "tls", ways: "PLAIN", implicit: true, password: "canary-password", login: "PLAIN"},
		"a relay":            {security: "none", plain: true},
	} {
		t.Run(name, func(t *testing.T) {
			server := startMailServer(t, func(s *mailServer) { s.implicit, s.plain, s.ways = c.implicit, c.plain, c.ways })
			w := newWorld(t, t.TempDir(), server.target(t, c.security, c.password))
			w.Trust(server.roots)
			w.pauses("아다")
			w.round()
			w.pass(time.Minute)
			w.round()
			if list := w.list(notify.Query{State: notify.Sent}); len(list) != 1 {
				t.Fatalf("the messages are %+v", w.list(notify.Query{}))
			}
			read, err := mail.ReadMessage(strings.NewReader(server.took[0]))
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(quotedprintable.NewReader(read.Body))
			id := w.list(notify.Query{})[0].ID
			if err != nil || !strings.Contains(string(body), "github 아다: the token is refused") || !strings.Contains(string(body), id) {
				t.Errorf("the body is %s, %v", body, err)
			}
			for header, want := range map[string]string{
				"Subject": "Sluice: An account was paused", "Message-ID": "<" + id + "@example.com>",
				"To": "<ada@example.com>, <bob@example.com>", "From": `"Sluice" <sluice@example.com>`, "Auto-Submitted": "auto-generated",
			} {
				if got := read.Header.Get(header); got != want {
					t.Errorf("%s is %q, want %q", header, got, want)
				}
			}
			if _, err := read.Header.Date(); err != nil {
				t.Error(err)
			}
			if c.login != "" && (len(server.logins) != 1 || server.logins[0] != c.login) {
				t.Errorf("it logged in by %v", server.logins)
			}
		})
	}
}

// TestEmailThatIsNotTaken: what a server says is told without the password, which
// goes nowhere that others can read.
func TestEmailThatIsNotTaken(t *testing.T) {
	for name, c := range map[string]struct {
		change    func(*mailServer)
		security  string
		password  string
		trusts    bool
		permanent bool
		says      string
	}{
		"a wrong password":    {func(*mailServer) {}, "starttls", "other-password", true, false, "535"},
		"nobody is there":     {func(s *mailServer) { s.refuse = "550 5.1.1 no such user" }, "starttls", "canary-password", true, true, "ada@example.com: 550"},
		"a full box":          {func(s *mailServer) { s.refuse = "452 4.2.2 full" }, "starttls", "canary-password", true, false, "452"},
		"no STARTTLS":         {func(s *mailServer) { s.plain = true }, "starttls", "canary-password", true, false, "does not offer STARTTLS"},
		"a false certificate": {func(*mailServer) {}, "starttls", "canary-password", false, false, "certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			server := startMailServer(t, c.change)
			w := newWorld(t, t.TempDir(), server.target(t, c.security, c.password))
			if c.trusts {
				w.Trust(server.roots)
			}
			done, err := w.SendTest(t.Context(), "mail")
			if err != nil || len(done) != 1 || done[0].OK || done[0].Permanent != c.permanent || !strings.Contains(done[0].Error, c.says) ||
				strings.Contains(done[0].Error, "other-password") || len(server.took) != 0 {
				t.Errorf("got %+v, %v", done, err)
			}
		})
	}
}
