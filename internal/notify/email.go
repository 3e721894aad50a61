package notify

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"net/smtp"
	"net/textproto"
	"strings"
	"time"

	"sluice/internal/domain"
	"sluice/internal/webhook"
)

// mailbox is a target that is reached by e-mail. A connection serves one message:
// they are seldom.
type mailbox struct {
	target   Target
	host     string
	password string
	from     *mail.Address
	to       []*mail.Address
	now      func() time.Time
	// roots, if set, are whom to trust instead of the system's, for tests.
	roots *tls.Config
}

// String keeps the password out of whatever prints a mailbox.
func (b *mailbox) String() string { return "mailbox " + b.target.Name }

// GoString keeps the password out of whatever prints a mailbox.
func (b *mailbox) GoString() string { return b.String() }

func openEmail(t Target, o SenderOptions) (*mailbox, error) {
	b := &mailbox{target: t, now: o.Now}
	var err error
	if b.host, _, err = net.SplitHostPort(t.Server); err != nil {
		return nil, domain.Errorf(domain.CodeInvalid, "notify: the mail server of target %s is not HOST:PORT", t.Name)
	}
	if b.password, err = t.reveal("password", t.Password); err != nil {
		return nil, err
	}
	if b.from, err = mail.ParseAddress(t.From); err != nil {
		return nil, domain.Errorf(domain.CodeInvalid, "notify: from of target %s is not an address", t.Name)
	}
	for _, one := range t.To {
		address, err := mail.ParseAddress(one)
		if err != nil {
			return nil, domain.Errorf(domain.CodeInvalid, "notify: to of target %s has what is not an address", t.Name)
		}
		b.to = append(b.to, address)
	}
	return b, nil
}

func (b *mailbox) close() {}

func (b *mailbox) send(ctx context.Context, m *Message) webhook.Result {
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	err := b.deliver(ctx, m)
	if err == nil {
		return webhook.Result{OK: true}
	}
	result := webhook.Result{Error: "the mail server " + b.target.Server + ": " + clip(b.withoutSecret(err.Error()))}
	var answer *textproto.Error
	if errors.As(err, &answer) {
		result.Status = answer.Code
		// What a server refuses for good it refuses again; but who it lets in may
		// be put right on its side.
		result.Permanent = answer.Code/100 == 5 && answer.Code != 535 && answer.Code != 530 && answer.Code != 534 && answer.Code != 538
	}
	return result
}

// withoutSecret guards against a server that repeats what it was told.
func (b *mailbox) withoutSecret(text string) string {
	if b.password == "" {
		return text
	}
	return strings.ReplaceAll(text, b.password, "…")
}

func (b *mailbox) deliver(ctx context.Context, m *Message) error {
	client, err := b.dial(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	if b.password != "" {
		if err := client.Auth(b.login(client)); err != nil {
			return fmt.Errorf("log in as %s: %w", b.target.User, err)
		}
	}
	if err := client.Mail(b.from.Address); err != nil {
		return err
	}
	for _, one := range b.to {
		if err := client.Rcpt(one.Address); err != nil {
			return fmt.Errorf("send to %s: %w", one.Address, err)
		}
	}
	body, err := client.Data()
	if err != nil {
		return err
	}
	if _, err := body.Write(b.text(m)); err != nil {
		return err
	}
	// It is taken when this is answered; what comes after changes nothing.
	if err := body.Close(); err != nil {
		return err
	}
	_ = client.Quit()
	return nil
}

// dial connects, and sees to it that nobody on the way can listen.
func (b *mailbox) dial(ctx context.Context) (*smtp.Client, error) {
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", b.target.Server)
	if err != nil {
		return nil, err
	}
	if deadline, ok := ctx.Deadline(); ok {
		if err := connection.SetDeadline(deadline); err != nil {
			return nil, errors.Join(err, connection.Close())
		}
	}
	secure := &tls.Config{ServerName: b.host, MinVersion: tls.VersionTLS12}
	if b.roots != nil {
		secure.RootCAs = b.roots.RootCAs
	}
	if b.target.Security == SecurityTLS {
		connection = tls.Client(connection, secure)
	}
	client, err := smtp.NewClient(connection, b.host)
	if err != nil {
		return nil, errors.Join(err, connection.Close())
	}
	if b.target.Security != SecurityStartTLS {
		return client, nil
	}
	if offered, _ := client.Extension("STARTTLS"); !offered {
		return nil, errors.Join(errors.New("it does not offer STARTTLS; set security: tls if its port is one for TLS from the beginning (465), or none if the way to it is safe"), client.Close())
	}
	if err := client.StartTLS(secure); err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return client, nil
}

// login chooses how to log in: some servers know nothing but LOGIN.
func (b *mailbox) login(client *smtp.Client) smtp.Auth {
	_, ways := client.Extension("AUTH")
	offered := strings.Fields(strings.ToUpper(ways))
	for _, way := range offered {
		if way == "PLAIN" {
			return smtp.PlainAuth("", b.target.User, b.password, b.host)
		}
	}
	return &loginAuth{b.target.User, b.password}
}

// loginAuth is the way LOGIN: the server asks for the name and the password.
type loginAuth struct{ user, password string }

// Start implements smtp.Auth.
func (a *loginAuth) Start(server *smtp.ServerInfo) (string, []byte, error) {
	if !server.TLS {
		return "", nil, errors.New("the password is not sent over a connection that others can read")
	}
	return "LOGIN", nil, nil
}

// Next implements smtp.Auth.
func (a *loginAuth) Next(asked []byte, more bool) ([]byte, error) {
	if !more {
		return nil, nil
	}
	switch strings.ToLower(strings.TrimRight(string(asked), ": ")) {
	case "username", "user name":
		return []byte(a.user), nil
	case "password":
		return []byte(a.password), nil
	}
	return nil, errors.New("it asks for something else than a user name and a password")
}

// text is the whole message. Its id is that of the notification, so that a mailbox
// can tell what it has.
func (b *mailbox) text(m *Message) []byte {
	addresses := make([]string, len(b.to))
	for i, one := range b.to {
		addresses[i] = one.String()
	}
	_, domainName, _ := strings.Cut(b.from.Address, "@")
	var text bytes.Buffer
	for _, header := range [][2]string{
		{"From", b.from.String()}, {"To", strings.Join(addresses, ", ")},
		{"Subject", mime.QEncoding.Encode("utf-8", "Sluice: "+m.Title())},
		{"Date", m.CreatedAt.Format(time.RFC1123Z)}, {"Message-ID", "<" + m.ID + "@" + domainName + ">"},
		{"Auto-Submitted", "auto-generated"}, {"MIME-Version", "1.0"},
		{"Content-Type", "text/plain; charset=utf-8"}, {"Content-Transfer-Encoding", "quoted-printable"},
	} {
		text.WriteString(header[0] + ": " + header[1] + "\r\n")
	}
	text.WriteString("\r\n")
	body := quotedprintable.NewWriter(&text)
	// A buffer takes everything.
	_, _ = body.Write([]byte(m.Title() + ".\r\n\r\n" + strings.Join(m.Lines(), "\r\n") + "\r\n\r\n-- \r\nnotification " + m.ID + "\r\n"))
	_ = body.Close()
	return text.Bytes()
}
