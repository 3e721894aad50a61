package web

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"sluice/internal/client"
	"sluice/internal/httpapi/answer"
	"sluice/internal/logs"
)

// keyHeader names a request that may come twice.
const keyHeader = "Idempotency-Key"

// onceField is the field of every form that names what it asks for, so that it is done
// once when it is sent twice. No record or query of a form is called so.
const onceField = "once"

// inProcess calls the API for a browser: from its address, on its word for where it
// comes from, so that the API judges it as if it had asked itself.
type inProcess struct {
	api     http.Handler
	browser *http.Request
	// key is that of what a form asks for; "" for none.
	key   string
	calls int
	// retryAfter is when the API hears this address again, if it has refused to.
	retryAfter string
}

// status is that of a page that shows an error: who tried too many tokens is told
// when to come back.
func (t *inProcess) status(w http.ResponseWriter, err error) int {
	if t == nil || t.retryAfter == "" {
		return statusOf(err)
	}
	w.Header().Set("Retry-After", t.retryAfter)
	return http.StatusTooManyRequests
}

// passed are what a browser, or the proxy before it, says of a request.
var passed = []string{"X-Forwarded-For", "Sec-Fetch-Site", "Origin", logs.CorrelationHeader}

// RoundTrip implements http.RoundTripper.
func (t *inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(logs.Quietly(r.Context()))
	r.RequestURI, r.RemoteAddr, r.Host, r.TLS = r.URL.RequestURI(), t.browser.RemoteAddr, t.browser.Host, t.browser.TLS
	for _, name := range passed {
		if values := t.browser.Header.Values(name); len(values) > 0 {
			r.Header[name] = values
		}
	}
	if r.Body == nil {
		r.Body = http.NoBody
	}
	// A purge goes on where it was when it is asked for again, and takes no key.
	if t.key != "" && r.Method == http.MethodPost && !strings.HasSuffix(r.URL.Path, "/purge") {
		t.calls++
		r.Header.Set(keyHeader, fmt.Sprintf("%s-%d", t.key, t.calls))
	}
	got := &answer.Held{}
	t.api.ServeHTTP(got, r)
	if got.Ended().Status == http.StatusTooManyRequests {
		t.retryAfter = got.Header().Get("Retry-After")
	}
	return &http.Response{
		StatusCode: got.Status, Status: http.StatusText(got.Status), Header: got.Header(), Request: r,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Body: io.NopCloser(&got.Body), ContentLength: int64(got.Body.Len()),
	}, nil
}

// calling is a client of the API for whoever has sent a request.
func (s *site) calling(r *http.Request, token, key string) (*client.Client, *inProcess, error) {
	calls := &inProcess{api: s.api, browser: r, key: key}
	c, err := client.New(ownAddress, token, &http.Client{Transport: calls})
	return c, calls, err
}

// ownAddress stands for the service in what is said of it.
const ownAddress = "http://sluice"
