package github

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"sluice/internal/domain"
	"sluice/internal/source"
)

const apiVersion = "2022-11-28"

// request is one call to be made: a GET of a REST target, or a GraphQL query.
type request struct {
	// target is path and query below the base URL; empty for GraphQL.
	target string
	etag   string
	// query is a GraphQL request's body; with a target, what is posted to it.
	query []byte
}

// answer is what GitHub said.
type answer struct {
	status int
	header http.Header
	body   []byte
	// date is GitHub's clock when it answered, zero if it did not say; asked is
	// the local one when it was asked; took is the time between.
	date, asked time.Time
	took        time.Duration
}

// upstream is one GitHub: where it is, and how it is asked.
type upstream struct {
	opt     Options
	rest    *url.URL
	graphql *url.URL
}

// fetch sends a request once and reads the answer. Without an answer the
// Result says why.
func (g *upstream) fetch(ctx context.Context, token string, r request) (*answer, *source.Result) {
	if ctx.Err() != nil {
		return nil, stopped(true)
	}
	callCtx, cancel := context.WithTimeout(ctx, g.opt.Timeout)
	defer cancel()
	req, err := g.newRequest(callCtx, token, r)
	if err != nil {
		return nil, &source.Result{Verdict: source.Fail, Free: true, Failure: failure(domain.FailureInvalid, "%s", err)}
	}
	asked := g.opt.Now()
	resp, err := g.opt.Transport.RoundTrip(req)
	if err != nil {
		return nil, g.noAnswer(ctx, callCtx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	a := &answer{status: resp.StatusCode, header: resp.Header, asked: asked, took: max(g.opt.Now().Sub(asked), 0)}
	if date, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		a.date = date
	}
	a.body, err = g.readBody(resp)
	if err != nil {
		res := g.cutOff(ctx, callCtx, err)
		res.Quota = rateOf(a, "")
		return nil, res
	}
	if a.status >= http.StatusBadRequest && token != "" {
		// Before anything is quoted from it: a shortened secret is one still.
		a.body = bytes.ReplaceAll(a.body, []byte(token), []byte(hiddenToken))
	}
	return a, nil
}

func (g *upstream) newRequest(ctx context.Context, token string, r request) (*http.Request, error) {
	req := &http.Request{Method: http.MethodGet, Host: g.rest.Host, Header: make(http.Header, 6), Body: unrepeatable{}}
	if r.query != nil {
		req.Method, req.URL = http.MethodPost, g.graphql
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(r.query)), int64(len(r.query))
	}
	if r.query == nil || r.target != "" {
		u, err := g.resolve(r.target)
		if err != nil {
			return nil, errors.New("the address of the call cannot be made into a request")
		}
		req.URL = u
	}
	h := req.Header
	h["User-Agent"] = []string{g.opt.UserAgent}
	h["Accept"] = []string{"application/vnd.github+json"}
	h["X-Github-Api-Version"] = []string{apiVersion}
	if token != "" {
		h["Authorization"] = []string{"Bearer " + token}
	}
	if r.query != nil {
		h["Content-Type"] = []string{"application/json"}
	}
	if r.etag != "" {
		h["If-None-Match"] = []string{r.etag}
	}
	return req.WithContext(ctx), nil
}

// unrepeatable is an empty body. net/http silently sends a GET again when a
// reused connection dies before the answer, unless the request has a body that
// it cannot rewind; an upstream that counts would count both.
type unrepeatable struct{}

// Read implements io.Reader.
func (unrepeatable) Read([]byte) (int, error) { return 0, io.EOF }

// Close implements io.Closer.
func (unrepeatable) Close() error { return nil }

// resolve makes a target's address. Whatever the target says, the host is the
// configured one.
func (g *upstream) resolve(target string) (*url.URL, error) {
	ref, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	u := *g.rest
	u.Path += ref.Path
	u.RawPath = ""
	u.RawQuery = ref.RawQuery
	return &u, nil
}

