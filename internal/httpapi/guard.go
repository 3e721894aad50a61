package httpapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"strings"

	"sluice/internal/domain"
)

// requireToken lets only bearers of the token to the API, the metrics and what
// helps to find faults. The probes and the description stay open, and GitHub's
// webhooks, which are signed.
func requireToken(token string, next http.Handler) http.Handler {
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if protected(r.URL.Path) && !bears(r, want) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="sluice"`)
			writeProblem(w, newProblem(domain.CodeUnauthorized, http.StatusUnauthorized,
				"this needs the API token of the service, as Authorization: Bearer TOKEN"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

func protected(path string) bool {
	if path == githubHookPath {
		return false
	}
	for _, prefix := range []string{"/api/v1", "/metrics", "/debug"} {
		if rest, ok := strings.CutPrefix(path, prefix); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}

// bears compares digests, so that neither content nor length shows in the time
// it takes.
func bears(r *http.Request, want [sha256.Size]byte) bool {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	got := sha256.Sum256([]byte(strings.TrimSpace(token)))
	return ok && strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

// requireLoopbackHost keeps web pages away from a service without a token. A
// page can point its own name at this machine (DNS rebinding), but then the
// request names that host; and it can post blindly, but then the browser names
// the page's origin.
func requireLoopbackHost(next http.Handler) http.Handler {
	sameOrigin := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !loopbackHost(r.Host) {
			writeProblem(w, newProblem(domain.CodeUnauthorized, http.StatusForbidden,
				"without an API token only requests to localhost, 127.0.0.1 or [::1] are served"))
			return
		}
		if err := sameOrigin.Check(r); err != nil {
			writeProblem(w, newProblem(domain.CodeUnauthorized, http.StatusForbidden,
				"requests of other origins are not served"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// loopbackHost accepts what no foreign name can stand for.
func loopbackHost(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
