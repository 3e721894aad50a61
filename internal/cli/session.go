package cli

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"regexp"
	"sync"

	"sluice/internal/client"
	"sluice/internal/domain"
)

// session is a command's connection to a service.
type session struct {
	*client.Client
	// local is set when the service is inside this process.
	local *Service
}

// Close ends the session; a local service stops gracefully until ctx ends.
func (s *session) Close(ctx context.Context) error {
	if s.local == nil {
		return nil
	}
	return s.local.Close(ctx)
}

var holderURL = regexp.MustCompile(`at (https?://[^\s,)]+)`)

// connect finds the service to speak to: the one given by --server, the one
// that runs on the data folder, or one of our own, which is started on demand.
func (a *App) connect(ctx context.Context, o *options, holder string, start bool) (*session, error) {
	if o.server != "" {
		return a.remote(o.server, o.apiToken)
	}
	if !o.servers.Shared() {
		if m := holderURL.FindStringSubmatch(a.Holder(o.dataDir)); m != nil {
			return a.remote(m[1], o.apiToken)
		}
		if _, err := os.Stat(o.dataDir); !start && errors.Is(err, fs.ErrNotExist) {
			return nil, domain.Errorf(domain.CodeNotFound,
				"there is no data folder %s: collect something first, or name the folder with --data-dir or a service with --server", o.dataDir)
		}
	}
	so, err := a.service(o, holder)
	if err != nil {
		return nil, err
	}
	svc, err := a.Open(ctx, so)
	if err != nil {
		return nil, err
	}
	if start {
		if err := svc.Start(ctx); err != nil {
			return nil, errors.Join(err, svc.Close(ctx))
		}
	}
	c, err := client.New("http://localhost", o.apiToken, &http.Client{Transport: inProcess{svc.API}})
	if err != nil {
		return nil, errors.Join(err, svc.Close(ctx))
	}
	return &session{Client: c, local: svc}, nil
}

func (a *App) remote(url, token string) (*session, error) {
	c, err := client.New(url, token, nil)
	if err != nil {
		return nil, err
	}
	return &session{Client: c}, nil
}

// with runs fn in a session that does not work on jobs.
func (a *App) with(ctx context.Context, o *options, fn func(*session) error) error {
	s, err := a.connect(ctx, o, "sluice", false)
	if err != nil {
		return err
	}
	return errors.Join(fn(s), s.Close(context.WithoutCancel(ctx)))
}

// inProcess carries requests to a handler in this process, streaming the body
// of the answer as it is written.
type inProcess struct{ handler http.Handler }

// RoundTrip implements http.RoundTripper.
func (t inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	reader, writer := io.Pipe()
	answer := &pipedAnswer{header: http.Header{}, body: writer, begun: make(chan struct{})}
	request := r.Clone(r.Context())
	request.RequestURI, request.RemoteAddr, request.Host = r.URL.RequestURI(), "127.0.0.1:0", r.URL.Host
	if request.Body == nil {
		request.Body = http.NoBody
	}
	res := &http.Response{
		Body: reader, Request: r, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1, Trailer: http.Header{},
	}
	// Whoever gives up reads no more, and lets the handler's writes fail.
	context.AfterFunc(r.Context(), func() { _ = reader.CloseWithError(r.Context().Err()) })
	go func() { answer.finish(t.serve(answer, request), res.Trailer) }()
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

// serve calls the handler; one that gives up in the middle of its answer cuts
// it short, as it would cut a connection.
func (t inProcess) serve(w http.ResponseWriter, r *http.Request) (err error) {
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
