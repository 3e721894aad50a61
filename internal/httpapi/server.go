package httpapi

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// requestTimeout bounds every request but the streams.
const requestTimeout = 30 * time.Second

// ServerOptions configures a server.
type ServerOptions struct {
	// Connections is the most that are open at a time; 0 is as many as come.
	// Where all are taken, the one that has waited longest for a request, or for the
	// rest of one, is closed for a new one; of one address there are at most three
	// quarters of them.
	Connections int
	// TLS encrypts, if set.
	TLS *tls.Config
	// Patience is how long requests may finish once the server is to end.
	Patience time.Duration
	// Log gets what goes wrong with connections.
	Log *slog.Logger
}

// NewServer returns a server for the handler with limits on slow and large
// requests and on readers that do not read. Streams set their own.
func NewServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           attend(h),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       requestTimeout,
		WriteTimeout:      2 * requestTimeout,
		IdleTimeout:       2 * time.Minute,
		// net/http adds 4 KiB to it.
		MaxHeaderBytes: 32 << 10,
		ErrorLog:       slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}

// Serve serves the API on l until ctx ends, and then lets requests finish for
// a while.
func Serve(ctx context.Context, l net.Listener, h http.Handler, o ServerOptions) error {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	server := NewServer(h, o.Log)
	if o.TLS != nil {
		// Below what counts connections: that knows them as the server does.
		server.TLSConfig, l = o.TLS, tls.NewListener(l, o.TLS)
	}
	if o.Connections > 0 {
		c := newConnections(o.Connections)
		server.ConnState, server.ConnContext = c.moved, c.withPlace
		l = c.limit(l)
	}
	return ServeUntil(ctx, l, server, o.Patience)
}

// ServeUntil serves until ctx ends, and then lets requests finish for a while.
func ServeUntil(ctx context.Context, l net.Listener, server *http.Server, patience time.Duration) error {
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if err := server.Shutdown(stop); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return server.Close()
}
