package answer

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// RecheckAfter is how long an answer may go on before it is asked again whether its
// caller may still have it.
const RecheckAfter = 3 * time.Second

// While serves a request and ends an answer that takes long, such as a stream of
// events, when still says no. It is asked when something is written; streams show
// signs of life.
func While(still func(context.Context) bool, next http.Handler, w http.ResponseWriter, r *http.Request) {
	ctx, end := context.WithCancel(r.Context())
	defer end()
	next.ServeHTTP(&ending{ResponseWriter: w, looked: time.Now(), still: func() bool {
		if still(ctx) {
			return true
		}
		end()
		return false
	}}, r.WithContext(ctx))
}

// ending is an answer that ends when still says so.
type ending struct {
	http.ResponseWriter
	still func() bool

	mu     sync.Mutex
	looked time.Time
	ended  bool
}

// Write implements http.ResponseWriter.
func (v *ending) Write(p []byte) (int, error) {
	if v.over() {
		return 0, http.ErrAbortHandler
	}
	return v.ResponseWriter.Write(p)
}

func (v *ending) over() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if now := time.Now(); !v.ended && now.Sub(v.looked) > RecheckAfter {
		v.looked, v.ended = now, !v.still()
	}
	return v.ended
}

// Unwrap lets http.ResponseController reach the connection.
func (v *ending) Unwrap() http.ResponseWriter { return v.ResponseWriter }
