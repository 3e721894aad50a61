package cli

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"

	"sluice/internal/access"
)

// inProcess carries requests to a handler in this process, streaming the body
// of the answer as it is written. They are those of whoever runs the command.
type inProcess struct {
	handler http.Handler
	who     access.Identity
	// under counts the calls that the handler has not ended.
	under sync.WaitGroup
}

// RoundTrip implements http.RoundTripper.
func (t *inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	reader, writer := io.Pipe()
	answer := &pipedAnswer{header: http.Header{}, body: writer, begun: make(chan struct{})}
	ctx, end := context.WithCancel(access.WithIdentity(r.Context(), t.who))
	request := r.Clone(ctx)
	request.RequestURI, request.RemoteAddr, request.Host = r.URL.RequestURI(), "127.0.0.1:0", r.URL.Host
	if request.Body == nil {
		request.Body = http.NoBody
	}
	res := &http.Response{
		Body: &pipedBody{reader, end}, Request: r, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1, Trailer: http.Header{},
	}
	// Whoever gives up reads no more, and lets the handler's writes fail.
	context.AfterFunc(r.Context(), func() { _ = reader.CloseWithError(r.Context().Err()) })
	t.under.Go(func() {
		defer end()
		answer.finish(t.serve(answer, request), res.Trailer)
	})
	select {
	case <-answer.begun:
	case <-r.Context().Done():
	}
	// Both may have come at once.
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	res.StatusCode, res.Status, res.Header = answer.status, http.StatusText(answer.status), answer.sent
	return res, nil
}

// pipedBody is the body of an answer. Who closes it has gone, as one who closes a
// connection: the handler is told.
type pipedBody struct {
	*io.PipeReader
	end context.CancelFunc
}

// Close implements io.Closer.
func (b *pipedBody) Close() error {
	b.end()
	return b.PipeReader.Close()
}

// serve calls the handler; one that gives up in the middle of its answer cuts
// it short, as it would cut a connection.
func (t *inProcess) serve(w http.ResponseWriter, r *http.Request) (err error) {
	defer func() {
		cause := recover()
		if failure, ok := cause.(error); ok && errors.Is(failure, http.ErrAbortHandler) {
			err = io.ErrUnexpectedEOF
		} else if cause != nil {
			panic(cause)
		}
	}()
	t.handler.ServeHTTP(w, r)
	return nil
}

// pipedAnswer is a response that is read while it is written.
type pipedAnswer struct {
	header http.Header
	body   *io.PipeWriter
	once   sync.Once
	begun  chan struct{}
	status int
	// sent is the header as it was when the answer began.
	sent http.Header
}

// Header implements http.ResponseWriter.
func (p *pipedAnswer) Header() http.Header { return p.header }

// WriteHeader implements http.ResponseWriter.
func (p *pipedAnswer) WriteHeader(status int) {
	p.once.Do(func() { p.status, p.sent = status, p.header.Clone(); close(p.begun) })
}

// finish ends the answer. Trailers, announced as HTTP demands, are there when
// the reader comes to the end.
func (p *pipedAnswer) finish(err error, trailer http.Header) {
	p.WriteHeader(http.StatusOK)
	for _, name := range p.sent.Values("Trailer") {
		trailer[http.CanonicalHeaderKey(name)] = p.header.Values(name)
	}
	_ = p.body.CloseWithError(err) // never fails; without an error it is the end
}

// Write implements http.ResponseWriter.
func (p *pipedAnswer) Write(b []byte) (int, error) {
	p.WriteHeader(http.StatusOK)
	return p.body.Write(b)
}

// Flush implements http.Flusher; a pipe holds nothing back.
func (p *pipedAnswer) Flush() { p.WriteHeader(http.StatusOK) }
