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
	"time"

	"sluice/internal/access"
	"sluice/internal/backup"
	"sluice/internal/client"
	"sluice/internal/domain"
)

// session is a command's connection to a service.
type session struct {
	*client.Client
	// local is set when the service is inside this process, and calls are what goes
	// on in it.
	local *Service
	calls *inProcess
}

// callPatience is how long a service in this process may take to end calls whose
// answers were read: the audit log has their outcome then.
const callPatience = 10 * time.Second

// Close ends the session; a local service stops gracefully until ctx ends.
func (s *session) Close(ctx context.Context) error {
	if s.local == nil {
		return nil
	}
	ended := make(chan struct{})
	go func() {
		s.calls.under.Wait()
		close(ended)
	}()
	patience := time.NewTimer(callPatience)
	defer patience.Stop()
	select {
	case <-ended:
	case <-patience.C:
	}
	return s.local.Close(ctx)
}

// unlessFailed does something that waits for the service. If that is inside this
// process and stops by itself, as it cannot trust its store, nothing would come
// any more: the reason is returned instead.
func (s *session) unlessFailed(ctx context.Context, do func(context.Context) error) error {
	if s.local == nil {
		return do(ctx)
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	go func() {
		select {
		case <-s.local.Failed:
			end()
		case <-ctx.Done():
		}
	}()
	err := do(ctx)
	if cause := s.local.Err(); cause != nil {
		// What followed from it says less.
		return cause
	}
	return err
}

var holderURL = regexp.MustCompile(`at (https?://[^\s,)]+)`)

// purpose is what a command wants a service for.
type purpose int

const (
	// toLook needs data that is there already, and makes nothing.
	toLook purpose = iota
	// toAdd needs a folder; data may begin in it.
	toAdd
	// toBegin makes what is missing, also the folder: data begins with it.
	toBegin
	// toWork makes what is missing, and starts the service.
	toWork
)

// connect finds the service to speak to: the one given by --server, the one
// that runs on the data folder, or one of our own.
func (a *App) connect(ctx context.Context, o *options, holder string, why purpose) (*session, error) {
	if o.Server != "" {
		return a.remote(o, o.Server)
	}
	if !o.Servers.Shared() {
		who := a.Holder(o.Service.DataDir)
		if m := holderURL.FindStringSubmatch(who); m != nil {
			return a.remote(o, m[1])
		}
		if err := a.needData(o.Service.DataDir, why); err != nil && who == "" {
			return nil, err
		}
	}
	so, err := a.service(o, holder)
	if err != nil {
		return nil, err
	}
	so.Look = why == toLook
	svc, err := a.Open(ctx, so)
	if err != nil {
		return nil, err
	}
	if why == toWork {
		if err := svc.Start(ctx); err != nil {
			return nil, errors.Join(err, svc.Close(ctx))
		}
	}
	calls := &inProcess{handler: svc.API, who: localIdentity()}
	c, err := client.New("http://localhost", o.HTTP.Token, &http.Client{Transport: calls})
	if err != nil {
		return nil, errors.Join(err, svc.Close(ctx))
	}
	return &session{Client: c, local: svc, calls: calls}, nil
}

// needData refuses a data folder that has not what a command needs: looking at it
// would make an empty one, and a mistyped name would look like no data.
func (a *App) needData(dir string, why purpose) error {
	if err := backup.NotBeingRestored(dir); err != nil {
		return err
	}
	if _, err := os.Stat(dir); (why == toLook || why == toAdd) && errors.Is(err, fs.ErrNotExist) {
		return domain.Errorf(domain.CodeNotFound,
			"there is no data folder %s: collect something first, or name the folder with --data-dir or a service with --server", dir)
	}
	if why == toLook && !a.hasData(dir) {
		return domain.Errorf(domain.CodeNotFound,
			"there is no data in %s yet: `sluice collect LOGIN` collects some, `sluice up` starts a service; or name another folder with --data-dir or a service with --server", dir)
	}
	return nil
}

func (a *App) hasData(dir string) bool { return a.HasData == nil || a.HasData(dir) }

func (a *App) remote(o *options, url string) (*session, error) {
	hc, err := trusting(o)
	if err != nil {
		return nil, err
	}
	c, err := client.New(url, o.HTTP.Token, hc)
	if err != nil {
		return nil, err
	}
	return &session{Client: c}, nil
}

// with runs fn in a session that looks at, or changes, what is there.
func (a *App) with(ctx context.Context, o *options, fn func(*session) error) error {
	return a.within(ctx, o, toLook, fn)
}

// within runs fn in a session that does not work on jobs.
func (a *App) within(ctx context.Context, o *options, why purpose, fn func(*session) error) error {
	s, err := a.connect(ctx, o, "sluice", why)
	if err != nil {
		return err
	}
	return errors.Join(fn(s), s.Close(context.WithoutCancel(ctx)))
}

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
