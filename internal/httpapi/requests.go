package httpapi

import (
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"sluice/internal/domain"
	"sluice/internal/logs"
	"sluice/internal/secret"
	"sluice/internal/traces"
)

// observe writes one line for each request and turns panics into problems. The
// line has no query, no body and no headers, as any of them may hold a secret.
func observe(log *slog.Logger, tracer *traces.Tracer, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		id := logs.AcceptCorrelation(r.Header.Get(logs.CorrelationHeader))
		ctx, span := tracer.StartServer(logs.WithCorrelation(r.Context(), id), r)
		r = r.WithContext(ctx)
		out := &recorder{ResponseWriter: w}
		out.Header().Set("X-Content-Type-Options", "nosniff")
		out.Header().Set("Cache-Control", "no-store")
		out.Header().Set(logs.CorrelationHeader, id)
		defer func() { //nolint:contextcheck // the request carries its context
			span.Rename(r.Pattern).Text(logs.CorrelationAttribute, id).Text("url.path", secret.Masked(r.URL.Path)).Int("http.response.status_code", int64(out.statusSent())).End()
			log.Log(r.Context(), levelOf(r), "request", "method", secret.Masked(r.Method), "path", secret.Masked(r.URL.Path),
				"status", out.statusSent(), "bytes", out.bytes, "took", time.Since(began), "remote", r.RemoteAddr)
		}()
		defer func() {
			if cause := recover(); cause != nil {
				afterPanic(log, out, r, cause)
			}
		}()
		next.ServeHTTP(out, r)
	})
}

// levelOf keeps the probes, and what a page that is open reads, out of the log: they
// come every few seconds.
func levelOf(r *http.Request) slog.Level {
	if strings.HasPrefix(r.URL.Path, "/api/") && (r.Method != http.MethodGet || !logs.IsQuiet(r.Context())) {
		return slog.LevelInfo
	}
	return slog.LevelDebug
}

// afterPanic answers with a problem if nothing was answered yet; otherwise it
// cuts the connection, so that half an answer is not taken for a whole one.
func afterPanic(log *slog.Logger, out *recorder, r *http.Request, cause any) {
	// To a caller that is gone nothing can be written, which is no bug.
	if err, ok := cause.(error); (!ok || !errors.Is(err, http.ErrAbortHandler)) && r.Context().Err() == nil {
		log.ErrorContext(r.Context(), "a handler panicked", "method", r.Method, "path", secret.Masked(r.URL.Path), "cause", cause, "stack", string(debug.Stack()))
		if out.status == 0 {
			writeProblem(out, newProblem(domain.CodeInternal, http.StatusInternalServerError, internalDetail))
			return
		}
	}
	panic(http.ErrAbortHandler)
}

// recorder remembers what was answered.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
}

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (r *recorder) Write(p []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	n, err := r.ResponseWriter.Write(p)
	r.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (r *recorder) statusSent() int {
	if r.status == 0 {
		return http.StatusOK
	}
	return r.status
}
