package httpapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"sluice/internal/domain"
	"sluice/internal/httpapi"
)

// asked counts requests: each comes from another address, as wrong tokens are
// counted by address.
var asked atomic.Uint32

// ask makes one request without a network and returns the status.
func ask(h http.Handler, method, url string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, url, nil)
	n := asked.Add(1)
	r.RemoteAddr = fmt.Sprintf("10.%d.%d.%d:1", byte(n>>16), byte(n>>8), byte(n))
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func guarded(token string) http.Handler {
	d := newFake().deps()
	d.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	return httpapi.New(d, httpapi.Options{APIToken: token})
}

func TestToken(t *testing.T) {
	h := guarded("s3cret")
	for path, open := range map[string]bool{
		"/api/v1/runs": false, "/api/v1/runs/1": false, "/metrics": false, "/api/v1/": false, "/api/v1": false,
		"/livez": true, "/readyz": true, "/api/openapi.json": true,
	} {
		for _, header := range []string{"", "Bearer wrong", "Bearer", "Bearer ", "Basic s3cret", "s3cret", "Bearer s3cret2", "Bearer s3cre"} {
			w := ask(h, http.MethodGet, "http://sluice.example"+path, "Authorization", header)
			if (w.Code == http.StatusUnauthorized) == open {
				t.Errorf("%s with %q: got %d", path, header, w.Code)
			}
			if !open && (w.Header().Get("WWW-Authenticate") == "" || !strings.Contains(w.Body.String(), `"code":"unauthorized"`)) {
				t.Errorf("%s: the refusal is %v %s", path, w.Header(), w.Body)
			}
		}
		for _, header := range []string{"Bearer s3cret", "bearer s3cret"} {
			if w := ask(h, http.MethodGet, "http://sluice.example"+path, "Authorization", header); w.Code == http.StatusUnauthorized {
				t.Errorf("%s with %q: got %d", path, header, w.Code)
			}
		}
	}
}

func TestRebinding(t *testing.T) {
	h := guarded("")
	for host, want := range map[string]int{
		"localhost": 200, "localhost:8090": 200, "LOCALHOST:1": 200, "127.0.0.1:8090": 200, "127.0.0.1": 200, "[::1]:8090": 200, "[::1]": 200,
		"evil.example": 403, "evil.example:8090": 403, "localhost.evil.example": 403, "127.0.0.1.evil.example": 403,
		"10.0.0.1:8090": 403, "169.254.1.1": 403,
	} {
		for _, path := range []string{"/api/v1/runs", "/livez", "/metrics"} {
			if w := ask(h, http.MethodGet, "http://"+host+path); w.Code != want {
				t.Errorf("host %s, path %s: got %d, want %d", host, path, w.Code, want)
			}
		}
	}
}

func TestForeignOrigin(t *testing.T) {
	h := guarded("")
	for _, test := range []struct {
		header, value string
		refused       bool
	}{
		{"Origin", "http://evil.example", true},
		{"Origin", "http://localhost:3000", true},
		{"Origin", "null", true},
		{"Sec-Fetch-Site", "cross-site", true},
		{"Origin", "http://localhost:8090", false},
		{"Sec-Fetch-Site", "same-origin", false},
		{"X-Nothing", "", false},
	} {
		w := ask(h, http.MethodPost, "http://localhost:8090/api/v1/runs", test.header, test.value)
		if (w.Code == http.StatusForbidden) != test.refused {
			t.Errorf("%s %s: got %d", test.header, test.value, w.Code)
		}
	}
}

// TestForeignPagesLoadNothing is about what <img src> can do: reading a
// snapshot that is old asks the upstream for it.
func TestForeignPagesLoadNothing(t *testing.T) {
	h := guarded("")
	for site, refused := range map[string]bool{"cross-site": true, "same-site": true, "same-origin": false, "none": false, "": false} {
		for _, path := range []string{"/api/v1/runs", "/api/v1/snapshots/maplestory/x", "/metrics"} {
			w := ask(h, http.MethodGet, "http://localhost:8090"+path, "Sec-Fetch-Site", site, "Sec-Fetch-Mode", "no-cors")
			if (w.Code == http.StatusForbidden) != refused {
				t.Errorf("%s for %q: got %d", path, site, w.Code)
			}
		}
		if w := ask(h, http.MethodGet, "http://localhost:8090/livez", "Sec-Fetch-Site", site); w.Code != http.StatusOK {
			t.Errorf("/livez for %q: got %d", site, w.Code)
		}
	}
}

func TestListen(t *testing.T) {
	for addr, exposed := range map[string]bool{":0": true, "0.0.0.0:0": true, "[::]:0": true, "127.0.0.1:0": false, "localhost:0": false} {
		l, err := httpapi.Listen(addr)
		if err != nil {
			t.Errorf("%s: %v", addr, err)
			continue
		}
		if got := httpapi.Exposed(l); got != exposed {
			t.Errorf("%s is exposed: %v", addr, got)
		}
		if _, err := httpapi.Listen(l.Addr().String()); domain.CodeOf(err) != domain.CodeConflict {
			t.Errorf("listening twice on %s: %v", l.Addr(), err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := httpapi.Listen("127.0.0.1:http:x"); domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("a wrong address: %v", err)
	}
}
