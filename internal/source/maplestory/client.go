package maplestory

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"syscall"

	"github.com/tidwall/gjson"

	"sluice/internal/source"
	"sluice/internal/source/trim"
)

// answer is what the API said; its body lies in a workspace.
type answer struct {
	status int
	header http.Header
	body   []byte
	padded []byte
}

// workspace is the memory that one call needs and the next can use again.
type workspace struct {
	trim.Trimmer
	raw []byte
}

// keepWorkspace bounds what is kept for the next call.
const keepWorkspace = 4 << 20

// Fetch implements source.Fetcher.
func (s *Source) Fetch(ctx context.Context, key string, sent func()) source.Fetched {
	key, err := CanonicalKey(key)
	if err != nil {
		return source.Fetched{Verdict: source.FetchDead, Code: WhyBadKey, Error: err.Error(), Free: true}
	}
	part, path, query := endpoint(key)
	w, done := s.workspace()
	defer done()
	a, res := s.call(ctx, w, path, query, sent)
	if res.Verdict == source.FetchDone {
		res = s.keep(w, a, s.fields[part])
	}
	if res.Verdict == source.FetchDone && part == NamePart {
		if _, err := CanonicalKey(gjson.GetBytes(res.Body, "ocid").String()); err != nil {
			res = source.Fetched{Verdict: source.FetchDead, Code: WhyUnparsable, Error: "the answer has no ocid", HTTPStatus: a.status}
		}
	}
	if a != nil {
		res.Received = len(a.body)
	}
	return res
}

func (s *Source) workspace() (w *workspace, done func()) {
	w = s.buffers.Get().(*workspace)
	return w, func() {
		if cap(w.raw) <= keepWorkspace && w.Size() <= keepWorkspace {
			s.buffers.Put(w)
		}
	}
}

// call sends a request once and reads the answer, or says why there is none.
func (s *Source) call(ctx context.Context, w *workspace, path, query string, sent func()) (*answer, source.Fetched) {
	if ctx.Err() != nil {
		return nil, stopped(true)
	}
	callCtx, cancel := context.WithTimeout(ctx, s.opt.Timeout)
	defer cancel()
	if sent != nil {
		callCtx = httptrace.WithClientTrace(callCtx, &httptrace.ClientTrace{
			WroteRequest: func(httptrace.WroteRequestInfo) { sent() },
		})
	}
	u := *s.base
	u.Path += path
	u.RawQuery = query
	req := &http.Request{
		Method: http.MethodGet, URL: &u, Host: u.Host, Body: unrepeatable{},
		Header: http.Header{
			"X-Nxopen-Api-Key": {s.opt.Key},
			"Accept":           {"application/json"},
			"User-Agent":       {"sluice"},
		},
	}
	resp, err := s.opt.Transport.RoundTrip(req.WithContext(callCtx))
	if err != nil {
		return nil, s.noAnswer(ctx, callCtx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	a := &answer{status: resp.StatusCode, header: resp.Header}
	if a.padded, err = w.read(resp, s.opt.MaxBody); err != nil {
		res := s.cutOff(ctx, callCtx, err)
		res.HTTPStatus = a.status
		return nil, res
	}
	a.body = a.padded[:len(a.padded)-trim.Padding]
	if a.status != http.StatusOK {
		// Before anything is quoted from it: a shortened secret is one still.
		a.body = bytes.ReplaceAll(a.body, []byte(s.opt.Key), []byte("[key]"))
	}
	return a, s.understand(a)
}

// unrepeatable is an empty body. net/http silently sends a GET again when a
// reused connection dies before the answer, unless the request has a body that
// it cannot rewind; an upstream that counts would count both.
type unrepeatable struct{}

// Read implements io.Reader.
func (unrepeatable) Read([]byte) (int, error) { return 0, io.EOF }

// Close implements io.Closer.
func (unrepeatable) Close() error { return nil }

var errTooLarge = errors.New("the answer is too large")

// firstRead is the room for an answer whose size is not announced.
const firstRead = 64 << 10

// read takes in a body and pads it with zeros.
func (w *workspace) read(resp *http.Response, limit int64) ([]byte, error) {
	if resp.ContentLength > limit {
		return nil, errTooLarge
	}
	// One byte more than announced, to see the end without growing.
	room := trim.Padding + 1 + int(max(resp.ContentLength, firstRead))
	if cap(w.raw) < room {
		w.raw = make([]byte, 0, room)
	}
	buf := w.raw[:0]
	for {
		if cap(buf)-len(buf) <= trim.Padding {
			buf = append(make([]byte, 0, 2*cap(buf)), buf...)
			w.raw = buf
		}
		n, err := resp.Body.Read(buf[len(buf) : cap(buf)-trim.Padding])
		buf = buf[:len(buf)+n]
		switch {
		case int64(len(buf)) > limit:
			return nil, errTooLarge
		case errors.Is(err, io.EOF):
			end := len(buf)
			buf = buf[:end+trim.Padding]
			clear(buf[end:])
			return buf, nil
		case err != nil:
			return nil, err
		}
	}
}

// stopped is the result of a call that our own side gave up.
func stopped(free bool) source.Fetched {
	return source.Fetched{Verdict: source.FetchWait, Code: WhyStopped, Free: free, Error: "stopped before the API answered"}
}

// noAnswer tells apart why a request brought no answer at all. The call is free
// only when no connection was made.
func (s *Source) noAnswer(ctx, callCtx context.Context, err error) source.Fetched {
	var op *net.OpError
	free := errors.As(err, &op) && op.Op == "dial"
	switch {
	case ctx.Err() != nil:
		return stopped(free)
	case isTimeout(callCtx, err):
		return source.Fetched{Verdict: source.FetchRetry, Code: WhyTimeout, Free: free, Error: fmt.Sprintf("no answer from %s within %s", s.base.Host, s.opt.Timeout)}
	}
	return source.Fetched{Verdict: source.FetchRetry, Code: WhyConnection, Free: free, Error: s.base.Host + ": " + connectionFault(err)}
}

// cutOff tells apart why an answer ended early.
func (s *Source) cutOff(ctx, callCtx context.Context, err error) source.Fetched {
	switch {
	case errors.Is(err, errTooLarge):
		return source.Fetched{Verdict: source.FetchDead, Code: WhyTooLarge, Error: fmt.Sprintf("the answer is larger than %d bytes", s.opt.MaxBody)}
	case ctx.Err() != nil:
		return stopped(false)
	case isTimeout(callCtx, err):
		return source.Fetched{Verdict: source.FetchRetry, Code: WhyTimeout, Error: fmt.Sprintf("the answer of %s did not end within %s", s.base.Host, s.opt.Timeout)}
	}
	return source.Fetched{Verdict: source.FetchRetry, Code: WhyCutOff, Error: "the answer of " + s.base.Host + " was cut off"}
}

func isTimeout(ctx context.Context, err error) bool {
	var timeout interface{ Timeout() bool }
	return ctx.Err() != nil || (errors.As(err, &timeout) && timeout.Timeout())
}

// connectionFault puts a transport's error into words of our own, since its own
// may hold the address of the call.
func connectionFault(err error) string {
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &certificate):
		return "its certificate is not accepted"
	case errors.As(err, &dns):
		return "the name cannot be resolved; is there a network?"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return "no network"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection was closed before an answer came"
	}
	return "the call failed"
}
