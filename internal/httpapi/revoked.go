package httpapi

import (
	"context"
	"net/http"
	"strings"

	"sluice/internal/access"
	"sluice/internal/domain"
	"sluice/internal/httpapi/answer"
)

// watched ends an answer that takes long, such as a stream of events, when the
// token that it was asked for with is revoked meanwhile.
func (g *guard) watched(r *http.Request, who access.Identity) http.Handler {
	secret, shown := bearer(r)
	if !shown || !strings.HasPrefix(who.Actor, access.ActorToken("")) {
		return g.next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer.While(func(ctx context.Context) bool {
			_, err := g.tokens.Recognise(ctx, secret)
			return domain.CodeOf(err) != domain.CodeUnauthorized
		}, g.next, w, r)
	})
}
