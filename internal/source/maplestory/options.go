package maplestory

import (
	"cmp"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"sluice/internal/domain"
	"sluice/internal/quota/rate"
	"sluice/internal/source/trim"
)

// Options configures a Source. Key has no default.
type Options struct {
	// BaseURL is where the API is; https://open.api.nexon.com by default.
	BaseURL string
	// Key is the API key. It appears in no error and no address.
	Key string
	// Limits are what the key allows of calls; whoever calls keeps to them.
	Limits rate.Limits
	// Fields is what is kept of an answer, see DefaultFields; nil means those.
	Fields []string
	// MaxBody bounds the size of an answer; 8 MiB by default.
	MaxBody int64
	// Timeout bounds one call, its body included; 10 s by default.
	Timeout time.Duration
	// Transport carries requests; nil means the package's own.
	Transport http.RoundTripper
	// Now is the local clock; nil means time.Now.
	Now func() time.Time
}

// Source reads from one API with one key. It is safe for concurrent use.
type Source struct {
	opt     Options
	base    *url.URL
	fields  map[string]*trim.Fields
	buffers sync.Pool // of *workspace
}

// New makes a Source, or says which option is wrong.
func New(opt Options) (*Source, error) {
	opt.BaseURL = strings.TrimRight(cmp.Or(opt.BaseURL, "https://open.api.nexon.com"), "/")
	opt.MaxBody = cmp.Or(opt.MaxBody, 8<<20)
	opt.Timeout = cmp.Or(opt.Timeout, 10*time.Second)
	if opt.Fields == nil {
		opt.Fields = DefaultFields()
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Transport == nil {
		opt.Transport = newTransport()
	}
	if opt.Timeout < 0 || opt.MaxBody < 0 {
		return nil, domain.Errorf(domain.CodeInvalid, "maplestory: timeout and size cannot be negative")
	}
	if !isHeaderValue(opt.Key) {
		return nil, domain.Errorf(domain.CodeInvalid, "maplestory: an API key is needed, of visible characters without spaces; make one at openapi.nexon.com")
	}
	base, err := parseBase(opt.BaseURL)
	if err != nil {
		return nil, err
	}
	fields, err := compileFields(opt.Fields)
	if err != nil {
		return nil, err
	}
	s := &Source{opt: opt, base: base, fields: fields}
	s.buffers.New = func() any { return &workspace{} }
	return s, nil
}

func isHeaderValue(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

func parseBase(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return nil, domain.Errorf(domain.CodeInvalid, "maplestory: this is not a base URL; give only scheme and host, such as https://open.api.nexon.com")
	}
	return u, nil
}

// newTransport speaks HTTP/1.1 alone, where it is certain whether a request was
// sent twice, and reads large answers in large pieces.
func newTransport() *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout: 5 * time.Second,
		MaxIdleConns:        512,
		MaxIdleConnsPerHost: 512,
		IdleConnTimeout:     90 * time.Second,
		ReadBufferSize:      16 << 10,
		Protocols:           protocols,
	}
}
