// Package client calls a running Sluice service over its HTTP API. Errors come
// back with the code that the service gave them.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
)

const (
	// requestTimeout is a little more than the service takes at most.
	requestTimeout = 35 * time.Second
	// maxAnswer bounds what is read of an answer.
	maxAnswer = 256 << 20
)

// Client calls one service. It is safe for concurrent use.
type Client struct {
	accountCalls
	sourceCalls
	documentCalls
	runCalls
	timerCalls
	snapshotCalls
	operatorCalls
}

// The parts of a client, by what is asked about: accounts and what was collected of
// them; documents and their changes; runs and jobs; timers; keyed records and their archive; and what whoever
// runs the service asks.
type (
	accountCalls  struct{ *transport }
	sourceCalls   struct{ *transport }
	documentCalls struct{ *transport }
	runCalls      struct{ *transport }
	timerCalls    struct{ *transport }
	snapshotCalls struct{ *transport }
	operatorCalls struct{ *transport }
)

// transport makes the requests of all of them.
type transport struct {
	base  string
	token string
	http  http.Client
	// accept is what is asked for where there is a choice; "" is JSON.
	accept string
}

// asking is the same transport for answers of another type.
func (c *transport) asking(accept string) *transport {
	other := *c
	other.accept = accept
	return &other
}

// New returns a client of the service at baseURL, such as
// http://127.0.0.1:8090, that shows the token if there is one. A nil hc means
// one of its own. An hc with a timeout also limits how long a run is watched.
func New(baseURL, token string, hc *http.Client) (*Client, error) {
	u, err := url.Parse(strings.TrimRight(baseURL, "/"))
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return nil, domain.Errorf(domain.CodeInvalid, "that is not the address of a service; give one such as http://127.0.0.1:8090")
	}
	t := &transport{base: u.String(), token: token}
	if hc != nil {
		t.http = *hc
	}
	// The service never redirects; whoever does is not to see the token.
	t.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{accountCalls{t}, sourceCalls{t}, documentCalls{t}, runCalls{t}, timerCalls{t}, snapshotCalls{t}, operatorCalls{t}}, nil
}

// call makes one request. A nil in sends no body, a nil out ignores the answer.
func (c *transport) call(ctx context.Context, method, path string, query url.Values, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	res, err := c.send(ctx, method, path, query, in)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if out == nil {
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, maxAnswer)).Decode(out); err != nil {
		return domain.Errorf(domain.CodeUnavailable, "the answer of %s to %s %s cannot be read: %w", c.base, method, path, err)
	}
	return nil
}

// send makes a request and returns its answer if that is a success.
func (c *transport) send(ctx context.Context, method, path string, query url.Values, in any) (*http.Response, error) {
	req, err := c.request(ctx, method, path, query, in)
	if err != nil {
		return nil, err
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	if res.StatusCode >= 200 && res.StatusCode < 300 {
		return res, nil
	}
	defer func() { _ = res.Body.Close() }()
	return nil, c.refused(res)
}

func (c *transport) request(ctx context.Context, method, path string, query url.Values, in any) (*http.Request, error) {
	address := c.base + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return nil, domain.Errorf(domain.CodeInternal, "encode request: %w", err)
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return nil, domain.Errorf(domain.CodeInvalid, "make request: %w", err)
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.accept != "" {
		req.Header.Set("Accept", c.accept)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	return req, nil
}

// unreachable explains why there is no answer.
func (c *transport) unreachable(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return domain.Errorf(domain.CodeUnavailable, "the service at %s does not answer in time: %w", c.base, context.DeadlineExceeded)
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, syscall.ECONNREFUSED):
		return domain.Errorf(domain.CodeUnavailable, "no service listens at %s; start one with: sluice up (%w)", c.base, syscall.ECONNREFUSED)
	}
	return domain.Errorf(domain.CodeUnavailable, "the service at %s cannot be reached: %w", c.base, err)
}

// refused turns a problem back into the error it was made from.
func (c *transport) refused(res *http.Response) error {
	// What is not a problem is judged by its status below.
	text, _ := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	var p wire.Problem
	if json.Unmarshal(text, &p) == nil && p.Code != "" {
		return problemError(p)
	}
	code := domain.CodeUnavailable
	if res.StatusCode < http.StatusInternalServerError {
		code = domain.CodeInvalid
	}
	return domain.Errorf(code, "%s answered %s, which a Sluice service does not do; is the address right?", c.base, res.Status)
}

func problemError(p wire.Problem) error {
	var text strings.Builder
	text.WriteString(p.Detail)
	for i, d := range p.Errors {
		separator := "; "
		if i == 0 {
			separator = ": "
		}
		text.WriteString(separator)
		text.WriteString(d.Message)
		if d.Location != "" {
			text.WriteString(" (" + d.Location + ")")
		}
	}
	return domain.Errorf(p.Code, "%s", printable(text.String()))
}

// printable makes what a service says fit to be shown. A list in it, such as that of a
// file's mistakes, stays one: lines of their own are those that are set in, which nobody
// takes for something else.
func printable(text string) string {
	const setIn = "\n  "
	lines := strings.Split(text, setIn)
	for i := range lines {
		lines[i] = domain.Printable(lines[i])
	}
	return strings.Join(lines, setIn)
}