// targetOf turns an address that GitHub named into a target: path and query
// below the base URL. It reports whether the address is on the same host.
func (g *upstream) targetOf(address string) (target string, sameHost bool) {
	u, err := url.Parse(address)
	if err != nil || u.Path == "" {
		return "", false
	}
	same := u.Host == "" || (strings.EqualFold(u.Host, g.rest.Host) && (u.Scheme == "" || u.Scheme == g.rest.Scheme))
	ref := url.URL{Path: strings.TrimPrefix(u.Path, g.rest.Path), RawQuery: u.RawQuery}
	return ref.String(), same
}

var errTooLarge = errors.New("the answer is too large")

func (g *upstream) readBody(resp *http.Response) ([]byte, error) {
	if resp.ContentLength > g.opt.MaxBody {
		return nil, errTooLarge
	}
	var buf bytes.Buffer
	// ReadFrom wants room beyond the end to see the end without growing.
	buf.Grow(int(max(resp.ContentLength, 0)) + bytes.MinRead)
	n, err := buf.ReadFrom(io.LimitReader(resp.Body, g.opt.MaxBody+1))
	if err != nil {
		return nil, err
	}
	if n > g.opt.MaxBody {
		return nil, errTooLarge
	}
	return bytes.TrimSpace(buf.Bytes()), nil
}

// stopped is the result of a call that our own side gave up.
func stopped(free bool) *source.Result {
	return &source.Result{Verdict: source.Wait, Free: free, Failure: failure(domain.FailureConnection, "stopped before GitHub answered")}
}

// noAnswer tells apart why a request brought no answer at all. The call is free
// only when no connection was made, so that GitHub cannot have seen it.
func (g *upstream) noAnswer(ctx, callCtx context.Context, err error) *source.Result {
	var op *net.OpError
	free := errors.As(err, &op) && op.Op == "dial"
	switch {
	case ctx.Err() != nil:
		return stopped(free)
	case isTimeout(callCtx, err):
		return &source.Result{Verdict: source.Retry, Free: free, Failure: failure(domain.FailureTimeout, "no answer from %s within %s", g.rest.Host, g.opt.Timeout)}
	}
	return &source.Result{Verdict: source.Retry, Free: free, Failure: failure(domain.FailureConnection, "%s: %s", g.rest.Host, connectionFault(err))}
}

// cutOff tells apart why an answer ended early.
func (g *upstream) cutOff(ctx, callCtx context.Context, err error) *source.Result {
	switch {
	case errors.Is(err, errTooLarge):
		return &source.Result{Verdict: source.Fail, Failure: failure(domain.FailureMalformed, "the answer is larger than %d bytes", g.opt.MaxBody)}
	case ctx.Err() != nil:
		return stopped(false)
	case isTimeout(callCtx, err):
		return &source.Result{Verdict: source.Retry, Failure: failure(domain.FailureTimeout, "the answer of %s did not end within %s", g.rest.Host, g.opt.Timeout)}
	case errors.Is(err, syscall.ECONNRESET):
		return &source.Result{Verdict: source.Retry, Failure: failure(domain.FailureConnection, "%s reset the connection within its answer", g.rest.Host)}
	}
	return &source.Result{Verdict: source.Retry, Failure: failure(domain.FailureMalformed, "the answer of %s was cut off", g.rest.Host)}
}

func isTimeout(ctx context.Context, err error) bool {
	var timeout interface{ Timeout() bool }
	return ctx.Err() != nil || (errors.As(err, &timeout) && timeout.Timeout())
}

// connectionFault puts a transport's error into words, without the address of
// the call.
func connectionFault(err error) string {
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns):
		return "the name cannot be resolved; is there a network?"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return "no network"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection was closed before an answer came"
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return err.Error()
}

func failure(kind domain.FailureKind, format string, args ...any) *domain.Failure {
	return &domain.Failure{Kind: kind, Message: fmt.Sprintf(format, args...)}
}
