package declared

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/tidwall/gjson"

	"sluice/internal/domain"
	"sluice/internal/quota"
	"sluice/internal/ration"
	"sluice/internal/source"
)

// answer is what the upstream said.
type answer struct {
	status int
	header http.Header
	body   []byte
	json   gjson.Result
	// wrong is why a body that should be XML is not.
	wrong string
	// date is the upstream's clock when it answered, zero if it did not say; asked and
	// came are the local one's.
	date, asked, came time.Time
}

// unrepeatable is a body that net/http cannot rewind: a request is sent once, and
// never again behind our back when a connection dies.
type unrepeatable struct{ *bytes.Reader }

// Close implements io.Closer.
func (unrepeatable) Close() error { return nil }

var errTooLarge = errors.New("the answer is too large")

// fetch sends a request once and reads the answer. Without one the Result says why.
// Redirects are answers: whoever follows one decides whether it may.
func (s *Source) fetch(ctx context.Context, req *http.Request) (*answer, *source.Result) {
	if ctx.Err() != nil {
		return nil, s.stopped(true)
	}
	callCtx, cancel := context.WithTimeout(ctx, s.opt.Timeout)
	defer cancel()
	a := &answer{asked: s.opt.Now()}
	resp, err := s.opt.Transport.RoundTrip(req.WithContext(callCtx))
	if err != nil {
		return nil, s.noAnswer(ctx, callCtx, err, req.URL.Host)
	}
	defer func() { _ = resp.Body.Close() }()
	a.status, a.header = resp.StatusCode, resp.Header
	if date, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		a.date = date
	}
	var body bytes.Buffer
	n, err := body.ReadFrom(io.LimitReader(resp.Body, s.opt.MaxBody+1))
	if err == nil && n > s.opt.MaxBody {
		err = errTooLarge
	}
	a.came = s.opt.Now()
	if err != nil {
		res := s.cutOff(ctx, callCtx, err)
		res.Quota = s.rateOf(a, quota.Response{})
		return nil, res
	}
	// A mark of the order of bytes is no part of JSON, and some upstreams begin with it.
	a.body = bytes.TrimSpace(bytes.TrimPrefix(body.Bytes(), []byte("\ufeff")))
	if gjson.ValidBytes(a.body) {
		a.json = gjson.ParseBytes(a.body)
	}
	return a, nil
}

func failure(kind domain.FailureKind, format string, args ...any) *domain.Failure {
	return &domain.Failure{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

func (s *Source) stopped(free bool) *source.Result {
	return &source.Result{Verdict: source.Wait, Free: free, Failure: failure(domain.FailureConnection, "stopped before %s answered", s.file.Title)}
}

// noAnswer tells apart why there is none. The call is free only when no connection
// was made.
func (s *Source) noAnswer(ctx, callCtx context.Context, err error, host string) *source.Result {
	var op *net.OpError
	free := errors.As(err, &op) && op.Op == "dial"
	var dns *net.DNSError
	switch {
	case ctx.Err() != nil:
		return s.stopped(free)
	case timedOut(callCtx, err):
		return &source.Result{Verdict: source.Retry, Free: free, Failure: failure(domain.FailureTimeout, "no answer from %s within %s", host, s.opt.Timeout)}
	case errors.As(err, &dns):
		return &source.Result{Verdict: source.Retry, Free: true, Failure: failure(domain.FailureConnection, "%s: the name cannot be resolved; is there a network?", host)}
	case free:
		return &source.Result{Verdict: source.Retry, Free: true, Failure: failure(domain.FailureConnection, "%s cannot be reached", host)}
	}
	return &source.Result{Verdict: source.Retry, Failure: failure(domain.FailureConnection, "%s closed the connection before an answer came", host)}
}

func (s *Source) cutOff(ctx, callCtx context.Context, err error) *source.Result {
	switch {
	case errors.Is(err, errTooLarge):
		return &source.Result{Verdict: source.Fail, Failure: failure(domain.FailureMalformed, "the answer is larger than %d bytes; ask for smaller pages", s.opt.MaxBody)}
	case ctx.Err() != nil:
		return s.stopped(false)
	case timedOut(callCtx, err):
		return &source.Result{Verdict: source.Retry, Failure: failure(domain.FailureTimeout, "the answer did not end within %s", s.opt.Timeout)}
	}
	return &source.Result{Verdict: source.Retry, Failure: failure(domain.FailureMalformed, "the answer was cut off")}
}

func timedOut(ctx context.Context, err error) bool {
	var timeout interface{ Timeout() bool }
	return ctx.Err() != nil || errors.As(err, &timeout) && timeout.Timeout()
}

// dateTolerance is how far an answer's date may be from the local clock to be
// believed.
const dateTolerance = 5 * time.Minute

// serverTime is the upstream's clock as of an answer, as far as it can be believed;
// else when it was asked, in whole seconds as a date has them.
func (s *Source) serverTime(a *answer) time.Time {
	if a.date.IsZero() || a.date.Sub(a.came).Abs() > dateTolerance {
		return a.asked.UTC().Truncate(time.Second)
	}
	return a.date.UTC()
}

func (a *answer) ration() *ration.Answer {
	return &ration.Answer{Status: a.status, Size: len(a.body), Header: a.header, At: a.came, Body: func(path string) string { return textAt(a.json, path) }}
}

// rateOf is what an answer tells of time: the upstream's, and how long to stay away.
func (s *Source) rateOf(a *answer, meaning quota.Response) quota.Response {
	meaning.Date = a.date
	if a.status == http.StatusOK {
		meaning.RetryAfter = max(meaning.RetryAfter, s.file.Park.Afterwards(a.ration()))
	}
	return meaning
}
