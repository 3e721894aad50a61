// Package webhook sends signed notifications to addresses that strangers chose.
//
// They are signed as the Standard Webhooks specification has it, so that
// receivers can verify them with a library of their language. The address is
// judged when it is given and again when it is dialled: nothing is sent into
// networks that only this machine can reach.
package webhook

import (
	"net"
	"net/http"
	"sync"
	"time"

	"sluice/internal/domain"
)

const (
	defaultTimeout    = 10 * time.Second
	defaultMaxPerHost = 8
	defaultUserAgent  = "sluice-webhook/1"
	// idleTime is how long a connection is kept for the next message.
	idleTime = 30 * time.Second
	// maxIdle bounds the connections that are kept, whoever they lead to.
	maxIdle = 256
	// maxAnswerHead bounds what is read of an answer before its body.
	maxAnswerHead = 16 << 10
)

// Options says how notifications are sent. Zero fields have the defaults named.
type Options struct {
	// Secret signs the notifications: whsec_ and base64, or any text of at
	// least 16 bytes. Without one nothing is sent.
	Secret string
	// Unsigned sends without a secret: for receivers whose address is one.
	Unsigned bool
	// AllowPrivate lets addresses be used that are not on the open internet.
	AllowPrivate bool
	// Timeout bounds one attempt; 10 seconds.
	Timeout time.Duration
	// MaxPerHost is how many notifications may be under way to one host; 8.
	MaxPerHost int
	// UserAgent names the sender; sluice-webhook/1.
	UserAgent string
	// Now is the clock; time.Now.
	Now func() time.Time
	// Resolver looks names up; that of the system.
	Resolver *net.Resolver
}

// String keeps the secret out of whatever prints options.
func (o Options) String() string { return "webhook options" }

// GoString keeps the secret out of whatever prints options.
func (o Options) GoString() string { return o.String() }

// Sender sends notifications. It is safe for concurrent use.
type Sender struct {
	options Options
	// sign is nil without a secret. The key is nowhere else, so that no
	// printing of a sender can reveal it.
	sign   signer
	client *http.Client

	mu sync.Mutex
	// underWay counts what was acquired, by host; a host without is absent.
	underWay map[string]int
}

// New makes a sender. A secret that is too short or no base64 is an error of
// code invalid; no secret is none, but Check refuses every address then.
func New(o Options) (*Sender, error) {
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.MaxPerHost <= 0 {
		o.MaxPerHost = defaultMaxPerHost
	}
	if o.UserAgent == "" {
		o.UserAgent = defaultUserAgent
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Resolver == nil {
		o.Resolver = net.DefaultResolver
	}
	s := &Sender{underWay: map[string]int{}}
	if o.Secret != "" {
		sign, err := newSigner(o.Secret)
		if err != nil {
			return nil, err
		}
		s.sign = sign
	}
	o.Secret = ""
	s.options = o
	s.client = &http.Client{
		Transport: s.newTransport(),
		// Whoever answers could lead to an address that nobody judged.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return s, nil
}

// newTransport uses no proxy: it would resolve names itself, out of reach of
// the judgement. It speaks HTTP/1.1 alone, where an attempt is one request.
func (s *Sender) newTransport() *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	dialer := &net.Dialer{Resolver: s.options.Resolver, Control: s.judgeConnection}
	return &http.Transport{
		DialContext:            dialer.DialContext,
		TLSHandshakeTimeout:    s.options.Timeout,
		MaxIdleConns:           maxIdle,
		MaxIdleConnsPerHost:    s.options.MaxPerHost,
		IdleConnTimeout:        idleTime,
		MaxResponseHeaderBytes: maxAnswerHead,
		DisableCompression:     true,
		Protocols:              protocols,
	}
}

// Close ends the connections that are kept for the next message.
func (s *Sender) Close() { s.client.CloseIdleConnections() }

func errNoSecret() error {
	return domain.Errorf(domain.CodeInvalid, "webhooks are signed, and there is no secret to sign them with: "+
		"set SLUICE_WEBHOOK_SECRET to whsec_ and the base64 of 24 to 64 random bytes")
}
