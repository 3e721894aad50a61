package httpapi

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"sluice/internal/access"
	"sluice/internal/domain"
)

// recheckAfter is how long an answer may go on before its token is looked at
// again.
const recheckAfter = 3 * time.Second

// watched ends an answer that takes long, such as a stream of events, when the
// token that it was asked for with is revoked meanwhile. It is looked at when
// something is written; streams show signs of life.
func (g *guard) watched(r *http.Request, who access.Identity) http.Handler {
	secret, shown := bearer(r)
	if !shown || !strings.HasPrefix(who.Actor, access.ActorToken("")) {
		return g.next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, end := context.WithCancel(r.Context())
		defer end()
		g.next.ServeHTTP(&revocable{ResponseWriter: w, looked: time.Now(), still: func() bool {
			_, err := g.tokens.Recognise(ctx, secret)
			if domain.CodeOf(err) != domain.CodeUnauthorized {
				return true
			}
			end()
			return false
		}}, r.WithContext(ctx))
	})
}

// revocable is an answer that ends when still says so.
type revocable struct {
	http.ResponseWriter
	still func() bool

	mu     sync.Mutex
	looked time.Time
	ended  bool
}

// Write implements http.ResponseWriter.
func (v *revocable) Write(p []byte) (int, error) {
	if v.over() {
		return 0, http.ErrAbortHandler
	}
	return v.ResponseWriter.Write(p)
}

func (v *revocable) over() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if now := time.Now(); !v.ended && now.Sub(v.looked) > recheckAfter {
		v.looked, v.ended = now, !v.still()
	}
	return v.ended
}

// Unwrap lets http.ResponseController reach the connection.
func (v *revocable) Unwrap() http.ResponseWriter { return v.ResponseWriter }
