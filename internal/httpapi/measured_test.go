package httpapi_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"sluice/internal/access"
	"sluice/internal/httpapi"
)

// watched is the API, and what those who measure it are told.
type watched struct {
	http.Handler
	pattern string
	reasons []access.Refusal
}

func newWatched(o httpapi.Options, change func(*httpapi.Deps)) *watched {
	w := &watched{}
	d := newFake().deps()
	d.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	d.Measure = func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(out, r)
			w.pattern = r.Pattern
		})
	}
	d.Refused = func(why access.Refusal) { w.reasons = append(w.reasons, why) }
	if change != nil {
		change(&d)
	}
	w.Handler = httpapi.New(d, o)
	return w
}

// readToken is a token that may read.
type readToken struct{ everyToken }

func (readToken) Recognise(context.Context, string) (access.Identity, error) {
	return access.Identity{Actor: access.ActorToken("reads"), Role: access.Read}, nil
}

// TestRefusalsAreMeasured: every answer passes those who measure, by its route once
// it is known who asks; who is not let in has no route, whatever he asks for.
func TestRefusalsAreMeasured(t *testing.T) {
	guarded := newWatched(httpapi.Options{APIToken: "s3cret"}, nil)
	open := newWatched(httpapi.Options{}, nil)
	reader := newWatched(httpapi.Options{}, func(d *httpapi.Deps) { d.Tokens = readToken{} })
	other := newWatched(httpapi.Options{APIToken: "s3cret", ProbesOnly: true}, nil)
	const token = "Bearer s3cret"
	for _, c := range []struct {
		api                 *watched
		request, authorized string
		status              int
		pattern             string
		reason              access.Refusal
	}{
		{guarded, "GET localhost/api/v1/runs", token, http.StatusOK, "GET /api/v1/runs", ""},
		{guarded, "GET localhost/api/v1/runs", "", http.StatusUnauthorized, "", access.RefusedNoToken},
		{guarded, "POST localhost/api/v1/runs", "Bearer wrong", http.StatusUnauthorized, "", access.RefusedWrongToken},
		{guarded, "GET localhost/api/v1/made/up", "", http.StatusUnauthorized, "", access.RefusedNoToken},
		{guarded, "GET localhost/made/up", "", http.StatusNotFound, "/", ""},
		{guarded, "GET localhost/api/v1/made/up", token, http.StatusNotFound, "/", ""},
		{guarded, "DELETE localhost/api/v1/runs", token, http.StatusMethodNotAllowed, "/", ""},
		{guarded, "GET localhost/livez", "", http.StatusOK, "GET /livez", ""},
		{open, "GET evil.example/api/v1/runs", "", http.StatusForbidden, "", access.RefusedOrigin},
		{reader, "POST localhost/api/v1/runs", "Bearer reads", http.StatusForbidden, "POST /api/v1/runs", access.RefusedRole},
		{other, "GET localhost/api/v1/runs", token, http.StatusNotFound, "GET /api/v1/runs", ""},
	} {
		method, url, _ := strings.Cut(c.request, " ")
		c.api.pattern, c.api.reasons = "never measured", nil
		w := ask(c.api, method, "http://"+url, "Authorization", c.authorized)
		var reasons []access.Refusal
		if c.reason != "" {
			reasons = append(reasons, c.reason)
		}
		if w.Code != c.status || c.api.pattern != c.pattern || !slices.Equal(c.api.reasons, reasons) {
			t.Errorf("%s with %q: %d by %q for %v; want %d by %q for %v", c.request, c.authorized, w.Code, c.api.pattern, c.api.reasons, c.status, c.pattern, reasons)
		}
	}
}
