package httpapi

import (
	"context"
	"io"
	"net"
	"net/http"
	"time"
)

// placeKey is where the place of a request's connection is.
type placeKey struct{}

// withPlace lets requests know the place of their connection.
func (c *connections) withPlace(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, placeKey{}, c.placeOf(conn))
}

// attend keeps connections from waiting for what nobody will read. While a handler
// reads a body that does not come, its connection is among those that are closed
// for others; and one whose body was not read to its end is closed with the answer,
// where net/http would wait for the rest, to use it again.
func attend(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, _ := r.Context().Value(placeKey{}).(*place)
		p.change(func(p *place) { p.requests++ })
		defer p.change(func(p *place) { p.requests-- })
		if r.Method == http.MethodConnect {
			// What follows would be somebody else's.
			w.Header().Set("Connection", "close")
		}
		if r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		body := &attendedBody{ReadCloser: r.Body, place: p}
		out := &closingAnswer{ResponseWriter: w, body: body, lingers: r.ProtoMajor == 1}
		// The server goes by the body that it knows.
		r = r.WithContext(r.Context())
		r.Body = body
		next.ServeHTTP(out, r)
		out.leave()
		if out.left && http.NewResponseController(w).Flush() == nil {
			// It is answered: only the caller's own end is waited for.
			p.change(func(p *place) { p.active = false })
		}
	})
}

// attendedBody knows whether it was read to its end.
type attendedBody struct {
	io.ReadCloser
	place *place
	ended bool
}

// Read implements io.Reader.
func (b *attendedBody) Read(into []byte) (int, error) {
	b.place.change(func(p *place) { p.awaiting++ })
	defer b.place.change(func(p *place) { p.awaiting-- })
	n, err := b.ReadCloser.Read(into)
	if err == io.EOF {
		b.ended = true
	}
	return n, err
}

// closingAnswer closes its connection if the request was not read to its end.
type closingAnswer struct {
	http.ResponseWriter
	body    *attendedBody
	lingers bool
	// decided says that the answer has begun, and left that a rest is unread.
	decided, left bool
}

// leave decides what becomes of the connection, once.
func (a *closingAnswer) leave() {
	if a.decided {
		return
	}
	a.decided = true
	if a.body.ended || !a.lingers {
		return
	}
	a.left = true
	a.Header().Set("Connection", "close")
	// What has not come by now is not waited for. A connection without deadlines
	// is a test's.
	_ = http.NewResponseController(a.ResponseWriter).SetReadDeadline(time.Unix(1, 0))
}

// WriteHeader implements http.ResponseWriter.
func (a *closingAnswer) WriteHeader(status int) {
	if status >= http.StatusOK {
		a.leave()
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (a *closingAnswer) Write(text []byte) (int, error) {
	a.leave()
	return a.ResponseWriter.Write(text)
}

// Unwrap lets http.ResponseController reach the connection.
func (a *closingAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
