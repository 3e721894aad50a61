package metrics

import (
	"net/http"
	"strings"
	"time"

	"sluice/internal/access"
)

// HTTP measures requests by the pattern that next leaves in them: one for each
// operation of the API, and no request adds another. It stands before everything
// that may answer, so that refusals are measured as well; who is refused before
// it is known who he is has no pattern, and so no series of his own.
func (i *Instruments) HTTP(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.inFlight.Inc()
		defer i.inFlight.Dec()
		began := time.Now()
		answer := &answerRecorder{ResponseWriter: w}
		panics := true
		defer func() {
			if panics && answer.status == 0 {
				answer.status = http.StatusInternalServerError // as whoever catches it answers
			}
			if !strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream") {
				i.http.WithLabelValues(methodOf(r.Method), routeOf(r.Pattern), classOf(answer.status)).Observe(time.Since(began).Seconds())
			}
		}()
		next.ServeHTTP(answer, r)
		panics = false
	})
}

// Refused counts a caller of the API who was refused.
func (i *Instruments) Refused(why access.Refusal) { i.refusals.WithLabelValues(string(why)).Inc() }

// routeOf is the path of a pattern; what no route is for is other.
func routeOf(pattern string) string {
	if _, path, found := strings.Cut(pattern, " "); found {
		pattern = path
	}
	if pattern == "" || pattern == "/" {
		return other
	}
	return strings.TrimSuffix(pattern, "{$}")
}

// methodOf is a method; whatever a caller made up is other.
func methodOf(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return other
}

func classOf(status int) string {
	if status < 100 || status > 599 {
		status = http.StatusOK // nothing was written, which is 200
	}
	return string(rune('0'+status/100)) + "xx"
}

// answerRecorder remembers the status.
type answerRecorder struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (a *answerRecorder) WriteHeader(status int) {
	// What goes before the answer, such as 103, is not it.
	if a.status == 0 && status >= http.StatusOK {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach the connection.
func (a *answerRecorder) Unwrap() http.ResponseWriter { return a.ResponseWriter }
